/* SPDX-License-Identifier: MIT
 * The features of problems and schedules, and the numbering of tokens. */
#include "learn/features.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "problem/layout.h"
#include "schedule/model.h"
#include "schedule/work.h"

/* ---- tokens ---- */

/* By family: its token, then the token of each parameter's first value. */
static int16_t first_token[GS_FAMILIES + 1][GS_MAX_PARAMETERS + 1];
static pthread_once_t tokens_once = PTHREAD_ONCE_INIT;

static void number_tokens(void)
{
    int16_t token = 0;
    for (int f = 0; f < GS_FAMILIES; f++) {
        first_token[f][0] = token++;
        for (int s = 0; s < gs_family_parameters((gs_family_id)f); s++) {
            first_token[f][s + 1] = token;
            token = (int16_t)(token + gs_family_parameter((gs_family_id)f, s)->count);
        }
    }
    first_token[GS_FAMILIES][0] = token;
}

int gs_token_of(gs_family_id family, int parameter, int value)
{
    pthread_once(&tokens_once, number_tokens);
    return first_token[family][parameter + 1] + (parameter < 0 ? 0 : value);
}

int gs_token_count(void) { return gs_token_of(GS_FAMILIES, -1, 0) + 1; }

char *gs_token_name(int token, char text[96])
{
    snprintf(text, 96, "%s", token == gs_token_of(GS_FAMILIES, -1, 0) ? "cublaslt" : "");
    for (int f = 0; f < GS_FAMILIES; f++) {
        const gs_family_id family = (gs_family_id)f;
        if (token == gs_token_of(family, -1, 0)) snprintf(text, 96, "%s", gs_family_name(family));
        for (int s = 0; s < gs_family_parameters(family); s++) {
            const gs_parameter *const parameter = gs_family_parameter(family, s);
            const int value = token - gs_token_of(family, s, 0);
            if (value >= 0 && value < parameter->count) snprintf(text, 96, "%s/%s/%s", gs_family_name(family), parameter->name, parameter->values[value].text);
        }
    }
    return text;
}

/* ---- problems ---- */

static float octaves(double value) { return value > 0 ? (float)(log2(value) / 8 - 1) : -1; }   /* -1 to 1 for 1 to 65536 */

/* Share of the rows that is used if they are rounded up to `unit`: the rest is lost to tiling. */
static float used(int64_t extent, int64_t unit) { return (float)extent / (float)((extent + unit - 1) / unit * unit); }

/* 0 if rows begin at multiples of 16 bytes, up to 1 if only at multiples of an element's 2 bytes: limits the width of loads and stores. */
static float misaligned(int64_t stride) { return stride % 8 == 0 ? 0 : stride % 4 == 0 ? 1.0f / 3 : stride % 2 == 0 ? 2.0f / 3 : 1; }

/* Whether rows do not all begin at multiples of `unit` bytes: L2 sectors, cache lines, pairs of lines. */
static float past(int64_t row_bytes, int unit) { return row_bytes % unit != 0; }

/* Average occupancy of the waves of tiles with 128 rows and the given columns: the tail effect that most cuBLASLt kernels have. */
static float last_wave(const gs_problem *p, int columns, const gs_caps *caps)
{
    const double waves = ceil((double)p->m / 128) * ceil((double)p->n / columns) / caps->sms;
    return waves > 0 ? (float)(waves / ceil(waves)) : 0;
}

/* New features go to the end, so that older weights can still be read. */
void gs_problem_features(const gs_problem *problem, const gs_caps *caps, float x[GS_PROBLEM_FEATURES])
{
    const gs_problem sums = problem->gate ? gs_problem_sums(problem) : *problem, *const p = &sums;   /* there is no feature for a gate: described by its plain product */
    const double m = (double)p->m, n = (double)p->n, k = (double)p->k, floor_us = gs_floor_us(p, caps);
    const int64_t a = p->lda * 2, b = p->ldb * 2, d = p->ldd * (int64_t)gs_type_size(p->out);
    const float all[] = {
        octaves(m), octaves(n), octaves(k), octaves(fmin(m, n)), octaves(fmax(m, n)), octaves(sqrt(m * n)), octaves(m * n / caps->sms / 64), octaves(n / m * 256),
        octaves(floor_us * 16), octaves(gs_problem_flops(p) / gs_compulsory_bytes(p) * 4), octaves(gs_compulsory_bytes(p) / caps->l2_bytes * 256),
        !gs_is_b_transposed(p->layout), p->in == GS_BF16, p->acc == GS_F16, p->out == GS_F32, p->beta != 0, misaligned(p->ldd), fmaxf(misaligned(p->lda), misaligned(p->ldb)),
        used(p->m, 64), used(p->n, 64), used(p->m, 128), used(p->n, 128), (float)caps->sms / 132, octaves(caps->memory_gbs / 16),
        misaligned(p->lda), misaligned(p->ldb), past(a, 32), past(b, 32), past(d, 32), past(a, 64), past(b, 64), past(a, 128), past(b, 128),
        used(p->m, 16), used(p->m, 256), used(p->n, 256), used(p->k, 64), used(p->k, 256),
        last_wave(p, 128, caps), last_wave(p, 256, caps),
    };
    _Static_assert(GS_COUNT(all) == GS_PROBLEM_FEATURES, "as many as there are");
    memcpy(x, all, sizeof all);
}

/* ---- schedules ---- */

/* -1 for 1/16 of it, 1 for 16 times as much. */
static float times(double value, double of) { return value > 0 && of > 0 ? (float)fmax(-1, fmin(1, log2(value / of) / 4)) : 0; }

static float share(double part, double all) { return all > 0 && part > 0 ? (float)fmin(part / all, 4) : 0; }

double gs_work_features(const gs_schedule *schedule, const gs_problem *p, const gs_profile *profile, float x[GS_WORK_FEATURES])
{
    const gs_work w = gs_schedule_work(schedule, p, profile);
    const gs_resources r = gs_schedule_resources(schedule, p, &profile->caps);
    const gs_caps *const caps = &profile->caps;
    const double us = gs_work_us(&w, profile), cycles = us * caps->clock_mhz, places = (double)caps->sms * fmax(1, w.resident);
    const double turns = w.blocks / places, rounds = fmax(1, ceil(turns)), steps = w.steps * rounds * fmax(1, w.resident);
    const double floor_us = gs_floor_us(p, caps);
    const float all[] = {
        (float)(log(us / floor_us) / 2), octaves(us * 16), octaves(w.blocks), octaves(turns * 256), (float)(rounds / fmax(turns, 1e-3) > 4 ? 4 : rounds / fmax(turns, 1e-3)) / 4,
        octaves(w.steps), (float)w.cluster / 8, (float)w.resident / 8, w.persistent,
        share(w.matrix * steps, cycles), share(w.port * steps, cycles), share(w.issue * steps / 4, cycles), share(w.chain * w.steps * rounds, cycles),
        share(w.feed * steps / 64, cycles), share(w.feed * w.fresh * steps / 32, cycles), (float)w.fresh, share(w.memory_bytes / (caps->memory_gbs * 1e3), us),
        share(w.latency, cycles), share(w.start, cycles), share((w.finish + w.finish_port) * rounds, cycles), share(w.store * rounds / 64, cycles),
        octaves(w.ahead * 16), octaves(w.ahead * w.feed / 64), octaves(w.outside + 1), (float)r.smem / (float)caps->smem_block, (float)r.threads / 512, (float)r.registers / 256,
        share(w.memory_bytes, gs_compulsory_bytes(p)) / 2,
        times(w.blocks * w.steps * w.matrix * caps->tensor_flops, gs_problem_flops(p)), times(w.blocks * w.steps * w.feed / 8, gs_compulsory_bytes(p)),
    };
    _Static_assert(GS_COUNT(all) == GS_WORK_FEATURES, "as many as there are");
    memcpy(x, all, sizeof all);
    return us;
}
