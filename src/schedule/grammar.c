/* SPDX-License-Identifier: MIT
 * The schedule grammar as tables: for each family its slots, for each slot its words. A word's place in its table is its token;
 * tokens are stored and learned, so words are only ever added at the end of a table. */
#include "schedule/grammar.h"

/* ---- ws: tile / stages / cluster / mode / raster ---- */

/* block tile M x N x K; consumer warpgroups: 1 for M = 64, 3 for M = 192, else 2 */
static const gs_word ws_tile[] = {
    {"64x64x64",   { 64,  64, 64}}, {"64x128x64",  { 64, 128, 64}}, {"64x192x64",  { 64, 192, 64}}, {"64x256x64",  { 64, 256, 64}},
    {"128x64x64",  {128,  64, 64}}, {"128x128x64", {128, 128, 64}}, {"128x192x64", {128, 192, 64}}, {"128x256x64", {128, 256, 64}},
    {"192x64x64",  {192,  64, 64}}, {"192x128x64", {192, 128, 64}}, {"192x192x64", {192, 192, 64}},
    {"256x64x64",  {256,  64, 64}}, {"256x128x64", {256, 128, 64}}, {"256x192x64", {256, 192, 64}}, {"256x256x64", {256, 256, 64}},
};
static const gs_word ws_stages[] = {
    {"s2", {2}}, {"s3", {3}}, {"s4", {4}}, {"s5", {5}}, {"s6", {6}}, {"s7", {7}}, {"s8", {8}}, {"s10", {10}}, {"s12", {12}},
};
static const gs_word ws_cluster[] = {{"c1x1", {1, 1}}, {"c2x1", {2, 1}}, {"c1x2", {1, 2}}};   /* blocks along M x along N */
static const gs_word ws_mode[] = {{"coop", {0}}};                                           /* consumers share a tile */

/* tiles are walked in groups of that many tile rows (g) or tile columns (h): second value 0 or 1 */
static const gs_word ws_raster[] = {
    {"g1", {1, 0}}, {"g2", {2, 0}}, {"g4", {4, 0}}, {"g8", {8, 0}}, {"g16", {16, 0}},
    {"h1", {1, 1}}, {"h2", {2, 1}}, {"h4", {4, 1}}, {"h8", {8, 1}}, {"h16", {16, 1}},
};

/* ---- mma: tile / warps / stages / raster ---- */

static const gs_word mma_tile[] = {
    {"16x16x64",   { 16,  16, 64}}, {"16x32x64",   { 16,  32, 64}}, {"16x64x64",   { 16,  64, 64}}, {"16x128x64",  { 16, 128, 64}},
    {"32x32x64",   { 32,  32, 64}}, {"32x64x64",   { 32,  64, 64}}, {"32x128x64",  { 32, 128, 64}},
    {"64x32x64",   { 64,  32, 64}}, {"64x64x32",   { 64,  64, 32}}, {"64x64x64",   { 64,  64, 64}}, {"64x128x32",  { 64, 128, 32}},
    {"64x128x64",  { 64, 128, 64}}, {"128x32x64",  {128,  32, 64}}, {"128x64x32",  {128,  64, 32}}, {"128x64x64",  {128,  64, 64}},
    {"128x128x32", {128, 128, 32}}, {"128x128x64", {128, 128, 64}}, {"128x256x32", {128, 256, 32}}, {"256x128x32", {256, 128, 32}},
};
static const gs_word mma_warps[] = {   /* warps along M x along N */
    {"w1x1", {1, 1}}, {"w1x2", {1, 2}}, {"w2x1", {2, 1}}, {"w2x2", {2, 2}}, {"w1x4", {1, 4}}, {"w4x1", {4, 1}}, {"w2x4", {2, 4}},
    {"w4x2", {4, 2}},
};
static const gs_word mma_stages[] = {{"s2", {2}}, {"s3", {3}}, {"s4", {4}}, {"s5", {5}}, {"s6", {6}}};

/* ---- what the families for small problems and streamed weights share ---- */

static const gs_word sizes_words[] = {{"any", {0}}, {"fixed", {1}}};   /* extents as arguments, or compiled in */

/* ---- sliced: tile / warps / depth / split / sizes / fetch ---- */

static const gs_word sliced_tile[] = {   /* of a block, M x N */
    {"16x16",  { 16, 16}}, {"16x32",  { 16, 32}}, {"16x64",  { 16, 64}}, {"16x128", { 16, 128}},
    {"32x16",  { 32, 16}}, {"32x32",  { 32, 32}}, {"32x64",  { 32, 64}}, {"32x128", { 32, 128}},
    {"64x16",  { 64, 16}}, {"64x32",  { 64, 32}}, {"64x64",  { 64, 64}}, {"64x128", { 64, 128}},
    {"128x16", {128, 16}}, {"128x32", {128, 32}}, {"128x64", {128, 64}},
};
static const gs_word sliced_warps[] = {   /* along M x along N x along K */
    {"w1x1x1", {1, 1, 1}}, {"w1x1x2", {1, 1, 2}}, {"w1x1x4", {1, 1, 4}}, {"w1x1x8", {1, 1, 8}}, {"w1x1x16", {1, 1, 16}},
    {"w2x1x1", {2, 1, 1}}, {"w2x1x2", {2, 1, 2}}, {"w2x1x4", {2, 1, 4}}, {"w2x1x8", {2, 1, 8}},
    {"w1x2x1", {1, 2, 1}}, {"w1x2x2", {1, 2, 2}}, {"w1x2x4", {1, 2, 4}}, {"w1x2x8", {1, 2, 8}},
    {"w2x2x1", {2, 2, 1}}, {"w2x2x2", {2, 2, 2}}, {"w2x2x4", {2, 2, 4}},
    {"w4x1x1", {4, 1, 1}}, {"w4x1x2", {4, 1, 2}}, {"w4x1x4", {4, 1, 4}},
    {"w1x4x1", {1, 4, 1}}, {"w1x4x2", {1, 4, 2}}, {"w1x4x4", {1, 4, 4}},
    {"w4x2x1", {4, 2, 1}}, {"w4x2x2", {4, 2, 2}}, {"w2x4x1", {2, 4, 1}}, {"w2x4x2", {2, 4, 2}}, {"w4x4x1", {4, 4, 1}},
};
static const gs_word sliced_depth[] = {{"d1", {1}}, {"d2", {2}}, {"d3", {3}}, {"d4", {4}}, {"d8", {8}}};   /* steps of 32 k in flight per warp */
static const gs_word sliced_split[] = {{"k1", {1}}, {"k2", {2}}, {"k4", {4}}, {"k8", {8}}, {"k16", {16}}};   /* blocks of a cluster along K */
static const gs_word sliced_fetch[] = {{"f128", {128}}, {"f256", {256}}};   /* bytes that a load which misses brings to L2 */

/* ---- wave: tile / stages / order / cluster / split / sizes ---- */

static const gs_word wave_tile[] = {   /* of D, M x N x K */
    {"64x64x64", {64, 64, 64}}, {"128x128x64", {128, 128, 64}},
};
static const gs_word wave_stages[] = {{"s2", {2}}, {"s4", {4}}, {"s8", {8}}};
static const gs_word wave_order[] = {{"ab", {0}}, {"ba", {1}}};   /* whose rows meet the 64-row side of wgmma: A's, or B's columns */
static const gs_word wave_cluster[] = {{"c1x1", {1, 1}}, {"c2x1", {2, 1}}, {"c1x2", {1, 2}}};
static const gs_word wave_split[] = {   /* parts of K: blocks of a cluster (k), or blocks that meet in the workspace (t) */
    {"k1", {1, 0}}, {"k2", {2, 0}}, {"k4", {4, 0}}, {"k8", {8, 0}}, {"t2", {2, 1}}, {"t4", {4, 1}}, {"t8", {8, 1}},
};

/* ---- dot: tile / warps / depth / split ---- */

static const gs_word dot_tile[] = {{"1x8", {1, 8}}};
static const gs_word dot_warps[] = {{"w4", {4}}};
static const gs_word dot_depth[] = {{"d4", {4}}};
static const gs_word dot_split[] = {{"k1", {1}}};

#define WORDS(table) table, sizeof table / sizeof table[0]

static const gs_slot ws_slots[] = {
    {"tile",    WORDS(ws_tile)},
    {"stages",  WORDS(ws_stages)},
    {"cluster", WORDS(ws_cluster)},
    {"mode",    WORDS(ws_mode)},
    {"raster",  WORDS(ws_raster)},
};
static const gs_slot mma_slots[] = {
    {"tile",    WORDS(mma_tile)},
    {"warps",   WORDS(mma_warps)},
    {"stages",  WORDS(mma_stages)},
    {"raster",  WORDS(ws_raster)},
};

static const gs_slot sliced_slots[] = {
    {"tile",    WORDS(sliced_tile)},
    {"warps",   WORDS(sliced_warps)},
    {"depth",   WORDS(sliced_depth)},
    {"split",   WORDS(sliced_split)},
    {"sizes",   WORDS(sizes_words)},
    {"fetch",   WORDS(sliced_fetch)},
};
static const gs_slot wave_slots[] = {
    {"tile",    WORDS(wave_tile)},
    {"stages",  WORDS(wave_stages)},
    {"order",   WORDS(wave_order)},
    {"cluster", WORDS(wave_cluster)},
    {"split",   WORDS(wave_split)},
    {"sizes",   WORDS(sizes_words)},
};
static const gs_slot dot_slots[] = {
    {"tile",    WORDS(dot_tile)},
    {"warps",   WORDS(dot_warps)},
    {"depth",   WORDS(dot_depth)},
    {"split",   WORDS(dot_split)},
};

#define SLOTS(table) table, sizeof table / sizeof table[0]

/* legend: slots in order, how many */
const gs_grammar gs_grammars[GS_FAMILIES] = {
    [GS_FAMILY_SIMPLE] = {NULL, 0},
    [GS_FAMILY_MMA]    = {SLOTS(mma_slots)},
    [GS_FAMILY_WS]     = {SLOTS(ws_slots)},
    [GS_FAMILY_SLICED] = {SLOTS(sliced_slots)},
    [GS_FAMILY_WAVE]   = {SLOTS(wave_slots)},
    [GS_FAMILY_DOT]    = {SLOTS(dot_slots)},
};
