/* Asynchronous operations of the nvvm dialect (NVVMOps.td of LLVM 22), each as the PTX
 * instruction that its description names. */
#include <string.h>

#include "ir/mlir/llvm_internal.h"
#include "ir/ptx/ptx.h"
#include "mlir-c/Dialect/LLVM.h"

enum { MAX_REGS = 300 };

/* A piece of PTX in the making: $N counts results first, then what `use` adds. */
typedef struct piece {
  plumb_mlir_decoder *d;
  MlirOperation op;
  plumb_text text, constraints;
  plumb_reg regs[MAX_REGS];
  size_t count; /* operands so far, results included */
  size_t inputs;
  plumb_dtype result_type;
  bool has_result, failed;
} piece;

static piece *begin(plumb_mlir_decoder *d, MlirOperation op) {
  piece *p = PLUMB_NEW(d->arena, piece);
  *p = (piece){.d = d,
               .op = op,
               .text = plumb_text_create(d->arena),
               .constraints = plumb_text_create(d->arena)};
  return p;
}

static void result(piece *p, plumb_dtype type) {
  plumb_text_printf(&p->constraints, "=%s", plumb_mlir_nvvm_letter(type));
  p->has_result = true;
  p->result_type = type;
  p->count = 1;
}

/* Adds a register; its number in the text. */
static size_t use(piece *p, plumb_reg r) {
  const char *letter = plumb_mlir_nvvm_letter(plumb_reg_type(p->d->b.function, r));
  if (!letter || p->inputs == MAX_REGS) {
    p->failed = true;
    return 0;
  }
  plumb_text_printf(&p->constraints, "%s%s", p->count ? "," : "", letter);
  p->regs[p->inputs++] = r;
  return p->count++;
}

static size_t use_operand(piece *p, intptr_t i) {
  return use(p, plumb_mlir_operand1(p->d, p->op, i));
}

/* The result, where there is one: `predicate` turns an i32 into the i1. Guarded by operand
 * `guard` unless that is -1. */
static bool finish(piece *p, bool predicate, intptr_t guard) {
  plumb_mlir_decoder *d = p->d;
  if (p->failed) return false;
  plumb_builder *b = &d->b;
  plumb_reg outer = b->guard, made = PLUMB_NO_REG;
  if (guard >= 0) {
    if (outer != PLUMB_NO_REG) return false;
    b->guard = plumb_mlir_operand1(d, p->op, guard);
  }
  plumb_ptx_asm a = {.b = b,
                     .path = d->program->name,
                     .text = p->text.data,
                     .text_length = p->text.length,
                     .constraints = p->constraints.data,
                     .constraints_length = p->constraints.length,
                     .inputs = p->regs,
                     .input_count = p->inputs,
                     .result_types = &p->result_type,
                     .result_count = p->has_result};
  plumb_diag problem = {0};
  bool ok = plumb_ptx_inline_asm(&a, &made, &problem) == PLUMB_OK;
  b->guard = outer;
  if (!ok) return plumb_mlir_reject(d, "PTX %s: %s", p->text.data, problem.message);
  if (!p->has_result || !mlirOperationGetNumResults(p->op)) return true;
  if (predicate)
    made =
        plumb_build_cmp(b, PLUMB_CMP_NE, PLUMB_I32, made, plumb_constant(d->program, PLUMB_I32, 0));
  plumb_mlir_define_result1(d, p->op, 0, made);
  return true;
}

/* The state space of a pointer operand as a suffix. */
static const char *space_of(MlirOperation op, intptr_t i) {
  MlirType type = plumb_mlir_operand_type(op, i);
  if (!mlirTypeIsALLVMPointerType(type)) return "";
  switch (mlirLLVMPointerTypeGetAddressSpace(type)) {
    case 3:
      return ".shared::cta";
    case 7:
      return ".shared::cluster";
    default:
      return "";
  }
}

static bool flag(MlirOperation op, const char *name) {
  return plumb_mlir_attribute_flag(op, name);
}

static const char *scope_of(plumb_mlir_decoder *d, MlirOperation op) {
  return strstr(plumb_mlir_attribute_text(d, op, "scope"), "cluster") ? "cluster" : "cta";
}

/* --- those that are one instruction without operands --- */

static const char *const plain_texts[] = {
    "cp.async.commit_group;", "cp.async.bulk.commit_group;", "fence.mbarrier_init.release.cluster;",
    "wgmma.fence.sync.aligned;", "wgmma.commit_group.sync.aligned;"};

static bool decode_plain(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  piece *p = begin(d, op);
  plumb_text_printf(&p->text, "%s", plain_texts[row->code]);
  return finish(p, false, -1);
}

static bool decode_nothing(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)d, (void)op, (void)row;
  return true;
}

static bool decode_wait_group(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  static const char *const texts[] = {"cp.async.wait_group", "cp.async.bulk.wait_group",
                                      "wgmma.wait_group.sync.aligned"};
  int64_t left;
  if (!plumb_mlir_attribute_int(op, row->code ? "group" : "n", &left)) return false;
  piece *p = begin(d, op);
  plumb_text_printf(&p->text, "%s%s %lld;", texts[row->code],
                    row->code == 1 && flag(op, "read") ? ".read" : "", (long long)left);
  return finish(p, false, -1);
}

static bool decode_cluster_barrier(plumb_mlir_decoder *d, MlirOperation op,
                                   const plumb_mlir_op *row) {
  static const char *const texts[] = {"arrive", "arrive.relaxed", "wait"};
  piece *p = begin(d, op);
  plumb_text_printf(&p->text, "barrier.cluster.%s%s;", texts[row->code],
                    flag(op, "aligned") ? ".aligned" : "");
  return finish(p, false, -1);
}

static bool decode_fence_proxy(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  const char *kind = plumb_mlir_attribute_text(d, op, "kind");
  const char *space = plumb_mlir_attribute_text(d, op, "space");
  piece *p = begin(d, op);
  if (strstr(kind, "alias"))
    plumb_text_printf(&p->text, "fence.proxy.alias;");
  else if (strstr(kind, "async.shared"))
    plumb_text_printf(&p->text, "fence.proxy.async.shared::%s;",
                      strstr(space, "cluster") ? "cluster" : "cta");
  else if (strstr(kind, "async"))
    plumb_text_printf(&p->text, "fence.proxy.async%s;", strstr(kind, "global") ? ".global" : "");
  else
    return plumb_mlir_reject(d, "fence.proxy of kind %s", kind);
  return finish(p, false, -1);
}

/* --- mbarriers --- */

enum { INIT, INVAL, EXPECT_TX, COMPLETE_TX };

static bool decode_mbarrier(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  static const char *const names[] = {"init", "inval", "expect_tx", "complete_tx"};
  intptr_t operands = mlirOperationGetNumOperands(op);
  bool tx = row->code >= EXPECT_TX, guarded = row->code == INIT && operands == 3;
  piece *p = begin(d, op);
  size_t at = use_operand(p, 0);
  plumb_text_printf(&p->text, "mbarrier.%s%s%s%s.b64 [$%zu]", names[row->code],
                    tx ? ".relaxed." : "", tx ? scope_of(d, op) : "", space_of(op, 0), at);
  if (row->code != INVAL) plumb_text_printf(&p->text, ", $%zu", use_operand(p, 1));
  plumb_text_printf(&p->text, ";");
  return finish(p, false, guarded ? 2 : -1);
}

enum { ARRIVE, DROP, ARRIVE_NO_COMPLETE, DROP_NO_COMPLETE, ARRIVE_EXPECT, DROP_EXPECT };

static bool decode_arrive(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  bool drop = row->code == DROP || row->code == DROP_NO_COMPLETE || row->code == DROP_EXPECT;
  bool partial = row->code == ARRIVE_NO_COMPLETE || row->code == DROP_NO_COMPLETE;
  bool expect = row->code == ARRIVE_EXPECT || row->code == DROP_EXPECT;
  intptr_t operands = mlirOperationGetNumOperands(op);
  const char *space = space_of(op, 0);
  bool cluster = strcmp(space, ".shared::cluster") == 0;
  piece *p = begin(d, op);
  if (!cluster) result(p, PLUMB_I64);
  size_t at = use_operand(p, 0);
  plumb_text_printf(&p->text, "mbarrier.arrive%s%s%s%s.%s%s.b64 %s, [$%zu]", drop ? "_drop" : "",
                    expect ? ".expect_tx" : "", partial ? ".noComplete" : "",
                    flag(op, "relaxed") ? ".relaxed" : ".release", scope_of(d, op), space,
                    cluster ? "_" : "$0", at);
  if (operands > 1) plumb_text_printf(&p->text, ", $%zu", use_operand(p, 1));
  plumb_text_printf(&p->text, ";");
  return finish(p, false, expect && operands > 2 ? 2 : -1);
}

/* try_wait.parity of the dialect is the loop that waits (its description says so). */
enum { TEST_WAIT, TRY_WAIT, WAIT_PARITY };

static bool decode_wait(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  bool loops = row->code == WAIT_PARITY;
  piece *p = begin(d, op);
  if (!loops) result(p, PLUMB_I32);
  size_t at = use_operand(p, 0), state = use_operand(p, 1);
  bool parity = loops || plumb_reg_type(d->b.function, p->regs[1]) == PLUMB_I32;
  plumb_text_printf(&p->text, "{ .reg .pred p; %smbarrier.%s%s.%s.%s%s.b64 p, [$%zu], $%zu; %s }",
                    loops ? "wait: " : "", row->code == TEST_WAIT ? "test_wait" : "try_wait",
                    parity ? ".parity" : "", flag(op, "relaxed") ? "relaxed" : "acquire",
                    scope_of(d, op), space_of(op, 0), at, state,
                    loops ? "@!p bra.uni wait;" : "selp.b32 $0, 1, 0, p;");
  return finish(p, !loops, -1);
}

/* --- copies --- */

static bool decode_cp_async(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  int64_t size;
  const char *modifier = plumb_mlir_attribute_text(d, op, "modifier");
  if (!plumb_mlir_attribute_int(op, "size", &size)) return false;
  piece *p = begin(d, op);
  size_t to = use_operand(p, 0), from = use_operand(p, 1);
  plumb_text_printf(&p->text, "cp.async.%s.shared.global [$%zu], [$%zu], %lld",
                    strstr(modifier, "cg") ? "cg" : "ca", to, from, (long long)size);
  if (mlirOperationGetNumOperands(op) > 2) plumb_text_printf(&p->text, ", $%zu", use_operand(p, 2));
  plumb_text_printf(&p->text, ";");
  return finish(p, false, -1);
}

static bool decode_cp_arrive(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  piece *p = begin(d, op);
  size_t at = use_operand(p, 0);
  plumb_text_printf(&p->text, "cp.async.mbarrier.arrive%s%s.b64 [$%zu];",
                    flag(op, "noinc") ? ".noinc" : "", space_of(op, 0), at);
  return finish(p, false, -1);
}

static void coordinates(piece *p, intptr_t first, int64_t count) {
  plumb_text_printf(&p->text, "{");
  for (int64_t i = 0; i < count; i++)
    plumb_text_printf(&p->text, "%s$%zu", i ? ", " : "", use_operand(p, first + i));
  plumb_text_printf(&p->text, "}");
}

/* Groups: destination, map, coordinates, mbarrier, offsets, blocks, cache hint, predicate. */
static bool decode_tensor_load(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  const int64_t *n;
  size_t groups;
  const char *mode = plumb_mlir_attribute_text(d, op, "mode");
  if (!plumb_mlir_segments(d, op, &n, &groups) || groups != 8) return false;
  if (strstr(mode, "gather") || strstr(mode, "im2col_w"))
    return plumb_mlir_reject(d, "load mode %s", mode);
  intptr_t barrier = 2 + n[2], offsets = barrier + 1, blocks = offsets + n[4];
  piece *p = begin(d, op);
  size_t to = use_operand(p, 0), map = use_operand(p, 1);
  plumb_text_printf(
      &p->text,
      "cp.async.bulk.tensor.%lldd%s.global%s.mbarrier::complete_tx::bytes%s [$%zu], [$%zu, ",
      (long long)n[2], flag(op, "isCTAOnly") ? ".shared::cta" : ".shared::cluster",
      n[4] ? ".im2col" : ".tile", n[5] ? ".multicast::cluster" : "", to, map);
  coordinates(p, 2, n[2]);
  plumb_text_printf(&p->text, "], [$%zu]", use_operand(p, barrier));
  if (n[4]) {
    plumb_text_printf(&p->text, ", ");
    coordinates(p, offsets, n[4]);
  }
  if (n[5]) plumb_text_printf(&p->text, ", $%zu", use_operand(p, blocks));
  plumb_text_printf(&p->text, ";");
  return finish(p, false, n[7] ? blocks + n[5] + n[6] : -1);
}

/* Groups: map, source, coordinates, cache hint, predicate. */
static bool decode_tensor_store(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  const int64_t *n;
  size_t groups;
  const char *mode = plumb_mlir_attribute_text(d, op, "mode");
  if (!plumb_mlir_segments(d, op, &n, &groups) || groups != 5) return false;
  if (strstr(mode, "scatter")) return plumb_mlir_reject(d, "store mode %s", mode);
  piece *p = begin(d, op);
  size_t map = use_operand(p, 0), from = use_operand(p, 1);
  plumb_text_printf(&p->text, "cp.async.bulk.tensor.%lldd.global.shared::cta%s.bulk_group [$%zu, ",
                    (long long)n[2], strstr(mode, "im2col") ? ".im2col_no_offs" : ".tile", map);
  coordinates(p, 2, n[2]);
  plumb_text_printf(&p->text, "], [$%zu];", from);
  return finish(p, false, n[4] ? 2 + n[2] + n[3] : -1);
}

static bool decode_mapa(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  piece *p = begin(d, op);
  result(p, PLUMB_I64);
  size_t from = use_operand(p, 0), rank = use_operand(p, 1);
  plumb_text_printf(&p->text, "mapa%s.u64 $0, $%zu, $%zu;",
                    *space_of(op, 0) ? ".shared::cluster" : "", from, rank);
  return finish(p, false, -1);
}

/* --- wgmma.mma_async --- */

static bool decode_wgmma(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  const char *a = plumb_mlir_attribute_word(d, op, "typeA"),
             *b = plumb_mlir_attribute_word(d, op, "typeB");
  const char *to = plumb_mlir_attribute_word(d, op, "typeD");
  plumb_mlir_run inouts = plumb_mlir_operand(d, op, 0);
  if (inouts.count > 128 || !inouts.count) return false;
  plumb_text text = plumb_text_create(d->arena), constraints = plumb_text_create(d->arena);
  plumb_reg given[MAX_REGS], made[128];
  plumb_dtype types[128];
  size_t count = inouts.count;
  plumb_text_printf(
      &text,
      "{ .reg .pred p; setp.ne.b32 p, %d, 0; "
      "wgmma.mma_async.sync.aligned.%s%s.%s.%s.%s%s {",
      strcmp(plumb_mlir_attribute_word(d, op, "scaleD"), "zero") != 0, plumb_mlir_nvvm_shape(d, op),
      strstr(plumb_mlir_attribute_text(d, op, "satfinite"), "satfinite") ? ".satfinite" : "", to, a,
      b, strcmp(a, "b1") == 0 ? ".and.popc" : "");
  for (size_t i = 0; i < count; i++) {
    types[i] = plumb_reg_type(d->b.function, inouts.regs[i]);
    if (!plumb_mlir_nvvm_letter(types[i])) return false;
    plumb_text_printf(&constraints, "%s=%s", i ? "," : "", plumb_mlir_nvvm_letter(types[i]));
    plumb_text_printf(&text, "%s$%zu", i ? ", " : "", i);
    given[i] = inouts.regs[i];
  }
  for (size_t i = 0; i < count; i++) plumb_text_printf(&constraints, ",%zu", i);
  plumb_text_printf(&constraints, ",l,l");
  given[count] = plumb_mlir_operand1(d, op, 1);
  given[count + 1] = plumb_mlir_operand1(d, op, 2);
  plumb_text_printf(&text, "}, $%zu, $%zu, p", 2 * count, 2 * count + 1);
  bool is_int = strcmp(to, "s32") == 0;
  if (!is_int)
    plumb_text_printf(&text, ", %d, %d",
                      strcmp(plumb_mlir_attribute_word(d, op, "scaleA"), "neg") ? 1 : -1,
                      strcmp(plumb_mlir_attribute_word(d, op, "scaleB"), "neg") ? 1 : -1);
  /* A is K-major in rows, B in columns. */
  if (strcmp(a, "f16") == 0 || strcmp(a, "bf16") == 0)
    plumb_text_printf(&text, ", %d, %d",
                      strcmp(plumb_mlir_attribute_word(d, op, "layoutA"), "row") != 0,
                      strcmp(plumb_mlir_attribute_word(d, op, "layoutB"), "col") != 0);
  plumb_text_printf(&text, "; }");
  plumb_ptx_asm piece = {.b = &d->b,
                         .path = d->program->name,
                         .text = text.data,
                         .text_length = text.length,
                         .constraints = constraints.data,
                         .constraints_length = constraints.length,
                         .inputs = given,
                         .input_count = count + 2,
                         .result_types = types,
                         .result_count = count};
  plumb_diag problem = {0};
  if (plumb_ptx_inline_asm(&piece, made, &problem) != PLUMB_OK)
    return plumb_mlir_reject(d, "PTX %s: %s", text.data, problem.message);
  plumb_mlir_define_result(d, op, 0, made, count);
  return true;
}

const plumb_mlir_op plumb_mlir_ops_nvvm_async[] = {
    {"nvvm.cp.async.commit.group", decode_plain, 0},
    {"nvvm.cp.async.bulk.commit.group", decode_plain, 1},
    {"nvvm.fence.mbarrier.init", decode_plain, 2},
    {"nvvm.wgmma.fence.aligned", decode_plain, 3},
    {"nvvm.wgmma.commit.group.sync.aligned", decode_plain, 4},
    {"nvvm.cp.async.wait.group", decode_wait_group, 0},
    {"nvvm.cp.async.bulk.wait_group", decode_wait_group, 1},
    {"nvvm.wgmma.wait.group.sync.aligned", decode_wait_group, 2},
    {"nvvm.griddepcontrol", decode_nothing, 0},
    {"nvvm.setmaxregister", decode_nothing, 0},
    {"nvvm.prefetch", decode_nothing, 0},
    {"nvvm.cluster.arrive", decode_cluster_barrier, 0},
    {"nvvm.cluster.arrive.relaxed", decode_cluster_barrier, 1},
    {"nvvm.cluster.wait", decode_cluster_barrier, 2},
    {"nvvm.fence.proxy", decode_fence_proxy, 0},
    {"nvvm.mbarrier.init", decode_mbarrier, INIT},
    {"nvvm.mbarrier.inval", decode_mbarrier, INVAL},
    {"nvvm.mbarrier.expect_tx", decode_mbarrier, EXPECT_TX},
    {"nvvm.mbarrier.complete_tx", decode_mbarrier, COMPLETE_TX},
    {"nvvm.mbarrier.arrive", decode_arrive, ARRIVE},
    {"nvvm.mbarrier.arrive_drop", decode_arrive, DROP},
    {"nvvm.mbarrier.arrive.nocomplete", decode_arrive, ARRIVE_NO_COMPLETE},
    {"nvvm.mbarrier.arrive_drop.nocomplete", decode_arrive, DROP_NO_COMPLETE},
    {"nvvm.mbarrier.arrive.expect_tx", decode_arrive, ARRIVE_EXPECT},
    {"nvvm.mbarrier.arrive_drop.expect_tx", decode_arrive, DROP_EXPECT},
    {"nvvm.mbarrier.test.wait", decode_wait, TEST_WAIT},
    {"nvvm.mbarrier.try_wait", decode_wait, TRY_WAIT},
    {"nvvm.mbarrier.try_wait.parity", decode_wait, WAIT_PARITY},
    {"nvvm.cp.async.shared.global", decode_cp_async, 0},
    {"nvvm.cp.async.mbarrier.arrive", decode_cp_arrive, 0},
    {"nvvm.cp.async.bulk.tensor.shared.cluster.global", decode_tensor_load, 0},
    {"nvvm.cp.async.bulk.tensor.global.shared.cta", decode_tensor_store, 0},
    {"nvvm.mapa", decode_mapa, 0},
    {"nvvm.wgmma.mma_async", decode_wgmma, 0},
    {0}};
