/* NVVM's intrinsics of asynchronous copies and mbarriers whose names or flags make up the
 * instruction (NVPTX Usage Guide and IntrinsicsNVVM.td of LLVM 22). */
#include <string.h>

#include "ir/ptx/intrinsic.h"

/* --- mbarrier operations with a scope and a space in their names --- */

static bool has(const char *name, const char *word) {
  return strstr(name, word) != NULL;
}

static bool mbarrier(ptx_intrinsic *t, const char *name) {
  bool cluster_scope = has(name, ".scope.cluster"), cluster = has(name, ".space.cluster");
  bool relaxed = has(name, ".relaxed."), parity = has(name, ".parity");
  const char *scope = cluster_scope ? "cluster" : "cta";
  const char *space = cluster ? "shared::cluster" : "shared::cta";
  if (!has(name, ".scope.") || !has(name, ".space.") || t->count < 2) return false;
  if (strncmp(name, "mbarrier.expect.tx.", 19) == 0 ||
      strncmp(name, "mbarrier.complete.tx.", 21) == 0) {
    ptx_intrinsic_use(t, 0, 'l');
    ptx_intrinsic_use(t, 1, 'r');
    plumb_text_printf(&t->text, "mbarrier.%s.relaxed.%s.%s.b64 [$0], $1;",
                      name[9] == 'e' ? "expect_tx" : "complete_tx", scope, space);
    return true;
  }
  if (strncmp(name, "mbarrier.arrive.", 16) == 0) {
    bool expect = has(name, ".expect.tx."), drop = has(name, ".drop.");
    if (!cluster) ptx_intrinsic_result(t, 'l');
    ptx_intrinsic_use(t, 0, 'l');
    ptx_intrinsic_use(t, 1, 'r');
    plumb_text_printf(&t->text, "mbarrier.arrive%s%s.%s.%s.%s.b64 %s, [$%d], $%d;",
                      drop ? "_drop" : "", expect ? ".expect_tx" : "",
                      relaxed ? "relaxed" : "release", scope, space, cluster ? "_" : "$0",
                      cluster ? 0 : 1, cluster ? 1 : 2);
    return true;
  }
  bool try_wait = strncmp(name, "mbarrier.try.wait.", 18) == 0;
  if (!try_wait && strncmp(name, "mbarrier.test.wait.", 19) != 0) return false;
  ptx_intrinsic_result(t, 'r');
  t->out->predicate = true;
  ptx_intrinsic_use(t, 0, 'l');
  ptx_intrinsic_use(t, 1, parity ? 'r' : 'l');
  plumb_text_printf(
      &t->text, "{ .reg .pred p; mbarrier.%s%s.%s.%s.%s.b64 p, [$1], $2; selp.b32 $0, 1, 0, p; }",
      try_wait ? "try_wait" : "test_wait", parity ? ".parity" : "", relaxed ? "relaxed" : "acquire",
      scope, space);
  return true;
}

/* --- bulk and tensor copies, whose flags say which operands count --- */

static bool bulk(ptx_intrinsic *t, const char *name) {
  int64_t multicast = 0;
  if (strcmp(name, "cp.async.bulk.shared.cta.to.global") == 0) {
    for (unsigned i = 0; i < 3; i++) ptx_intrinsic_use(t, i, i < 2 ? 'l' : 'r');
    plumb_text_printf(&t->text, "cp.async.bulk.global.shared::cta.bulk_group [$0], [$1], $2;");
    return t->count == 5;
  }
  bool cluster = strcmp(name, "cp.async.bulk.global.to.shared.cluster") == 0;
  if (!cluster && strcmp(name, "cp.async.bulk.global.to.shared.cta") != 0) return false;
  if (t->count != (cluster ? 8u : 6u) || (cluster && !ptx_intrinsic_constant(t, 6, &multicast)))
    return false;
  for (unsigned i = 0; i < 4; i++) ptx_intrinsic_use(t, i, i < 3 ? 'l' : 'r');
  if (multicast) ptx_intrinsic_use(t, 4, 'h');
  plumb_text_printf(
      &t->text,
      "cp.async.bulk.shared::%s.global.mbarrier::complete_tx::bytes%s [$0], [$2], $3, "
      "[$1]%s;",
      cluster ? "cluster" : "cta", multicast ? ".multicast::cluster" : "", multicast ? ", $4" : "");
  return true;
}

static void coordinates(ptx_intrinsic *t, unsigned first, unsigned count, char letter) {
  plumb_text_printf(&t->text, "{");
  for (unsigned i = 0; i < count; i++) {
    plumb_text_printf(&t->text, "%s$%zu", i ? ", " : "", t->out->arg_count);
    ptx_intrinsic_use(t, first + i, letter);
  }
  plumb_text_printf(&t->text, "}");
}

/* cp.async.bulk.tensor.{g2s{.cta}, s2g, prefetch, reduce.OP}.{tile, im2col}.Nd */
static bool tensor(ptx_intrinsic *t, const char *rest) {
  static const char *const operations[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};
  const char *operation = NULL;
  bool prefetch = strncmp(rest, "prefetch.", 9) == 0;
  bool load = strncmp(rest, "g2s.", 4) == 0, cta = strncmp(rest, "g2s.cta.", 8) == 0;
  int64_t multicast = 0, pair = 0; /* pair: 2 for cta_group::2 */
  if (strncmp(rest, "reduce.", 7) == 0) {
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
      size_t n = strlen(operations[i]);
      if (strncmp(rest + 7, operations[i], n) == 0 && rest[7 + n] == '.') operation = operations[i];
    }
    if (!operation) return false;
    rest += 8 + strlen(operation);
  } else if (prefetch) {
    rest += 9;
  } else if (load || strncmp(rest, "s2g.", 4) == 0) {
    rest += cta ? 8 : 4;
  } else {
    return false;
  }
  bool im2col = strncmp(rest, "im2col.", 7) == 0;
  if (!im2col && strncmp(rest, "tile.", 5) != 0) return false;
  rest += im2col ? 7 : 5;
  if (rest[0] < '1' || rest[0] > '5' || strcmp(rest + 1, "d") != 0) return false;
  unsigned rank = (unsigned)(rest[0] - '0'), offsets = (load || prefetch) && im2col ? rank - 2 : 0;
  if (prefetch) {
    if (t->count != 3u + rank + offsets) return false;
    ptx_intrinsic_use(t, 0, 'l');
    plumb_text_printf(&t->text, "cp.async.bulk.prefetch.tensor.%ud.L2.global.%s [$0, ", rank,
                      im2col ? "im2col" : "tile");
    coordinates(t, 1, rank, 'r');
    plumb_text_printf(&t->text, "]%s", offsets ? ", " : ";");
    if (offsets) coordinates(t, 1 + rank, offsets, 'h');
    if (offsets) plumb_text_printf(&t->text, ";");
    return true;
  }
  if (!load) {
    if (t->count != 4u + rank) return false;
    ptx_intrinsic_use(t, 0, 'l');
    ptx_intrinsic_use(t, 1, 'l');
    plumb_text_printf(&t->text,
                      "cp.%sasync.bulk.tensor.%ud.global.shared::cta%s%s.%s.bulk_group [$1, ",
                      operation ? "reduce." : "", rank, operation ? "." : "",
                      operation ? operation : "", im2col ? "im2col_no_offs" : "tile");
    coordinates(t, 2, rank, 'r');
    plumb_text_printf(&t->text, "], [$0];");
    return true;
  }
  if (t->count != 3u + rank + offsets + (cta ? 2 : 5)) return false;
  if (!cta && (!ptx_intrinsic_constant(t, 3 + rank + offsets + 2, &multicast) ||
               !ptx_intrinsic_constant(t, 3 + rank + offsets + 4, &pair) || pair > 1))
    return false;
  for (unsigned i = 0; i < 3; i++) ptx_intrinsic_use(t, i, 'l');
  plumb_text_printf(&t->text,
                    "cp.async.bulk.tensor.%ud.shared::%s.global.%s.mbarrier::complete_tx::bytes%s "
                    "[$0], [$2, ",
                    rank, cta ? "cta" : "cluster", im2col ? "im2col" : "tile",
                    multicast ? ".multicast::cluster" : "");
  coordinates(t, 3, rank, 'r');
  plumb_text_printf(&t->text, "], [$1]");
  if (offsets) {
    plumb_text_printf(&t->text, ", ");
    coordinates(t, 3 + rank, offsets, 'h');
  }
  if (multicast) {
    plumb_text_printf(&t->text, ", $%zu", t->out->arg_count);
    ptx_intrinsic_use(t, 3 + rank + offsets, 'h');
  }
  plumb_text_printf(&t->text, ";");
  return true;
}

bool ptx_intrinsic_async(ptx_intrinsic *t) {
  static const char bulk_tensor[] = "cp.async.bulk.tensor.";
  return strncmp(t->name, bulk_tensor, sizeof bulk_tensor - 1) == 0
             ? tensor(t, t->name + sizeof bulk_tensor - 1)
             : mbarrier(t, t->name) || bulk(t, t->name);
}
