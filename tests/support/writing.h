/* SPDX-License-Identifier: MIT
 * Answers of a model that writes kernels, as replies of tests/support/endpoint.h. Included after cmocka. */
#ifndef TESTS_WRITING_H
#define TESTS_WRITING_H

#include <jansson.h>

#include "llm_endpoint.h"
#include "base/text.h"

/* A right kernel that uses the helpers of tests/hacks/plain.cuh: eight threads for each element, so that each waits for an eighth of the loads. */
#define PLANTED                                                                                                                       \
    "KERNEL gs_kernel(const gs_kernel_args p)\n{\n"                                                                                    \
    "    const long long batch = blockIdx.z, row = (long long)blockIdx.y * 8 + threadIdx.y, col = (long long)blockIdx.x * 4 + threadIdx.x / 8;\n" \
    "    const bool inside = row < p.m && col < p.n;\n"                                                                                \
    "    const half_bits *const a = a_row(p, batch, inside ? row : 0), *const b = b_col(p, batch, inside ? col : 0);\n"               \
    "    float sum = 0;\n"                                                                                                            \
    "    for (int k = threadIdx.x % 8; k < p.k; k += 8) sum += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]);\n"                          \
    "    for (int lanes = 4; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(0xffffffff, sum, lanes);\n"                                \
    "    if (inside && threadIdx.x % 8 == 0) put(p, batch, row, col, sum);\n}\n"
#define PLANTED_ENTRY "entry gs_kernel\ngrid cdiv(n,4) cdiv(m,8) batch\nblock 32 8 1\n"

#define REFUSES      ((said){200, "application/json", .body = "{\"choices\":[{\"message\":{\"content\":null,\"refusal\":\"I will not\"},\"finish_reason\":\"stop\"}]}"})
#define SAYS_TEXT(t) ((said){200, "application/json", .body = "{\"choices\":[{\"message\":{\"content\":\"" t "\"},\"finish_reason\":\"stop\"}]}"})
#define CUT_SHORT    ((said){200, "application/json", .body = "{\"choices\":[{\"message\":{\"content\":\"# Analysis\\nwell\"},\"finish_reason\":\"length\"}]}"})
#define BUSY         ((said){429, "application/json", .body = "{}"})

/* The text of an answer. The caller frees it. */
static inline char *kernel_answer(const char *source, const char *manifest)
{
    gs_text text = {0};
    gs_text_addf(&text, "# Analysis\nIt waits for memory.\n# Plan\nIt shall not.\n# Code\n```cuda kernel.cu\n%s```\n```text manifest\n%s```\n", source, manifest);
    return gs_text_take(&text);
}

/* The bodies are kept until forget_said. */
static char *said_bodies[256];
static int   said_count;

static inline const char *keep_body(char *body)
{
    assert_true(said_count < 256);
    return said_bodies[said_count++] = body;
}

static inline void forget_said(void)
{
    while (said_count > 0) free(said_bodies[--said_count]);
}

static inline said says_answer(const char *text)
{
    json_t *const reply = json_pack("{s:[{s:{s:s},s:s}],s:{s:i,s:i}}", "choices", "message", "content", text, "finish_reason", "stop", "usage", "prompt_tokens", 1000,
                                    "completion_tokens", 100);
    assert_non_null(reply);
    const said s = {200, "application/json", .body = keep_body(json_dumps(reply, 0))};
    json_decref(reply);
    return s;
}

/* The same as a stream of events, in deltas of `most` bytes with reasoning before and between them; each line is sent in a few chunks. thought must contain no quotes. */
static inline said streams_answer(const char *text, const char *thought, size_t most)
{
    gs_text body = {0};
    gs_text_add(&body, ": waiting\n\ndata: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n");
    for (size_t at = 0, some; text[at]; at += some) {
        some = strnlen(text + at, most);
        json_t *const delta = json_pack("{s:[{s:i,s:{s:s%}}]}", "choices", "index", 0, "delta", "content", text + at, some);
        assert_non_null(delta);
        char *const line = json_dumps(delta, 0);
        gs_text_addf(&body, "data: {\"choices\":[{\"delta\":{\"%s\":\"%s\"}}]}\n\ndata: %s\n\n", at % 2 ? "reasoning" : "reasoning_content", thought, line);
        free(line);
        json_decref(delta);
    }
    gs_text_add(&body, "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
                       "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1000,\"completion_tokens\":100}}\n\ndata: [DONE]\n\n");
    return (said){200, "text/event-stream", .body = keep_body(gs_text_take(&body)), .piece = 300, .chunked = true};
}

static inline said says_kernel(const char *source, const char *manifest)
{
    char *const text = kernel_answer(source, manifest);
    const said s = says_answer(text);
    free(text);
    return s;
}

#endif
