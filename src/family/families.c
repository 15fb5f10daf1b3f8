/* SPDX-License-Identifier: MIT
 * All families, in the order of schedule/families.def. */
#include "schedule/family.h"

#define GS_FAMILY(ID, name) extern const gs_family gs_family_##name;
#include "schedule/families.def"
#undef GS_FAMILY

const gs_family *const gs_families[GS_FAMILIES] = {
#define GS_FAMILY(ID, name) [GS_FAMILY_##ID] = &gs_family_##name,
#include "schedule/families.def"
#undef GS_FAMILY
};
