/* linalg, tensor and bufferization: what each operation computes. */
#include "tests/unit/mlir_run.h"

static const run_row rows[] = {
    {"generic-add",
     "func.func @f(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {"
     "  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],"
     "    iterator_types = [\"parallel\"]} ins(%a : tensor<?xf32>) outs(%b : tensor<?xf32>) {"
     "  ^bb0(%x: f32, %y: f32): %s = arith.addf %x, %y : f32 linalg.yield %s : f32"
     "  } -> tensor<?xf32> return %r : tensor<?xf32> }",
     {{1, {3}, {1, 2, 3}}, {1, {3}, {10, 20, 30}}},
     RUN_RESULT,
     3,
     {11, 22, 33}},
    {"tensors-are-values",
     "func.func @f(%a: tensor<?xf32>) -> tensor<?xf32> {"
     "  %c = arith.constant 5.0 : f32"
     "  %r = linalg.fill ins(%c : f32) outs(%a : tensor<?xf32>) -> tensor<?xf32>"
     "  return %r : tensor<?xf32> }",
     {{1, {2}, {1, 2}}},
     0,
     2,
     {1, 2}},
    {"matmul",
     "func.func @f(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %c: tensor<?x?xf32>)"
     "    -> tensor<?x?xf32> {"
     "  %r = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>)"
     "    outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32> return %r : tensor<?x?xf32> }",
     {{2, {2, 3}, {1, 2, 3, 4, 5, 6}}, {2, {3, 2}, {1, 2, 3, 4, 5, 6}}, {2, {2, 2}, {1, 1, 1, 1}}},
     RUN_RESULT,
     4,
     {23, 29, 50, 65}},
    {"matmul-memref",
     "func.func @f(%a: memref<2x2xf32>, %b: memref<2x2xf32>, %c: memref<2x2xf32>) {"
     "  linalg.matmul ins(%a, %b : memref<2x2xf32>, memref<2x2xf32>)"
     "    outs(%c : memref<2x2xf32>) return }",
     {{2, {2, 2}, {1, 2, 3, 4}}, {2, {2, 2}, {1, 0, 0, 1}}, {2, {2, 2}, {0, 0, 0, 0}}},
     2,
     4,
     {1, 2, 3, 4}},
    {"dot",
     "func.func @f(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<1xf32>) {"
     "  %s = memref.reinterpret_cast %c to offset: [0], sizes: [], strides: []"
     "    : memref<1xf32> to memref<f32>"
     "  linalg.dot ins(%a, %b : memref<?xf32>, memref<?xf32>) outs(%s : memref<f32>) return }",
     {{1, {3}, {1, 2, 3}}, {1, {3}, {4, 5, 6}}, {1, {1}, {100}}},
     2,
     1,
     {132}},
    {"empty-sum-is-its-init",
     "func.func @f(%a: tensor<?x?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {"
     "  %r = linalg.reduce {arith.addf} ins(%a : tensor<?x?xf32>) outs(%b : tensor<?xf32>)"
     "    dimensions = [1] return %r : tensor<?xf32> }",
     {{2, {2, 0}, {0}}, {1, {2}, {7, 8}}},
     RUN_RESULT,
     2,
     {7, 8}},
    {"reduce-max",
     "func.func @f(%a: tensor<?x?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {"
     "  %r = linalg.reduce {arith.maximumf} ins(%a : tensor<?x?xf32>) outs(%b : tensor<?xf32>)"
     "    dimensions = [0] return %r : tensor<?xf32> }",
     {{2, {2, 2}, {1, 9, 5, NAN}}, {1, {2}, {-INFINITY, -INFINITY}}},
     RUN_RESULT,
     2,
     {5, NAN}},
    {"two-outputs", /* the largest value and where it is */
     "func.func @f(%a: tensor<4xf32>, %m: tensor<1xf32>, %at: tensor<1xf32>)"
     "    -> (tensor<1xf32>, tensor<1xf32>) {"
     "  %i:2 = linalg.generic {indexing_maps = [affine_map<(d, i) -> (i)>,"
     "    affine_map<(d, i) -> (d)>, affine_map<(d, i) -> (d)>],"
     "    iterator_types = [\"parallel\", \"reduction\"]} ins(%a : tensor<4xf32>)"
     "    outs(%at, %m : tensor<1xf32>, tensor<1xf32>) {"
     "  ^bb0(%x: f32, %best: f32, %top: f32): %k = linalg.index 1 : index"
     "    %ki = arith.index_cast %k : index to i32 %kf = arith.sitofp %ki : i32 to f32"
     "    %c = arith.cmpf ogt, %x, %top : f32 %b2 = arith.select %c, %kf, %best : f32"
     "    %t2 = arith.select %c, %x, %top : f32 linalg.yield %b2, %t2 : f32, f32"
     "  } -> (tensor<1xf32>, tensor<1xf32>) return %i#0, %i#1 : tensor<1xf32>, tensor<1xf32> }",
     {{1, {4}, {3, 1, 8, 2}}, {1, {1}, {0}}, {1, {1}, {-1}}},
     RUN_RESULT,
     1,
     {2}},
    {"map-reads-init",
     "func.func @f(%seen: memref<1xf32>) {"
     "  %z = arith.constant 0 : index %y = arith.constant 3.0 : f32"
     "  %in = arith.constant dense<0.0> : tensor<1xf32>"
     "  %init = arith.constant dense<11.0> : tensor<1xf32>"
     "  %r = linalg.map ins(%in : tensor<1xf32>) outs(%init : tensor<1xf32>) (%a: f32, %o: f32) {"
     "    memref.store %o, %seen[%z] : memref<1xf32> linalg.yield %y : f32 } return }",
     {{1, {1}, {0}}},
     0,
     1,
     {11}},
    {"transpose",
     "func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x2xf32>) -> tensor<3x2xf32> {"
     "  %r = linalg.transpose ins(%a : tensor<2x3xf32>) outs(%b : tensor<3x2xf32>)"
     "    permutation = [1, 0] return %r : tensor<3x2xf32> }",
     {{2, {2, 3}, {1, 2, 3, 4, 5, 6}}, {2, {3, 2}, {0}}},
     RUN_RESULT,
     6,
     {1, 4, 2, 5, 3, 6}},
    {"broadcast",
     "func.func @f(%a: tensor<2xf32>, %b: tensor<2x2xf32>) -> tensor<2x2xf32> {"
     "  %r = linalg.broadcast ins(%a : tensor<2xf32>) outs(%b : tensor<2x2xf32>)"
     "    dimensions = [0] return %r : tensor<2x2xf32> }",
     {{1, {2}, {1, 2}}, {2, {2, 2}, {0}}},
     RUN_RESULT,
     4,
     {1, 2, 1, 2}},
    {"conv-1d",
     "func.func @f(%a: tensor<5xf32>, %k: tensor<3xf32>, %o: tensor<3xf32>) -> tensor<3xf32> {"
     "  %r = linalg.conv_1d ins(%a, %k : tensor<5xf32>, tensor<3xf32>) outs(%o : tensor<3xf32>)"
     "    -> tensor<3xf32> return %r : tensor<3xf32> }",
     {{1, {5}, {1, 2, 3, 4, 5}}, {1, {3}, {1, 0, -1}}, {1, {3}, {0}}},
     RUN_RESULT,
     3,
     {-2, -2, -2}},
    {"pooling-max",
     "func.func @f(%a: tensor<1x4x1xf32>, %o: tensor<1x2x1xf32>) -> tensor<1x2x1xf32> {"
     "  %w = tensor.empty() : tensor<2xf32>"
     "  %r = linalg.pooling_nwc_max {strides = dense<2> : tensor<1xi64>}"
     "    ins(%a, %w : tensor<1x4x1xf32>, tensor<2xf32>) outs(%o : tensor<1x2x1xf32>)"
     "    -> tensor<1x2x1xf32> return %r : tensor<1x2x1xf32> }",
     {{3, {1, 4, 1}, {1, 5, 7, 2}}, {3, {1, 2, 1}, {-9, -9}}},
     RUN_RESULT,
     2,
     {5, 7}},
    {"elementwise-named",
     "func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {"
     "  %e = tensor.empty() : tensor<2xf32>"
     "  %s = linalg.sub ins(%a, %b : tensor<2xf32>, tensor<2xf32>) outs(%e : tensor<2xf32>)"
     "    -> tensor<2xf32>"
     "  %r = linalg.negf ins(%s : tensor<2xf32>) outs(%e : tensor<2xf32>) -> tensor<2xf32>"
     "  return %r : tensor<2xf32> }",
     {{1, {2}, {5, 1}}, {1, {2}, {2, 4}}},
     RUN_RESULT,
     2,
     {-3, 3}},
    {"softmax",
     "func.func @f(%a: tensor<2x2xf32>) -> tensor<2x2xf32> {"
     "  %e = tensor.empty() : tensor<2x2xf32>"
     "  %r = linalg.softmax dimension(1) ins(%a : tensor<2x2xf32>) outs(%e : tensor<2x2xf32>)"
     "    -> tensor<2x2xf32> return %r : tensor<2x2xf32> }",
     {{2, {2, 2}, {3, 3, -200, 0}}},
     RUN_RESULT,
     4,
     {0.5, 0.5, 0, 1}},
    {"aliased-memrefs", /* a running sum: each point reads what the last one wrote */
     "func.func @f(%m: memref<4xf32>) {"
     "  %a = memref.subview %m[0] [3] [1] : memref<4xf32> to memref<3xf32, strided<[1]>>"
     "  %b = memref.subview %m[1] [3] [1] : memref<4xf32> to memref<3xf32, strided<[1], offset: 1>>"
     "  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],"
     "    iterator_types = [\"reduction\"]} ins(%a : memref<3xf32, strided<[1]>>)"
     "    outs(%b : memref<3xf32, strided<[1], offset: 1>>) {"
     "  ^bb0(%x: f32, %y: f32): %s = arith.addf %x, %y : f32 linalg.yield %s : f32 } return }",
     {{1, {4}, {1, 1, 1, 1}}},
     0,
     4,
     {1, 2, 3, 4}},
    {"pack",
     "func.func @f(%a: tensor<3x2xf32>) -> tensor<2x1x2x2xf32> {"
     "  %z = arith.constant 0.0 : f32 %e = tensor.empty() : tensor<2x1x2x2xf32>"
     "  %r = linalg.pack %a padding_value(%z : f32) inner_dims_pos = [0, 1] inner_tiles = [2, 2]"
     "    into %e : tensor<3x2xf32> -> tensor<2x1x2x2xf32> return %r : tensor<2x1x2x2xf32> }",
     {{2, {3, 2}, {1, 2, 3, 4, 5, 6}}},
     RUN_RESULT,
     8,
     {1, 2, 3, 4, 5, 6, 0, 0}},
    {"unpack",
     "func.func @f(%a: tensor<2x2xf32>) -> tensor<3xf32> {"
     "  %e = tensor.empty() : tensor<3xf32>"
     "  %r = linalg.unpack %a inner_dims_pos = [0] inner_tiles = [2] into %e"
     "    : tensor<2x2xf32> -> tensor<3xf32> return %r : tensor<3xf32> }",
     {{2, {2, 2}, {1, 2, 3, 4}}},
     RUN_RESULT,
     3,
     {1, 2, 3}},
    {"extract-slice",
     "func.func @f(%a: tensor<3x3xf32>) -> tensor<2xf32> {"
     "  %r = tensor.extract_slice %a[1, 0] [1, 2] [1, 2] : tensor<3x3xf32> to tensor<2xf32>"
     "  return %r : tensor<2xf32> }",
     {{2, {3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}}},
     RUN_RESULT,
     2,
     {4, 6}},
    {"insert-slice",
     "func.func @f(%a: tensor<2xf32>, %b: tensor<2x2xf32>) -> tensor<2x2xf32> {"
     "  %r = tensor.insert_slice %a into %b[0, 1] [2, 1] [1, 1] : tensor<2xf32> into"
     "    tensor<2x2xf32> return %r : tensor<2x2xf32> }",
     {{1, {2}, {8, 9}}, {2, {2, 2}, {1, 2, 3, 4}}},
     RUN_RESULT,
     4,
     {1, 8, 3, 9}},
    {"pad",
     "func.func @f(%a: tensor<?xf32>) -> tensor<?xf32> {"
     "  %z = arith.constant -1.0 : f32"
     "  %r = tensor.pad %a low[1] high[2] { ^bb0(%i: index): tensor.yield %z : f32 }"
     "    : tensor<?xf32> to tensor<?xf32> return %r : tensor<?xf32> }",
     {{1, {2}, {1, 2}}},
     RUN_RESULT,
     5,
     {-1, 1, 2, -1, -1}},
    {"shapes",
     "func.func @f(%a: tensor<2x2xf32>) -> tensor<2x1x2xf32> {"
     "  %c = tensor.collapse_shape %a [[0, 1]] : tensor<2x2xf32> into tensor<4xf32>"
     "  %r = tensor.expand_shape %c [[0, 1, 2]] output_shape [2, 1, 2]"
     "    : tensor<4xf32> into tensor<2x1x2xf32> return %r : tensor<2x1x2xf32> }",
     {{2, {2, 2}, {1, 2, 3, 4}}},
     RUN_RESULT,
     4,
     {1, 2, 3, 4}},
    {"concat",
     "func.func @f(%a: tensor<2x1xf32>, %b: tensor<2x2xf32>) -> tensor<2x3xf32> {"
     "  %r = tensor.concat dim(1) %a, %b : (tensor<2x1xf32>, tensor<2x2xf32>) -> tensor<2x3xf32>"
     "  return %r : tensor<2x3xf32> }",
     {{2, {2, 1}, {1, 2}}, {2, {2, 2}, {3, 4, 5, 6}}},
     RUN_RESULT,
     6,
     {1, 3, 4, 2, 5, 6}},
    {"generate",
     "func.func @f() -> tensor<3xf32> {"
     "  %r = tensor.generate { ^bb0(%i: index): %k = arith.index_cast %i : index to i32"
     "    %x = arith.sitofp %k : i32 to f32 tensor.yield %x : f32 } : tensor<3xf32>"
     "  return %r : tensor<3xf32> }",
     {{0}},
     RUN_RESULT,
     3,
     {0, 1, 2}},
    {"elements",
     "func.func @f(%a: tensor<2xf32>) -> tensor<3xf32> {"
     "  %c1 = arith.constant 1 : index %x = tensor.extract %a[%c1] : tensor<2xf32>"
     "  %t = tensor.from_elements %x, %x, %x : tensor<3xf32> %y = arith.constant 7.0 : f32"
     "  %r = tensor.insert %y into %t[%c1] : tensor<3xf32> return %r : tensor<3xf32> }",
     {{1, {2}, {1, 2}}},
     RUN_RESULT,
     3,
     {2, 7, 2}},
    {"to-tensor-and-back",
     "func.func @f(%a: memref<2xf32>, %b: memref<2xf32>) {"
     "  %z = arith.constant 0 : index %c = arith.constant 9.0 : f32"
     "  %t = bufferization.to_tensor %a : memref<2xf32> to tensor<2xf32>"
     "  memref.store %c, %a[%z] : memref<2xf32>"
     "  bufferization.materialize_in_destination %t in writable %b"
     "    : (tensor<2xf32>, memref<2xf32>) -> () return }",
     {{1, {2}, {1, 2}}, {1, {2}, {0}}},
     1,
     2,
     {1, 2}},
    {"dealloc-keeps-retained",
     "func.func @f(%b: memref<1xf32>) {"
     "  %z = arith.constant 0 : index %t = arith.constant true %c = arith.constant 4.0 : f32"
     "  %m = memref.alloc() : memref<1xf32> memref.store %c, %m[%z] : memref<1xf32>"
     "  %o = bufferization.dealloc (%m : memref<1xf32>) if (%t) retain (%m : memref<1xf32>)"
     "  %x = memref.load %m[%z] : memref<1xf32> %z0 = arith.constant 0.0 : f32"
     "  %y = arith.select %o, %x, %z0 : f32"
     "  memref.store %y, %b[%z] : memref<1xf32> return }",
     {{1, {1}, {0}}},
     0,
     1,
     {4}},
};

/* A sum over an open order says so, and with how many terms; a maximum does not. */
static void check_reduction_steps(void) {
  static const struct {
    const char *name, *op;
    size_t steps;
  } kinds[] = {
      {"addf", "arith.addf", 1}, {"mulf", "arith.mulf", 1}, {"maxnumf", "arith.maxnumf", 0}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    plumb_arena *arena = plumb_arena_create();
    MlirContext context = plumb_mlir_context_create();
    MlirModule module;
    plumb_diag diag = {0};
    const char *text = plumb_arena_printf(
        arena,
        "func.func @f(%%a: tensor<4x8xf32>, %%b: tensor<4xf32>) -> tensor<4xf32> {"
        "  %%r = linalg.reduce {%s} ins(%%a : tensor<4x8xf32>) outs(%%b : tensor<4xf32>)"
        "    dimensions = [1] return %%r : tensor<4xf32> }",
        kinds[i].op);
    plumb_program *p = plumb_program_create(arena, "p");
    CHECK(plumb_mlir_parse(context, "p", text, &module, &diag) == PLUMB_OK, "%s", diag.message);
    CHECK(plumb_mlir_decode(p, module, NULL, &diag) == PLUMB_OK, "%s", diag.message);
    CHECK(plumb_program_finish(p, &diag) == PLUMB_OK, "%s", diag.message);
    size_t steps = 0;
    for (size_t f = 0; f < p->function_count; f++)
      for (size_t k = 0; k < p->functions[f]->inst_count; k++) {
        const plumb_inst *inst = &p->functions[f]->insts[k];
        if (inst->op != PLUMB_OP_REDUCE_ADD && inst->op != PLUMB_OP_REDUCE_MUL) continue;
        steps++;
        plumb_reg terms = p->functions[f]->regs_used[inst->first + inst->results + 2];
        CHECK(plumb_reg_is_const(terms) && p->consts[plumb_reg_const_index(terms)].bits == 9,
              "%s: 8 elements and the init are 9 terms", kinds[i].name);
      }
    CHECK(steps == kinds[i].steps, "%s: %zu reduction steps", kinds[i].name, steps);
    mlirModuleDestroy(module);
    mlirContextDestroy(context);
    plumb_arena_destroy(arena);
  }
}

int main(void) {
  check_reduction_steps();
  return run_rows(rows, sizeof rows / sizeof *rows, false);
}
