/* The llvm dialect on the host: what each operation computes. Arguments are addresses. */
#include "tests/unit/mlir_run.h"

#define F2(body) \
  "llvm.func @f(%x: !llvm.ptr, %y: !llvm.ptr) { %v = llvm.load %x : !llvm.ptr -> f32 " body \
  " llvm.store %r, %y : f32, !llvm.ptr llvm.return }"
#define I32(name, value) "%" name " = llvm.mlir.constant(" value " : i32) : i32 "
#define TO_FLOAT(name) "%r = llvm.sitofp %" name " : i32 to f32 "
#define ONE(input) \
  { \
    {1, {4}, input}, { \
      1, {4}, {0} \
    } \
  }

#define V(...) {__VA_ARGS__}

static const run_row rows[] = {
    {"gep",
     F2("%p = llvm.getelementptr %x[2] : (!llvm.ptr) -> !llvm.ptr, f32 "
        "%r = llvm.load %p : !llvm.ptr -> f32"),
     ONE(V(1, 2, 3, 4)),
     1,
     1,
     {3}},
    {"byval-is-a-copy",
     "llvm.func @clear(%p: !llvm.ptr {llvm.byval = !llvm.struct<(f32, f32)>}) -> f32 { "
     "%z = llvm.mlir.constant(0.0 : f32) : f32 llvm.store %z, %p : f32, !llvm.ptr "
     "%q = llvm.getelementptr %p[1] : (!llvm.ptr) -> !llvm.ptr, f32 "
     "%s = llvm.load %q : !llvm.ptr -> f32 llvm.return %s : f32 } " F2(
         "%c = llvm.call @clear(%x) : (!llvm.ptr {llvm.byval = !llvm.struct<(f32, f32)>}) -> f32 "
         "%k = llvm.load %x : !llvm.ptr -> f32 %r = llvm.fadd %c, %k : f32"),
     ONE(V(5, 2)),
     1,
     1,
     {7}},
    {"denormal-mode", /* inputs flush: the smallest normal plus half of it */
     "llvm.func @f(%x: !llvm.ptr, %y: !llvm.ptr) attributes {denormal_fp_math_f32 = "
     "\"ieee,preserve-sign\"} { %v = llvm.load %x : !llvm.ptr -> f32 "
     "%p = llvm.getelementptr %x[1] : (!llvm.ptr) -> !llvm.ptr, f32 "
     "%w = llvm.load %p : !llvm.ptr -> f32 %r = llvm.fadd %v, %w : f32 "
     "llvm.store %r, %y : f32, !llvm.ptr llvm.return }",
     ONE(V(0x1p-126f, 0x1p-127f)),
     1,
     1,
     {0x1p-126f}},
    {"inline-assembly",
     F2("%r = llvm.inline_asm \"fma.rn.f32 $0, $1, $2, $1;\", \"=f,f,f\" %v, %v : (f32, f32) -> "
        "f32"),
     ONE(V(5)),
     1,
     1,
     {30}},
    {"gep-struct",
     F2("%i = llvm.mlir.constant(1 : i64) : i64 "
        "%p = llvm.getelementptr %x[0, %i, 1] : (!llvm.ptr, i64) -> !llvm.ptr,"
        "  !llvm.array<2 x struct<(f32, f32)>> %r = llvm.load %p : !llvm.ptr -> f32"),
     ONE(V(1, 2, 3, 4)),
     1,
     1,
     {4}},
    {"struct-of-values",
     F2("%u = llvm.mlir.poison : !llvm.struct<(f32, array<2 x f32>)> "
        "%a = llvm.insertvalue %v, %u[1, 1] : !llvm.struct<(f32, array<2 x f32>)> "
        "%b = llvm.insertvalue %v, %a[0] : !llvm.struct<(f32, array<2 x f32>)> "
        "%r = llvm.extractvalue %b[1, 1] : !llvm.struct<(f32, array<2 x f32>)>"),
     ONE(V(5)),
     1,
     1,
     {5}},
    {"vector-load-is-aligned-by-promise",
     F2("%w = llvm.load %x {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32> "
        "%i = llvm.mlir.constant(3 : i32) : i32 "
        "%r = llvm.extractelement %w[%i : i32] : vector<4xf32>"),
     ONE(V(1, 2, 3, 4)),
     1,
     1,
     {4}},
    {"shuffle",
     F2("%w = llvm.load %x {alignment = 4 : i64} : !llvm.ptr -> vector<4xf32> "
        "%s = llvm.shufflevector %w, %w [6, 1] : vector<4xf32> "
        "%i = llvm.mlir.constant(0 : i32) : i32 "
        "%r = llvm.extractelement %s[%i : i32] : vector<2xf32>"),
     ONE(V(1, 2, 3, 4)),
     1,
     1,
     {3}},
    {"integers",
     F2(I32("a", "-7")
            I32("b", "2") "%q = llvm.sdiv %a, %b : i32 "
                          "%m = llvm.srem %a, %b : i32 %s = llvm.mul %q, %b overflow<nsw> : i32 "
                          "%t = llvm.sub %s, %m : i32 " TO_FLOAT("t")),
     ONE(V(0)),
     1,
     1,
     {-5}},
    {"compare-and-select",
     F2(I32("a", "-1") I32("b", "1") "%c = llvm.icmp \"ult\" %a, %b : i32 "
                                     "%d = llvm.fcmp \"uno\" %v, %v : f32 %e = llvm.or %c, %d : i1 "
                                     "%s = llvm.select %e, %a, %b : i1, i32 " TO_FLOAT("s")),
     ONE(V(2)),
     1,
     1,
     {1}},
    {"switch",
     F2(I32("a", "2") "llvm.switch %a : i32, ^d(%v : f32) [1: ^d(%v : f32), 2: ^e] "
                      "^d(%z: f32): llvm.br ^g(%z : f32) "
                      "^e: %k = llvm.fadd %v, %v : f32 llvm.br ^g(%k : f32) ^g(%r: f32):"),
     ONE(V(4)),
     1,
     1,
     {8}},
    {"loop", /* the back edge exchanges its values at once */
     F2("%z = llvm.mlir.constant(0 : i32) : i32 %o = llvm.mlir.constant(1 : i32) : i32 "
        "%n = llvm.mlir.constant(5 : i32) : i32 "
        "llvm.br ^h(%z, %v, %v : i32, f32, f32) ^h(%i: i32, %a: f32, %r: f32): "
        "%c = llvm.icmp \"slt\" %i, %n : i32 llvm.cond_br %c, ^t, ^e "
        "^t: %s = llvm.fadd %a, %r : f32 %j = llvm.add %i, %o : i32 "
        "llvm.br ^h(%j, %r, %s : i32, f32, f32) ^e:"),
     ONE(V(1)),
     1,
     1,
     {13}},
    {"intrinsics",
     F2("%m = llvm.mlir.constant(3.0 : f32) : f32 %a = llvm.intr.fma(%v, %m, %v) : (f32, f32, f32)"
        "  -> f32 %b = llvm.intr.maxnum(%a, %m) : (f32, f32) -> f32 "
        "%c = llvm.intr.sqrt(%b) : (f32) -> f32 %d = llvm.intr.floor(%c) : (f32) -> f32 "
        "%r = llvm.intr.fmuladd(%d, %d, %v) : (f32, f32, f32) -> f32"),
     ONE(V(5)),
     1,
     1,
     {21}},
    {"integer-intrinsics",
     F2(I32("a", "2147483647")
            I32("b", "1") "%s = llvm.intr.sadd.sat(%a, %b) : (i32, i32) -> i32 "
                          "%o = \"llvm.intr.sadd.with.overflow\"(%a, %b) : (i32, i32) -> "
                          "!llvm.struct<(i32, i1)> "
                          "%f = llvm.extractvalue %o[1] : !llvm.struct<(i32, i1)> "
                          "%l = \"llvm.intr.ctlz\"(%b) <{is_zero_poison = false}> : (i32) -> i32 "
                          "%e = llvm.icmp \"eq\" %s, %a : i32 %g = llvm.and %e, %f : i1 "
                          "%k = llvm.select %g, %l, %b : i1, i32 " TO_FLOAT("k")),
     ONE(V(0)),
     1,
     1,
     {31}},
    {"reduce",
     F2("%w = llvm.load %x {alignment = 4 : i64} : !llvm.ptr -> vector<4xf32> "
        "%r = \"llvm.intr.vector.reduce.fadd\"(%v, %w) : (f32, vector<4xf32>) -> f32"),
     ONE(V(1, 2, 3, 4)),
     1,
     1,
     {11}},
    {"masked-load",
     F2("%m = llvm.mlir.constant(dense<[true, false]> : vector<2xi1>) : vector<2xi1> "
        "%k = llvm.mlir.constant(dense<9.0> : vector<2xf32>) : vector<2xf32> "
        "%w = llvm.intr.masked.load %x, %m, %k {alignment = 4 : i32}"
        "  : (!llvm.ptr, vector<2xi1>, vector<2xf32>) -> vector<2xf32> "
        "%i = llvm.mlir.constant(1 : i32) : i32 "
        "%r = llvm.extractelement %w[%i : i32] : vector<2xf32>"),
     ONE(V(1, 2)),
     1,
     1,
     {9}},
    {"memory-of-c",
     "llvm.func @malloc(i64) -> !llvm.ptr llvm.func @free(!llvm.ptr) llvm.func @erff(f32) -> "
     "f32 " F2(
         "%n = llvm.mlir.constant(8 : i64) : i64 %p = llvm.call @malloc(%n) : (i64) -> !llvm.ptr "
         "\"llvm.intr.memcpy\"(%p, %x, %n) <{isVolatile = false}> : (!llvm.ptr, !llvm.ptr, i64)"
         "  -> () %q = llvm.getelementptr %p[1] : (!llvm.ptr) -> !llvm.ptr, f32 "
         "%s = llvm.load %q : !llvm.ptr -> f32 llvm.call @free(%p) : (!llvm.ptr) -> () "
         "%r = llvm.call @erff(%s) : (f32) -> f32"),
     ONE(V(1, INFINITY)),
     1,
     1,
     {1}},
    {"call-and-alloca",
     "llvm.func @twice(%a: f32) -> !llvm.struct<(f32, f32)> { %b = llvm.fadd %a, %a : f32 "
     "%u = llvm.mlir.undef : !llvm.struct<(f32, f32)> "
     "%c = llvm.insertvalue %a, %u[0] : !llvm.struct<(f32, f32)> "
     "%d = llvm.insertvalue %b, %c[1] : !llvm.struct<(f32, f32)> "
     "llvm.return %d : !llvm.struct<(f32, f32)> } " F2(
         "%t = llvm.call @twice(%v) : (f32) -> !llvm.struct<(f32, f32)> "
         "%o = llvm.mlir.constant(1 : i32) : i32 "
         "%p = llvm.alloca %o x !llvm.struct<(f32, f32)> : (i32) -> !llvm.ptr "
         "llvm.store %t, %p : !llvm.struct<(f32, f32)>, !llvm.ptr "
         "%q = llvm.getelementptr %p[0, 1] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(f32, f32)> "
         "%r = llvm.load %q : !llvm.ptr -> f32"),
     ONE(V(3)),
     1,
     1,
     {6}},
    {"globals",
     "llvm.mlir.global private constant @t(dense<[1.0, 2.5]> : tensor<2xf32>) : !llvm.array<2 x "
     "f32> "
     "llvm.mlir.global internal @p() : !llvm.ptr { %a = llvm.mlir.addressof @t : !llvm.ptr "
     "llvm.return %a : !llvm.ptr } " F2(
         "%a = llvm.mlir.addressof @p : !llvm.ptr %b = llvm.load %a : !llvm.ptr -> !llvm.ptr "
         "%c = llvm.getelementptr %b[1] : (!llvm.ptr) -> !llvm.ptr, f32 "
         "%r = llvm.load %c : !llvm.ptr -> f32"),
     ONE(V(0)),
     1,
     1,
     {2.5}},
    {"atomics",
     F2("%k = llvm.mlir.constant(2.0 : f32) : f32 "
        "%o = llvm.atomicrmw fadd %x, %k monotonic : !llvm.ptr, f32 "
        "%n = llvm.load %x : !llvm.ptr -> f32 %r = llvm.fadd %o, %n : f32"),
     ONE(V(1)),
     1,
     1,
     {4}},
    {"bits",
     F2("%b = llvm.bitcast %v : f32 to vector<2xi16> %i = llvm.mlir.constant(1 : i32) : i32 "
        "%h = llvm.extractelement %b[%i : i32] : vector<2xi16> "
        "%w = llvm.zext %h : i16 to i32 " TO_FLOAT("w")),
     ONE(V(1)),
     1,
     1,
     {16256}},
};

int main(void) {
  return run_rows(rows, sizeof rows / sizeof *rows, true);
}
