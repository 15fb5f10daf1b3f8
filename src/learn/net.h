/* SPDX-License-Identifier: MIT
 * A small dense network in f32: rectified hidden layers, a linear last one, and Adam. The same seed, rows and build give the same weights,
 * bit by bit. Inputs may be mostly zero: those cost nothing. */
#ifndef GS_LEARN_NET_H
#define GS_LEARN_NET_H

#include <stdbool.h>
#include <stdint.h>
#include <gemmsmith/status.h>

enum { GS_NET_LAYERS = 4, GS_NET_WIDEST = 1024 };   /* most inputs of a layer */

typedef struct gs_net {
    int    layers;                       /* of weights */
    int    width[GS_NET_LAYERS + 1];     /* of the input, of each layer's output */
    int    count;                        /* of weights: per layer [input][output], then [output] of bias */
    float *weights;
} gs_net;

/* layers: 1 to GS_NET_LAYERS, width: layers + 1 of them, at most GS_NET_WIDEST. Weights are drawn from the seed; the last layer's are zero, so that an untrained
 * network says 0. MEMORY, UNSUPPORTED. */
gs_status gs_net_create(gs_net *net, int layers, const int *width, uint64_t seed, gs_error *error);
void      gs_net_free(gs_net *net);

/* Whether every weight is a finite number. */
bool gs_net_finite(const gs_net *net);

/* Floats that gs_net_forward and gs_net_backward need for one row. */
int gs_net_room(const gs_net *net);

/* x: width[0] floats. Fills room; returns the last layer's outputs, which lie in it. */
const float *gs_net_forward(const gs_net *net, const float *x, float *room);

/* The same from the inputs that are not zero, by their places in ascending order; of the last layer only the outputs from `begin` to before
 * `end`, which are returned; no gs_net_backward after it. */
typedef struct gs_net_input {
    int   place;
    float value;
} gs_net_input;
const float *gs_net_forward_inputs(const gs_net *net, const gs_net_input *inputs, int count, float *room, int begin, int end);

/* After gs_net_forward of the same row: adds to gradient (count floats) what d_out (width[layers] floats, destroyed) says. */
void gs_net_backward(const gs_net *net, const float *x, float *room, float *d_out, float *gradient);

typedef struct gs_adam {
    float   rate;                        /* of a step */
    int64_t steps;
    float  *first, *second;              /* moments, count floats each */
    int     count;
} gs_adam;

gs_status gs_adam_create(gs_adam *adam, const gs_net *net, float rate, gs_error *error);
void      gs_adam_free(gs_adam *adam);

/* One step down the gradient, whose norm is limited to `most` (0: not); clears the gradient. false: the gradient is not finite, and the network
 * stays as it is; or a weight is not finite after the step. */
bool gs_adam_step(gs_adam *adam, gs_net *net, float *gradient, float most);

/* CORRUPT, with the message for a step that returned false. network: what people call it, "actor". */
gs_status gs_net_diverged(const char *network, gs_error *error);

#endif
