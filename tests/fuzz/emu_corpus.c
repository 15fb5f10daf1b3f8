/* SPDX-License-Identifier: MIT
 * What the fuzzer of the emulated device starts from. */
#include "emu.h"

/* %r0: thread, %r9: 0, %r10: buffer, %r11: barrier, %r12: dynamic shared memory, %rd0: map, %rd1: numbers, %rd2: unwritten,
 * %rd3: this thread's place in the numbers, %rd5: local, %rd10 and %rd11: descriptors, %p0: thread 0, %p7: everybody. The rest is anything. */
const char *const fuzz_emu_head =
    ".version 9.0\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 dyn[];\n"
    ".global .align 16 .b8 table[64] = {1, 2, 0x3};\n.const .align 4 .f32 scale[2] = {0f3F800000, 1.5};\n.file 1 \"k.cu\"\n"
    ".visible .entry k(.param .align 64 .b8 map[128], .param .u64 in, .param .u64 .ptr .global .align 16 out, .param .u32 n)\n{\n"
    ".reg .pred %p<8>; .reg .b16 %rs<16>; .reg .b32 %r<64>; .reg .b64 %rd<32>; .reg .f32 %f<136>; .reg .f64 %fd<16>;\n"
    ".shared .align 1024 .b8 buffer[8192]; .shared .align 8 .b8 bar[64]; .local .align 16 .b8 depot[64];\n.loc 1 12 0\n"
    "mov.u32 %r0, %tid.x; mov.u32 %r9, 0; mov.u32 %r10, buffer; mov.u32 %r11, bar; mov.u32 %r12, dyn;\n"
    "mov.b64 %rd4, map; cvta.param.u64 %rd0, %rd4; ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; ld.param.u32 %r13, [n];\n"
    "mul.wide.u32 %rd3, %r0, 16; add.s64 %rd3, %rd3, %rd1; mov.u64 %rd4, depot; cvta.local.u64 %rd5, %rd4;\n"
    "mov.u64 %rd10, 0x1000080000; mov.u64 %rd11, 0x1000080080; shl.b32 %r14, %r0, 4; add.u32 %r15, %r14, %r10;\n"
    "setp.eq.u32 %p0, %r0, 0; setp.eq.u32 %p7, %r9, %r9; setp.lt.u32 %p1, %r0, 16;\n";

#define F8(n)    "%f" #n "0, %f" #n "1, %f" #n "2, %f" #n "3, %f" #n "4, %f" #n "5, %f" #n "6, %f" #n "7"
#define F10(n)   F8(n) ", %f" #n "8, %f" #n "9"
#define F64      "%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8, %f9, " F10(1) ", " F10(2) ", " F10(3) ", " F10(4) ", " F10(5) ", " \
                 "%f60, %f61, %f62, %f63"
#define F128     "%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8, %f9, " F10(1) ", " F10(2) ", " F10(3) ", " F10(4) ", " F10(5) ", " F10(6) ", " \
                 F10(7) ", " F10(8) ", " F10(9) ", " F10(10) ", " F10(11) ", " F8(12)
#define R4       "{%r20, %r21, %r22, %r23}"
#define INIT     "@%p0 mbarrier.init.shared::cta.b64 [%r11], 1;\n@%p0 fence.mbarrier_init.release.cluster;\nbar.sync 0;\n"
#define EXPECT   "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r11], 2048;\n"
#define WAIT     "W:\nmbarrier.try_wait.parity.shared::cta.b64 %p2, [%r11], 0;\n@!%p2 bra W;\n"
#define LOAD     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
#define TENSOR   "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
#define WORDS    "ld.global.v4.u32 " R4 ", [%rd3];\nst.shared.v4.u32 [%r15], " R4 ";\nbar.sync 0;\n"
#define ASYNC    "fence.proxy.async.shared::cta;\nbar.sync 0;\n"
#define MEET     "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n"
#define OUT      "mul.wide.u32 %rd6, %r0, 4;\nadd.s64 %rd6, %rd6, %rd2;\n"
#define END      "ret;\n}\n"

const char *const fuzz_emu_programs[] = {
    /* arithmetic in a loop, divergence */
    "mov.u32 %r1, 3;\nL:\nadd.s32 %r2, %r2, %r1;\nand.b32 %r3, %r0, %r1;\nsetp.eq.s32 %p2, %r3, 0;\n@%p2 bra E;\nmad.lo.s32 %r2, %r2, %r3, %r1;\n"
    "E:\nsub.s32 %r1, %r1, 1;\nsetp.gt.s32 %p3, %r1, 0;\n@%p3 bra L;\n" OUT "st.global.u32 [%rd6], %r2;\n" END,
    "cvt.rn.f32.u32 %f1, %r0;\nfma.rn.f32 %f2, %f1, 0f3FC00000, %f1;\ncvt.rn.f16x2.f32 %r1, %f1, %f2;\nfma.rn.f16x2 %r2, %r1, %r1, %r1;\n"
    "mov.b32 {%rs1, %rs2}, %r2;\ncvt.f32.f16 %f3, %rs1;\ndiv.rn.f32 %f4, %f3, %f2;\n@%p1 exit;\n" OUT "st.global.f32 [%rd6], %f4;\n" END,
    /* loads and stores of every space */
    WORDS "ld.shared.v2.u32 {%r24, %r25}, [buffer+8];\nst.local.u32 [%rd4+4], %r24;\nld.local.u32 %r26, [depot+4];\nst.u32 [%rd5], %r26;\n"
    "ld.const.f32 %f1, [scale+4];\nld.global.u8 %rs1, [table+2];\natom.global.add.u32 %r27, [table+4], 1;\nred.shared.add.u32 [buffer], %r27;\n"
    "ld.param.u32 %r28, [n];\nld.u32 %r29, [%rd1+64];\ncvta.shared.u64 %rd7, %rd4;\n" OUT "st.global.u32 [%rd6], %r28;\n" END,
    /* cp.async */
    "cp.async.cg.shared.global [%r15], [%rd3], 16;\ncp.async.commit_group;\ncp.async.ca.shared.global [%r15+4096], [%rd3+8], 8, 4;\n"
    "cp.async.commit_group;\ncp.async.wait_group 1;\nbar.sync 0;\nld.shared.v4.u32 " R4 ", [%r15];\ncp.async.wait_all;\n" OUT
    "st.global.u32 [%rd6], %r20;\n" END,
    INIT "cp.async.cg.shared.global [%r15], [%rd3], 16;\n@%p0 cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r11];\n" WAIT END,
    /* bulk copies */
    INIT EXPECT "@%p0 " LOAD "[%r10], [%rd1], 2048, [%r11];\n" WAIT "ld.shared.u32 %r20, [%r15];\n" OUT "st.global.u32 [%rd6], %r20;\n" END,
    WORDS ASYNC "@%p0 cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r10], 512;\n@%p0 cp.async.bulk.commit_group;\n"
    "@%p0 cp.async.bulk.wait_group.read 0;\n" END,
    WORDS ASYNC "@!%p0 bra E;\ncp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd1], [%r10], 512;\ncp.async.bulk.commit_group;\n"
    "cp.async.bulk.wait_group 0;\nE:\n" END,
    /* tensor copies */
    INIT EXPECT "@%p0 prefetch.tensormap [%rd0];\n@%p0 " TENSOR "[%r10], [%rd0, {%r9, %r9}], [%r11];\n" WAIT "ld.shared.u32 %r20, [%r15];\n" END,
    WORDS ASYNC "@!%p0 bra E;\ncp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd0, {%r9, 8}], [%r10];\ncp.async.bulk.commit_group;\n"
    "cp.async.bulk.wait_group.read 0;\nE:\n" END,
    /* clusters */
    INIT EXPECT MEET "mov.u32 %r1, %cluster_ctarank;\nmapa.shared::cluster.u32 %r2, %r10, 1;\nst.shared::cluster.u32 [%r2+4096], %r1;\n"
    "mov.u16 %rs1, 3;\n@%p0 " "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
    "[%r10], [%rd0, {%r9, %r9}], [%r11], %rs1;\n" MEET END,
    INIT WORDS ASYNC MEET "mapa.shared::cluster.u32 %r4, %r10, %r9;\nmapa.shared::cluster.u32 %r5, %r11, %r9;\n"
    "@%p0 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r5];\n"
    "@%p0 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r4+4096], [%r10], 512, [%r5];\n" MEET END,
    /* barriers */
    "bar.sync 1, 64;\nbar.red.popc.u32 %r1, 2, %p1;\nbar.arrive 3, 64;\nbarrier.sync.aligned 0;\nbar.warp.sync -1;\nmembar.gl;\n" END,
    "@%p0 mbarrier.init.shared::cta.b64 [bar], 32;\nbar.sync 0;\nmbarrier.arrive.shared::cta.b64 %rd7, [bar];\nW:\n"
    "mbarrier.test_wait.shared::cta.b64 %p2, [bar], %rd7;\n@!%p2 bra W;\n@%p0 mbarrier.inval.shared::cta.b64 [bar];\n" END,
    "setp.lt.u32 %p2, %r0, 128;\n@%p2 bra A;\nsetmaxnreg.inc.sync.aligned.u32 232;\nbra E;"
    "\nA:\nsetmaxnreg.dec.sync.aligned.u32 40;\nE:\nbar.sync 0;\n" END,
    /* matrix units */
    WORDS "ldmatrix.sync.aligned.m8n8.x4.shared.b16 " R4 ", [%r10];\nldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r24, %r25}, [%r15];\n"
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, " R4 ", {%r24, %r25}, {%f0, %f1, %f2, %f3};\n"
    "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r15], " R4 ";\n" OUT "st.global.f32 [%rd6], %f1;\n" END,
    WORDS ASYNC "wgmma.fence.sync.aligned;\n"
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd10, %rd11, %p1, 1, 1, 0, 0;\n"
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f5, %f6, %f7, %f8}, " R4 ", %rd11, 1, -1, 1, 0;\n"
    "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n" OUT "st.global.f32 [%rd6], %f1;\n" END,
    WORDS ASYNC "wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {" F128 "}, %rd10, %rd11, 0, 1, 1, 0, 0;\n"
    "wgmma.commit_group.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n128k16.f16.f16.f16 {" "%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8, %r16, "
    "%r17, %r18, %r19, %r20, %r21, %r22, %r23, %r24, %r25, %r26, %r27, %r28, %r29, %r30, %r31, %r32, %r33, %r34, %r35, %r36, %r37, %r38"
    "}, %rd10, %rd11, 0, 1, 1, 1, 1;\nwgmma.wait_group.sync.aligned 1;\n" END,
    /* exchanges */
    "shfl.sync.bfly.b32 %r1|%p2, %r0, 1, 31, -1;\nshfl.sync.idx.b32 %r2, %r1, 5, 0x1807, 0xffff;\nvote.sync.ballot.b32 %r3, %p1, -1;\n"
    "elect.sync %r4|%p3, -1;\nredux.sync.add.s32 %r5, %r0, -1;\nmatch.any.sync.b32 %r6, %r0, -1;\n"
    "activemask.b32 %r7;\n" OUT "st.global.u32 [%rd6], %r5;\n" END,
    /* waiting for another thread, another block, for ever */
    "@!%p0 bra A;\nst.volatile.global.u32 [%rd2], 1;\nA:\nld.acquire.gpu.global.u32 %r1, [%rd2];\nsetp.eq.u32 %p2, %r1, 0;\n@%p2 bra A;\n" END,
    "L:\nred.relaxed.cluster.global.add.u32 [%rd1], 1;\nbra L;\n" END,
    "L:\n@%p0 " LOAD "[%r10], [%rd1], 2048, [%r11];\nbra L;\n" END,
    INIT "L:\n" EXPECT "@%p0 " LOAD "[%r10], [%rd1], 2048, [%r11];\n@%p0 cp.async.bulk.prefetch.L2.global [%rd1], 128;\nbra L;\n" END,
    0,
};

const char *const fuzz_emu_lines[] = {
    "add.s32 %r1, %r2, %r3;", "add.cc.u32 %r1, %r2, %r3;", "addc.u32 %r1, %r2, 5;", "sub.s64 %rd7, %rd8, %rd9;", "add.sat.s32 %r1, %r2, -1;",
    "mul.lo.s32 %r1, %r2, %r3;", "mul.hi.u64 %rd7, %rd8, %rd9;", "mul.wide.s16 %r1, %rs1, %rs2;", "mul24.lo.u32 %r1, %r2, %r3;",
    "mad.lo.s32 %r1, %r2, %r3, %r4;", "mad.wide.u32 %rd7, %r1, %r2, %rd8;", "mad.hi.cc.s32 %r1, %r2, %r3, %r4;",
    "madc.lo.u64 %rd7, %rd8, %rd9, %rd7;", "div.s32 %r1, %r2, %r3;", "div.u64 %rd7, %rd8, %rd9;", "rem.s64 %rd7, %rd8, %rd9;",
    "rem.u16 %rs1, %rs2, %rs3;", "div.s16 %rs1, %rs2, -1;", "abs.s32 %r1, %r2;", "neg.s64 %rd7, %rd8;", "abs.s16 %rs1, %rs2;",
    "min.s32 %r1, %r2, %r3;", "max.u64 %rd7, %rd8, %rd9;", "min.s16x2 %r1, %r2, %r3;", "popc.b32 %r1, %r2;", "clz.b64 %r1, %rd7;",
    "bfind.s32 %r1, %r2;", "bfind.shiftamt.u64 %r1, %rd7;", "brev.b64 %rd7, %rd8;", "sad.s32 %r1, %r2, %r3, %r4;", "bfe.s32 %r1, %r2, %r3, %r4;",
    "bfe.u64 %rd7, %rd8, %r3, 64;", "bfi.b64 %rd7, %rd8, %rd9, %r1, %r2;", "bfi.b32 %r1, %r2, %r3, 31, 33;", "szext.clamp.s32 %r1, %r2, %r3;",
    "bmsk.wrap.b32 %r1, %r2, %r3;", "fns.b32 %r1, %r2, %r3, %r4;", "dp4a.s32.u32 %r1, %r2, %r3, %r4;", "dp2a.lo.u32.u32 %r1, %r2, %r3, %r4;",
    "prmt.b32 %r1, %r2, %r3, 0x7531;", "prmt.b32.f4e %r1, %r2, %r3, %r4;", "lop3.b32 %r1, %r2, %r3, %r4, 0xe8;",
    "lop3.or.b32 %r1|%p2, %r2, %r3, %r4, 0x96, %p3;", "and.b32 %r1, %r2, %r3;", "xor.pred %p2, %p3, %p4;", "not.b64 %rd7, %rd8;",
    "cnot.b32 %r1, %r2;", "or.b16 %rs1, %rs2, %rs3;", "shl.b32 %r1, %r2, %r3;", "shr.s64 %rd7, %rd8, %r1;", "shr.u16 %rs1, %rs2, 17;",
    "shl.b64 %rd7, %rd8, 64;", "shf.l.wrap.b32 %r1, %r2, %r3, %r4;", "shf.r.clamp.b32 %r1, %r2, %r3, 40;", "setp.lt.s32 %p2, %r2, %r3;",
    "setp.eq.and.s64 %p2|%p3, %rd7, %rd8, %p4;", "setp.ltu.f32 %p2, %f1, %f2;", "setp.nan.f64 %p2, %fd1, %fd2;", "set.gt.u32.f32 %r1, %f1, %f2;",
    "set.eq.f32.s32 %f1, %r1, %r2;", "setp.gt.f16x2 %p2|%p3, %r1, %r2;", "setp.lt.bf16 %p2, %rs1, %rs2;", "selp.b32 %r1, %r2, %r3, %p2;",
    "selp.f64 %fd1, %fd2, %fd3, %p2;", "slct.s32.f32 %r1, %r2, %r3, %f1;", "testp.infinite.f32 %p2, %f1;", "copysign.f32 %f1, %f2, %f3;",
    "setp.hi.u32 %p2, %r1, %r2;", "set.lo.or.s32.u32 %r1, %r2, %r3, %p2;", "add.f32 %f1, %f2, %f3;", "add.rz.ftz.sat.f32 %f1, %f2, %f3;",
    "mul.rm.f32 %f1, %f2, %f3;", "fma.rn.f32 %f1, %f2, %f3, %f4;", "fma.rp.f64 %fd1, %fd2, %fd3, %fd4;", "add.f64 %fd1, %fd2, %fd3;",
    "div.rn.f64 %fd1, %fd2, %fd3;", "sqrt.rn.f64 %fd1, %fd2;", "rcp.approx.ftz.f32 %f1, %f2;", "div.full.f32 %f1, %f2, %f3;",
    "rsqrt.approx.f64 %fd1, %fd2;", "sin.approx.f32 %f1, %f2;", "lg2.approx.ftz.f32 %f1, %f2;", "ex2.approx.f32 %f1, %f2;",
    "tanh.approx.f32 %f1, %f2;", "ex2.approx.f16x2 %r1, %r2;", "tanh.approx.bf16 %rs1, %rs2;", "min.NaN.f32 %f1, %f2, %f3;",
    "max.xorsign.abs.f32 %f1, %f2, %f3;", "min.f64 %fd1, %fd2, %fd3;", "neg.ftz.f32 %f1, %f2;", "abs.f64 %fd1, %fd2;", "max.ftz.f16x2 %r1, %r2, %r3;",
    "add.f16 %rs1, %rs2, %rs3;", "add.rn.f16x2 %r1, %r2, %r3;", "fma.rn.relu.bf16x2 %r1, %r2, %r3, %r4;", "fma.rn.sat.f16 %rs1, %rs2, %rs3, %rs4;",
    "mul.bf16 %rs1, %rs2, %rs3;", "neg.bf16x2 %r1, %r2;", "cvt.u32.u64 %r1, %rd7;", "cvt.s64.s32 %rd7, %r1;", "cvt.rni.s32.f32 %r1, %f1;",
    "cvt.rzi.ftz.u64.f32 %rd7, %f1;", "cvt.rn.f32.s64 %f1, %rd7;", "cvt.rn.f16.f32 %rs1, %f1;", "cvt.rz.bf16.f32 %rs1, %f1;",
    "cvt.f32.bf16 %f1, %rs1;", "cvt.rn.bf16x2.f32 %r1, %f1, %f2;", "cvt.rn.relu.f16x2.f32 %r1, %f1, %f2;", "cvt.sat.u8.s32 %r1, %r2;",
    "cvt.f64.f32 %fd1, %f1;", "cvt.rm.f32.f64 %f1, %fd1;", "cvt.rpi.f32.f32 %f1, %f2;", "cvt.s8.s32 %rs1, %r2;", "cvt.rni.s8.f64 %rs1, %fd1;",
    "cvt.rna.tf32.f32 %r1, %f1;", "cvt.rn.f16.u8 %rs1, %rs2;", "cvt.pack.sat.s16.s32 %r1, %r2, %r3;", "mov.b32 %r1, %r2;",
    "mov.b64 {%r1, %r2}, %rd7;", "mov.b64 %rd7, {%r1, %r2};", "mov.b32 %r1, {%rs1, %rs2};", "mov.b64 {%rs1, %rs2, %rs3, %rs4}, %rd7;",
    "mov.pred %p2, %p3;", "mov.f32 %f1, 0f7F800000;", "mov.b64 {%r1, _}, %rd7;", "mov.u32 %r1, %ctaid.x;", "mov.u32 %r1, %laneid;",
    "mov.u32 %r1, %cluster_ctarank;", "mov.u64 %rd7, %globaltimer;", "mov.u32 %r1, %clock;", "mov.u64 %rd7, %clock64;", "mov.u32 %r1, %lanemask_ge;",
    "mov.u32 %r1, WARP_SZ;", "mov.u64 %rd7, table;", "mov.u64 %rd7, table+16;", "mov.u32 %r1, dyn;", "mov.b64 %rd7, map;", "mov.u32 %r1, depot+8;",
    "mov.u32 %r1, %nclusterid.y;", "mov.u32 %r1, %dynamic_smem_size;", "ld.global.u32 %r1, [%rd1];",
    "ld.global.nc.v4.f32 {%f1, %f2, %f3, %f4}, [%rd3];", "ld.shared.u8 %rs1, [%r10+3];", "ld.shared::cluster.v2.u64 {%rd7, %rd8}, [%r10];",
    "ld.local.u64 %rd7, [depot+8];", "ld.param.v2.u32 {%r1, %r2}, [in];", "ld.u16 %rs1, [%rd5];", "ld.volatile.shared.u32 %r1, [buffer];",
    "ld.acquire.sys.global.u64 %rd7, [%rd1];", "ld.relaxed.cluster.shared::cta.u32 %r1, [%r12];",
    "ld.global.L1::no_allocate.L2::128B.u32 %r1, [%rd1];", "ld.const.v2.f32 {%f1, %f2}, [scale];",
    "ld.global.L2::cache_hint.v2.b64 {%rd7, %rd8}, [%rd1], %rd8;", "ld.global.s8 %r1, [table+1];", "ld.param::entry.u64 %rd7, [out];",
    "ldu.global.u32 %r1, [%rd1];", "ld.global.v8.f32 {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}, [%rd1];", "ld.param.u64 %rd7, [%rd0+8];",
    "st.global.u32 [%rd2+4], %r1;", "st.shared.v4.u32 [%r15], {%r1, %r2, %r3, %r4};", "st.local.u16 [depot], %rs1;", "st.u64 [%rd2], %rd7;",
    "st.release.gpu.global.u32 [%rd2], 7;", "st.volatile.global.f32 [%rd2], %f1;", "st.shared::cluster.u32 [%r10], 0;",
    "st.global.wt.v2.f64 [%rd2], {%fd1, %fd2};", "st.shared.b8 [buffer+5], %rs1;", "st.global.cs.L2::cache_hint.u32 [%rd2], 1, %rd7;",
    "atom.global.add.u32 %r1, [%rd1], 1;", "atom.shared.cas.b32 %r1, [%r10], %r2, %r3;", "atom.global.exch.b64 %rd7, [%rd1], %rd8;",
    "atom.add.f64 %fd1, [%rd1], %fd2;", "atom.global.add.noftz.f16x2 %r1, [%rd1], %r2;", "atom.shared::cluster.inc.u32 %r1, [%r10], 7;",
    "atom.global.min.s64 %rd7, [%rd1], %rd8;", "atom.acq_rel.cluster.shared.or.b32 _, [buffer], 3;", "red.global.add.f32 [%rd1], %f1;",
    "red.shared.dec.u32 [%r10], %r1;", "red.global.v2.f16x2.add.noftz [%rd1], {%r1, %r2};", "red.relaxed.gpu.global.max.s32 [%rd1], %r1;",
    "red.add.noftz.bf16 [%rd1], %rs1;", "atom.global.v4.f32.add {%f1, %f2, %f3, %f4}, [%rd1], {%f5, %f6, %f7, %f8};",
    "atom.global.cas.b16 %rs1, [%rd1], %rs2, %rs3;", "cvta.to.global.u64 %rd7, %rd1;", "cvta.shared.u64 %rd7, %rd8;",
    "isspacep.shared::cluster %p2, %rd7;", "mapa.u64 %rd7, %rd8, %r1;", "mapa.shared::cluster.u32 %r1, %r10, %r2;",
    "getctarank.shared::cluster.u32 %r1, %r10;", "cvta.to.shared.u64 %rd7, %rd8;", "prefetch.global.L2 [%rd1];", "prefetchu.L1 [%rd1];",
    "discard.global.L2 [%rd2], 128;", "applypriority.global.L2::evict_normal [%rd2], 128;", "createpolicy.fractional.L2::evict_last.b64 %rd7, 0.5;",
    "createpolicy.range.global.L2::evict_last.b64 %rd7, [%rd1], 128, 256;", "cp.async.ca.shared.global [%r10], [%rd1], 4, %r1;",
    "cp.async.cg.shared.global.L2::256B [%r15], [%rd3], 16;", "cp.async.commit_group;", "cp.async.wait_group 3;", "cp.async.wait_all;",
    "cp.async.mbarrier.arrive.shared.b64 [%r11];", "cp.async.bulk.commit_group;", "cp.async.bulk.wait_group 0;", "cp.async.bulk.wait_group.read 2;",
    "cp.async.bulk.prefetch.L2.global [%rd1], 256;", "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r10], [%rd1], %r1, [%r11];",
    "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r10], [%rd0, {%r1}], [%r11];",
    "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%rd0, {%r1, %r2, %r3}], [%r10];",
    "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r10], [%rd0, {0, 0, -1, 2, %r1}], [%r11], 3;",
    "cp.async.bulk.prefetch.tensor.4d.L2.global [%rd0, {0, %r1, %r2, %r3}];",
    "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%rd0, {%r9, %r9}], [%r10];",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.min.s64 [%rd1], [%r10], 128;",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16 [%rd1], [%r10], 64;",
    "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%rd2], [%r10], 4096, %rd7;", "mbarrier.init.shared::cta.b64 [%r11+8], 2;",
    "mbarrier.init.b64 [%rd7], %r1;", "mbarrier.inval.shared.b64 [bar];", "mbarrier.arrive.shared::cta.b64 %rd7, [bar];",
    "mbarrier.arrive.noComplete.shared.b64 %rd7, [bar], 1;", "mbarrier.arrive_drop.b64 _, [%rd7];",
    "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 64;", "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 64;",
    "mbarrier.test_wait.shared.b64 %p2, [bar], %rd7;", "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [bar], 1, 100;",
    "mbarrier.pending_count.b64 %r1, %rd7;", "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r11], 16;",
    "mbarrier.arrive_drop.expect_tx.shared.b64 %rd7, [bar], 8;", "bar.sync 0;", "bar.sync %r1, 64;", "bar.arrive 1, 64;",
    "bar.red.and.pred %p2, 1, %p3;", "barrier.cta.red.or.aligned.pred %p2, 2, 64, !%p3;", "barrier.sync 15;", "bar.warp.sync 0xffff;",
    "barrier.cluster.arrive.relaxed.aligned;", "barrier.cluster.wait;", "membar.cta;", "fence.acq_rel.cluster;", "fence.sc.gpu;",
    "fence.proxy.async;", "fence.proxy.async.shared::cta;", "fence.mbarrier_init.release.cluster;",
    "fence.proxy.tensormap::generic.acquire.gpu [%rd0], 128;", "fence.proxy.alias;", "setmaxnreg.inc.sync.aligned.u32 240;",
    "setmaxnreg.dec.sync.aligned.u32 24;", "griddepcontrol.wait;", "griddepcontrol.launch_dependents;", "nanosleep.u32 20;", "pmevent 1;", "brkpt;",
    "trap;", "exit;", "ret;", "ret.uni;", "shfl.sync.up.b32 %r1|%p2, %r2, %r3, %r4, -1;", "shfl.sync.down.b32 %r1, %r2, 31, 0x1f, %r5;",
    "vote.sync.all.pred %p2, %p3, -1;", "vote.sync.uni.pred %p2, !%p3, 0xff;", "match.all.sync.b64 %r1|%p2, %rd7, -1;",
    "redux.sync.xor.b32 %r1, %r2, 0xf0f0;", "elect.sync _|%p2, %r1;", "activemask.b32 %r1;", "redux.sync.max.u32 %r1, %r2, %r3;",
    "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r1}, [%r15];", "ldmatrix.sync.aligned.m8n8.x4.shared::cta.b16 {%r1, %r2, %r3, %r4}, [%rd7];",
    "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%r15], {%r1, %r2};", "movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2;",
    "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r4, %r5}, {%r6, %r7}, {%r8}, {%r4, %r5};",
    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%fd0, %fd1}, {%fd2}, {%fd3}, {%fd4, %fd5};",
    "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%f0, %f1, %f2, %f3}, {%r1, %r2}, {%r3}, {%f0, %f1, %f2, %f3};",
    "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0, %f1, %f2, %f3}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f0, %f1, %f2, %f3};",
    "wgmma.fence.sync.aligned;", "wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;",
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd10, %rd11, 1, 1, 1, 0, 0;",
    "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%f1, %f2, %f3, %f4}, %rd10, %rd11, %p2, 1, -1;",
    "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%r1, %r2}, {%r3, %r4, %r5, %r6}, %rd7, 0, 1, 1, 1;",
    "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {" F64 "}, %rd10, %rd11, 1, 1, 1, 0, 1;", "bra L;", "@%p2 bra L;", "bra.uni E;",
    "@!%p1 bra E;", "@%p0 exit;", ".loc 1 7 5", ".loc 1 9 1, function_name $L, inlined_at 1 20 3", ".shared .align 16 .b8 more[100000];",
    ".local .b8 stack[65536];", ".pragma \"nounroll\";", "mov.u32 %r1, 0x80000000;", "mov.u64 %rd7, 0xffffffffffffffff;",
    "mov.u64 %rd10, 0x4000004000010000;", "mov.u64 %rd11, 0xc000004000010080;", "mov.f64 %fd1, 0dFFF8000000000000;", "mov.u32 %r1, 0x1000000;",
    "mov.u32 %r1, 0x2000400;", 0,
};

const char *const fuzz_emu_parts[] = {
    "u8", "s8", "b8", "u16", "s16", "b16", "u32", "s32", "b32", "u64", "s64", "b64", "b128", "f16", "f16x2", "bf16", "bf16x2", "tf32", "f32", "f64",
    "pred", "s16x2", "u16x2", "e4m3x2", "rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", "rna", "ftz", "sat", "satfinite", "relu", "NaN",
    "xorsign", "abs", "approx", "full", "lo", "hi", "wide", "cc", "clamp", "wrap", "shiftamt", "l", "r", "eq", "ne", "lt", "le", "gt", "ge", "ltu",
    "nan", "num", "and", "or", "xor", "popc", "f4e", "rc16", "global", "shared", "shared::cta", "shared::cluster", "local", "param", "param::entry",
    "const", "to", "v2", "v4", "v8", "volatile", "relaxed", "acquire", "release", "acq_rel", "sc", "weak", "cta", "cluster", "gpu", "sys", "nc", "ca",
    "cg", "cs", "lu", "cv", "wb", "wt", "L1", "L2", "L1::no_allocate", "L2::128B", "L2::256B", "L2::cache_hint", "L2::evict_last", "add", "sub",
    "inc", "dec", "min", "max", "exch", "cas", "noftz", "async", "bulk", "tensor", "1d", "2d", "3d", "4d", "5d", "tile", "im2col", "reduce",
    "prefetch", "mbarrier::complete_tx::bytes", "multicast::cluster", "bulk_group", "read", "commit_group", "wait_group", "wait_all", "mbarrier",
    "init", "inval", "arrive", "arrive_drop", "noComplete", "noinc", "expect_tx", "complete_tx", "test_wait", "try_wait", "parity", "pending_count",
    "sync", "red", "warp", "aligned", "wait", "proxy", "mbarrier_init", "alias", "up", "down", "bfly", "idx", "all", "any", "uni", "ballot", "x1",
    "x2", "x4", "trans", "m8n8", "m16n8k8", "m16n8k16", "m16n8k4", "m8n8k4", "row", "col", "m64n8k16", "m64n16k16", "m64n256k16", "m64n8k8",
    "m64n128k16", "m64n24k16", "mma_async", "fence", "dec", "d", "s", "", 0,
};

const char *const fuzz_emu_operands[] = {
    "%r0", "%r1", "%r2", "%r3", "%r9", "%r10", "%r11", "%r12", "%r13", "%r15", "%rs0", "%rs1", "%rs2", "%rd0", "%rd1", "%rd2", "%rd3", "%rd5", "%rd7",
    "%rd8", "%rd10", "%f1", "%f2", "%fd1", "%fd2", "%p0", "%p2", "%p7", "!%p3", "-%r1", "_", "%r1|%p2", "{%r1, %r2}", "{%r1, %r2, %r3, %r4}",
    "{%f1, %f2, %f3, %f4}", "{%rd1}", "{}", "{_, %r1}", "[%rd1]", "[%rd2+8]", "[%r10]", "[%r11]", "[buffer]", "[table+60]", "[map]", "[depot+64]",
    "[%rd0, {%r1, %r2}]", "[%rd1+-8]", "[0]", "[4294967296]", "[%rd5]", "[dyn+16]", "buffer", "table", "dyn", "in", "map", "scale", "depot", "%tid.x",
    "%ctaid.y", "%laneid", "%clock64", "%nosuch", "L", "E", "0", "1", "-1", "2", "3", "4", "8", "16", "24", "31", "32", "33", "63", "64", "65", "128",
    "256", "255", "1023", "4096", "65535", "65536", "0x7fffffff", "0x80000000", "0xffffffff", "4294967296", "9223372036854775807",
    "0x8000000000000000", "18446744073709551615", "0f3F800000", "0f7FC00000", "0fFF800000", "0f00000001", "0d3FF0000000000000", "0d7FF0000000000001",
    "1.5", "-2.5e-3", "1e400", "16777216", "0x1000010", "0x2000000", 0,
};

const char *const fuzz_emu_names[] = {
    "h200", "a100", "h200,seed=7", "h200,seed=7,check=0,threads=2", "a100,check=1", "h200,seed=", "h200,threads=1024", "h200,threads=1025", ",", "",
    "h200,seed=1,seed=2", "nosuch", "h200,seed=9223372036854775807", "h200 ,check=2", "h200,seed=-1", "h200,seed=99999999999999999999", 0,
};
