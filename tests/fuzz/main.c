/* SPDX-License-Identifier: MIT
 * Fuzzing without a fuzzer: valid seeds, mutated by a fixed random sequence, through the harness of parsers.c.
 *
 *     fuzz_parsers [iterations [seed]]
 *     fuzz_parsers --seeds FOLDER
 *
 * The same arguments try the same texts. On a crash the last text is the one at fault: run again with FUZZ_PRINT=1 to see it. The second form
 * writes the seeds into files, the corpus that libFuzzer begins with. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "programs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST 4096   /* bytes of a mutated text */

#define HEAD "manifest 1\naccumulator f32\ndeterminism bitwise\nalign a=16 b=16 c=2 d=16\n"
#define ROW  "196.20 199.10 1.0150 1.0120 1.0170 1755 nvidia-h200 90 132 130100 2026-11-20T12:00:00Z tune-0.1.0\n"

#define PTX  "6.version 9.0\n.target sm_90a\n.address_size 64\n"
#define BODY ".visible .entry k(.param .u64 a)\n{\n.reg .pred %p<4>; .reg .b16 %rs<8>; .reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .f32 %f<8>;\n"

/* The first byte chooses the parser, as in parsers.c: 0 problem, 1 schedule, 2 manifest, 3 formula, 4 tuned table, 5 weights,
 * 6 PTX of user kernels, 7 user source, 8 lines of values, 9 server-sent events, : an endpoint's reply, ; a model's answer, < a ledger,
 * = requests to gemmsmith serve, > a candidate's text and what is said of it, ? the profiler's page, @ names of problems, A a completion, B calls of trainers,
 * C edits of a kernel, D logs of trainers, E questions for a prompt,
 * F recorded files, G lists of TunableOp, H changes to a pack, I rows of times, J times of suggestions. */
static const char *const seeds[] = {
    "Ca\nb\nc\n%%\n<<<<<<< SEARCH\nb\n=======\nx\ny\n>>>>>>> REPLACE\n\n<<<<<<< SEARCH\nc\n=======\n>>>>>>> REPLACE\n",
    "Cint f() // x\n{\n  return 1; /* y\n */\n}\n%%\n<<<<< SEARCH\nint f()\n{\n=====\nint g()\n{\n>>>>> REPLACE\n",
    "Csame\nsame\n%%\n```cuda\n<<<<<<< SEARCH\nsame\n=======\nx\n>>>>>>> REPLACE\n```\n",
    "Ca\na\nb\n%%\na\nb\na\n",
    "0f16:4096x4096x4096:tn",
    "0bf16:257x4096x4096:nn:d=f32:lda=4104:beta=1",
    "0f16:1x2x3:tn:acc=f16:d=f32:lda=7:ldb=9:ldc=4:ldd=5:b=8:alpha=2.5e-3:beta=0.5",
    "0f16:0x0x0:nn:ep=silu",
    "0bf16:3x7x5:tn:ldaux=9:b=2:saux=30:beta=1:ep=bias_m+gelu_erf+residual+aux",
    "0f16:3x7x5:nt:ldaux=9:g=3:ep=dgelu_erf",
    "0bf16:64x128x256:tn:gm=8:ep=bias+silu+gate",
    "0bf16:64x128x256:nt:d=f32:gk=8:beta=1",
    "064_4096_64",
    "0f16:2147483647x2147483647x2147483647:nn:ldd=68719476736:b=2147483647:alpha=-3.40282347e+38:beta=1.17549435e-38",
    "1ws/128x256x64/s4/c2x1/coop/g8",
    "1mma/64x64x64/w2x2/s3/h4",
    "1simple",
    "2" HEAD "workspace m*n*4\nentry gs_ws\ngrid min(sms,cdiv(m,128)*cdiv(n,256)) 1 1\nblock 384 1 1\ncluster 2 1 1\n"
        "smem 214016\ndependent\n"
        "map a 64x128 sw128\nmap b 64x256 sw128\nmap d 64x64 sw0\nentry gs_reduce\ngrid cdiv(m*n,256) 1 1\nblock 256 1 1\n",
    "2" HEAD "workspace 4*cdiv(m,64)+m*n*4\nzeroed 4*cdiv(m,64)\nentry gs_splitk\ngrid sms 1 1\nblock 384 1 1\nsmem 1024\ndependent\n",
    "2# comment\n" HEAD "entry k\ngrid 1 1 1\nblock 1 1 1\n",
    "3min(sms,cdiv(m,128)*cdiv(n,256))",
    "3((m+n)*k-lda/ldb)*batch+max(ldc,ldd)",
    "39223372036854775807-1*(0-9223372036854775807)/3",
    "4gemmsmith-tuned 1\n# comment\nf16:4096x4096x4096:tn ws/128x256x64/s4/c2x1/coop/g8 " ROW "f16:64x64x64:nn library " ROW,
    PTX BODY "ld.param.u64 %rd0, [a]; mov.u32 %r0, %tid.x; setp.lt.u32 %p0, %r0, 8; @%p0 st.global.u32 [%rd0+4], %r0; @!%p0 bra out;\nout: ret;\n}\n",
    PTX ".global .align 4 .b8 t[8] = {1,2,3};\n.extern .shared .b8 s[];\n" BODY "mov.u64 %rd0, t; add.s64 %rd1, %rd0, %rd2; ld.global.u32 %r0, [%rd1]; xor.b64 %rd3, %rd1, 1;\nret;\n}\n",
    PTX ".const .u32 c = 5;\n" BODY "mov.u64 %rd0, c; cvta.const.u64 %rd1, %rd0; st.u32 [%rd1], 1; mov.u64 %rd1, %clock64; ret;\n}\n",
    PTX BODY "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r4, %r5, %r6, %r7}, {%r8, %r9}, {%f0, %f1, %f2, %f3};\n"
        "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%r0, %r1}, %rd0, %rd1, 1, 1, 1, 0, 0; cvt.rn.f16.f32 %rs0, %f0; fma.rn.f16 %rs0, %rs0, %rs1, %rs2;\n"
        "griddepcontrol.wait; call f; ret;\n}\n",
    "7R\"(#/*)\"\n#include \"/etc/passwd\"\n//*/\n",
    "7#include \"common/args.h\"\n/* x */ #include <common/mma.cuh> // y\n%:define A B\n\?\?=inc\\\nlude \"common/x.h\"\nR\"(#)\" a % b ? c : d;\n",
    "7#include \"/etc/passwd\"\n#if __has_include(<x>)\n",
    "4gemmsmith-tuned 1\nf16:64x64x64:nn:beta=1 mma/16x16x64/w1x1/s2/g1 " ROW "f16:64x64x64:nn:beta=1 simple " ROW,
    "4gemmsmith-tuned 1\n# checksum 0123456789abcdef\nf16:64x64x64:nn library " ROW,
    "5gemmsmith-weights 1\nabout these\nnumbers 24 28\nhidden 64\ntokens 3\nws\nws/stages/s2\nnobody\ndata 146948 0123456789abcdef\n",
    "8series,name,x,y\nregret/learned,\"a, \"\"b\"\"\",1,0.5\r\n,,\"\",\n\"\"\"\",a\"b,c\n",
    "9: x\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"gr\xc3\xbc\"},\"finish_reason\":null}],\"usage\":null}\n\ndata: {\"choices\":[{\"delta\":{},"
        "\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}\r\n\r\ndata: [DONE]\n\n",
    "9data: {\"choices\":\ndata: [{\"delta\":{\"reasoning_content\":\"h\",\"content\":null},\"finish_reason\":\"length\"}]}\n\n",
    ":{\"choices\":[{\"index\":0,\"message\":{\"content\":\"a\",\"refusal\":null,\"tool_calls\":[]},\"finish_reason\":\"stop\"},{\"index\":1,\"message\":{\"content\":[{\"text\":"
        "\"b\"}],\"refusal\":\"no\"}}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2,\"completion_tokens_details\":{\"reasoning_tokens\":1}}}",
    ":{\"error\":{\"message\":\"key 0123456789 is wrong\",\"type\":\"rate_limit_error\",\"code\":429}}",
    ";<think>x</think>\n# Analysis\nslow\n# Plan\nfaster\n# Code\n```cuda kernel.cu\nint a;\n```\n````text kernel.manifest\nmanifest 1\n````\n",
    ";Here:\n```json\n[\"ws/128x256x64/s4\", \"simple\"]\n```\n",
    "<{\"ask\":\"0123456789abcdef\",\"in\":1,\"out\":2,\"seconds\":3.5,\"cost\":0.25,\"at\":\"x\"}\n{\"settle\":\"0123456789abcdef\",\"in\":1,\"out\":1,\"seconds\":1,\"cost\":0,\"http\":200}\n",
    "={\"problem\":\"f16:64x64x64:tn\",\"schedule\":\"simple\",\"reward\":\"milestones\",\"deadline_s\":1.5}",
    "={\"problem\":\"64_64_64\",\"source\":\"a\\u0041\\n\\\"\",\"manifest\":\"manifest 1\"}",
    "={\"requests\":[{\"problem\":\"64_64_64\",\"schedule\":\"x\"},{\"problem\":\"bf16:1x2x3:nn\",\"source\":\"s\",\"manifest\":\"m\"}],\"deadline_s\":0}",
    "={\"requests\":[{\"problem\":\"64_64_64\",\"completion\":\"```schedule\\nx\\n```\"},{\"problem\":\"64_64_64\",\"completion\":\"\\u0000\"}]}",
    ">#define F(x) \\\n  g<x>(\"a\\\"\", 'b', 0x1'fp-3)\n#if 0\n don't\n#else\nR\"x(\n)\" )x\" /* a */ // b\n#endif\nasm volatile(\"{ .reg .pred p;\\n\" \"@p bra x; x: }\" :: \"r\"(y));",
    "@as f16:64x4096x64:nn, M x N x K = 1024 x 1024 x 1024, 64_64_64\\n8_8_8 wgmma_64_64_16 tile 128x256x64, bf16:1x2x3:tn 99999999999999999999x1x1",
    ">candidate.cu(12): error: identifier \"a b\" is 'x' #error <|im_start|> ```\n   x\n ^\nstate: candidate.cu:3 (PTX line 4): b\n#line 5 \"c\"\n",
    "?==PROF==\n\"ID\",\"Kernel Name\",\"gpu__time_duration.sum\",\"smsp__average_warps_issue_stalled_wait_per_issue_active.ratio\",\"dram__bytes_read.sum\"\n"
        "\"\",\"\",\"ns\",\"inst\",\"Mbyte\"\n\"0\",\"a \"\"b\"\"\",\"5,730.5\",\"1.0\",\"2\"\n",
    "ALet us see.\n```schedule\nws/128x256x64/s4\n```\n```cuda kernel.cu\nint a;\r\n```\n``` text manifest\nmanifest 1\n```<|im_end|>\n",
    "A````cuda\n```\n````\n```manifest\nm\n```</s> <x>",
    "A<think>\n```schedule\nx\n```\n</think>\n```json\n[\"a/b\" ,\n\"c\"]\n```\n",
    "A [\"simple\", \"ws/x\"]</s>\n",
    "B{\"query\":[\"p?```schedule\\nsimple\\n```<|im_end|>\",\"q\"],\"prompts\":[\"p?\",\"q\"],\"labels\":[\"64_64_64\",{\"problem\":\"64_64_64\"}]}",
    "D{\"global_step\":2,\"log_history\":[{\"step\":1,\"loss\":NaN,\"reward\":0.5,\"kl\":1e-3},{\"step\":2,\"gemmsmith/passed\":-Infinity,\"eval_loss\":1}]}",
    "D{\"step\":0,\"data\":{\"val-aux/gemmsmith/passed/mean@4\":0.25}}\n{\"step\":1,\"data\":{\"critic/rewards/mean\":0.5,\"actor/entropy\":0.9}}\n",
    "B{\"prompt\":[{\"role\":\"user\",\"content\":\"x\"}],\"response\":\"```schedule\\nsimple\\n```\",\"label\":\"bf16:64x64x64:tn\"}",
    "E{\"problem\":\"64_64_64\",\"mode\":\"edits\",\"examples\":false,\"device\":\"nvidia-h200\",\"previous\":\"0123456789abcdef0123456789abcdef\"}",
    "E{\"problem\":\"f16:64x64x64:tn\",\"mode\":\"schedules\",\"previous\":{\"verdict\":\"pass\",\"stage\":\"time\",\"us\":1.5,\"metrics\":{\"registers\":64}}}",
    "Fgemmsmith recorded 1\n1\tgs_gemm\tf16:16x4096x4096:tn\n63\tgs_gemm\tf16:16x4096x4096:tn\n7\tcublasGemmEx\tbf16:100x64x64:nn\n7\tcublasGemmEx\tbf16:101x64x64:nn:b=3:beta=1\n2\tx\tf16:12x",
    "Fgemmsmith recorded 1\r\n18446744073709551615\ta b\tbf16:72x64x64:nt:ep=bias+gelu+aux\r\n# c\n\n9\ta b\tbf16:80x64x64:nt:ep=bias+gelu+aux:alpha=2\n",
    "GValidator,PT_VERSION,2.11.0\nGemmTunableOp_Half_TN,tn_4096_16_4096_ld_4096_4096_4096\nGemmTunableOp_BFloat16_NT,nt_25088_4096_64,Gemm_Hipblaslt_1,0.017\r\nGemmTunableOp_float_TN,tn_1_2_3\n",
    "GGemmStridedBatchedTunableOp_Half_NN,nn_64_128_128_B_96_ld_64_128_64\nGemmAndBiasTunableOp_BFloat16_TN,tn_768_1024_768\nGemmTunableOp_Half_TT,tt_1_*_3\nGemmTunableOp_Half_TN,tn_1",
    "H0000",
    "Hc!A10B@#1",
    "5gemmsmith-weights 1\nabout \nnumbers 24 28\nhidden 64\ntokens 1\nmma\ndata 0 0\n0000",
    "Igroup,problem,schedule,us\n1,f16:64x64x64:nn,simple,1.9\n1,f16:64x64x64:nn,cublaslt/1,2\n\"2\",f16:64x64x64:tn,mma/64x64x32/w2x2/s5/g1/k2,3e1\n",
    "Jproblem,suggestion,measured_us,sm_mhz,id,tile,stages,splitk,reduction,swizzle,cluster,custom,waves,workspace\n"
    "f16:64x64x64:nn,1,1.93,1980,66,15,35,1,0,0,3,1,0.0076,0\nf16:64x64x64:nn,2,2.5,1980,24,20,7,4,2,0,0,0,1.5,4096\nbf16:1x8x8:tn,1,3,0,0,0,0,0,0,0,0,0,0,0\n",
};

/* Pieces that parsers care about. */
static const char *const pieces[] = {
    ":", "x", "/", "=", ",", "_", "-", "+", "*", "(", ")", " ", "\n", "\t", "#", ".", "e", "0", "1", "9223372036854775807",
    "9223372036854775808", "-1", "2147483648", "1e9999", "1e-9999", "nan", "inf", "0x10", "f16", "bf16", "f32", ":lda=",
    ":acc=f16", ":inv=1", ":d=", ":ep=bias,relu", "+aux", ":ep=drelu", "+dbias", ":ldaux=", ":saux=", ":alpha=", "cdiv(", "min(", "sms", "ws/", "mma/", "sw128", "entry ", "zeroed ", "map a ",
    "%rd0", "%clock", ".global ", "st.global.u32 [t], 1;", "[", "]", "{", "}", ";", ".f16", "@%p0 ", "\\", "\\\n", "#include \"/", "/*", "*/", "\"", "include", "<", ">",
    "gemmsmith-tuned 1\n", "library", "cublaslt/", "\"problem\"", "\"source\":", "\\u0000", "```", "# Plan\n", "data: ", "\n\n", "[DONE]", "null", "{\"", "\":", "\\ud83d", "\"error\":", "\"index\":", "\xff", "\xc3\xa9", "%s%n", "\r\n", "//", "#if 0\n", "#endif\n", "R\"(", ")\"", "'", "asm(\"", "<|", "?\?/", "#line ", "TunableOp_", "_ld_", "_B_", "gemmsmith recorded 1\n", "\tx\t",
};

typedef struct input {
    char   bytes[MOST];
    size_t size;
} input;

/* Replaces `gone` bytes at `at` by others, as far as there is room. */
static void replace(input *in, size_t at, size_t gone, const char *with, size_t size)
{
    if (in->size - gone + size > MOST) return;
    memmove(in->bytes + at + size, in->bytes + at + gone, in->size - at - gone);
    memcpy(in->bytes + at, with, size);
    in->size = in->size - gone + size;
}

static size_t below(gs_random *random, size_t limit) { return (size_t)gs_random_below(random, limit); }

/* One change anywhere behind the first byte. */
static void mutate(input *in, gs_random *random)
{
    char copy[MOST];
    const size_t at = 1 + below(random, in->size);            /* 1 .. size */
    const size_t rest = in->size - at;
    const size_t some = below(random, GS_MIN(rest, 24) + 1);
    const char *const piece = pieces[below(random, GS_COUNT(pieces))];
    const char *const other = seeds[below(random, GS_COUNT(seeds))];
    switch (gs_random_below(random, 7)) {
    case 0:
        if (rest > 0) in->bytes[at] ^= (char)(1 << gs_random_below(random, 8));
        break;
    case 1:
        if (rest > 0) in->bytes[at] = (char)gs_random_next(random);
        break;
    case 2: replace(in, at, some, "", 0); break;
    case 3: replace(in, at, 0, piece, strlen(piece)); break;
    case 4: replace(in, at, GS_MIN(rest, strlen(piece)), piece, strlen(piece)); break;
    case 5:   /* a part once more, somewhere else */
        memcpy(copy, in->bytes + at, some);
        replace(in, 1 + below(random, in->size), 0, copy, some);
        break;
    default: {   /* the end of another seed */
        const size_t from = below(random, strlen(other) + 1);
        replace(in, at, rest, other + from, strlen(other + from));
        break;
    }
    }
}

/* Each into a file of its own, as libFuzzer takes a corpus. */
static int write_seeds(const char *folder)
{
    for (size_t i = 0; i < GS_COUNT(seeds); i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%02zu", folder, i);
        FILE *const file = fopen(path, "wb");
        if (!file) {
            perror(path);
            return 1;
        }
        fputs(seeds[i], file);
        if (fclose(file) != 0) return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--seeds") == 0) return write_seeds(argv[2]);
    const long iterations = argc > 1 ? atol(argv[1]) : 200000;
    gs_random random = {argc > 2 ? (uint64_t)atoll(argv[2]) : 1};
    const bool print = getenv("FUZZ_PRINT") != NULL;
    static input in;
    for (long i = 0; i < iterations; i++) {
        const char *const seed = seeds[(size_t)i % GS_COUNT(seeds)];
        in.size = strlen(seed);
        memcpy(in.bytes, seed, in.size);
        if (i >= (long)GS_COUNT(seeds))   /* the seeds themselves come first */
            for (size_t changes = 1 + below(&random, 4); changes > 0; changes--) mutate(&in, &random);
        if (print) fprintf(stderr, "%ld: parser %d: %.*s\n", i, in.bytes[0] - '0', (int)in.size - 1, in.bytes + 1);
        LLVMFuzzerTestOneInput((const uint8_t *)in.bytes, in.size);
        if (i >= (long)GS_COUNT(seeds) || getenv("FUZZ_PARSER") || fuzz_parser == (unsigned)(seed[0] - '0')) continue;
        fprintf(stderr, "seed %ld, of parser %d, went to parser %u\n", i, seed[0] - '0', fuzz_parser);
        return 1;
    }
    printf("%ld texts, none at fault\n", iterations);
    return 0;
}
