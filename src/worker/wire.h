/* SPDX-License-Identifier: MIT
 * Reading fields of requests and replies. */
#ifndef GS_WORKER_WIRE_H
#define GS_WORKER_WIRE_H

#include <stdbool.h>
#include <stdint.h>
#include <jansson.h>
#include <gemmsmith/status.h>

#include "base/json.h"
#include "schedule/caps.h"

/* The numeric fields of gs_caps, written and read under their own names; memory_bytes and emulated are handled separately. */
#define GS_CAPS_INTS(X) X(cc) X(sms) X(smem_block) X(smem_sm) X(registers_sm) X(threads_sm) X(l2_bytes) X(driver)
#define GS_CAPS_REALS(X) X(clock_mhz) X(tensor_flops) X(memory_gbs) X(l2_gbs) X(launch_us)

gs_status gs_status_find(const char *name);   /* by "GS_ERROR_..."; DEVICE if unknown */

/* The field of an object, or `otherwise` where it is missing or of another type. */
double      gs_reply_number(const json_t *object, const char *name, double otherwise);
int64_t     gs_reply_int(const json_t *object, const char *name, int64_t otherwise);
bool        gs_reply_bool(const json_t *object, const char *name, bool otherwise);
const char *gs_reply_string(const json_t *object, const char *name, const char *otherwise);

/* What a device can do, as the field "caps" of a reply or of a request. */
void gs_caps_put(gs_json *json, const gs_caps *caps);
void gs_caps_take(const json_t *object, gs_caps *caps);   /* the object that the field is in; what is missing is 0 */

#endif
