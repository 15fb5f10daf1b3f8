/* SPDX-License-Identifier: MIT
 * A device profile: the capabilities of a device (caps) and its constants of the time model (rates), as one text file of profiles/.
 *
 *     name NVIDIA H200
 *     sms 132                 # multiprocessors [published]
 *     hbm_latency 780.5       # cycles: from a request to its data, device memory, loaded machine [measured]
 *
 * A line is a name and its value; # starts a comment. Every name must occur exactly once: an unknown, missing or repeated
 * name and a value out of its range are errors with the line. The profiles are embedded in the library. */
#ifndef GS_SCHEDULE_PROFILE_H
#define GS_SCHEDULE_PROFILE_H

#include <gemmsmith/status.h>

#include "base/text.h"
#include "schedule/caps.h"
#include "schedule/rates.h"

typedef struct gs_profile {
    gs_caps  caps;
    gs_rates rates;
} gs_profile;

/* An embedded profile by name ("h200", "a100": the file name without its ending). NULL if there is none. Any thread; never freed. */
const gs_profile *gs_profile_find(const char *name);
const char       *gs_profile_name(int index);   /* name of the embedded profile number 0, 1, ...; NULL after the last */

/* A profile for given caps (of a live device). The rates are those of the embedded profile with the highest compute capability not above the device's, else of
 * the lowest one. */
gs_profile gs_profile_of(const gs_caps *caps);

/* The rates alone, by the same rule. */
const gs_rates *gs_rates_of(const gs_caps *caps);

/* Text to profile and back; formatting a parsed profile and parsing it again gives the same values. PARSE errors have "line N: ..." as text and the name as
 * field; *profile is unchanged after an error. */
gs_status gs_profile_parse(gs_profile *profile, const char *text, gs_error *error);
void      gs_profile_format(const gs_profile *profile, gs_text *text);

#endif
