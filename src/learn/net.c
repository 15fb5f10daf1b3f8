/* SPDX-License-Identifier: MIT
 * A small dense network: forward, backward, Adam. */
#include "learn/net.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"

static int weights_of(const int *width, int layer) { return (width[layer] + 1) * width[layer + 1]; }

static double normal(gs_random *random)
{
    const double u = 1 - gs_random_unit(random), v = gs_random_unit(random);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

gs_status gs_net_create(gs_net *net, int layers, const int *width, uint64_t seed, gs_error *error)
{
    *net = (gs_net){.layers = layers};
    for (int i = 0; i <= layers; i++) {
        net->width[i] = width[i];
        if (width[i] < 1 || width[i] > GS_NET_WIDEST) return gs_fail(error, GS_ERROR_UNSUPPORTED, NULL, "a layer of %d, at most %d", width[i], GS_NET_WIDEST);
    }
    for (int i = 0; i < layers; i++) net->count += weights_of(width, i);
    net->weights = calloc((size_t)net->count, sizeof *net->weights);
    if (!net->weights) {
        *net = (gs_net){0};
        return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for a network");
    }
    gs_random random = {seed};
    float *w = net->weights;
    for (int i = 0; i < layers - 1; w += weights_of(width, i++)) {
        const double scale = sqrt(2.0 / width[i]);
        for (int j = 0; j < width[i] * width[i + 1]; j++) w[j] = (float)(scale * normal(&random));
    }
    return GS_OK;
}

void gs_net_free(gs_net *net)
{
    free(net->weights);
    *net = (gs_net){0};
}

bool gs_net_finite(const gs_net *net)
{
    for (int i = 0; i < net->count; i++)
        if (!isfinite(net->weights[i])) return false;
    return true;
}

int gs_net_room(const gs_net *net)
{
    int room = 0;
    for (int i = 1; i <= net->layers; i++) room += 2 * net->width[i];   /* outputs and their gradients */
    return room;
}

/* ---- forward and backward, with vectors of 4 or 8 floats: the order of additions is the same, so the results are bit-identical ---- */

#define INLINE static inline __attribute__((always_inline))

INLINE void add_times(float *restrict to, const float *restrict from, float value, int count)
{
    for (int j = 0; j < count; j++) to[j] += value * from[j];
}

INLINE float dot(const float *restrict a, const float *restrict b, int count)
{
    enum { LANES = 16 };
    float lane[LANES] = {0}, sum = 0;
    int j = 0;
    for (; j + LANES <= count; j += LANES)
        for (int l = 0; l < LANES; l++) lane[l] += a[j + l] * b[j + l];
    for (; j < count; j++) sum += a[j] * b[j];
    for (int l = 0; l < LANES; l++) sum += lane[l];
    return sum;
}

/* Collects the inputs that are not zero, which are few. */
INLINE int find_inputs(const float *x, int in, gs_net_input *inputs)
{
    int count = 0;
    for (int i = 0; i < in; i++) {
        inputs[count] = (gs_net_input){i, x[i]};
        count += x[i] != 0;
    }
    return count;
}

/* to += the sum of inputs times rows of w, which are `stride` apart. 32 sums at a time stay in registers. */
INLINE void add_rows(float *to, const float *w, int stride, const gs_net_input *x, int count, int out)
{
    typedef float lanes __attribute__((vector_size(32), aligned(4), may_alias));
    enum { LANES = 8, TOGETHER = 4 };
    int j = 0;
    for (; j + TOGETHER * LANES <= out; j += TOGETHER * LANES) {
        lanes sum[TOGETHER];
        memcpy(sum, to + j, sizeof sum);
        for (int n = 0; n < count; n++) {
            const lanes *const row = (const lanes *)(w + x[n].place * stride + j);
            for (int l = 0; l < TOGETHER; l++) sum[l] += x[n].value * row[l];
        }
        memcpy(to + j, sum, sizeof sum);
    }
    for (int n = 0; n < count; n++) add_times(to + j, w + x[n].place * stride + j, x[n].value, out - j);
}

INLINE const float *forward(const gs_net *net, const gs_net_input *inputs, int count, float *room, int begin, int end)
{
    const float *w = net->weights, *x = room;
    gs_net_input hidden[GS_NET_WIDEST];
    for (int layer = 0; layer < net->layers; layer++) {
        const bool last = layer == net->layers - 1;
        const int in = net->width[layer], stride = net->width[layer + 1], first = last ? begin : 0, out = last ? end - begin : stride;
        memcpy(room, w + in * stride + first, (size_t)out * sizeof *room);
        if (layer > 0) {
            count = find_inputs(x, in, hidden);
            inputs = hidden;
        }
        add_rows(room, w + first, stride, inputs, count, out);
        if (!last)
            for (int j = 0; j < out; j++) room[j] = room[j] > 0 ? room[j] : 0;
        w += weights_of(net->width, layer);
        x = room;
        room += 2 * stride;
    }
    return x;
}

INLINE void backward(const gs_net *net, const float *x, float *room, float *d_out, float *gradient)
{
    const float *w = net->weights + net->count;
    float *outputs[GS_NET_LAYERS];
    for (int layer = 0; layer < net->layers; room += 2 * net->width[++layer]) outputs[layer] = room;
    gradient += net->count;
    for (int layer = net->layers - 1; layer >= 0; layer--) {
        const int in = net->width[layer], out = net->width[layer + 1];
        const float *const input = layer > 0 ? outputs[layer - 1] : x;
        float *const d_in = layer > 0 ? outputs[layer - 1] + in : NULL;
        w -= weights_of(net->width, layer);
        gradient -= weights_of(net->width, layer);
        for (int j = 0; j < out; j++) gradient[in * out + j] += d_out[j];
        for (int i = 0; i < in; i++) {
            const bool there = input[i] != 0;   /* zero: the ReLU was inactive, so there is no gradient */
            if (there) add_times(gradient + i * out, d_out, input[i], out);
            if (d_in) d_in[i] = there ? dot(w + i * out, d_out, out) : 0;
        }
        d_out = d_in;
    }
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static const float *forward_avx2(const gs_net *net, const gs_net_input *inputs, int count, float *room, int begin, int end)
{
    return forward(net, inputs, count, room, begin, end);
}

__attribute__((target("avx2"))) static void backward_avx2(const gs_net *net, const float *x, float *room, float *d_out, float *gradient)
{
    backward(net, x, room, d_out, gradient);
}

#define AVX2(call) do { if (__builtin_cpu_supports("avx2")) return call; } while (0)
#else
#define AVX2(call) (void)0
#endif

const float *gs_net_forward_inputs(const gs_net *net, const gs_net_input *inputs, int count, float *room, int begin, int end)
{
    AVX2(forward_avx2(net, inputs, count, room, begin, end));
    return forward(net, inputs, count, room, begin, end);
}

const float *gs_net_forward(const gs_net *net, const float *x, float *room)
{
    gs_net_input inputs[GS_NET_WIDEST];
    return gs_net_forward_inputs(net, inputs, find_inputs(x, net->width[0], inputs), room, 0, net->width[net->layers]);
}

void gs_net_backward(const gs_net *net, const float *x, float *room, float *d_out, float *gradient)
{
    AVX2(backward_avx2(net, x, room, d_out, gradient));
    backward(net, x, room, d_out, gradient);
}

gs_status gs_adam_create(gs_adam *adam, const gs_net *net, float rate, gs_error *error)
{
    *adam = (gs_adam){.rate = rate, .count = net->count};
    adam->first = calloc((size_t)net->count, sizeof *adam->first);
    adam->second = calloc((size_t)net->count, sizeof *adam->second);
    if (adam->first && adam->second) return GS_OK;
    gs_adam_free(adam);
    return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the moments of a network");
}

void gs_adam_free(gs_adam *adam)
{
    free(adam->first);
    free(adam->second);
    *adam = (gs_adam){0};
}

bool gs_adam_step(gs_adam *adam, gs_net *net, float *gradient, float most)
{
    const float keep_first = 0.9f, keep_second = 0.999f, tiny = 1e-8f;
    double norm = 0;
    for (int i = 0; i < adam->count; i++) norm += (double)gradient[i] * gradient[i];
    if (!isfinite(norm)) {   /* squares of floats cannot overflow a double, so some element is not finite */
        memset(gradient, 0, (size_t)adam->count * sizeof *gradient);
        return false;
    }
    norm = sqrt(norm);
    const float scale = most > 0 && norm > most ? (float)(most / norm) : 1;
    adam->steps++;
    const double warm_first = 1 - pow(keep_first, (double)adam->steps), warm_second = 1 - pow(keep_second, (double)adam->steps);
    const float rate = (float)(adam->rate * sqrt(warm_second) / warm_first);
    for (int i = 0; i < adam->count; i++) {
        const float g = gradient[i] * scale;
        adam->first[i] = keep_first * adam->first[i] + (1 - keep_first) * g;
        adam->second[i] = keep_second * adam->second[i] + (1 - keep_second) * g * g;
        net->weights[i] -= rate * adam->first[i] / (sqrtf(adam->second[i]) + tiny);
    }
    memset(gradient, 0, (size_t)adam->count * sizeof *gradient);
    return gs_net_finite(net);
}

gs_status gs_net_diverged(const char *network, gs_error *error)
{
    return gs_fail(error, GS_ERROR_CORRUPT, "weights", "learning made numbers of the %s that are not finite: what was learned cannot be used", network);
}
