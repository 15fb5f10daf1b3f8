/* SPDX-License-Identifier: MIT
 * A small dense network in f32 with ReLU hidden layers and a linear last layer, trained by Adam. The same seed, rows and build give bit-identical weights.
 * Zero inputs cost nothing, so inputs may be sparse. */
#ifndef GS_LEARN_NET_H
#define GS_LEARN_NET_H

#include <stdbool.h>
#include <stdint.h>
#include <gemmsmith/status.h>

enum { GS_NET_LAYERS = 4, GS_NET_WIDEST = 1024 };   /* widest layer */

typedef struct gs_net {
    int    layers;                       /* number of weight matrices */
    int    width[GS_NET_LAYERS + 1];     /* of the input, then of each layer's output */
    int    count;                        /* number of weights: per layer [input][output], then [output] biases */
    float *weights;
} gs_net;

/* layers: 1 to GS_NET_LAYERS; width: layers + 1 values, at most GS_NET_WIDEST. Weights are random by seed, those of the last layer 0, so that an untrained
 * network returns 0. MEMORY, UNSUPPORTED. */
gs_status gs_net_create(gs_net *net, int layers, const int *width, uint64_t seed, gs_error *error);
void      gs_net_free(gs_net *net);

/* Whether every weight is a finite number. */
bool gs_net_finite(const gs_net *net);

/* Number of floats of `room` that gs_net_forward and gs_net_backward need for one row. */
int gs_net_room(const gs_net *net);

/* x: width[0] floats. Fills room; returns the last layer's outputs, which are in room. */
const float *gs_net_forward(const gs_net *net, const float *x, float *room);

/* The same for sparse inputs, given in ascending order of place. Of the last layer only the outputs from `begin` to before `end` are computed; returns the
 * first of them. gs_net_backward cannot follow. */
typedef struct gs_net_input {
    int   place;
    float value;
} gs_net_input;
const float *gs_net_forward_inputs(const gs_net *net, const gs_net_input *inputs, int count, float *room, int begin, int end);

/* After gs_net_forward of the same row: adds to gradient (count floats) the gradient for d_out (width[layers] floats, destroyed). */
void gs_net_backward(const gs_net *net, const float *x, float *room, float *d_out, float *gradient);

typedef struct gs_adam {
    float   rate;                        /* learning rate */
    int64_t steps;
    float  *first, *second;              /* moments, count floats each */
    int     count;
} gs_adam;

gs_status gs_adam_create(gs_adam *adam, const gs_net *net, float rate, gs_error *error);
void      gs_adam_free(gs_adam *adam);

/* One Adam step; clears the gradient, whose norm is first limited to `most` (0: not limited). False: the gradient was not finite, and the network is unchanged; or a
 * weight is not finite after the step. */
bool gs_adam_step(gs_adam *adam, gs_net *net, float *gradient, float most);

/* Returns CORRUPT, with the message for a failed gs_adam_step. network: its name for the user, "actor". */
gs_status gs_net_diverged(const char *network, gs_error *error);

#endif
