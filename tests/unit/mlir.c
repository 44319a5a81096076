/* The MLIR decoders, executed: each row is a function that reads memref x and writes
 * memref y, with the bits of both. */
#include <stdlib.h>
#include <string.h>

#include "ir/mlir/mlir.h"
#include "ir/signature.h"
#include "targets/cpu/cpu.h"
#include "tests/unit/check.h"

enum { MOST = 8 };

typedef struct buffer {
  unsigned bytes; /* of an element */
  size_t count;
  uint64_t bits[MOST];
} buffer;

/* --- one operation on scalars: %a, %b, %c are x[0], x[1], x[2]; %r goes to y[0] --- */

typedef struct scalar_row {
  const char *in, *out; /* types */
  const char *body;
  unsigned in_bytes, out_bytes;
  uint64_t a, b, c, expected;
} scalar_row;

static const scalar_row scalar_rows[] = {
    /* arith on integers */
    {"i32", "i32", "%r = arith.addi %a, %b : i32", 4, 4, 0xFFFFFFFF, 2, 0, 1},
    {"i32", "i32", "%r = arith.subi %a, %b : i32", 4, 4, 1, 2, 0, 0xFFFFFFFF},
    {"i32", "i32", "%r = arith.divsi %a, %b : i32", 4, 4, 0xFFFFFFF9, 2, 0, 0xFFFFFFFD},
    {"i32", "i32", "%r = arith.remsi %a, %b : i32", 4, 4, 0xFFFFFFF9, 2, 0, 0xFFFFFFFF},
    {"i32", "i32", "%r = arith.floordivsi %a, %b : i32", 4, 4, 0xFFFFFFF9, 2, 0, 0xFFFFFFFC},
    {"i32", "i32", "%r = arith.ceildivsi %a, %b : i32", 4, 4, 7, 2, 0, 4},
    {"i32", "i32", "%r = arith.ceildivui %a, %b : i32", 4, 4, 0xFFFFFFFF, 2, 0, 0x80000000},
    {"i8", "i8", "%r = arith.shrsi %a, %b : i8", 1, 1, 0x80, 3, 0, 0xF0},
    {"i8", "i8", "%r = arith.maxsi %a, %b : i8", 1, 1, 0x80, 3, 0, 3},
    {"i8", "i8", "%r = arith.maxui %a, %b : i8", 1, 1, 0x80, 3, 0, 0x80},
    {"i1", "i1", "%r = arith.addi %a, %b : i1", 1, 1, 1, 1, 0, 0},
    {"i1", "i1", "%r = arith.maxsi %a, %b : i1", 1, 1, 1, 0, 0, 0},
    {"i1", "i1", "%r = arith.cmpi slt, %a, %b : i1", 1, 1, 1, 0, 0, 1},
    {"i1", "i32", "%r = arith.extsi %a : i1 to i32", 1, 4, 1, 0, 0, 0xFFFFFFFF},
    {"i1", "i32", "%r = arith.extui %a : i1 to i32", 1, 4, 1, 0, 0, 1},
    {"i1", "f32", "%r = arith.sitofp %a : i1 to f32", 1, 4, 1, 0, 0, 0xBF800000},
    {"i32", "i32", "%n = arith.trunci %a : i32 to i5\n %r = arith.extsi %n : i5 to i32", 4, 4, 0x30,
     0, 0, 0xFFFFFFF0},
    {"i32", "i32",
     "%n = arith.trunci %a : i32 to i5\n %m = arith.trunci %b : i32 to i5\n"
     "%s = arith.addi %n, %m : i5\n %r = arith.extui %s : i5 to i32",
     4, 4, 31, 3, 0, 2},
    {"i32", "i32",
     "%n = arith.trunci %a : i32 to i5\n %m = arith.trunci %b : i32 to i5\n"
     "%s = arith.divsi %n, %m : i5\n %r = arith.extsi %s : i5 to i32",
     4, 4, 0x19, 2, 0, 0xFFFFFFFD},
    {"i32", "i32",
     "%n = arith.trunci %a : i32 to i5\n %s = math.ctlz %n : i5\n"
     "%r = arith.extui %s : i5 to i32",
     4, 4, 1, 0, 0, 4},
    {"i64", "i64",
     "%n = arith.index_cast %a : i64 to index\n %m = arith.index_cast %n : index to i8\n"
     "%k = arith.index_cast %m : i8 to index\n %r = arith.index_cast %k : index to i64",
     8, 8, 0xFF7F, 0, 0, 127},
    {"i32", "i32",
     "%s, %o = arith.addui_extended %a, %b : i32, i1\n"
     "%r = arith.extui %o : i1 to i32",
     4, 4, 0xFFFFFFFF, 1, 0, 1},
    {"i32", "i32", "%l, %r = arith.mulsi_extended %a, %b : i32", 4, 4, 0xFFFFFFFF, 5, 0,
     0xFFFFFFFF},
    {"i32", "i32", "%l, %r = arith.mului_extended %a, %b : i32", 4, 4, 0xFFFFFFFF, 5, 0, 4},
    {"i32", "i32", "%r = math.ipowi %a, %b : i32", 4, 4, 0xFFFFFFFD, 3, 0, 0xFFFFFFE5},
    {"i32", "i32", "%r = math.ipowi %a, %b : i32", 4, 4, 0xFFFFFFFF, 0xFFFFFFFD, 0, 0xFFFFFFFF},
    /* arith and math on floats */
    {"f32", "f32", "%r = arith.addf %a, %b : f32", 4, 4, 0x3F800000, 0x40000000, 0, 0x40400000},
    {"f32", "f32", "%r = arith.maximumf %a, %b : f32", 4, 4, 0x80000000, 0, 0, 0},
    {"f32", "f32", "%r = arith.maxnumf %a, %b : f32", 4, 4, 0x7FC00000, 0x3F800000, 0, 0x3F800000},
    {"f32", "i1", "%r = arith.cmpf ult, %a, %b : f32", 4, 1, 0x7FC00000, 0x3F800000, 0, 1},
    {"f32", "i1", "%r = arith.cmpf ord, %a, %b : f32", 4, 1, 0x7FC00000, 0x3F800000, 0, 0},
    {"f32", "i1", "%r = math.isinf %a : f32", 4, 1, 0xFF800000, 0, 0, 1},
    {"f32", "i1", "%r = math.isnormal %a : f32", 4, 1, 1, 0, 0, 0},
    {"f32", "f32", "%r = math.ceil %a : f32", 4, 4, 0xBE800000, 0, 0, 0x80000000},
    {"f32", "f32", "%r = math.round %a : f32", 4, 4, 0x40200000, 0, 0, 0x40400000},
    {"f32", "f32", "%r = math.roundeven %a : f32", 4, 4, 0x40200000, 0, 0, 0x40000000},
    {"f32", "f32", "%r = math.powf %a, %b : f32", 4, 4, 0xC0000000, 0x40A00000, 0, 0xC2000000},
    {"f32", "f32", "%r = math.fma %a, %b, %c : f32", 4, 4, 0x3F800001, 0x3F800001, 0xBF800002,
     0x28800000},
    {"f32", "f32", "%r = math.clampf %a to [%b, %c] : f32", 4, 4, 0x40A00000, 0, 0x3F800000,
     0x3F800000},
    {"f32", "f32", "%r = math.copysign %a, %b : f32", 4, 4, 0x3F800000, 0x80000000, 0, 0xBF800000},
    {"f32", "f16", "%r = arith.truncf %a : f32 to f16", 4, 2, 0x3F801000, 0, 0, 0x3C00},
    {"f16", "f32", "%r = arith.extf %a : f16 to f32", 2, 4, 0x3C01, 0, 0, 0x3F802000},
    {"f32", "i32", "%r = arith.fptosi %a : f32 to i32", 4, 4, 0xC0200000, 0, 0, 0xFFFFFFFE},
    {"f32", "i32", "%r = arith.bitcast %a : f32 to i32", 4, 4, 0x7FA00001, 0, 0, 0x7FA00001},
    {"f32", "f32", "%r = arith.constant 0x7FA00001 : f32", 4, 4, 0, 0, 0, 0x7FA00001},
    {"i64", "i64",
     "%n = arith.index_cast %a : i64 to index\n"
     "%m = affine.apply affine_map<(d0) -> (d0 mod 5 + (d0 floordiv 3) * 100)>(%n)\n"
     "%r = arith.index_cast %m : index to i64",
     8, 8, (uint64_t)-7, 0, 0, (uint64_t)(3 - 300)},
    {"i64", "i64",
     "%n = arith.index_cast %a : i64 to index\n"
     "%d:3 = affine.delinearize_index %n into (2, 3, 4) : index, index, index\n"
     "%m = affine.linearize_index [%d#2, %d#1, %d#0] by (4, 3, 2) : index\n"
     "%r = arith.index_cast %m : index to i64",
     8, 8, 17, 0, 0, 9},
};

/* --- whole functions --- */

typedef struct function_row {
  const char *name;
  const char *text; /* defines @entry(memref x, memref y) */
  buffer x, y;      /* y as expected */
} function_row;

#define F(a) 4, a
static const function_row function_rows[] = {
    {"for carries values",
     "func.func @entry(%x: memref<4xf32>, %y: memref<1xf32>) {\n"
     "  %c0 = arith.constant 0 : index\n %c1 = arith.constant 1 : index\n"
     "  %c4 = arith.constant 4 : index\n %z = arith.constant 0.0 : f32\n"
     "  %s = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %z) -> f32 {\n"
     "    %v = memref.load %x[%i] : memref<4xf32>\n"
     "    %n = arith.addf %acc, %v : f32\n    scf.yield %n : f32\n  }\n"
     "  memref.store %s, %y[%c0] : memref<1xf32>\n  return\n}",
     {F(4), {0x3F800000, 0x40000000, 0x40400000, 0x40800000}},
     {F(1), {0x41200000}}},
    {"for swaps its carried values",
     "func.func @entry(%x: memref<2xi32>, %y: memref<2xi32>) {\n"
     "  %c0 = arith.constant 0 : index\n %c1 = arith.constant 1 : index\n"
     "  %c3 = arith.constant 3 : index\n"
     "  %a = memref.load %x[%c0] : memref<2xi32>\n  %b = memref.load %x[%c1] : memref<2xi32>\n"
     "  %r:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%p = %a, %q = %b) -> (i32, i32) {\n"
     "    scf.yield %q, %p : i32, i32\n  }\n"
     "  memref.store %r#0, %y[%c0] : memref<2xi32>\n"
     "  memref.store %r#1, %y[%c1] : memref<2xi32>\n  return\n}",
     {F(2), {5, 9}},
     {F(2), {9, 5}}},
    {"nested carried values (coalesced-carry)",
     "func.func @entry(%x: memref<1xi64>, %y: memref<1xi64>) {\n"
     "  %z = arith.constant 0 : index\n %one = arith.constant 1 : index\n"
     "  %four = arith.constant 4 : index\n  %first = memref.load %x[%z] : memref<1xi64>\n"
     "  %r = scf.for %i = %z to %four step %one iter_args(%outer = %first) -> (i64) {\n"
     "    %s = scf.for %j = %z to %four step %one iter_args(%inner = %outer) -> (i64) {\n"
     "      %t = arith.addi %inner, %outer : i64\n      scf.yield %t : i64\n    }\n"
     "    scf.yield %s : i64\n  }\n"
     "  memref.store %r, %y[%z] : memref<1xi64>\n  return\n}",
     {8, 1, {1}},
     {8, 1, {625}}},
    {"while",
     "func.func @entry(%x: memref<1xi32>, %y: memref<1xi32>) {\n"
     "  %z = arith.constant 0 : index\n %k3 = arith.constant 3 : i32\n"
     "  %k1000 = arith.constant 1000 : i32\n  %a = memref.load %x[%z] : memref<1xi32>\n"
     "  %r = scf.while (%v = %a) : (i32) -> i32 {\n"
     "    %c = arith.cmpi slt, %v, %k1000 : i32\n    scf.condition(%c) %v : i32\n"
     "  } do {\n  ^bb0(%v: i32):\n    %n = arith.muli %v, %k3 : i32\n    scf.yield %n : i32\n  }\n"
     "  memref.store %r, %y[%z] : memref<1xi32>\n  return\n}",
     {F(1), {7}},
     {F(1), {1701}}},
    {"branches with arguments and a switch",
     "func.func @entry(%x: memref<1xi32>, %y: memref<1xi32>) {\n"
     "  %z = arith.constant 0 : index\n %k1 = arith.constant 1 : i32\n"
     "  %a = memref.load %x[%z] : memref<1xi32>\n"
     "  cf.switch %a : i32, [ default: ^bb1(%k1 : i32), 5: ^bb2, 6: ^bb1(%a : i32) ]\n"
     "^bb1(%p: i32):\n  memref.store %p, %y[%z] : memref<1xi32>\n  return\n"
     "^bb2:\n  %n = arith.addi %a, %a : i32\n"
     "  %c = arith.cmpi sgt, %n, %a : i32\n  cf.cond_br %c, ^bb1(%n : i32), ^bb1(%k1 : i32)\n}",
     {F(1), {5}},
     {F(1), {10}}},
    {"parallel with captures, and a reduction",
     "func.func @entry(%x: memref<4xf32>, %y: memref<4xf32>) {\n"
     "  %c0 = arith.constant 0 : index\n %c1 = arith.constant 1 : index\n"
     "  %c4 = arith.constant 4 : index\n %z = arith.constant 0.0 : f32\n"
     "  %s = scf.parallel (%i) = (%c0) to (%c4) step (%c1) init (%z) -> f32 {\n"
     "    %v = memref.load %x[%i] : memref<4xf32>\n"
     "    scf.reduce(%v : f32) {\n    ^bb0(%l: f32, %r: f32):\n"
     "      %q = arith.addf %l, %r : f32\n      scf.reduce.return %q : f32\n    }\n  }\n"
     "  scf.parallel (%i) = (%c0) to (%c4) step (%c1) {\n"
     "    %v = memref.load %x[%i] : memref<4xf32>\n    %q = arith.mulf %v, %s : f32\n"
     "    memref.store %q, %y[%i] : memref<4xf32>\n    scf.reduce\n  }\n  return\n}",
     {F(4), {0x3F800000, 0x3F800000, 0x40000000, 0x40800000}},
     {F(4), {0x41000000, 0x41000000, 0x41800000, 0x42000000}}},
    {"affine bounds, condition and accesses",
     "func.func @entry(%x: memref<8xi32>, %y: memref<8xi32>) {\n"
     "  %k = arith.constant -1 : i32\n"
     "  affine.for %i = 0 to 8 {\n    affine.store %k, %y[%i] : memref<8xi32>\n  }\n"
     "  affine.for %i = 1 to min affine_map<() -> (7, 9)>() step 2 {\n"
     "    affine.if affine_set<(d0) : (d0 - 2 >= 0)>(%i) {\n"
     "      %v = affine.load %x[%i - 1] : memref<8xi32>\n"
     "      affine.store %v, %y[%i + 1] : memref<8xi32>\n    }\n  }\n  return\n}",
     {F(8), {0, 1, 2, 3, 4, 5, 6, 7}},
     {F(8), {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 2, 0xFFFFFFFF, 4, 0xFFFFFFFF}}},
    {"views: transpose, subview, copy",
     "func.func @entry(%x: memref<2x4xi32>, %y: memref<2x3xi32>) {\n"
     "  %t = memref.transpose %x (i, j) -> (j, i) : memref<2x4xi32> to memref<4x2xi32, "
     "strided<[1, 4]>>\n"
     "  %s = memref.subview %t[1, 0] [3, 2] [1, 1] : memref<4x2xi32, strided<[1, 4]>> to "
     "memref<3x2xi32, strided<[1, 4], offset: 1>>\n"
     "  %u = memref.transpose %s (i, j) -> (j, i) : memref<3x2xi32, strided<[1, 4], offset: 1>> "
     "to memref<2x3xi32, strided<[4, 1], offset: 1>>\n"
     "  memref.copy %u, %y : memref<2x3xi32, strided<[4, 1], offset: 1>> to memref<2x3xi32>\n"
     "  return\n}",
     {F(8), {0, 1, 2, 3, 4, 5, 6, 7}},
     {F(6), {1, 2, 3, 5, 6, 7}}},
    {"global, expand, collapse, metadata",
     "memref.global \"private\" constant @g : memref<4xi32> = dense<[10, 20, 30, 40]>\n"
     "func.func @entry(%x: memref<1xi32>, %y: memref<2xi32>) {\n"
     "  %c0 = arith.constant 0 : index\n %c1 = arith.constant 1 : index\n"
     "  %g = memref.get_global @g : memref<4xi32>\n"
     "  %e = memref.expand_shape %g [[0, 1]] output_shape [2, 2] : memref<4xi32> into "
     "memref<2x2xi32>\n"
     "  %v = memref.load %e[%c1, %c0] : memref<2x2xi32>\n"
     "  memref.store %v, %y[%c0] : memref<2xi32>\n"
     "  %b, %o, %s:2, %t:2 = memref.extract_strided_metadata %e : memref<2x2xi32> -> memref<i32>, "
     "index, index, index, index, index\n"
     "  %n = arith.index_cast %t#0 : index to i32\n"
     "  memref.store %n, %y[%c1] : memref<2xi32>\n  return\n}",
     {F(1), {0}},
     {F(2), {30, 2}}},
    {"launch: shared memory, barrier, captures",
     "func.func @entry(%x: memref<4xi32>, %y: memref<4xi32>) {\n"
     "  %c1 = arith.constant 1 : index\n %c3 = arith.constant 3 : index\n"
     "  %c4 = arith.constant 4 : index\n"
     "  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)\n"
     "      threads(%tx, %ty, %tz) in (%sx = %c4, %sy = %c1, %sz = %c1)\n"
     "      workgroup(%w : memref<4xi32, #gpu.address_space<workgroup>>) {\n"
     "    %v = memref.load %x[%tx] : memref<4xi32>\n"
     "    memref.store %v, %w[%tx] : memref<4xi32, #gpu.address_space<workgroup>>\n"
     "    gpu.barrier\n    %r = arith.subi %c3, %tx : index\n"
     "    %q = memref.load %w[%r] : memref<4xi32, #gpu.address_space<workgroup>>\n"
     "    memref.store %q, %y[%tx] : memref<4xi32>\n    gpu.terminator\n  }\n  return\n}",
     {F(4), {1, 2, 3, 4}},
     {F(4), {4, 3, 2, 1}}},
    {"launch_func: shuffle, reductions",
     "module attributes {gpu.container_module} {\n"
     "func.func @entry(%x: memref<4xi32>, %y: memref<4xi32>) {\n"
     "  %c1 = arith.constant 1 : index\n %c4 = arith.constant 4 : index\n"
     "  gpu.launch_func @m::@k blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1)\n"
     "      args(%x : memref<4xi32>, %y : memref<4xi32>)\n  return\n}\n"
     "gpu.module @m {\n  gpu.func @k(%x: memref<4xi32>, %y: memref<4xi32>) kernel {\n"
     "    %t = gpu.thread_id x\n    %v = memref.load %x[%t] : memref<4xi32>\n"
     "    %one = arith.constant 1 : i32\n    %four = arith.constant 4 : i32\n"
     "    %s, %ok = gpu.shuffle xor %v, %one, %four : i32\n"
     "    %a = gpu.all_reduce add %v {} : (i32) -> i32\n"
     "    %m = gpu.subgroup_reduce maxsi %v : (i32) -> i32\n"
     "    %p = arith.muli %a, %m : i32\n    %q = arith.addi %p, %s : i32\n"
     "    memref.store %q, %y[%t] : memref<4xi32>\n    gpu.return\n  }\n}\n}",
     {F(4), {1, 2, 3, 4}},
     {F(4), {42, 41, 44, 43}}},
    {"atomics on lanes",
     "func.func @entry(%x: memref<4xi32>, %y: memref<2xi32>) {\n"
     "  %c0 = arith.constant 0 : index\n %c1 = arith.constant 1 : index\n"
     "  %c4 = arith.constant 4 : index\n %z = arith.constant 0 : i32\n"
     "  %k = arith.constant 1 : i32\n"
     "  memref.store %z, %y[%c0] : memref<2xi32>\n  memref.store %k, %y[%c1] : memref<2xi32>\n"
     "  scf.parallel (%i) = (%c0) to (%c4) step (%c1) {\n"
     "    %v = memref.load %x[%i] : memref<4xi32>\n"
     "    %o = memref.atomic_rmw addi %v, %y[%c0] : (i32, memref<2xi32>) -> i32\n"
     "    memref.generic_atomic_rmw %y[%c1] : memref<2xi32> {\n    ^bb0(%cur: i32):\n"
     "      %n = arith.muli %cur, %v : i32\n      memref.atomic_yield %n : i32\n    }\n"
     "    scf.reduce\n  }\n  return\n}",
     {F(4), {1, 2, 3, 4}},
     {F(2), {10, 24}}},
    {"elementwise on tensors and vectors",
     "func.func @entry(%x: memref<3xf32>, %y: memref<3xf32>) {\n"
     "  %c0 = arith.constant 0 : index\n %c1 = arith.constant 1 : index\n"
     "  %c3 = arith.constant 3 : index\n"
     "  %t = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>\n"
     "  %u = arith.addf %t, %t : tensor<3xf32>\n"
     "  %v = arith.constant dense<[4.0, 5.0]> : vector<2xf32>\n"
     "  %w = arith.mulf %v, %v : vector<2xf32>\n  %e = vector.extract %w[1] : f32 from "
     "vector<2xf32>\n"
     "  scf.for %i = %c0 to %c3 step %c1 {\n    %q = tensor.extract %u[%i] : tensor<3xf32>\n"
     "    %r = arith.addf %q, %e : f32\n    memref.store %r, %y[%i] : memref<3xf32>\n  }\n"
     "  return\n}",
     {F(3), {0}},
     {F(3), {0x41D80000, 0x41E80000, 0x41F80000}}},
    {"forall writes tensors at its end",
     "func.func @entry(%x: memref<4xi32>, %y: memref<4xi32>) {\n"
     "  %c0 = arith.constant 0 : index\n %c1 = arith.constant 1 : index\n"
     "  %c4 = arith.constant 4 : index\n"
     "  %t = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>\n"
     "  %r = scf.forall (%i) in (4) shared_outs(%o = %t) -> (tensor<4xi32>) {\n"
     "    %k3 = arith.constant 3 : index\n    %j = arith.subi %k3, %i : index\n"
     "    %s = tensor.extract_slice %o[%j] [1] [1] : tensor<4xi32> to tensor<1xi32>\n"
     "    scf.forall.in_parallel {\n"
     "      tensor.parallel_insert_slice %s into %o[%i] [1] [1] : tensor<1xi32> into "
     "tensor<4xi32>\n    }\n  }\n"
     "  scf.for %i = %c0 to %c4 step %c1 {\n    %q = tensor.extract %r[%i] : tensor<4xi32>\n"
     "    memref.store %q, %y[%i] : memref<4xi32>\n  }\n  return\n}",
     {F(4), {0}},
     {F(4), {4, 3, 2, 1}}},
    {"execute_region, index_switch, call",
     "func.func @twice(%a: i32) -> i32 {\n  %r = arith.addi %a, %a : i32\n  return %r : i32\n}\n"
     "func.func @entry(%x: memref<1xi32>, %y: memref<1xi32>) {\n"
     "  %z = arith.constant 0 : index\n %k = arith.constant 100 : i32\n"
     "  %a = memref.load %x[%z] : memref<1xi32>\n  %n = arith.index_cast %a : i32 to index\n"
     "  %s = scf.index_switch %n -> i32\n  case 2 {\n    scf.yield %k : i32\n  }\n"
     "  case 7 {\n    %t = func.call @twice(%a) : (i32) -> i32\n    scf.yield %t : i32\n  }\n"
     "  default {\n    scf.yield %a : i32\n  }\n"
     "  %r = scf.execute_region -> i32 {\n    %c = arith.cmpi eq, %s, %k : i32\n"
     "    cf.cond_br %c, ^bb1(%a : i32), ^bb1(%s : i32)\n"
     "  ^bb1(%v: i32):\n    scf.yield %v : i32\n  }\n"
     "  memref.store %r, %y[%z] : memref<1xi32>\n  return\n}",
     {F(1), {7}},
     {F(1), {14}}},
};

/* --- what is not understood --- */

static const char *const unknown_texts[] = {
    "func.func @entry() {\n  %0 = \"foo.bar\"() : () -> i32\n  return\n}",
    "func.func @entry(%a: f80) {\n  %0 = arith.addf %a, %a : f80\n  return\n}",
    "func.func @entry(%a: vector<[4]xf32>) {\n  return\n}",
};

/* --- running --- */

static MlirContext context;

static size_t count_unsupported(const plumb_program *p) {
  size_t count = 0;
  for (size_t f = 0; f < p->function_count; f++)
    for (size_t b = 0; b < p->functions[f]->block_count; b++)
      for (size_t i = 0; i < p->functions[f]->blocks[b].inst_count; i++)
        count += p->functions[f]->blocks[b].insts[i].op == PLUMB_OP_UNSUPPORTED;
  return count;
}

static plumb_program *decode(plumb_arena *arena, const char *name, const char *text,
                             size_t *out_unsupported) {
  plumb_diag diag = {0};
  MlirModule module;
  plumb_program *p = plumb_program_create(arena, name);
  plumb_status status = plumb_mlir_parse(context, name, text, &module, &diag);
  CHECK(status == PLUMB_OK, "%s: %s", name, diag.message);
  if (status != PLUMB_OK) return NULL;
  status = plumb_mlir_decode(p, module, NULL, &diag);
  mlirModuleDestroy(module);
  *out_unsupported = count_unsupported(p);
  if (status == PLUMB_OK) status = plumb_program_finish(p, &diag);
  CHECK(status == PLUMB_OK, "%s: %s", name, diag.message);
  return status == PLUMB_OK ? p : NULL;
}

static void pack(const buffer *b, unsigned char *bytes) {
  for (size_t i = 0; i < b->count; i++) memcpy(bytes + i * b->bytes, &b->bits[i], b->bytes);
}

/* The descriptor of a buffer of the function's parameter: all in one row, since every row's
 * memref has static sizes and strides. */
static size_t describe(uint64_t address, size_t words, uint64_t *args) {
  memset(args, 0, words * sizeof *args);
  args[0] = args[1] = address;
  return words;
}

/* Words of each of the two memref arguments: equal ranks in all rows. */
static void run(const char *name, const char *text, const buffer *x, const buffer *y) {
  plumb_arena *arena = plumb_arena_create();
  size_t unsupported;
  plumb_program *p = decode(arena, name, text, &unsupported);
  if (!p) {
    plumb_arena_destroy(arena);
    return;
  }
  CHECK(unsupported == 0, "%s: %zu operations are not understood", name, unsupported);
  plumb_machine *m = plumb_machine_create(arena);
  plumb_diag diag = {0};
  unsigned char bytes[MOST * 8] = {0}, seen[MOST * 8] = {0};
  uint64_t from = plumb_machine_alloc(m, x->count * x->bytes, 64, "x");
  uint64_t to = plumb_machine_alloc(m, y->count * y->bytes, 64, "y");
  pack(x, bytes);
  plumb_machine_write(m, from, bytes, x->count * x->bytes, &diag);
  size_t words = plumb_program_find(p, "entry")->param_count / 2;
  uint64_t args[32];
  size_t count = describe(from, words, args);
  count += describe(to, words, args + count);
  plumb_run_options options = plumb_run_options_default();
  plumb_run_result result = {0};
  plumb_status status = plumb_machine_load(m, p, &diag);
  if (status == PLUMB_OK)
    status = plumb_machine_call(m, "entry", args, count, &options, &result, &diag);
  CHECK(status == PLUMB_OK, "%s: %s", name, diag.message);
  CHECK(result.trap.kind == PLUMB_TRAP_NONE, "%s: %s: %s", name, plumb_trap_text(result.trap.kind),
        result.trap.message ? result.trap.message : "");
  pack(y, bytes);
  plumb_machine_read(m, to, seen, NULL, y->count * y->bytes, &diag);
  for (size_t i = 0; i < y->count; i++) {
    uint64_t got = 0, want = 0;
    memcpy(&got, seen + i * y->bytes, y->bytes);
    memcpy(&want, bytes + i * y->bytes, y->bytes);
    CHECK(got == want, "%s: y[%zu] is %#llx, not %#llx", name, i, (unsigned long long)got,
          (unsigned long long)want);
  }
  plumb_machine_destroy(m);
  plumb_arena_destroy(arena);
}

static void run_scalar(const scalar_row *row) {
  char text[2048];
  snprintf(text, sizeof text,
           "func.func @entry(%%x: memref<3x%s>, %%y: memref<1x%s>) {\n"
           "  %%i0 = arith.constant 0 : index\n  %%i1 = arith.constant 1 : index\n"
           "  %%i2 = arith.constant 2 : index\n"
           "  %%a = memref.load %%x[%%i0] : memref<3x%s>\n"
           "  %%b = memref.load %%x[%%i1] : memref<3x%s>\n"
           "  %%c = memref.load %%x[%%i2] : memref<3x%s>\n  %s\n"
           "  memref.store %%r, %%y[%%i0] : memref<1x%s>\n  return\n}\n",
           row->in, row->out, row->in, row->in, row->in, row->body, row->out);
  buffer x = {row->in_bytes, 3, {row->a, row->b, row->c}};
  buffer y = {row->out_bytes, 1, {row->expected}};
  run(row->body, text, &x, &y);
}

static void check_signature(void) {
  plumb_arena *arena = plumb_arena_create();
  plumb_diag diag = {0};
  plumb_signature info;
  static const char text[] =
      "func.func @f(%a: tensor<?x4xf16>, %b: memref<2xi5>, %c: index) -> tensor<f32> {\n"
      "  %r = tensor.empty() : tensor<f32>\n  return %r : tensor<f32>\n}\n"
      "func.func private @declared()\n";
  CHECK(plumb_signature_read(arena, "s", text, NULL, &info, &diag) == PLUMB_OK, "%s", diag.message);
  CHECK(strcmp(info.name, "f") == 0, "%s", info.name);
  CHECK(info.input_count == 3 && info.result_count == 1, "%zu inputs", info.input_count);
  CHECK(info.inputs[0].kind == PLUMB_SIGNATURE_TENSOR && info.inputs[0].dtype == PLUMB_F16 &&
            info.inputs[0].rank == 2 && info.inputs[0].dims[0] == -1 && info.inputs[0].dims[1] == 4,
        "%s", info.inputs[0].text);
  CHECK(info.inputs[1].kind == PLUMB_SIGNATURE_MEMREF && info.inputs[1].bits == 5, "%s",
        info.inputs[1].text);
  CHECK(info.inputs[2].kind == PLUMB_SIGNATURE_SCALAR && info.inputs[2].dtype == PLUMB_I64, "%s",
        info.inputs[2].text);
  CHECK(plumb_signature_read(arena, "s", text, "g", &info, &diag) == PLUMB_BAD_INPUT &&
            strstr(diag.message, "@f"),
        "%s", diag.message);
  bool found[3] = {false, true, true};
  CHECK(plumb_signature_find("s", text, "f", &found[0], &diag) == PLUMB_OK &&
            plumb_signature_find("s", text, "declared", &found[1], &diag) == PLUMB_OK &&
            plumb_signature_find("s", "module {}", NULL, &found[2], &diag) == PLUMB_OK &&
            plumb_signature_find("s", "module", NULL, &found[2], &diag) == PLUMB_BAD_INPUT,
        "%s", diag.message);
  CHECK(found[0] && !found[1] && !found[2], "functions with a body");
  plumb_arena_destroy(arena);
}

int main(void) {
  context = plumb_mlir_context_create();
  for (size_t i = 0; i < sizeof scalar_rows / sizeof *scalar_rows; i++) run_scalar(&scalar_rows[i]);
  for (size_t i = 0; i < sizeof function_rows / sizeof *function_rows; i++)
    run(function_rows[i].name, function_rows[i].text, &function_rows[i].x, &function_rows[i].y);
  for (size_t i = 0; i < sizeof unknown_texts / sizeof *unknown_texts; i++) {
    plumb_arena *arena = plumb_arena_create();
    size_t unsupported = 0;
    decode(arena, "unknown", unknown_texts[i], &unsupported);
    CHECK(unsupported > 0, "row %zu was understood", i);
    plumb_arena_destroy(arena);
  }
  check_signature();
  mlirContextDestroy(context);
  return check_finish();
}
