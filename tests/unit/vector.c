/* The vector dialect: what each operation computes, and what a mask leaves out. */
#include "tests/unit/mlir_run.h"

#define STORE "  vector.store %r, %y[%z] : memref<4xf32>, vector<4xf32> return }"
#define HEAD(args) "func.func @f(" args ", %y: memref<4xf32>) { %z = arith.constant 0 : index "
#define X4 HEAD("%x: memref<4xf32>") "%v = vector.load %x[%z] : memref<4xf32>, vector<4xf32> "
#define OUT4 {1, {4}, {0, 0, 0, 0}}

static const run_row rows[] = {
    {"load-store",
     X4 "%r = arith.addf %v, %v : vector<4xf32>" STORE,
     {{1, {4}, {1, 2, 3, 4}}, OUT4},
     1,
     4,
     {2, 4, 6, 8}},
    {"read-past-the-end",
     HEAD("%x: memref<?xf32>") "%p = arith.constant -1.0 : f32 "
                               "%r = vector.transfer_read %x[%z], %p : memref<?xf32>, "
                               "vector<4xf32>" STORE,
     {{1, {2}, {5, 6}}, OUT4},
     1,
     4,
     {5, 6, -1, -1}},
    {"write-past-the-end",
     "func.func @f(%x: memref<?xf32>) { %z = arith.constant 0 : index "
     "%c = arith.constant dense<3.0> : vector<4xf32> "
     "vector.transfer_write %c, %x[%z] : vector<4xf32>, memref<?xf32> return }",
     {{1, {3}, {0, 0, 0}}},
     0,
     3,
     {3, 3, 3}},
    {"read-transposed",
     HEAD("%x: memref<2x2xf32>") "%p = arith.constant 0.0 : f32 "
                                 "%t = vector.transfer_read %x[%z, %z], %p {in_bounds = [true, "
                                 "true],"
                                 "  permutation_map = affine_map<(a, b) -> (b, a)>} : "
                                 "memref<2x2xf32>, vector<2x2xf32> "
                                 "%r = vector.shape_cast %t : vector<2x2xf32> to "
                                 "vector<4xf32>" STORE,
     {{2, {2, 2}, {1, 2, 3, 4}}, OUT4},
     1,
     4,
     {1, 3, 2, 4}},
    {"read-broadcast",
     HEAD("%x: memref<1xf32>") "%p = arith.constant 0.0 : f32 "
                               "%r = vector.transfer_read %x[%z], %p {in_bounds = [true],"
                               "  permutation_map = affine_map<(a) -> (0)>} : memref<1xf32>, "
                               "vector<4xf32>" STORE,
     {{1, {1}, {7}}, OUT4},
     1,
     4,
     {7, 7, 7, 7}},
    {"masked-read",
     HEAD("%x: memref<4xf32>") "%p = arith.constant -1.0 : f32 %n = arith.constant 3 : index "
                               "%m = vector.create_mask %n : vector<4xi1> "
                               "%r = vector.mask %m { vector.transfer_read %x[%z], %p {in_bounds = "
                               "[true]}"
                               "  : memref<4xf32>, vector<4xf32> } : vector<4xi1> -> "
                               "vector<4xf32>" STORE,
     {{1, {4}, {1, 2, 3, 4}}, OUT4},
     1,
     4,
     {1, 2, 3, -1}},
    {"masked-maximum", /* the neutral element is no number of the data */
     X4 "%keep = arith.constant dense<[true, true, true, false]> : vector<4xi1> "
        "%s = vector.mask %keep { vector.reduction <maximumf>, %v : vector<4xf32> into f32 }"
        "  : vector<4xi1> -> f32 %r = vector.broadcast %s : f32 to vector<4xf32>" STORE,
     {{1, {4}, {-3, -1.5, -2, 100}}, OUT4},
     1,
     4,
     {-1.5, -1.5, -1.5, -1.5}},
    {"masked-load-and-store",
     X4 "%m = vector.constant_mask [2] : vector<4xi1> "
        "%w = vector.maskedload %x[%z], %m, %v : memref<4xf32>, vector<4xi1>, vector<4xf32>"
        "  into vector<4xf32> "
        "vector.maskedstore %y[%z], %m, %w : memref<4xf32>, vector<4xi1>, vector<4xf32> return }",
     {{1, {4}, {1, 2, 3, 4}}, {1, {4}, {9, 9, 9, 9}}},
     1,
     4,
     {1, 2, 9, 9}},
    {"gather",
     X4 "%i = arith.constant dense<[3, 0, 1, 1]> : vector<4xi32> "
        "%m = arith.constant dense<[true, true, true, false]> : vector<4xi1> "
        "%r = vector.gather %x[%z] [%i], %m, %v : memref<4xf32>, vector<4xi32>, vector<4xi1>,"
        "  vector<4xf32> into vector<4xf32>" STORE,
     {{1, {4}, {1, 2, 3, 4}}, OUT4},
     1,
     4,
     {4, 1, 2, 4}},
    {"scatter",
     X4 "%i = arith.constant dense<[3, 2, 1, 0]> : vector<4xi32> "
        "%m = arith.constant dense<[true, true, true, false]> : vector<4xi1> "
        "vector.scatter %y[%z] [%i], %m, %v : memref<4xf32>, vector<4xi32>, vector<4xi1>,"
        "  vector<4xf32> return }",
     {{1, {4}, {1, 2, 3, 4}}, {1, {4}, {9, 9, 9, 9}}},
     1,
     4,
     {9, 3, 2, 1}},
    {"expandload",
     X4 "%m = arith.constant dense<[false, true, false, true]> : vector<4xi1> "
        "%r = vector.expandload %x[%z], %m, %v : memref<4xf32>, vector<4xi1>, vector<4xf32>"
        "  into vector<4xf32>" STORE,
     {{1, {4}, {1, 2, 3, 4}}, OUT4},
     1,
     4,
     {1, 1, 3, 2}},
    {"compressstore",
     X4 "%m = arith.constant dense<[false, true, false, true]> : vector<4xi1> "
        "vector.compressstore %y[%z], %m, %v : memref<4xf32>, vector<4xi1>, vector<4xf32> return }",
     {{1, {4}, {1, 2, 3, 4}}, {1, {4}, {9, 9, 9, 9}}},
     1,
     4,
     {2, 4, 9, 9}},
    {"shuffle",
     X4 "%r = vector.shuffle %v, %v [3, 4, 1, 6] : vector<4xf32>, vector<4xf32>" STORE,
     {{1, {4}, {1, 2, 3, 4}}, OUT4},
     1,
     4,
     {4, 1, 2, 3}},
    {"transpose",
     X4 "%a = vector.shape_cast %v : vector<4xf32> to vector<2x2xf32> "
        "%t = vector.transpose %a, [1, 0] : vector<2x2xf32> to vector<2x2xf32> "
        "%r = vector.shape_cast %t : vector<2x2xf32> to vector<4xf32>" STORE,
     {{1, {4}, {1, 2, 3, 4}}, OUT4},
     1,
     4,
     {1, 3, 2, 4}},
    {"broadcast-stretches-units",
     X4 "%h = vector.extract_strided_slice %v {offsets = [1], sizes = [2], strides = [1]}"
        "  : vector<4xf32> to vector<2xf32> "
        "%u = vector.shape_cast %h : vector<2xf32> to vector<2x1xf32> "
        "%b = vector.broadcast %u : vector<2x1xf32> to vector<2x2xf32> "
        "%r = vector.shape_cast %b : vector<2x2xf32> to vector<4xf32>" STORE,
     {{1, {4}, {1, 2, 3, 4}}, OUT4},
     1,
     4,
     {2, 2, 3, 3}},
    {"extract-and-insert",
     X4 "%c = arith.constant 2 : index %e = vector.extract %v[%c] : f32 from vector<4xf32> "
        "%s = vector.extract %v[3] : f32 from vector<4xf32> %t = arith.addf %e, %s : f32 "
        "%r = vector.insert %t, %v[%c] : f32 into vector<4xf32>" STORE,
     {{1, {4}, {1, 2, 3, 4}}, OUT4},
     1,
     4,
     {1, 2, 7, 4}},
    {"insert-strided",
     X4 "%h = vector.extract_strided_slice %v {offsets = [0], sizes = [2], strides = [1]}"
        "  : vector<4xf32> to vector<2xf32> "
        "%r = vector.insert_strided_slice %h, %v {offsets = [2], strides = [1]}"
        "  : vector<2xf32> into vector<4xf32>" STORE,
     {{1, {4}, {1, 2, 3, 4}}, OUT4},
     1,
     4,
     {1, 2, 1, 2}},
    {"reduction",
     X4 "%k = arith.constant 0.5 : f32 "
        "%s = vector.reduction <add>, %v, %k : vector<4xf32> into f32 "
        "%t = vector.reduction <minnumf>, %v : vector<4xf32> into f32 "
        "%r = vector.from_elements %s, %t, %s, %t : vector<4xf32>" STORE,
     {{1, {4}, {1, 2, NAN, 4}}, OUT4},
     1,
     4,
     {NAN, 1, NAN, 1}},
    {"multi-reduction",
     X4 "%a = vector.shape_cast %v : vector<4xf32> to vector<2x2xf32> "
        "%k = arith.constant dense<10.0> : vector<2xf32> "
        "%s = vector.multi_reduction <add>, %a, %k [0] : vector<2x2xf32> to vector<2xf32> "
        "%r = vector.shuffle %s, %s [0, 1, 0, 1] : vector<2xf32>, vector<2xf32>" STORE,
     {{1, {4}, {1, 2, 3, 4}}, OUT4},
     1,
     4,
     {14, 16, 14, 16}},
    {"contract",
     X4 "%a = vector.shape_cast %v : vector<4xf32> to vector<2x2xf32> "
        "%c = vector.contract {indexing_maps = [affine_map<(i, j, k) -> (i, k)>,"
        "  affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],"
        "  iterator_types = [\"parallel\", \"parallel\", \"reduction\"],"
        "  kind = #vector.kind<add>} %a, %a, %a : vector<2x2xf32>, vector<2x2xf32>"
        "  into vector<2x2xf32> "
        "%r = vector.shape_cast %c : vector<2x2xf32> to vector<4xf32>" STORE,
     {{1, {4}, {1, 2, 3, 4}}, OUT4},
     1,
     4,
     {8, 12, 18, 26}},
    {"outerproduct",
     X4 "%h = vector.extract_strided_slice %v {offsets = [2], sizes = [2], strides = [1]}"
        "  : vector<4xf32> to vector<2xf32> "
        "%o = vector.outerproduct %h, %h : vector<2xf32>, vector<2xf32> "
        "%r = vector.shape_cast %o : vector<2x2xf32> to vector<4xf32>" STORE,
     {{1, {4}, {1, 2, 3, 4}}, OUT4},
     1,
     4,
     {9, 12, 12, 16}},
    {"interleave-and-step",
     HEAD("%x: memref<4xf32>") "%s = vector.step : vector<2xindex> "
                               "%i = arith.index_cast %s : vector<2xindex> to vector<2xi32> "
                               "%g = arith.sitofp %i : vector<2xi32> to vector<2xf32> "
                               "%k = arith.constant dense<5.0> : vector<2xf32> "
                               "%r = vector.interleave %g, %k : vector<2xf32> -> "
                               "vector<4xf32>" STORE,
     {{1, {4}, {0}}, OUT4},
     1,
     4,
     {0, 5, 1, 5}},
    {"bitcast",
     X4 "%b = vector.bitcast %v : vector<4xf32> to vector<2xf64> "
        "%r = vector.bitcast %b : vector<2xf64> to vector<4xf32>" STORE,
     {{1, {4}, {1, 2, 3, 4}}, OUT4},
     1,
     4,
     {1, 2, 3, 4}},
    {"fma",
     X4 "%r = vector.fma %v, %v, %v : vector<4xf32>" STORE,
     {{1, {4}, {1, 2, 3, 0x1.000006p+0f}}, OUT4},
     1,
     4,
     {2, 6, 12, 0x1.00000ap+1f}}, /* two roundings would give 0x1.000008p+1 */
    /* A row of three lies in the room of four, in the whole and in the rows alike. */
    {"buffer-of-rows",
     HEAD("%x: memref<4xf32>") "%a = memref.alloca() : memref<vector<2x3xf32>> "
                               "%w = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : "
                               "vector<2x3xf32> "
                               "memref.store %w, %a[] : memref<vector<2x3xf32>> "
                               "%rows = vector.type_cast %a : memref<vector<2x3xf32>> to "
                               "memref<2xvector<3xf32>> "
                               "%one = arith.constant 1 : index "
                               "%last = memref.load %rows[%one] : memref<2xvector<3xf32>> "
                               "%n = arith.constant dense<7.0> : vector<3xf32> "
                               "memref.store %n, %rows[%z] : memref<2xvector<3xf32>> "
                               "%v = memref.load %a[] : memref<vector<2x3xf32>> "
                               "%p = vector.extract %v[0, 2] : f32 from vector<2x3xf32> "
                               "%q = vector.extract %v[1, 0] : f32 from vector<2x3xf32> "
                               "%s = vector.extract %last[2] : f32 from vector<3xf32> "
                               "%r = vector.from_elements %p, %q, %s, %s : vector<4xf32>" STORE,
     {{1, {4}, {0}}, OUT4},
     1,
     4,
     {7, 4, 6, 6}},
    {"buffer-as-one-vector",
     HEAD("%x: memref<4xf32>") "%w = vector.type_cast %x : memref<4xf32> to memref<vector<4xf32>> "
                               "%r = memref.load %w[] : memref<vector<4xf32>>" STORE,
     {{1, {4}, {4, 3, 2, 1}}, OUT4},
     1,
     4,
     {4, 3, 2, 1}},
    /* 0xA5 is 5, 10 in nibbles, low first; 1 and 0 bits; -3 in five bits is 0x1D. */
    {"bitcast-of-nibbles-and-bits",
     HEAD("%x: memref<4xf32>") "%b = arith.constant dense<[165, 31]> : vector<2xi8> "
                               "%n = vector.bitcast %b : vector<2xi8> to vector<4xi4> "
                               "%t = vector.bitcast %n : vector<4xi4> to vector<16xi1> "
                               "%u = arith.extui %n : vector<4xi4> to vector<4xi32> "
                               "%w = vector.bitcast %t : vector<16xi1> to vector<1xi16> "
                               "%e = vector.extract %w[0] : i16 from vector<1xi16> "
                               "%i = arith.extui %e : i16 to i32 "
                               "%v = vector.insert %i, %u[3] : i32 into vector<4xi32> "
                               "%r = arith.uitofp %v : vector<4xi32> to vector<4xf32>" STORE,
     {{1, {4}, {0}}, OUT4},
     1,
     4,
     {5, 10, 15, 8101}}, /* 0x1FA5 */
    {"bitcast-across-elements",
     HEAD("%x: memref<4xf32>") "%b = arith.constant dense<[-3, 1, 0, 0, 0, 0, 0, 16]> : "
                               "vector<8xi5> "
                               "%n = vector.bitcast %b : vector<8xi5> to vector<5xi8> "
                               "%u = arith.extui %n : vector<5xi8> to vector<5xi32> "
                               "%f = arith.uitofp %u : vector<5xi32> to vector<5xf32> "
                               "%r = vector.extract_strided_slice %f {offsets = [1], sizes = [4], "
                               "strides = [1]} : vector<5xf32> to vector<4xf32>" STORE,
     {{1, {4}, {0}}, OUT4},
     1,
     4,
     {0, 0, 0, 128}},
    {"bitcast-of-24-bits",
     HEAD("%x: memref<4xf32>") "%b = arith.constant dense<[0x010203, 0x040506]> : vector<2xi24> "
                               "%n = vector.bitcast %b : vector<2xi24> to vector<3xi16> "
                               "%u = arith.extui %n : vector<3xi16> to vector<3xi32> "
                               "%f = arith.uitofp %u : vector<3xi32> to vector<3xf32> "
                               "%g = vector.extract %f[2] : f32 from vector<3xf32> "
                               "%p = vector.extract %f[0] : f32 from vector<3xf32> "
                               "%q = vector.extract %f[1] : f32 from vector<3xf32> "
                               "%r = vector.from_elements %p, %q, %g, %g : vector<4xf32>" STORE,
     {{1, {4}, {0}}, OUT4},
     1,
     4,
     {0x0203, 0x0601, 0x0405, 0x0405}},
    /* What math-to-libm makes: functions that only their names describe. */
    {"library-function",
     "func.func private @sqrtf(f32) -> f32 " X4
     "%e = vector.extract %v[2] : f32 from vector<4xf32> "
     "%q = func.call @sqrtf(%e) : (f32) -> f32 "
     "%r = vector.broadcast %q : f32 to vector<4xf32>" STORE,
     {{1, {4}, {1, 2, 9, 4}}, OUT4},
     1,
     4,
     {3, 3, 3, 3}},
};

int main(void) {
  return run_rows(rows, sizeof rows / sizeof *rows, false);
}
