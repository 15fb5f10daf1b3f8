/* SPDX-License-Identifier: MIT
 * The schedule grammar as tables: for each family its slots, for each slot its words. A word's place in its table is its token;
 * tokens are stored and learned, so words are only ever added at the end of a table. */
#include "schedule/grammar.h"

/* ---- ws: tile / stages / cluster / mode / raster ---- */

/* tile M x N x K, of a block or, in mode pp, of each of its two consumers; consumer warpgroups that share a tile: 1 for M = 64, 3 for M = 192,
 * else 2; they share its rows, and its columns where N > 256. Where M is no multiple of 64, wgmma's 64-row side meets the columns: what is said
 * of M then holds for N */
static const gs_word ws_tile[] = {
    {"64x64x64",   { 64,  64, 64}}, {"64x128x64",  { 64, 128, 64}}, {"64x192x64",  { 64, 192, 64}}, {"64x256x64",  { 64, 256, 64}},
    {"128x64x64",  {128,  64, 64}}, {"128x128x64", {128, 128, 64}}, {"128x192x64", {128, 192, 64}}, {"128x256x64", {128, 256, 64}},
    {"192x64x64",  {192,  64, 64}}, {"192x128x64", {192, 128, 64}}, {"192x192x64", {192, 192, 64}},
    {"256x64x64",  {256,  64, 64}}, {"256x128x64", {256, 128, 64}}, {"256x192x64", {256, 192, 64}}, {"256x256x64", {256, 256, 64}},
    {"128x160x64", {128, 160, 64}}, {"128x208x64", {128, 208, 64}}, {"128x224x64", {128, 224, 64}}, {"128x320x64", {128, 320, 64}},
    {"192x160x64", {192, 160, 64}}, {"256x96x64",  {256,  96, 64}}, {"256x160x64", {256, 160, 64}}, {"256x208x64", {256, 208, 64}},
    {"128x112x64", {128, 112, 64}}, {"128x144x64", {128, 144, 64}}, {"128x176x64", {128, 176, 64}},
    {"16x128x64",  { 16, 128, 64}}, {"32x128x64",  { 32, 128, 64}}, {"136x128x64", {136, 128, 64}},
    {"16x256x64",  { 16, 256, 64}}, {"32x256x64",  { 32, 256, 64}}, {"48x256x64",  { 48, 256, 64}}, {"80x256x64",  { 80, 256, 64}},
    {"96x256x64",  { 96, 256, 64}}, {"112x256x64", {112, 256, 64}}, {"136x256x64", {136, 256, 64}}, {"160x256x64", {160, 256, 64}},
    {"176x256x64", {176, 256, 64}},
    {"128x120x64", {128, 120, 64}}, {"128x136x64", {128, 136, 64}}, {"128x152x64", {128, 152, 64}}, {"128x168x64", {128, 168, 64}},
    {"128x184x64", {128, 184, 64}}, {"128x200x64", {128, 200, 64}}, {"192x176x64", {192, 176, 64}},
    {"72x128x64",  { 72, 128, 64}}, {"88x128x64",  { 88, 128, 64}}, {"104x128x64", {104, 128, 64}}, {"120x128x64", {120, 128, 64}},
    {"152x128x64", {152, 128, 64}}, {"168x128x64", {168, 128, 64}},
    {"72x192x64",  { 72, 192, 64}}, {"88x192x64",  { 88, 192, 64}}, {"136x192x64", {136, 192, 64}}, {"144x192x64", {144, 192, 64}},
    {"88x256x64",  { 88, 256, 64}},
};
static const gs_word ws_stages[] = {
    {"s2", {2}}, {"s3", {3}}, {"s4", {4}}, {"s5", {5}}, {"s6", {6}}, {"s7", {7}}, {"s8", {8}}, {"s10", {10}}, {"s12", {12}},
};
static const gs_word ws_cluster[] = {{"c1x1", {1, 1}}, {"c2x1", {2, 1}}, {"c1x2", {1, 2}}, {"c2x2", {2, 2}}};   /* blocks along M x along N */

/* consumers, 0: as the tile says; how they work; 1: what is stored is the first to leave L2 */
static const gs_word ws_mode[] = {
    {"coop",  {0, GS_WS_COOP, 0}}, {"pp",    {0, GS_WS_PP, 0}}, {"lag",   {0, GS_WS_LAG, 0}}, {"coop4", {4, GS_WS_COOP, 0}},
    {"coopf", {0, GS_WS_COOP, 1}}, {"ppf",   {0, GS_WS_PP, 1}}, {"lagf",  {0, GS_WS_LAG, 1}},
};

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

/* ---- slicek: tile / warps / depth / split / sizes / fetch ---- */

static const gs_word slicek_tile[] = {   /* of a block, M x N */
    {"16x16",  { 16, 16}}, {"16x32",  { 16, 32}}, {"16x64",  { 16, 64}}, {"16x128", { 16, 128}},
    {"32x16",  { 32, 16}}, {"32x32",  { 32, 32}}, {"32x64",  { 32, 64}}, {"32x128", { 32, 128}},
    {"64x16",  { 64, 16}}, {"64x32",  { 64, 32}}, {"64x64",  { 64, 64}}, {"64x128", { 64, 128}},
    {"128x16", {128, 16}}, {"128x32", {128, 32}}, {"128x64", {128, 64}},
};
static const gs_word slicek_warps[] = {   /* along M x along N x along K */
    {"w1x1x1", {1, 1, 1}}, {"w1x1x2", {1, 1, 2}}, {"w1x1x4", {1, 1, 4}}, {"w1x1x8", {1, 1, 8}}, {"w1x1x16", {1, 1, 16}},
    {"w2x1x1", {2, 1, 1}}, {"w2x1x2", {2, 1, 2}}, {"w2x1x4", {2, 1, 4}}, {"w2x1x8", {2, 1, 8}},
    {"w1x2x1", {1, 2, 1}}, {"w1x2x2", {1, 2, 2}}, {"w1x2x4", {1, 2, 4}}, {"w1x2x8", {1, 2, 8}},
    {"w2x2x1", {2, 2, 1}}, {"w2x2x2", {2, 2, 2}}, {"w2x2x4", {2, 2, 4}},
    {"w4x1x1", {4, 1, 1}}, {"w4x1x2", {4, 1, 2}}, {"w4x1x4", {4, 1, 4}},
    {"w1x4x1", {1, 4, 1}}, {"w1x4x2", {1, 4, 2}}, {"w1x4x4", {1, 4, 4}},
    {"w4x2x1", {4, 2, 1}}, {"w4x2x2", {4, 2, 2}}, {"w2x4x1", {2, 4, 1}}, {"w2x4x2", {2, 4, 2}}, {"w4x4x1", {4, 4, 1}},
};
static const gs_word slicek_depth[] = {{"d1", {1}}, {"d2", {2}}, {"d3", {3}}, {"d4", {4}}, {"d8", {8}}};   /* steps of 32 k in flight per warp */
static const gs_word slicek_split[] = {{"k1", {1}}, {"k2", {2}}, {"k4", {4}}, {"k8", {8}}, {"k16", {16}}};   /* blocks of a cluster along K */
static const gs_word slicek_fetch[] = {{"f128", {128}}, {"f256", {256}}};   /* bytes that a load which misses brings to L2 */

/* ---- splitk: tile / stages / order / cluster / split / sizes ---- */

static const gs_word splitk_tile[] = {   /* of D, M x N x K; the side that meets wgmma's 64 rows has 64, 128 or 256 */
    {"64x16x64", {64, 16, 64}}, {"64x32x64", {64, 32, 64}}, {"64x64x64", {64, 64, 64}}, {"64x96x64", {64, 96, 64}}, {"64x128x64", {64, 128, 64}},
    {"64x192x64", {64, 192, 64}}, {"64x256x64", {64, 256, 64}},
    {"128x32x64", {128, 32, 64}}, {"128x64x64", {128, 64, 64}}, {"128x96x64", {128, 96, 64}}, {"128x128x64", {128, 128, 64}},
    {"128x192x64", {128, 192, 64}}, {"128x256x64", {128, 256, 64}}, {"256x64x64", {256, 64, 64}}, {"256x128x64", {256, 128, 64}},
    {"8x64x64", {8, 64, 64}}, {"16x64x64", {16, 64, 64}}, {"24x64x64", {24, 64, 64}}, {"32x64x64", {32, 64, 64}}, {"48x64x64", {48, 64, 64}},
    {"96x64x64", {96, 64, 64}}, {"192x64x64", {192, 64, 64}},
    {"8x128x64", {8, 128, 64}}, {"16x128x64", {16, 128, 64}}, {"24x128x64", {24, 128, 64}}, {"32x128x64", {32, 128, 64}},
    {"48x128x64", {48, 128, 64}}, {"96x128x64", {96, 128, 64}}, {"192x128x64", {192, 128, 64}}, {"16x256x64", {16, 256, 64}},
    {"32x256x64", {32, 256, 64}},
    {"64x32x128", {64, 32, 128}}, {"64x64x128", {64, 64, 128}}, {"64x128x128", {64, 128, 128}}, {"128x64x128", {128, 64, 128}},
    {"8x64x128", {8, 64, 128}}, {"16x64x128", {16, 64, 128}}, {"32x64x128", {32, 64, 128}}, {"16x128x128", {16, 128, 128}},
    {"32x128x128", {32, 128, 128}},
    {"80x64x64", {80, 64, 64}}, {"80x128x64", {80, 128, 64}}, {"112x64x64", {112, 64, 64}}, {"112x128x64", {112, 128, 64}},
    {"136x64x64", {136, 64, 64}}, {"136x128x64", {136, 128, 64}}, {"160x128x64", {160, 128, 64}},
    {"72x64x64", {72, 64, 64}}, {"72x128x64", {72, 128, 64}}, {"88x64x64", {88, 64, 64}}, {"88x128x64", {88, 128, 64}}, {"104x128x64", {104, 128, 64}},
    {"120x128x64", {120, 128, 64}}, {"128x88x64", {128, 88, 64}}, {"128x112x64", {128, 112, 64}}, {"128x120x64", {128, 120, 64}}, {"64x112x64", {64, 112, 64}},
};
static const gs_word splitk_stages[] = {{"s2", {2}}, {"s4", {4}}, {"s6", {6}}, {"s8", {8}}, {"s12", {12}}, {"s16", {16}}, {"s3", {3}}, {"s5", {5}}};
static const gs_word splitk_order[] = {{"ab", {0}}, {"ba", {1}}};   /* whose rows meet the 64-row side of wgmma: A's, or B's columns */
static const gs_word splitk_cluster[] = {   /* blocks along M x along N that share an operand */
    {"c1x1", {1, 1}}, {"c2x1", {2, 1}}, {"c1x2", {1, 2}}, {"c4x1", {4, 1}}, {"c1x4", {1, 4}},
};
static const gs_word splitk_split[] = {   /* shares of K: all, whether some meet in the workspace (t), blocks of a cluster (k) */
    {"k1", {1, 0, 1}}, {"k2", {2, 0, 2}}, {"k3", {3, 0, 3}}, {"k4", {4, 0, 4}}, {"k8", {8, 0, 8}}, {"k16", {16, 0, 16}},
    {"t2", {2, 1, 1}}, {"t4", {4, 1, 1}}, {"k4t4", {16, 1, 4}}, {"k8t4", {32, 1, 8}}, {"k8t8", {64, 1, 8}}, {"k8t16", {128, 1, 8}},
};

/* ---- gemv: tile / warps / depth / ring / ahead / split / sizes ---- */

/* the most rows of A that are multiplied (or columns of B, roles exchanged) x columns of D of a block; nn: 64 columns per warp */
static const gs_word gemv_tile[] = {
    {"8x8",  { 8, 8}},  {"8x16",  { 8, 16}}, {"8x32",  { 8, 32}}, {"8x64",  { 8, 64}}, {"8x128",  { 8, 128}}, {"8x256",  { 8, 256}},
    {"16x8", {16, 8}},  {"16x16", {16, 16}}, {"16x32", {16, 32}}, {"16x64", {16, 64}}, {"16x128", {16, 128}}, {"16x256", {16, 256}},
};
static const gs_word gemv_warps[] = {{"w1", {1}}, {"w2", {2}}, {"w4", {4}}, {"w8", {8}}, {"w16", {16}}};
static const gs_word gemv_depth[] = {   /* steps of 64 k (tn) or 32 k (nn) in flight per warp */
    {"d1", {1}}, {"d2", {2}}, {"d3", {3}}, {"d4", {4}}, {"d6", {6}}, {"d8", {8}}, {"d12", {12}}, {"d16", {16}},
};
static const gs_word gemv_ring[] = {   /* where steps wait: registers or shared memory (second value 0 or 1); bytes that L2 fetches at once */
    {"r128", {128, 0}}, {"r256", {256, 0}}, {"s128", {128, 1}}, {"s256", {256, 1}},
};
static const gs_word gemv_ahead[] = {{"p0", {0}}, {"p1", {1}}, {"p4", {4}}};   /* rings' worth that a block first asks L2 for */
static const gs_word gemv_split[] = {{"k1", {1}}, {"k2", {2}}, {"k4", {4}}, {"k8", {8}}};   /* blocks of a cluster along K */

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

static const gs_slot slicek_slots[] = {
    {"tile",    WORDS(slicek_tile)},
    {"warps",   WORDS(slicek_warps)},
    {"depth",   WORDS(slicek_depth)},
    {"split",   WORDS(slicek_split)},
    {"sizes",   WORDS(sizes_words)},
    {"fetch",   WORDS(slicek_fetch)},
};
static const gs_slot splitk_slots[] = {
    {"tile",    WORDS(splitk_tile)},
    {"stages",  WORDS(splitk_stages)},
    {"order",   WORDS(splitk_order)},
    {"cluster", WORDS(splitk_cluster)},
    {"split",   WORDS(splitk_split)},
    {"sizes",   WORDS(sizes_words)},
};
static const gs_slot gemv_slots[] = {
    {"tile",    WORDS(gemv_tile)},
    {"warps",   WORDS(gemv_warps)},
    {"depth",   WORDS(gemv_depth)},
    {"ring",    WORDS(gemv_ring)},
    {"ahead",   WORDS(gemv_ahead)},
    {"split",   WORDS(gemv_split)},
    {"sizes",   WORDS(sizes_words)},
};

#define SLOTS(table) table, sizeof table / sizeof table[0]

/* legend: slots in order, how many */
const gs_grammar gs_grammars[GS_FAMILIES] = {
    [GS_FAMILY_SIMPLE] = {NULL, 0},
    [GS_FAMILY_MMA]    = {SLOTS(mma_slots)},
    [GS_FAMILY_WS]     = {SLOTS(ws_slots)},
    [GS_FAMILY_SLICEK] = {SLOTS(slicek_slots)},
    [GS_FAMILY_SPLITK]   = {SLOTS(splitk_slots)},
    [GS_FAMILY_GEMV]    = {SLOTS(gemv_slots)},
};
