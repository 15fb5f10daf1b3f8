/* SPDX-License-Identifier: MIT
 * Verification on the device: test data, poison, guard bands, content hashes and comparison with the f64 reference.
 * Every kernel walks its range with a grid-stride loop, so that any one-dimensional grid and block of whole warps will do.
 * Only C is used: host tests compile this file and run it as one thread. */
#include "common/check.h"
#include "common/convert.cuh"

typedef unsigned short unit;

enum { F16 = 0, BF16 = 1, F32 = 2 };

GS_SHARED gs_u64 first_index(void) { return (gs_u64)blockIdx.x * blockDim.x + threadIdx.x; }
GS_SHARED gs_u64 index_step(void) { return (gs_u64)gridDim.x * blockDim.x; }

GS_SHARED gs_u64 double_bits(double value) { return (gs_u64)__double_as_longlong(value); }

GS_SHARED void store(void *at, gs_u64 index, int type, float value)
{
    if (type == F32) ((float *)at)[index] = value;
    else ((unit *)at)[index] = type == BF16 ? gs_f32_to_bf16(value) : gs_f32_to_f16(value);
}

GS_SHARED unsigned int load_bits(const void *at, gs_u64 index, int type)
{
    return type == F32 ? ((const unsigned int *)at)[index] : ((const unit *)at)[index];
}

GS_SHARED float bits_value(unsigned int bits, int type)
{
    return type == F32 ? __uint_as_float(bits) : type == BF16 ? gs_bf16_to_f32((unit)bits) : gs_f16_to_f32((unit)bits);
}

/* The reference, rounded once to the output type. */
GS_SHARED unsigned int round_bits(double value, int type)
{
    if (type == F32) return __float_as_uint((float)value);
    const float odd = gs_round_to_odd(value);
    return type == BF16 ? gs_f32_to_bf16(odd) : gs_f32_to_f16(odd);
}

GS_SHARED unit poison_unit(gs_u64 pattern, gs_u64 index) { return (unit)(index & 1 ? pattern >> 16 : pattern); }

/* Fills an operand, and the padding between rows and matrices. */
GS_KERNEL void gs_verify_generate(const gs_datagen g)
{
    const gs_placed placed = gs_datagen_placed(&g);
    const gs_u64 total = (gs_u64)gs_placed_end(&placed);
    for (gs_u64 i = first_index(); i < total; i += index_step()) {
        long long batch, row, col;
        float value = gs_between_rows(&g);
        if (gs_placed_find(&placed, (long long)i, &batch, &row, &col)) value = g.transposed ? gs_value(&g, batch, col, row) : gs_value(&g, batch, row, col);
        store(g.to, i, g.type, value);
    }
}

GS_KERNEL void gs_verify_poison(const gs_range p)
{
    for (gs_u64 i = first_index(); i < p.units; i += index_step()) ((unit *)p.at)[i] = poison_unit(p.seed, i);
}

GS_KERNEL void gs_verify_guard_fill(const gs_range p)
{
    for (gs_u64 i = first_index(); i < p.units; i += index_step()) ((unit *)p.at)[i] = (unit)gs_mix(p.seed + i);
}

GS_KERNEL void gs_verify_guard_check(const gs_range p)
{
    for (gs_u64 i = first_index(); i < p.units; i += index_step())
        if (((const unit *)p.at)[i] != (unit)gs_mix(p.seed + i)) atomicAdd(p.count, 1ull);
}

/* A quarter round of ChaCha (D. J. Bernstein, "ChaCha, a variant of Salsa20"). */
GS_SHARED unsigned int rotated(unsigned int x, int by) { return x << by | x >> (32 - by); }
GS_SHARED void quarter(unsigned int *a, unsigned int *b, unsigned int *c, unsigned int *d)
{
    *a += *b, *d = rotated(*d ^ *a, 16);
    *c += *d, *b = rotated(*b ^ *c, 12);
    *a += *b, *d = rotated(*d ^ *a, 8);
    *c += *d, *b = rotated(*b ^ *c, 7);
}

/* A block of the sequence of ChaCha with eight rounds. Who knows some of it knows neither the rest nor the key. */
GS_SHARED void secret_words(gs_u64 key, gs_u64 block, unsigned int out[16])
{
    const unsigned int start[16] = {0x61707865u, 0x3320646eu, 0x79622d32u, 0x6b206574u, (unsigned int)key, (unsigned int)(key >> 32), 0, 0, 0, 0, 0, 0, (unsigned int)block, (unsigned int)(block >> 32), 0, 0};
    unsigned int s[16];
    for (int i = 0; i < 16; i++) s[i] = start[i];
    for (int round = 0; round < 8; round += 2)
        for (int diagonal = 0; diagonal < 2; diagonal++)
            for (int i = 0; i < 4; i++) quarter(&s[i], &s[4 + (i + diagonal) % 4], &s[8 + (i + 2 * diagonal) % 4], &s[12 + (i + 3 * diagonal) % 4]);
    for (int i = 0; i < 16; i++) out[i] = s[i] + start[i];
}

/* Xors words of 64 bits with a secret sequence: the first pass makes them unreadable, a second one restores them. Each thread has a block of eight words; those of 32
 * neighbouring threads lie side by side. */
GS_KERNEL void gs_verify_veil(const gs_range p)
{
    for (gs_u64 block = first_index(); block / 32 * 256 < p.units; block += index_step()) {
        unsigned int secret[16];
        secret_words(p.seed, block, secret);
        for (int i = 0; i < 8; i++) {
            const gs_u64 at = block / 32 * 256 + (gs_u64)i * 32 + block % 32;
            if (at < p.units) ((gs_u64 *)p.at)[at] ^= secret[2 * i] | (gs_u64)secret[2 * i + 1] << 32;
        }
    }
}

/* Flips one of the lowest bits of every second element, in odd rows of the others. */
GS_KERNEL void gs_verify_change(const gs_changed p)
{
    const gs_u64 rows = (gs_u64)(p.placed.matrices * p.placed.rows), half = ((gs_u64)p.placed.cols + 1) / 2;
    for (gs_u64 i = first_index(); i < rows * half; i += index_step()) {
        const gs_u64 row = i / half, col = i % half * 2 + row % 2;
        if (col >= (gs_u64)p.placed.cols) continue;
        const gs_u64 at = (gs_u64)gs_placed_at(&p.placed, (long long)row, (long long)col);
        const unsigned int bit = 1u << (row + col / 2) % (gs_u64)p.bits;
        if (p.type == F32) ((unsigned int *)p.at)[at] ^= bit;
        else ((unit *)p.at)[at] ^= (unit)bit;
    }
}

/* Adds to *out a sum that depends on every unit and its place. */
GS_KERNEL void gs_verify_hash(const gs_rows p)
{
    gs_u64 sum = 0;
    const gs_u64 cols = (gs_u64)p.placed.cols, rows = (gs_u64)(p.placed.matrices * p.placed.rows);
    for (gs_u64 i = first_index(); i < rows * cols; i += index_step()) {
        const unit value = ((const unit *)p.at)[rows == 1 ? (long long)i : gs_placed_at(&p.placed, (long long)(i / cols), (long long)(i % cols))];   /* inputs are hashed as one row */
        sum += gs_mix(i * 0x9e3779b97f4a7c15ull + value + 1);
    }
    for (int lane = 16; lane; lane >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
    if (threadIdx.x % 32 == 0) atomicAdd(p.out, sum);
}

/* Counts changed units between rows and matrices. After the last row there is a guard band. */
GS_KERNEL void gs_verify_padding(const gs_rows p)
{
    const gs_u64 end = (gs_u64)gs_placed_end(&p.placed);
    if (p.placed.matrices == 1) {   /* the usual case: only the padding is read */
        const gs_u64 cols = (gs_u64)p.placed.cols, ld = (gs_u64)p.placed.ld, padding = ld - cols;
        for (gs_u64 i = first_index(); i < (gs_u64)(p.placed.rows - 1) * padding; i += index_step()) {
            const gs_u64 at = i / padding * ld + cols + i % padding;
            if (((const unit *)p.at)[at] != poison_unit(p.pattern, at)) atomicAdd(p.out, 1ull);
        }
        return;
    }
    for (gs_u64 i = first_index(); i < end; i += index_step()) {
        long long matrix, row, col;
        if (((const unit *)p.at)[i] != poison_unit(p.pattern, i) && !gs_placed_find(&p.placed, (long long)i, &matrix, &row, &col)) atomicAdd(p.out, 1ull);
    }
}

GS_KERNEL void gs_verify_bands(const gs_bands p)
{
    for (gs_u64 i = first_index(); i < p.count * p.units; i += index_step()) {
        const gs_u64 band = i / p.units, at = i % p.units;
        if (((const unit *)p.at[band])[at] != poison_unit(p.pattern[band], at)) atomicAdd(&p.out[band / 2], 1ull);
    }
}

GS_SHARED void add_double(double *to, double value)
{
    for (int lane = 16; lane; lane >>= 1) value += __shfl_xor_sync(0xffffffffu, value, lane);
    if (threadIdx.x % 32 == 0 && value != 0) atomicAdd(to, value);
}

GS_SHARED void add_count(gs_u64 *to, gs_u64 value)
{
    for (int lane = 16; lane; lane >>= 1) value += __shfl_xor_sync(0xffffffffu, value, lane);
    if (threadIdx.x % 32 == 0 && value) atomicAdd(to, value);
}

GS_SHARED double element_of(const void *at, gs_u64 index, int type) { return bits_value(load_bits(at, index, type), type); }

typedef struct final_value {
    double value, slack;   /* slack: error that the epilogue may add */
    double size;           /* magnitude of the scales, by which an error of the sum is multiplied */
    double hidden;         /* by how much a bias or C made it smaller: its error is that of the larger one */
    bool   open;           /* NaN is right as well */
    bool   lost;           /* anything is right */
    bool   wide;           /* an intermediate value needs more bits than an f32: even exact data are rounded */
} final_value;

GS_SHARED double element_of_c(const gs_epilogue *e, gs_u64 row, gs_u64 col, int type)
{
    return e->beta * element_of(e->c, (gs_u64)gs_placed_shared(&e->placed_c, (long long)row, (long long)col), type);
}

/* How much smaller the magnitude became. 0: it did not, or one of them is not finite. */
GS_SHARED double hidden_of(double before, double after)
{
    const double hidden = fabs(before) - fabs(after);
    return hidden > 0 && hidden < (double)gs_infinity() ? hidden : 0;
}

GS_SHARED bool is_wide(double x) { return (double)(float)x != x && x == x; }

/* The right result from x: alpha A B + beta C or, with a residual or scales, alpha A B. row: of the whole batch. relative: error of the activation; error: of the sum. */
GS_SHARED final_value finished(const gs_epilogue *e, double x, gs_u64 row, gs_u64 col, int type, double relative, double error)
{
    const gs_scaling scaling = gs_scaling_of(e, x, error, row, col);
    bool lost = scaling.lost;
    double joined = 0;   /* rounding errors of additions to a scaled sum */
    if (e->scale_m || e->scale_n) joined = 0x1p-22 * fabs(x * scaling.value);
    x *= scaling.value;
    const double sum = x;
    bool wide = is_wide(x);
    if (e->joins) {
        const double c = element_of_c(e, row, col, type);
        x += c;
        wide |= is_wide(x);
        joined += 0x1p-22 * fabs(c);
    }
    if (e->along) {
        const double bias = element_of(e->bias, gs_bias_place(e, row, col), type);
        lost |= fabs(bias) == (double)gs_infinity() && fabs(x) < (double)gs_infinity() && fabs(x) > -e->least;   /* the accumulator may have overflowed to the other infinity */
        x += bias;
        wide |= is_wide(x);
        if (joined > 0) joined += 0x1p-22 * fabs(bias);
    }
    if (!(joined < (double)gs_infinity())) joined = 0;
    const double hidden = hidden_of(sum, x);
    if (gs_reads_aux(e->activation)) {
        const double z = element_of(e->aux, (gs_u64)gs_placed_at(&e->placed_aux, (long long)row, (long long)col), type);
        const gs_sloped_value sloped = gs_slope_result(e->activation, x, z, relative, e->least);
        final_value of = {sloped.value, sloped.slack + 1.13 * joined, scaling.size, hidden, false, sloped.lost || lost, wide};
        if (e->residual) of.value += element_of_c(e, row, col, type);
        of.hidden += hidden_of(sloped.value, of.value);
        of.wide |= is_wide(of.value);
        return of;
    }
    const double active = gs_activate(e->activation, x);
    final_value of = {active, relative * fabs(active) + 1.13 * joined, scaling.size, hidden, gs_is_open(e->activation, x, e->least), lost, wide};
    if (e->residual) of.value += element_of_c(e, row, col, type);
    of.hidden += hidden_of(active, of.value);
    of.wide |= is_wide(of.value);
    return of;
}

/* The same with a gate. x, y: alpha A B of the gate's and up's columns; rms_x, rms_y: their root mean squares; spread: their error relative to magnitude plus rms. */
GS_SHARED final_value finished_gate(const gs_epilogue *e, double x, double y, gs_u64 row, gs_u64 col, int type, double relative, double spread, double rms_x, double rms_y)
{
    const gs_scaling of_x = gs_scaling_of(e, x, spread * (fabs(x) + rms_x), row, (gs_u64)gs_gate_column(e->gate, e->n, (long long)col, false));
    const gs_scaling of_y = gs_scaling_of(e, y, spread * (fabs(y) + rms_y), row, (gs_u64)gs_gate_column(e->gate, e->n, (long long)col, true));
    x *= of_x.value, y *= of_y.value, rms_x *= of_x.size, rms_y *= of_y.size;
    const double sum_x = x, sum_y = y;
    if (e->along) {
        x += element_of(e->bias, gs_bias_place(e, row, (gs_u64)gs_gate_column(e->gate, e->n, (long long)col, false)), type);
        y += element_of(e->bias, gs_bias_place(e, row, (gs_u64)gs_gate_column(e->gate, e->n, (long long)col, true)), type);
    }
    const double error_x = spread * (fabs(x) + hidden_of(sum_x, x) + rms_x), error_y = spread * (fabs(y) + hidden_of(sum_y, y) + rms_y);
    const gs_gated gated = gs_gate_result(e->activation, x, y, error_x, error_y, relative, e->least);
    final_value of = {gated.value, gated.slack, 1, 0, gated.open, gated.lost || of_x.lost || of_y.lost};
    if (e->residual) of.value += element_of_c(e, row, col, type);
    return of;
}

/* The gate's or, if `up`, up's sum in the reference for an element of D. */
GS_SHARED double gate_sum(const gs_check *p, gs_u64 row, gs_u64 col, bool up)
{
    return p->reference[row * 2 * p->cols + (gs_u64)gs_gate_column(p->epilogue.gate, p->epilogue.n, (long long)col, up)];
}

/* The right result: the epilogue applied to the reference. */
GS_SHARED final_value final_of(const gs_check *p, gs_u64 i, double rms)
{
    const gs_u64 row = i / p->cols, col = i % p->cols;
    if (!p->epilogue.gate) return finished(&p->epilogue, p->reference[i], row, col, p->type, p->activation, p->spread * (fabs(p->reference[i]) + rms));
    return finished_gate(&p->epilogue, gate_sum(p, row, col, false), gate_sum(p, row, col, true), row, col, p->type, p->activation, p->spread, rms, rms);
}

/* The least value that is rounded to infinity in D's type (f32: approximately). */
GS_SHARED double overflow_of(int type) { return type == F16 ? 65520.0 : 0x1.ffp127; }

/* Whether an element is in a row that is written: masked groups have unused rows. */
GS_SHARED bool is_used(const gs_check *p, gs_u64 i)
{
    return !p->epilogue.room || gs_row_is_used(p->epilogue.offsets, p->epilogue.groups, p->epilogue.room, (long long)(i / p->cols));
}

GS_SHARED bool has_scales(const gs_check *p) { return p->epilogue.scale_m || p->epilogue.scale_n; }

/* How much larger an element of D is by the sizes of its row and its column. */
GS_SHARED double size_of_lines(const gs_check *p, gs_u64 i)
{
    return p->uneven.count ? (double)gs_power_of_two(gs_uneven_exponent(&p->uneven, 0, (long long)(i / p->cols % (gs_u64)p->placed.rows)) + gs_uneven_exponent(&p->uneven, 1, (long long)(i % p->cols))) : 1.0;
}

/* First pass: the size of the reference, without the activation, which would hide the size of the sums. */
GS_KERNEL void gs_verify_measure(const gs_check p)
{
    double squares = 0, sums2 = 0;
    gs_u64 finite = 0, sums = 0;
    gs_check plain = p;
    plain.epilogue.activation = 0;
    for (gs_u64 i = first_index(); i < p.rows * p.cols; i += index_step()) {
        if (!is_used(&p, i)) continue;
        for (int up = 0; p.epilogue.gate && up < 2; up++) {
            const double sum = gate_sum(&p, i / p.cols, i % p.cols, up);
            if (!(fabs(sum) < (double)gs_infinity())) continue;
            sums2 += sum * sum;
            sums++;
        }
        if (has_scales(&p) && !p.epilogue.gate && fabs(p.reference[i]) < (double)gs_infinity()) {
            sums2 += p.reference[i] * p.reference[i];
            sums++;
        }
        const double value = final_of(&plain, i, 0).value / size_of_lines(&p, i);
        if (!(fabs(value) < (double)gs_infinity())) continue;
        squares += value * value;
        finite++;
    }
    add_double(&p.counts->reference2, squares);
    add_count(&p.counts->finite, finite);
    add_double(&p.counts->sums2, sums2);
    add_count(&p.counts->sums, sums);
}

/* Second pass. A NaN must be a NaN, an infinity the same infinity (or, within the bound, the largest finite value). */
GS_KERNEL void gs_verify_compare(const gs_check p)
{
    const double rms = fmax(p.counts->finite ? sqrt(p.counts->reference2 / (double)p.counts->finite) : 0.0, p.least_rms);
    const bool factor = p.epilogue.gate || has_scales(&p) || (gs_reads_aux(p.epilogue.activation) && gs_is_smooth(p.epilogue.activation));   /* the sum is multiplied by something */
    const double rms_sums = fmax(p.counts->sums ? sqrt(p.counts->sums2 / (double)p.counts->sums) : 0.0, p.least_rms), spread = p.epilogue.gate ? 0 : p.spread * (has_scales(&p) ? rms_sums : rms);
    double error2 = 0, signed_error = 0, absolute_error = 0, worst = 0;
    gs_u64 mismatches = 0, unwritten = 0, nans = 0, zeros = 0, truncated = 0, first = ~0ull;
    gs_u64 row_low = ~0ull, row_high = 0, col_low = ~0ull, col_high = 0;
    for (gs_u64 i = first_index(); i < p.rows * p.cols; i += index_step()) {
        if (!is_used(&p, i)) continue;
        const gs_u64 at = (gs_u64)gs_placed_at(&p.placed, (long long)(i / p.cols), (long long)(i % p.cols));
        const final_value of = final_of(&p, i, rms_sums);
        const double want = of.value;
        const unsigned int bits = load_bits(p.d, at, p.type), right_bits = round_bits(want, p.type);
        const unsigned int poison = p.type == F32 ? p.poison : poison_unit(p.poison, at);
        const double got = bits_value(bits, p.type), right = bits_value(right_bits, p.type);
        const bool want_nan = want != want, got_nan = got != got;
        const double around = spread * size_of_lines(&p, i) * of.size + p.spread * of.hidden + p.absolute + of.slack;   /* bound, but for what is relative to the result */
        bool wrong;
        if (of.lost) {
            wrong = bits == poison;
        } else if (want_nan) {
            wrong = !got_nan || bits == poison;
        } else if (got_nan) {
            wrong = !of.open || bits == poison;
        } else if (p.once && !p.exact && fabs(want) < (double)gs_infinity()) {
            const double bound = (p.relative + 0x1p-22) * fabs(want) + around;   /* 0x1p-22: D is rounded from an f32 */
            wrong = got < (double)bits_value(round_bits(want - bound, p.type), p.type) || got > (double)bits_value(round_bits(want + bound, p.type), p.type);
        } else if (p.exact || !(fabs(factor ? want : right) < (double)gs_infinity())) {
            wrong = got != right && !(of.wide && got >= bits_value(round_bits(want - of.slack, p.type), p.type) && got <= bits_value(round_bits(want + of.slack, p.type), p.type));
        } else {
            const double bound = p.relative * fabs(want) + around;
            double error = fabs(got - want);
            if (factor && !(fabs(got) < (double)gs_infinity()) && (got < 0) == (want < 0)) error = fmax(overflow_of(p.type) - fabs(want), 0);   /* distance from overflow */
            if (error > worst * bound) worst = bound > 0 ? fmin(error / bound, 1e300) : 1e300;
            wrong = error > bound;
        }
        if (!of.lost && !want_nan && !got_nan && fabs(right) < (double)gs_infinity() && fabs(got) < (double)gs_infinity()) {
            const double error = got - want;
            error2 += error * error;
            signed_error += want < 0 ? -error : error;
            absolute_error += fabs(error);
        }
        if (!wrong) continue;
        mismatches++;
        if (i < first) first = i;
        const gs_u64 row = i / p.cols, col = i % p.cols;
        if (row < row_low) row_low = row;
        if (row > row_high) row_high = row;
        if (col < col_low) col_low = col;
        if (col > col_high) col_high = col;
        if (bits == poison) unwritten++;
        else if (got_nan) nans++;
        else if (got == 0) zeros++;
        else if (bits + 1 == right_bits) truncated++;   /* sign-magnitude format: one less is one step towards zero */
    }
    add_double(&p.counts->error2, error2);
    add_double(&p.counts->signed_error, signed_error);
    add_double(&p.counts->absolute_error, absolute_error);
    add_count(&p.counts->mismatches, mismatches);
    add_count(&p.counts->unwritten, unwritten);
    add_count(&p.counts->nans, nans);
    add_count(&p.counts->zeros, zeros);
    add_count(&p.counts->truncated, truncated);
    if (worst > 0) atomicMax(&p.counts->worst, double_bits(worst));
    if (first == ~0ull) return;
    atomicMin(&p.counts->first, first);
    atomicMin(&p.counts->row_low, row_low);
    atomicMax(&p.counts->row_high, row_high);
    atomicMin(&p.counts->col_low, col_low);
    atomicMax(&p.counts->col_high, col_high);
}

/* The rows of D whose columns one vector of sums adds up: a group, or `rows` consecutive ones. */
typedef struct gs_part {
    long long first, end;
} gs_part;

GS_SHARED gs_part part_of(const int *offsets, int groups, long long room, long long vector, long long rows)
{
    gs_part part = {vector * rows, (vector + 1) * rows};
    if (groups) part.first = room ? vector * room : offsets[vector], part.end = room ? part.first + offsets[vector] : offsets[vector + 1];
    return part;
}

/* Compares the sums of D's columns with sums in f64 over the reference after the epilogue. */
GS_KERNEL void gs_verify_sums(const gs_check_sums p)
{
    const gs_check *const c = &p.of;
    const bool scaled = has_scales(c);
    const double squares = scaled ? c->counts->sums2 : c->counts->reference2, many = (double)(scaled ? c->counts->sums : c->counts->finite), rms = fmax(many > 0 ? sqrt(squares / many) : 0.0, c->least_rms);
    gs_u64 mismatches = 0, unwritten = 0, first = ~0ull;
    for (gs_u64 i = first_index(); i < p.vectors * c->cols; i += index_step()) {
        const gs_u64 col = i % c->cols, vector = i / c->cols, at = vector * (gs_u64)p.stride + col;
        const gs_part rows = part_of(c->epilogue.offsets, c->epilogue.groups, c->epilogue.room, (long long)vector, (long long)(c->rows / p.vectors));
        double want = 0, size = 0, size2 = 0, slack = 0, errors = 0, errors2 = 0;
        bool any = false;   /* any result is right */
        for (gs_u64 row = (gs_u64)rows.first; row < (gs_u64)rows.end; row++) {
            const double x = c->reference[row * c->cols + col];
            const final_value of = finished(&c->epilogue, x, row, col, c->type, c->activation, c->spread * (fabs(x) + rms));
            any |= of.lost || of.open || (fabs(x) < (double)gs_infinity() && fabs(x) > -c->epilogue.least);
            want += of.value;
            size += fabs(of.value);
            size2 += of.value * of.value;
            if (!(fabs(x) < (double)gs_infinity())) continue;
            const double error = (c->spread * (fabs(x) + rms) + p.element * fabs(x)) * of.size;
            slack += of.slack + p.least;
            errors += error;
            errors2 += error * error;
        }
        slack += fmin(errors, errors / 8 + 4 * sqrt(errors2));   /* most errors of elements cancel; an eighth of them may have one sign */
        /* reach: bound on the partial sums, in any order of rows, if signs are random */
        const unsigned int bits = load_bits(p.at, at, c->type), poison = c->type == F32 ? c->poison : poison_unit(c->poison, at);
        const double got = bits_value(bits, c->type), reach = fmin(size, fabs(want) + 6 * sqrt(size2)), before = p.added * reach + slack, bound = p.relative * fabs(want) + p.absolute + before;
        const bool finite = fabs(got) < (double)gs_infinity();
        bool wrong;
        any |= size > 1e38 && size < (double)gs_infinity();   /* partial sums may overflow f32 */
        if (any) wrong = false;
        else if (want != want) wrong = got == got;
        else if (!(fabs(want) < (double)gs_infinity())) wrong = got != want;
        else if (c->once) wrong = got != got || got < (double)bits_value(round_bits(want - before, c->type), c->type) || got > (double)bits_value(round_bits(want + before, c->type), c->type);
        else wrong = !((!finite && got == got && (got < 0) == (want < 0) ? overflow_of(c->type) - fabs(want) : fabs(got - want)) <= bound);
        if (bits == poison) wrong = true;
        if (!wrong) continue;
        mismatches++;
        unwritten += bits == poison;
        if (i < first) first = i;
    }
    add_count(&c->counts->mismatches, mismatches);
    add_count(&c->counts->unwritten, unwritten);
    if (first != ~0ull) atomicMin(&c->counts->first, first);
}

/* Adds a sum that depends on every 64-bit word and its place. */
GS_KERNEL void gs_verify_words(const gs_range p)
{
    gs_u64 sum = 0;
    for (gs_u64 i = first_index(); i < p.units / 4; i += index_step()) sum += gs_mix(i * 0x9e3779b97f4a7c15ull + ((const gs_u64 *)p.at)[i] + 1);
    add_count(p.count, sum);
}

/* Like an element-wise kernel between two layers: reads and writes all of a range, and changes nothing. */
GS_KERNEL void gs_verify_pass(const gs_range p)
{
    const gs_u64 words = (gs_u64)p.at % 8 ? 0 : p.units / 4;
    for (gs_u64 i = first_index(); i < words; i += index_step()) ((volatile gs_u64 *)p.at)[i] = ((volatile gs_u64 *)p.at)[i];
    for (gs_u64 i = words * 4 + first_index(); i < p.units; i += index_step()) ((volatile unit *)p.at)[i] = ((volatile unit *)p.at)[i];
}

/* ---- after a timed replay ---- */

GS_SHARED gs_u64 count_unit(gs_u64 at, unsigned int pattern, bool poison) { return (*(const unit *)at == poison_unit(pattern, at / 2)) == poison; }

/* Counts elements from `at` to `end` that hold the poison or, if not `poison`, that do not. The caller counts every `step`-th word from `first` on. */
GS_SHARED gs_u64 count_poison(gs_u64 at, gs_u64 end, int type, unsigned int pattern, bool poison, gs_u64 first, gs_u64 step)
{
    const gs_u64 from = (at + 3) / 4 * 4, to = end / 4 * 4;
    gs_u64 found = 0;
    if (first == 0 && at < from && at < end) found += count_unit(at, pattern, poison);
    if (first == 0 && to >= from && to < end) found += count_unit(to, pattern, poison);
    for (gs_u64 i = from + first * 4; i < to; i += step * 4) {
        const unsigned int word = *(const unsigned int *)i ^ pattern;
        found += type == F32 ? (word == 0) == poison : ((word & 0xffffu) == 0) == poison;
        found += type != F32 && (word >> 16 == 0) == poison;
    }
    return found;
}

/* Whether a row of a set's D or aux is written; the sums of D's columns always are. */
GS_SHARED bool is_written(const gs_timed *p, const gs_timed_set *s, gs_u64 row)
{
    return p->output == GS_TIMED_SUMS || !p->groups || gs_row_is_used((const int *)s->offsets, p->groups, p->room, (long long)row);
}

/* Checks that every element was written and nothing around them. After a row, its warp checks the padding up to the next row in memory, which belongs to the next matrix if matrices
 * are side by side. */
GS_KERNEL void gs_verify_timed(const gs_timed p)
{
    const gs_u64 lanes = blockDim.x < 32 ? blockDim.x : 32, lane = threadIdx.x % lanes, size = p.out == F32 ? 4 : 2;
    const gs_placed *const placed = &p.looked_at;
    const gs_u64 rows = (gs_u64)(placed->rows * placed->matrices), around = rows + GS_TIMED_AROUND;
    const bool behind = gs_placed_behind(placed);
    gs_u64 found = 0;
    for (gs_u64 i = first_index() / lanes; i < p.count * around; i += index_step() / lanes) {
        const gs_timed_set *const s = &p.sets[i / around];
        const gs_u64 to = p.output == GS_TIMED_D ? s->d : p.output == GS_TIMED_AUX ? s->aux : s->bias, row = i % around;
        if (row < rows) {
            /* in the order of memory */
            const long long matrix = placed->matrices == 1 ? 0 : behind ? (long long)row / placed->rows : (long long)row % placed->matrices;
            const long long line = placed->matrices == 1 ? (long long)row : behind ? (long long)row % placed->rows : (long long)row / placed->matrices;
            const bool last = behind ? line + 1 == placed->rows : matrix + 1 == placed->matrices;
            const gs_u64 at = to + (gs_u64)(matrix * placed->stride + line * placed->ld) * size, end = at + (gs_u64)placed->cols * size;
            const long long next = behind ? (last ? (matrix + 1) * placed->stride : matrix * placed->stride + (line + 1) * placed->ld)
                                          : (last ? (line + 1) * placed->ld : (matrix + 1) * placed->stride + line * placed->ld);
            found += count_poison(at, end, p.out, p.poison, is_written(&p, s, row), lane, lanes);
            if (row + 1 < rows) found += count_poison(end, to + (gs_u64)next * size, p.out, p.poison, false, lane, lanes);
        } else {
            const gs_u64 last = to + (gs_u64)gs_placed_end(placed) * size, first = (row - rows) * lanes + lane;
            found += count_poison(s->begin[p.output], to, p.out, p.poison, false, first, GS_TIMED_AROUND * lanes);
            found += count_poison(last, s->end[p.output], p.out, p.poison, false, first, GS_TIMED_AROUND * lanes);
        }
    }
    add_count(&p.found[0], found);
}

GS_SHARED double value_at(gs_u64 at, gs_u64 index, int type) { return element_of((const void *)at, index, type); }

/* A warp for each sample: a random element of D is computed again. */
GS_KERNEL void gs_verify_timed_samples(const gs_timed p)
{
    const gs_u64 lanes = blockDim.x < 32 ? blockDim.x : 32, lane = threadIdx.x % lanes;
    for (gs_u64 i = first_index() / lanes; i < p.samples; i += index_step() / lanes) {
        const gs_u64 bits = gs_mix(p.seed + i), more = gs_mix(bits + 1);
        const gs_timed_set *const s = &p.sets[i % p.count];
        const int *const offsets = (const int *)s->offsets;
        const long long picked = p.room ? gs_pick_below(more, p.groups) : 0, some = p.room ? offsets[picked] : p.groups ? offsets[p.groups] : p.m;
        if (some == 0) continue;
        const long long row = picked * p.room + gs_pick_below(bits, some), col = gs_pick_below(bits << 32, p.n), batch = gs_pick_below(more, p.batch);
        const long long of_b = p.groups ? gs_group_in(offsets, p.groups, p.room, row) : batch;
        const bool ta = p.layout & 2, tb = p.layout & 1;
        const long long a = batch * p.stride_a + (ta ? row : row * p.lda), step_a = ta ? p.lda : 1, line = batch * p.m + row;
        const long long first = p.k_groups ? offsets[batch] : 0, end = p.k_groups ? offsets[batch + 1] : p.k;
        double sums[2] = {0, 0}, sizes[2] = {0, 0};
        for (int up = 0; up < (p.gate ? 2 : 1); up++) {
            const long long col_of_b = p.gate ? gs_gate_column(p.gate, p.n, col, up) : col;
            const long long b = of_b * p.stride_b + (tb ? col_of_b * p.ldb : col_of_b), step_b = tb ? 1 : p.ldb;
            double sum = 0, squares = 0;
            for (long long k = first + (long long)lane; k < end; k += (long long)lanes) {
                const double product = value_at(s->a, (gs_u64)(a + k * step_a), p.in) * value_at(s->b, (gs_u64)(b + k * step_b), p.in);
                sum += product;
                squares += product * product;
            }
            for (int other = 16; other; other >>= 1) {
                sum += __shfl_xor_sync(0xffffffffu, sum, other);
                squares += __shfl_xor_sync(0xffffffffu, squares, other);
            }
            sums[up] = p.alpha * sum;
            sizes[up] = p.alpha * p.alpha * squares;
        }
        if (lane) continue;
        const double got = value_at(s->d, (gs_u64)gs_placed_at(&p.placed_d, line, col), p.out);
        double right = sums[0], size = sizes[0];
        const bool joins = p.beta != 0 && !p.residual && (p.scales != 0), adds_c = p.beta != 0 && !p.residual && !joins;
        if (adds_c) {
            const double c = p.beta * value_at(s->c, (gs_u64)gs_placed_shared(&p.placed_c, line, col), p.out);
            right += c;
            size += c * c;
        }
        const gs_epilogue e = {(const void *)s->c, (const void *)s->bias, p.placed_c, p.m, p.stride_bias, p.activation, p.along, p.residual, p.gate, p.n, p.beta, p.least, (const void *)s->aux, p.placed_aux,
                               offsets, p.groups, p.room, p.scales & 1 ? (const float *)s->scale_m : NULL, p.scales & 2 ? (const float *)s->scale_n : NULL, joins};
        const double relative = gs_activation_error(p.activation, p.gate);
        const final_value of = p.gate ? finished_gate(&e, sums[0], sums[1], (gs_u64)line, (gs_u64)col, p.out, relative, p.spread, sqrt(sizes[0]), sqrt(sizes[1]))
                                      : finished(&e, right, (gs_u64)line, (gs_u64)col, p.out, relative, p.spread * (fabs(right) + sqrt(size)));
        for (int up = 0; p.writes_aux && up < (p.gate ? 2 : 1); up++) {
            gs_epilogue before = e;
            before.activation = before.residual = 0;
            const double x = p.gate ? sums[up] : right, size_x = sqrt(p.gate ? sizes[up] : size);
            const long long col_of_aux = p.gate ? gs_gate_column(p.gate, p.n, col, up) : col;
            const double aux = value_at(s->aux, (gs_u64)gs_placed_at(&p.placed_aux, line, col_of_aux), p.out);
            const final_value want = finished(&before, x, (gs_u64)line, (gs_u64)col_of_aux, p.out, 0, p.spread * (fabs(x) + size_x));
            if (!(p.out == F16 && fabs(want.value) > 60000.0) && !(fabs(aux - want.value) <= p.relative * fabs(want.value) + p.spread * size_x * want.size + p.absolute + (p.gate ? want : of).slack))
                atomicAdd(&p.found[1], 1ull);
        }
        right = of.value;
        if (p.dbias) {   /* compared with sums of the written D, whose elements are checked separately */
            const long long vector = p.groups ? of_b : p.dbias > 1 ? batch : 0;
            const gs_part rows = part_of(offsets, (int)p.groups, p.room, vector, p.dbias > 1 ? p.m : p.m * p.batch);
            double total = 0, magnitude = 0;
            for (long long r = rows.first; r < rows.end; r++) {
                const double value = value_at(s->d, (gs_u64)gs_placed_at(&p.placed_d, r, col), p.out);
                total += value;
                magnitude += fabs(value);
            }
            const double written = value_at(s->bias, (gs_u64)(vector * (p.groups ? p.n : p.stride_bias) + col), p.out);
            if (!(p.out == F16 && magnitude > 60000.0) && !(fabs(written - total) <= (p.relative + 0x1p-18) * (magnitude + fabs(total)) + p.absolute)) atomicAdd(&p.found[1], 1ull);
        }
        if (p.gate) size = 0;   /* already in of.slack */
        if (of.lost || (p.out == F16 && fabs(right) > 60000.0)) continue;   /* near overflow: a number or an infinity is right */
        if (!(fabs(got - right) <= p.relative * fabs(right) + p.spread * sqrt(size) * of.size + p.absolute + of.slack)) atomicAdd(&p.found[1], 1ull);
    }
}
