/* Parallel iteration spaces: on the host a kernel, one lane an iteration. */
#include "ir/mlir/decode_internal.h"
#include "ir/mlir/tables.h"

enum { LANES_A_BLOCK = 256 };

struct plumb_mlir_outline {
  plumb_mlir_scope scope;
  plumb_builder saved;
  plumb_mlir_exit *exit;
  bool device, capturing;
  uint32_t body;
  const char *name;
};

/* The value of an outer register as a parameter of the kernel: loaded once, at its entry. */
static plumb_reg capture_parameter(plumb_mlir_decoder *d, plumb_mlir_scope *scope,
                                   plumb_reg outer) {
  plumb_function *f = scope->function;
  plumb_dtype type = plumb_reg_type(scope->outer->function, outer);
  uint32_t bytes = plumb_dtype_bytes(type);
  uint32_t offset = plumb_function_add_kernel_param(f, NULL, type, bytes, bytes);
  plumb_builder entry = plumb_builder_at(f, scope->entry);
  entry.loc = d->b.loc;
  plumb_reg inner =
      plumb_build_load(&entry, type, PLUMB_SPACE_PARAM, plumb_mlir_i64(d, (int64_t)offset), 0);
  scope->arguments = plumb_arena_grow(d->arena, scope->arguments, &scope->argument_capacity,
                                      scope->argument_count + 1, sizeof *scope->arguments);
  scope->arguments[scope->argument_count++] = outer;
  return inner;
}

plumb_reg plumb_mlir_capture_from(plumb_mlir_decoder *d, plumb_mlir_scope *scope,
                                  const plumb_mlir_scope *owner, plumb_reg reg) {
  if (scope == owner || plumb_reg_is_const(reg) || !scope->outer) return reg;
  plumb_reg outer = plumb_mlir_capture_from(d, scope->outer, owner, reg);
  if (plumb_reg_is_const(outer)) return outer;
  scope->inner = plumb_arena_grow(d->arena, scope->inner, &scope->inner_capacity, (size_t)outer + 1,
                                  sizeof *scope->inner);
  if (!scope->inner[outer]) scope->inner[outer] = 1 + capture_parameter(d, scope, outer);
  return scope->inner[outer] - 1;
}

plumb_reg plumb_mlir_capture(plumb_mlir_decoder *d, plumb_reg outer) {
  if (!d->capturing || outer == PLUMB_NO_REG) return outer;
  return plumb_mlir_capture_from(d, d->scope, d->scope->outer, outer);
}

plumb_mlir_run plumb_mlir_capture_run(plumb_mlir_decoder *d, plumb_mlir_run outer) {
  plumb_reg *regs = PLUMB_NEW_ARRAY(d->arena, plumb_reg, outer.count + 1);
  for (size_t i = 0; i < outer.count; i++) regs[i] = plumb_mlir_capture(d, outer.regs[i]);
  return (plumb_mlir_run){regs, outer.count};
}

plumb_mlir_buffer plumb_mlir_capture_buffer(plumb_mlir_decoder *d, const plumb_mlir_buffer *outer) {
  plumb_mlir_buffer b = *outer;
  b.base = plumb_mlir_capture(d, outer->base);
  b.aligned = plumb_mlir_capture(d, outer->aligned);
  b.offset = plumb_mlir_capture(d, outer->offset);
  b.sizes = plumb_mlir_capture_run(d, (plumb_mlir_run){outer->sizes, outer->rank}).regs;
  b.strides = plumb_mlir_capture_run(d, (plumb_mlir_run){outer->strides, outer->rank}).regs;
  return b;
}

plumb_mlir_outline *plumb_mlir_outline_begin(plumb_mlir_decoder *d, const char *stem) {
  plumb_mlir_outline *o = PLUMB_NEW(d->arena, plumb_mlir_outline);
  o->name = plumb_mlir_unique_name(d, stem);
  plumb_function *f = plumb_function_create(d->program, o->name, PLUMB_KERNEL);
  o->scope = (plumb_mlir_scope){.outer = d->scope, .function = f, .entry = plumb_block_create(f)};
  o->saved = d->b;
  o->exit = d->exit;
  o->device = d->device;
  o->capturing = d->capturing;
  o->body = plumb_block_create(f);
  uint32_t loc = d->b.loc;
  d->b = plumb_builder_at(f, o->body);
  d->b.loc = loc;
  d->scope = &o->scope;
  d->exit = NULL;
  d->device = d->capturing = true;
  return o;
}

void plumb_mlir_outline_end(plumb_mlir_decoder *d, plumb_mlir_outline *o, const plumb_reg grid[3],
                            const plumb_reg block[3], plumb_reg shared_bytes) {
  if (!plumb_builder_terminated(&d->b)) plumb_build_ret(&d->b, NULL, 0);
  plumb_builder entry = plumb_builder_at(o->scope.function, o->scope.entry);
  plumb_build_bra(&entry, o->body);
  d->b = o->saved;
  d->scope = o->scope.outer;
  d->exit = o->exit;
  d->device = o->device;
  d->capturing = o->capturing;
  plumb_build_launch(&d->b, o->name, grid, block, shared_bytes, o->scope.arguments,
                     o->scope.argument_count);
}

/* The index of this lane in the launch, and its position in the iteration space (the last
 * dimension runs fastest). */
static plumb_reg lane_index(plumb_mlir_decoder *d) {
  plumb_reg block = plumb_build_sreg(&d->b, PLUMB_SREG_CTAID_X);
  plumb_reg thread = plumb_build_sreg(&d->b, PLUMB_SREG_TID_X);
  block = plumb_build_cvt(&d->b, PLUMB_I64, PLUMB_I32, block, 0, PLUMB_RN);
  thread = plumb_build_cvt(&d->b, PLUMB_I64, PLUMB_I32, thread, 0, PLUMB_RN);
  return plumb_mlir_add(d, plumb_mlir_mul(d, block, plumb_mlir_i64(d, LANES_A_BLOCK)), thread);
}

static void split_index(plumb_mlir_decoder *d, plumb_reg index, size_t rank,
                        const plumb_reg *counts, plumb_reg *out_ids) {
  for (size_t i = rank; i-- > 0;) {
    if (i == 0) {
      out_ids[0] = index;
      break;
    }
    plumb_reg count = plumb_mlir_capture(d, counts[i]);
    out_ids[i] = plumb_build2(&d->b, PLUMB_OP_REM_U, PLUMB_I64, index, count);
    index = plumb_build2(&d->b, PLUMB_OP_DIV_U, PLUMB_I64, index, count);
  }
}

static void begin_sequential(plumb_mlir_decoder *d, plumb_mlir_lanes *lanes, size_t rank,
                             const plumb_reg *counts, plumb_reg *out_ids) {
  plumb_reg zero = plumb_mlir_i64(d, 0), one = plumb_mlir_i64(d, 1);
  for (size_t i = 0; i < rank; i++)
    out_ids[i] = plumb_mlir_loop_begin(d, &lanes->loops[i], zero, counts[i], one);
}

void plumb_mlir_lanes_begin(plumb_mlir_decoder *d, plumb_mlir_lanes *lanes, const char *stem,
                            size_t rank, const plumb_reg *counts, plumb_reg *out_ids) {
  *lanes = (plumb_mlir_lanes){.rank = rank, .capturing = d->capturing};
  if (rank > PLUMB_MLIR_LANE_DIMS) {
    plumb_build_unsupported(&d->b, "a parallel space of more than 32 dimensions", NULL, 0);
    lanes->rank = rank = PLUMB_MLIR_LANE_DIMS;
  }
  plumb_reg total = plumb_mlir_i64(d, 1);
  for (size_t i = 0; i < rank && !d->device; i++) total = plumb_mlir_mul(d, total, counts[i]);
  int64_t known = 0;
  if (d->device || (plumb_mlir_reg_value(d, total, &known) && known == 1)) {
    d->capturing = false;
    begin_sequential(d, lanes, rank, counts, out_ids);
    return;
  }
  lanes->launched = true;
  lanes->total = total;
  /* A launch of no lanes is an error of the driver, not of the program. */
  plumb_reg some = plumb_build_cmp(&d->b, PLUMB_CMP_GT_S, PLUMB_I64, total, plumb_mlir_i64(d, 0));
  plumb_mlir_if_begin(d, &lanes->launch, some);
  lanes->outline = plumb_mlir_outline_begin(d, stem);
  plumb_reg index = lane_index(d);
  plumb_reg inside =
      plumb_build_cmp(&d->b, PLUMB_CMP_LT_S, PLUMB_I64, index, plumb_mlir_capture(d, total));
  plumb_mlir_if_begin(d, &lanes->guard, inside);
  split_index(d, index, rank, counts, out_ids);
}

void plumb_mlir_lanes_end(plumb_mlir_decoder *d, plumb_mlir_lanes *lanes) {
  d->capturing = lanes->capturing;
  if (!lanes->launched) {
    for (size_t i = lanes->rank; i-- > 0;) plumb_mlir_loop_end(d, &lanes->loops[i]);
    return;
  }
  plumb_mlir_if_end(d, &lanes->guard);
  /* The grid is computed on the host, in front of the launch. */
  plumb_mlir_outline *o = lanes->outline;
  plumb_builder inside = d->b;
  d->b = o->saved;
  plumb_reg one = plumb_mlir_i64(d, 1), width = plumb_mlir_i64(d, LANES_A_BLOCK);
  plumb_reg blocks = plumb_mlir_ceildiv(d, lanes->total, width);
  o->saved = d->b;
  d->b = inside;
  plumb_mlir_outline_end(d, o, (plumb_reg[]){blocks, one, one}, (plumb_reg[]){width, one, one},
                         plumb_mlir_i64(d, 0));
  plumb_mlir_if_end(d, &lanes->launch);
}
