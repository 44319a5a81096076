/* The linalg dialect: structured operations by what defines them, their indexing maps and
 * their region (LinalgStructuredOps.td): for every point of the iteration space, in order
 * along the dimensions that are not parallel, read the elements that the maps select, run
 * the region, write what it yields.
 *
 * Tensors are values: an output is a fresh buffer, and where each lane owns its output
 * element the accumulator stays in registers. Memrefs are read and written at every point,
 * so that aliasing shows. */
#include <string.h>

#include "ir/mlir/decode_internal.h"
#include "ir/mlir/linalg_internal.h"
#include "mlir-c/Dialect/Linalg.h"

enum { MAX_DIMS = PLUMB_MLIR_LANE_DIMS };

typedef struct structured {
  MlirOperation op;
  MlirBlock body;
  size_t operands, inits; /* inits are the last of the operands */
  MlirAffineMap *maps;    /* one an operand */
  bool tensors;           /* results are tensors */
  size_t dims;
  plumb_reg sizes[MAX_DIMS];  /* of the iteration space */
  bool lane[MAX_DIMS];        /* dimension runs on lanes */
  bool in_registers;          /* each lane owns one element of every output */
  bool has_loops;             /* dimensions that are not lanes */
  plumb_mlir_buffer *buffers; /* operands; of a scalar: rank 0, unused */
  plumb_mlir_buffer *outputs; /* inits: where results go */
  plumb_reg terms;            /* of a reduction: points along the loops, and the init */
} structured;

static bool is_shaped(MlirType type) {
  return mlirTypeIsARankedTensor(type) || mlirTypeIsAMemRef(type);
}

static bool pure_dim(MlirAffineExpr expr, size_t *out_dim) {
  if (!mlirAffineExprIsADim(expr)) return false;
  *out_dim = (size_t)mlirAffineDimExprGetPosition(expr);
  return true;
}

static bool map_has_dim(MlirAffineMap map, size_t dim) {
  for (intptr_t i = 0; i < mlirAffineMapGetNumResults(map); i++) {
    size_t found;
    if (pure_dim(mlirAffineMapGetResult(map, i), &found) && found == dim) return true;
  }
  return false;
}

bool plumb_linalg_has_one_use(MlirValue value) {
  MlirOpOperand use = mlirValueGetFirstUse(value);
  return !mlirOpOperandIsNull(use) && mlirOpOperandIsNull(mlirOpOperandGetNextUse(use));
}

static bool is_used(MlirValue value) {
  return !mlirOpOperandIsNull(mlirValueGetFirstUse(value));
}

/* Number of outputs. Operations with two operand groups say so in operandSegmentSizes;
 * reduce has as many outputs as inputs, map, transpose and broadcast have one. */
static size_t count_inits(plumb_mlir_decoder *d, MlirOperation op, size_t operands) {
  const int64_t *sizes;
  size_t count;
  if (plumb_mlir_segments(d, op, &sizes, &count) && count == 2) return (size_t)sizes[1];
  return plumb_mlir_name_is(op, "linalg.reduce") ? operands / 2 : 1;
}

static bool read_maps(plumb_mlir_decoder *d, structured *s) {
  MlirAttribute maps = mlirLinalgGetIndexingMapsAttribute(s->op);
  if (mlirAttributeIsNull(maps) || !mlirAttributeIsAArray(maps) ||
      (size_t)mlirArrayAttrGetNumElements(maps) != s->operands)
    return plumb_mlir_reject(d, "no indexing map for each operand");
  s->maps = PLUMB_NEW_ARRAY(d->arena, MlirAffineMap, s->operands);
  for (size_t i = 0; i < s->operands; i++)
    s->maps[i] = mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, (intptr_t)i));
  if (!s->operands) return plumb_mlir_reject(d, "no operands");
  s->dims = (size_t)mlirAffineMapGetNumDims(s->maps[0]);
  if (s->dims > MAX_DIMS) return plumb_mlir_reject(d, "more than %d dimensions", MAX_DIMS);
  return true;
}

static bool open_operands(plumb_mlir_decoder *d, structured *s) {
  s->buffers = PLUMB_NEW_ARRAY(d->arena, plumb_mlir_buffer, s->operands);
  for (size_t i = 0; i < s->operands; i++) {
    MlirType type = plumb_mlir_operand_type(s->op, (intptr_t)i);
    if (!is_shaped(type)) continue;
    if (!plumb_mlir_buffer_open(d, plumb_mlir_operand(d, s->op, (intptr_t)i), type, &s->buffers[i]))
      return false;
    if (s->buffers[i].rank != (size_t)mlirAffineMapGetNumResults(s->maps[i]))
      return plumb_mlir_reject(d, "an indexing map that does not fit its operand");
  }
  return true;
}

/* The size of a dimension is that of the first operand dimension which it indexes alone
 * (the inverse of the concatenated maps, LinalgInterfaces.td, getShapesToLoopsMap). */
static bool find_sizes(plumb_mlir_decoder *d, structured *s) {
  for (size_t dim = 0; dim < s->dims; dim++) {
    s->sizes[dim] = PLUMB_NO_REG;
    for (size_t i = 0; i < s->operands && s->sizes[dim] == PLUMB_NO_REG; i++) {
      if (!is_shaped(plumb_mlir_operand_type(s->op, (intptr_t)i))) continue;
      for (intptr_t r = 0; r < mlirAffineMapGetNumResults(s->maps[i]); r++) {
        size_t found;
        if (pure_dim(mlirAffineMapGetResult(s->maps[i], r), &found) && found == dim) {
          s->sizes[dim] = s->buffers[i].sizes[r];
          break;
        }
      }
    }
    if (s->sizes[dim] == PLUMB_NO_REG)
      return plumb_mlir_reject(d, "no operand gives the size of dimension %zu", dim);
  }
  return true;
}

/* What a region may do on many lanes at once: compute and read. */
static MlirWalkResult note_effect(MlirOperation op, void *user) {
  static const char *const pure[] = {"arith.",         "math.",      "linalg.",      "scf.",
                                     "tensor.extract", "tensor.dim", "affine.apply", "affine.min",
                                     "affine.max",     "index.",     "complex.",     "memref.load",
                                     "affine.load",    "memref.dim", "cf.",          "ub."};
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
  for (size_t i = 0; i < sizeof pure / sizeof *pure; i++) {
    size_t length = strlen(pure[i]);
    if (name.length >= length && !memcmp(name.data, pure[i], length)) return MlirWalkResultAdvance;
  }
  *(bool *)user = true;
  return MlirWalkResultInterrupt;
}

/* A dimension runs on lanes when its iterator is parallel and it indexes every output
 * alone: then no two lanes write one element. */
static void choose_lanes(plumb_mlir_decoder *d, structured *s) {
  bool effects = false;
  for (MlirOperation op = mlirBlockGetFirstOperation(s->body); !mlirOperationIsNull(op) && !effects;
       op = mlirOperationGetNextInBlock(op))
    mlirOperationWalk(op, note_effect, &effects, MlirWalkPreOrder);
  MlirAttribute iterators;
  bool stated = plumb_mlir_attribute(s->op, "iterator_types", &iterators) &&
                mlirAttributeIsAArray(iterators) &&
                (size_t)mlirArrayAttrGetNumElements(iterators) == s->dims;
  size_t lanes = 0;
  for (size_t dim = 0; dim < s->dims; dim++) {
    bool lane = !effects && s->inits > 0;
    if (stated && lane)
      lane =
          strstr(plumb_mlir_print_attribute(d, mlirArrayAttrGetElement(iterators, (intptr_t)dim)),
                 "parallel") != NULL;
    for (size_t i = s->operands - s->inits; i < s->operands && lane; i++)
      lane = map_has_dim(s->maps[i], dim);
    s->lane[dim] = lane;
    lanes += lane;
    s->has_loops |= !lane;
  }
  s->in_registers = s->tensors;
  for (size_t i = s->operands - s->inits; i < s->operands; i++)
    s->in_registers &= (size_t)mlirAffineMapGetNumResults(s->maps[i]) == lanes &&
                       mlirAffineMapIsProjectedPermutation(s->maps[i]);
}

/* Outputs: the memref itself; of tensors a fresh buffer, or a copy where points of the
 * output may be left out or be written more than once. */
static bool open_outputs(plumb_mlir_decoder *d, structured *s) {
  s->outputs = PLUMB_NEW_ARRAY(d->arena, plumb_mlir_buffer, s->inits);
  for (size_t k = 0; k < s->inits; k++) {
    size_t i = s->operands - s->inits + k;
    if (!s->tensors) {
      s->outputs[k] = s->buffers[i];
      continue;
    }
    MlirType type = plumb_mlir_operand_type(s->op, (intptr_t)i);
    plumb_mlir_run run;
    bool ok = s->in_registers ? plumb_mlir_allocate(d, type, s->buffers[i].sizes, &run)
                              : plumb_mlir_tensor_copy(d, plumb_mlir_operand(d, s->op, (intptr_t)i),
                                                       type, &run);
    if (!ok || !plumb_mlir_buffer_open(d, run, type, &s->outputs[k])) return false;
    plumb_mlir_define_result(d, s->op, (intptr_t)k, run.regs, run.count);
  }
  return true;
}

/* linalg.index reads a loop's number: bound before the region is decoded. */
typedef struct index_binding {
  plumb_mlir_decoder *d;
  const plumb_reg *ids;
  size_t dims;
} index_binding;

static MlirWalkResult bind_index(MlirOperation op, void *user) {
  index_binding *binding = user;
  int64_t dim;
  if (plumb_mlir_name_is(op, "linalg.index") && plumb_mlir_attribute_int(op, "dim", &dim) &&
      dim >= 0 && (size_t)dim < binding->dims)
    plumb_mlir_define_result1(binding->d, op, 0, binding->ids[dim]);
  return MlirWalkResultAdvance;
}

/* Index registers of operand `i` at the point `ids`. */
static void point_indices(plumb_mlir_decoder *d, const structured *s, size_t i,
                          const plumb_reg *ids, plumb_reg *out_indices) {
  plumb_mlir_affine_map(d, s->maps[i], ids, NULL, out_indices);
}

static plumb_mlir_run load_point(plumb_mlir_decoder *d, const structured *s, size_t i,
                                 const plumb_mlir_buffer *buffer, const plumb_reg *ids) {
  plumb_reg indices[MAX_DIMS];
  point_indices(d, s, i, ids, indices);
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, buffer->element.count);
  plumb_mlir_load(d, buffer, indices, regs);
  return (plumb_mlir_run){regs, buffer->element.count};
}

/* The operation of the region that is a step of a sum or product into output `k`:
 * yield(addf(out, term)) with the output used nowhere else. Null when there is none. */
static MlirOperation reduction_step(const structured *s, size_t k, plumb_op *out_op) {
  MlirOperation none = {NULL};
  MlirOperation yield = plumb_mlir_terminator(s->body);
  if ((size_t)mlirOperationGetNumOperands(yield) != s->inits) return none;
  MlirValue value = mlirOperationGetOperand(yield, (intptr_t)k);
  MlirValue out = mlirBlockGetArgument(s->body, (intptr_t)(s->operands - s->inits + k));
  if (!mlirValueIsAOpResult(value) || !plumb_linalg_has_one_use(value) ||
      !plumb_linalg_has_one_use(out))
    return none;
  MlirOperation op = mlirOpResultGetOwner(value);
  if (plumb_mlir_name_is(op, "arith.addf"))
    *out_op = PLUMB_OP_REDUCE_ADD;
  else if (plumb_mlir_name_is(op, "arith.mulf"))
    *out_op = PLUMB_OP_REDUCE_MUL;
  else
    return none;
  if (!mlirBlockEqual(mlirOperationGetBlock(op), s->body)) return none;
  if (!mlirTypeEqual(mlirValueGetType(value), mlirValueGetType(out)) ||
      mlirTypeIsAVector(mlirValueGetType(value)))
    return none;
  bool left = mlirValueEqual(mlirOperationGetOperand(op, 0), out);
  bool right = mlirValueEqual(mlirOperationGetOperand(op, 1), out);
  return left != right ? op : none;
}

static void build_reduction_step(plumb_mlir_decoder *d, const structured *s, size_t k,
                                 MlirOperation op, plumb_op code, plumb_reg terms) {
  MlirValue out = mlirBlockGetArgument(s->body, (intptr_t)(s->operands - s->inits + k));
  bool left = mlirValueEqual(mlirOperationGetOperand(op, 0), out);
  plumb_reg acc = plumb_mlir_operand1(d, op, left ? 0 : 1);
  plumb_reg term = plumb_mlir_operand1(d, op, left ? 1 : 0);
  plumb_mlir_run result = plumb_mlir_fresh_result(d, op, 0);
  if (!result.count) return;
  plumb_dtype type = plumb_reg_type(d->b.function, result.regs[0]);
  plumb_inst *inst =
      plumb_build(&d->b, code, type, result.regs, 1, (plumb_reg[]){acc, term, terms}, 3);
  inst->flags |= plumb_mlir_fastmath(d, op);
}

/* The region at one point. `accumulators` of the outputs are already bound. */
static void build_body(plumb_mlir_decoder *d, const structured *s, plumb_reg terms) {
  MlirOperation yield = plumb_mlir_terminator(s->body);
  for (MlirOperation op = mlirBlockGetFirstOperation(s->body); !mlirOperationEqual(op, yield);
       op = mlirOperationGetNextInBlock(op)) {
    bool step = false;
    for (size_t k = 0; k < s->inits && s->has_loops; k++) {
      plumb_op code = PLUMB_OP_REDUCE_ADD;
      MlirOperation found = reduction_step(s, k, &code);
      if (mlirOperationIsNull(found) || !mlirOperationEqual(found, op)) continue;
      uint32_t outer = d->b.loc;
      plumb_mlir_set_location(d, op);
      build_reduction_step(d, s, k, op, code, terms);
      d->b.loc = outer;
      step = true;
      break;
    }
    if (!step) plumb_mlir_decode_operation(d, op);
  }
}

/* Inputs, then outputs of memory: loads and binds the region's arguments. */
static void bind_inputs(plumb_mlir_decoder *d, const structured *s,
                        const plumb_mlir_buffer *buffers, const plumb_reg *ids) {
  for (size_t i = 0; i < s->operands - s->inits; i++) {
    MlirValue argument = mlirBlockGetArgument(s->body, (intptr_t)i);
    if (!is_used(argument)) continue;
    plumb_mlir_run run = is_shaped(plumb_mlir_operand_type(s->op, (intptr_t)i))
                             ? load_point(d, s, i, &buffers[i], ids)
                             : plumb_mlir_operand(d, s->op, (intptr_t)i);
    plumb_mlir_bind_argument(d, s->body, (intptr_t)i, run.regs, run.count);
  }
}

static void bind_indices(plumb_mlir_decoder *d, const structured *s, const plumb_reg *ids) {
  index_binding binding = {d, ids, s->dims};
  for (MlirOperation op = mlirBlockGetFirstOperation(s->body); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op))
    mlirOperationWalk(op, bind_index, &binding, MlirWalkPreOrder);
}

/* One point that goes through memory: outputs are read, and written after the region. */
static void build_point_in_memory(plumb_mlir_decoder *d, const structured *s,
                                  const plumb_mlir_buffer *buffers,
                                  const plumb_mlir_buffer *outputs, const plumb_reg *ids,
                                  plumb_reg terms) {
  bind_inputs(d, s, buffers, ids);
  size_t first = s->operands - s->inits;
  for (size_t k = 0; k < s->inits; k++) {
    if (!is_used(mlirBlockGetArgument(s->body, (intptr_t)(first + k)))) continue;
    plumb_mlir_run run = load_point(d, s, first + k, &outputs[k], ids);
    plumb_mlir_bind_argument(d, s->body, (intptr_t)(first + k), run.regs, run.count);
  }
  bind_indices(d, s, ids);
  build_body(d, s, terms);
  MlirOperation yield = plumb_mlir_terminator(s->body);
  for (size_t k = 0; k < s->inits; k++) {
    plumb_reg indices[MAX_DIMS];
    point_indices(d, s, first + k, ids, indices);
    plumb_mlir_store(d, &outputs[k], indices, plumb_mlir_operand(d, yield, (intptr_t)k).regs);
  }
}

/* Opens a loop for each dimension that is not a lane; ids are completed. */
static size_t begin_loops(plumb_mlir_decoder *d, const structured *s, const plumb_reg *sizes,
                          plumb_mlir_loop *loops, plumb_reg *ids) {
  size_t count = 0;
  for (size_t dim = 0; dim < s->dims; dim++)
    if (!s->lane[dim])
      ids[dim] = plumb_mlir_loop_begin(d, &loops[count++], plumb_mlir_i64(d, 0), sizes[dim],
                                       plumb_mlir_i64(d, 1));
  return count;
}

static void end_loops(plumb_mlir_decoder *d, plumb_mlir_loop *loops, size_t count) {
  while (count) plumb_mlir_loop_end(d, &loops[--count]);
}

/* The accumulator of output k before the first point. It is not read where the region
 * ignores the output, for it may never have been written (tensor.empty), unless no point
 * exists: then the result is the init. */
static plumb_mlir_run begin_accumulator(plumb_mlir_decoder *d, const structured *s, size_t i,
                                        const plumb_mlir_buffer *init, const plumb_reg *ids,
                                        plumb_reg terms) {
  if (is_used(mlirBlockGetArgument(s->body, (intptr_t)i))) {
    plumb_mlir_run start = load_point(d, s, i, init, ids);
    return s->has_loops ? plumb_mlir_variables(d, start) : start;
  }
  plumb_reg *zeros = PLUMB_NEW_ARRAY(d->arena, plumb_reg, init->element.count);
  for (size_t e = 0; e < init->element.count; e++)
    zeros[e] = plumb_constant(d->program, init->element.dtype, 0);
  plumb_mlir_run acc = {zeros, init->element.count};
  if (!s->has_loops) return acc;
  acc = plumb_mlir_variables(d, acc);
  plumb_mlir_if branch;
  plumb_mlir_if_begin(d, &branch,
                      plumb_build_cmp(&d->b, PLUMB_CMP_EQ, PLUMB_I64, terms, plumb_mlir_i64(d, 1)));
  plumb_mlir_assign(d, acc, load_point(d, s, i, init, ids));
  plumb_mlir_if_end(d, &branch);
  return acc;
}

/* A lane that owns its output elements: accumulators in registers, one store at the end. */
static void build_lane_in_registers(plumb_mlir_decoder *d, const structured *s,
                                    const plumb_mlir_buffer *buffers,
                                    const plumb_mlir_buffer *outputs, const plumb_reg *sizes,
                                    plumb_reg *ids, plumb_reg terms) {
  size_t first = s->operands - s->inits;
  plumb_mlir_run *acc = PLUMB_NEW_ARRAY(d->arena, plumb_mlir_run, s->inits);
  for (size_t k = 0; k < s->inits; k++)
    acc[k] = begin_accumulator(d, s, first + k, &buffers[first + k], ids, terms);
  plumb_mlir_loop loops[MAX_DIMS];
  size_t loop_count = begin_loops(d, s, sizes, loops, ids);
  bind_inputs(d, s, buffers, ids);
  for (size_t k = 0; k < s->inits; k++)
    plumb_mlir_bind_argument(d, s->body, (intptr_t)(first + k), acc[k].regs, acc[k].count);
  bind_indices(d, s, ids);
  build_body(d, s, terms);
  MlirOperation yield = plumb_mlir_terminator(s->body);
  if (s->has_loops) {
    /* All at once: one output may yield another's accumulator. */
    plumb_mlir_run values = plumb_mlir_operands(d, yield, 0, (intptr_t)s->inits);
    plumb_reg *all = PLUMB_NEW_ARRAY(d->arena, plumb_reg, values.count);
    size_t at = 0;
    for (size_t k = 0; k < s->inits; k++)
      for (size_t e = 0; e < acc[k].count && at < values.count; e++) all[at++] = acc[k].regs[e];
    plumb_mlir_assign(d, (plumb_mlir_run){all, at}, values);
    end_loops(d, loops, loop_count);
  }
  for (size_t k = 0; k < s->inits; k++) {
    plumb_reg indices[MAX_DIMS];
    point_indices(d, s, first + k, ids, indices);
    plumb_mlir_store(d, &outputs[k], indices,
                     s->has_loops ? acc[k].regs : plumb_mlir_operand(d, yield, (intptr_t)k).regs);
  }
}

/* Everything inside the lanes: the captured operands, then the points of one lane. */
static void build_lane(plumb_mlir_decoder *d, const structured *s, plumb_reg *ids) {
  plumb_mlir_buffer *buffers = PLUMB_NEW_ARRAY(d->arena, plumb_mlir_buffer, s->operands);
  plumb_mlir_buffer *outputs = PLUMB_NEW_ARRAY(d->arena, plumb_mlir_buffer, s->inits);
  for (size_t i = 0; i < s->operands; i++)
    if (is_shaped(plumb_mlir_operand_type(s->op, (intptr_t)i)))
      buffers[i] = plumb_mlir_capture_buffer(d, &s->buffers[i]);
  for (size_t k = 0; k < s->inits; k++) outputs[k] = plumb_mlir_capture_buffer(d, &s->outputs[k]);
  plumb_reg sizes[MAX_DIMS];
  for (size_t dim = 0; dim < s->dims; dim++)
    sizes[dim] = s->lane[dim] ? s->sizes[dim] : plumb_mlir_capture(d, s->sizes[dim]);
  plumb_reg terms = s->has_loops ? plumb_mlir_capture(d, s->terms) : s->terms;
  if (s->in_registers) {
    build_lane_in_registers(d, s, buffers, outputs, sizes, ids, terms);
    return;
  }
  plumb_mlir_loop loops[MAX_DIMS];
  size_t loop_count = begin_loops(d, s, sizes, loops, ids);
  build_point_in_memory(d, s, buffers, outputs, ids, terms);
  end_loops(d, loops, loop_count);
}

static void build_space(plumb_mlir_decoder *d, structured *s) {
  plumb_reg counts[MAX_DIMS], lane_ids[MAX_DIMS], ids[MAX_DIMS];
  size_t lanes = 0;
  s->terms = plumb_mlir_i64(d, 1);
  for (size_t dim = 0; dim < s->dims; dim++) {
    if (s->lane[dim])
      counts[lanes++] = s->sizes[dim];
    else
      s->terms = s->terms == plumb_mlir_i64(d, 1) ? s->sizes[dim]
                                                  : plumb_mlir_mul(d, s->terms, s->sizes[dim]);
  }
  if (s->has_loops) s->terms = plumb_mlir_add(d, s->terms, plumb_mlir_i64(d, 1));
  plumb_mlir_lanes launch;
  plumb_mlir_lanes_begin(d, &launch, plumb_mlir_name(d, s->op) + 7, lanes, counts, lane_ids);
  for (size_t dim = 0, at = 0; dim < s->dims; dim++)
    if (s->lane[dim]) ids[dim] = lane_ids[at++];
  build_lane(d, s, ids);
  plumb_mlir_lanes_end(d, &launch);
}

static bool decode_structured(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  structured s = {.op = op, .operands = (size_t)mlirOperationGetNumOperands(op)};
  s.tensors = mlirOperationGetNumResults(op) > 0;
  s.inits = count_inits(d, op, s.operands);
  if (s.inits > s.operands) return plumb_mlir_reject(d, "fewer operands than outputs");
  if (s.tensors && (size_t)mlirOperationGetNumResults(op) != s.inits)
    return plumb_mlir_reject(d, "tensor and memref outputs in one operation");
  s.body = plumb_mlir_body(op, 0);
  if (mlirBlockIsNull(s.body) || (size_t)mlirBlockGetNumArguments(s.body) != s.operands)
    return plumb_mlir_reject(d, "no region with one argument an operand");
  if (!read_maps(d, &s) || !open_operands(d, &s) || !find_sizes(d, &s)) return false;
  choose_lanes(d, &s);
  if (!open_outputs(d, &s)) return false;
  build_space(d, &s);
  return true;
}

/* Bound by the structured operation around it (bind_indices). */
static bool decode_index(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)d, (void)op, (void)row;
  return true;
}

const plumb_mlir_op plumb_mlir_ops_linalg[] = {
#define X(name) {"linalg." name, decode_structured, 0},
#include "ir/mlir/linalg.def"
#undef X
    {"linalg.index", decode_index, 0},
    {"linalg.softmax", plumb_linalg_softmax, 0},
    {"linalg.pack", plumb_linalg_pack, 0},
    {"linalg.unpack", plumb_linalg_unpack, 0},
    {0}};
