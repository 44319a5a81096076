/* Operations of the nvvm dialect that are an intrinsic with other operands or another order of
 * them (NVVMOps.td of LLVM 22, llvmBuilder): bulk copies and proxy fences. */
#include <string.h>

#include "ir/mlir/llvm_internal.h"
#include "ir/ptx/ptx.h"

/* Arguments of an intrinsic's call, one register each. */
typedef struct call {
  plumb_mlir_decoder *d;
  MlirOperation op;
  plumb_reg regs[PLUMB_PTX_INTRINSIC_ARGS];
  size_t count;
} call;

static void add(call *c, intptr_t operand) {
  c->regs[c->count++] = plumb_mlir_operand1(c->d, c->op, operand);
}

static void add_constant(call *c, plumb_dtype type, uint64_t value) {
  c->regs[c->count++] = plumb_constant(c->d->program, type, value);
}

/* An operand that may be absent: zero then. The flags that say so come after. */
static void add_optional(call *c, intptr_t operand, bool present, plumb_dtype type) {
  if (present)
    add(c, operand);
  else
    add_constant(c, type, 0);
}

static bool finish(call *c, const char *name) {
  plumb_ptx_run args[PLUMB_PTX_INTRINSIC_ARGS];
  for (size_t i = 0; i < c->count; i++) args[i] = (plumb_ptx_run){&c->regs[i], 1};
  return plumb_ptx_build_intrinsic(&c->d->b, c->d->program->name, name, args, c->count, NULL, 0,
                                   NULL) ||
         plumb_mlir_reject(c->d, "%s", name);
}

/* Groups: destination, source, mbarrier, bytes, blocks, cache hint. */
static bool decode_load(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  const int64_t *n;
  size_t groups;
  if (!plumb_mlir_segments(d, op, &n, &groups) || groups != 6) return false;
  bool cluster = mlirLLVMPointerTypeGetAddressSpace(plumb_mlir_operand_type(op, 0)) == 7;
  if (n[4] && !cluster) return plumb_mlir_reject(d, "blocks without a cluster");
  call c = {.d = d, .op = op};
  add(&c, 0);
  add(&c, 2);
  add(&c, 1);
  add(&c, 3);
  if (cluster) add_optional(&c, 4, n[4] != 0, PLUMB_I16);
  add_constant(&c, PLUMB_I64, 0);
  if (cluster) add_constant(&c, PLUMB_I1, n[4] != 0);
  add_constant(&c, PLUMB_I1, 0); /* a hint changes no value */
  return finish(&c, cluster ? "llvm.nvvm.cp.async.bulk.global.to.shared.cluster"
                            : "llvm.nvvm.cp.async.bulk.global.to.shared.cta");
}

/* Operands: destination, source, mbarrier, bytes. */
static bool decode_to_cluster(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  call c = {.d = d, .op = op};
  add(&c, 0);
  add(&c, 2);
  add(&c, 1);
  add(&c, 3);
  return finish(&c, "llvm.nvvm.cp.async.bulk.shared.cta.to.cluster");
}

/* Groups: destination, source, bytes, cache hint, mask. */
static bool decode_store(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  const int64_t *n;
  size_t groups;
  if (!plumb_mlir_segments(d, op, &n, &groups) || groups != 5) return false;
  if (n[4]) return plumb_mlir_reject(d, "a mask of bytes");
  call c = {.d = d, .op = op};
  for (intptr_t i = 0; i < 3; i++) add(&c, i);
  add_constant(&c, PLUMB_I64, 0);
  add_constant(&c, PLUMB_I1, 0);
  return finish(&c, "llvm.nvvm.cp.async.bulk.shared.cta.to.global");
}

/* Groups: map, source, coordinates, cache hint. */
static bool decode_reduce(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  const int64_t *n;
  size_t groups;
  const char *mode = plumb_mlir_attribute_text(d, op, "mode");
  if (!plumb_mlir_segments(d, op, &n, &groups) || groups != 4 || n[2] < 1 || n[2] > 5) return false;
  if (strstr(mode, "scatter")) return plumb_mlir_reject(d, "store mode %s", mode);
  call c = {.d = d, .op = op};
  add(&c, 1);
  add(&c, 0);
  for (intptr_t i = 0; i < (intptr_t)n[2]; i++) add(&c, 2 + i);
  add_constant(&c, PLUMB_I64, 0);
  add_constant(&c, PLUMB_I1, 0);
  return finish(&c, plumb_arena_printf(d->arena, "llvm.nvvm.cp.async.bulk.tensor.reduce.%s.%s.%dd",
                                       plumb_mlir_attribute_word(d, op, "redKind"),
                                       strstr(mode, "im2col") ? "im2col" : "tile", (int)n[2]));
}

enum { ACQUIRE, RELEASE };

/* Of generic accesses before those through tensor maps; no other proxies are known. */
static bool decode_proxy(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  bool acquire = row->code == ACQUIRE;
  const char *from = plumb_mlir_attribute_word(d, op, "fromProxy");
  const char *to = plumb_mlir_attribute_word(d, op, "toProxy");
  if ((*from && strcmp(from, "generic") != 0) || (*to && strcmp(to, "tensormap") != 0))
    return plumb_mlir_reject(d, "from proxy %s to %s", from, to);
  call c = {.d = d, .op = op};
  if (acquire) {
    add(&c, 0);
    add(&c, 1);
  }
  return finish(&c, plumb_arena_printf(d->arena, "llvm.nvvm.fence.proxy.tensormap_generic.%s.%s",
                                       acquire ? "acquire" : "release",
                                       plumb_mlir_attribute_word(d, op, "scope")));
}

/* `code`: between proxies. */
static bool decode_restrict(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  call c = {.d = d, .op = op};
  bool acquire = strcmp(plumb_mlir_attribute_word(d, op, "order"), "acquire") == 0;
  return finish(&c, plumb_arena_printf(d->arena, "llvm.nvvm.fence.%s%s",
                                       row->code ? "proxy.async_generic." : "",
                                       acquire ? "acquire.sync_restrict.space.cluster.scope.cluster"
                                               : "release.sync_restrict.space.cta.scope.cluster"));
}

/* It changes no value. */
static bool decode_hint(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)d, (void)op, (void)row;
  return true;
}

const plumb_mlir_op plumb_mlir_ops_nvvm_bulk[] = {
    {"nvvm.cp.async.bulk.shared.cluster.global", decode_load, 0},
    {"nvvm.cp.async.bulk.shared.cluster.shared.cta", decode_to_cluster, 0},
    {"nvvm.cp.async.bulk.global.shared.cta", decode_store, 0},
    {"nvvm.cp.async.bulk.tensor.reduce", decode_reduce, 0},
    {"nvvm.cp.async.bulk.prefetch", decode_hint, 0},
    {"nvvm.cp.async.bulk.tensor.prefetch", decode_hint, 0},
    {"nvvm.fence.proxy.acquire", decode_proxy, ACQUIRE},
    {"nvvm.fence.proxy.release", decode_proxy, RELEASE},
    {"nvvm.fence.sync_restrict", decode_restrict, 0},
    {"nvvm.fence.proxy.sync_restrict", decode_restrict, 1},
    {"nvvm.pmevent", decode_hint, 0},
    {0}};
