/* NVVM's intrinsics of asynchronous copies, mbarriers, clusters and wgmma (NVPTX Usage Guide
 * and IntrinsicsNVVM.td of LLVM 22). */
#include <string.h>

#include "ir/ptx/intrinsic.h"

/* --- those that are one instruction, whatever the arguments ---
 * operands: the letter of each, a leading `=` for a result, `p` for a predicate result.
 * In the text $N is the N-th of them, and #N the constant argument N. */
static const struct {
  const char *name, *operands, *text;
} rows[] = {
    {"cp.async.ca.shared.global.4", "ll", "cp.async.ca.shared.global [$0], [$1], 4;"},
    {"cp.async.ca.shared.global.8", "ll", "cp.async.ca.shared.global [$0], [$1], 8;"},
    {"cp.async.ca.shared.global.16", "ll", "cp.async.ca.shared.global [$0], [$1], 16;"},
    {"cp.async.cg.shared.global.16", "ll", "cp.async.cg.shared.global [$0], [$1], 16;"},
    {"cp.async.ca.shared.global.4.s", "llr", "cp.async.ca.shared.global [$0], [$1], 4, $2;"},
    {"cp.async.ca.shared.global.8.s", "llr", "cp.async.ca.shared.global [$0], [$1], 8, $2;"},
    {"cp.async.ca.shared.global.16.s", "llr", "cp.async.ca.shared.global [$0], [$1], 16, $2;"},
    {"cp.async.cg.shared.global.16.s", "llr", "cp.async.cg.shared.global [$0], [$1], 16, $2;"},
    {"cp.async.commit.group", "", "cp.async.commit_group;"},
    {"cp.async.wait.group", "", "cp.async.wait_group #0;"},
    {"cp.async.wait.all", "", "cp.async.wait_all;"},
    {"cp.async.bulk.commit.group", "", "cp.async.bulk.commit_group;"},
    {"cp.async.bulk.wait.group", "", "cp.async.bulk.wait_group #0;"},
    {"cp.async.bulk.wait.group.read", "", "cp.async.bulk.wait_group.read #0;"},
    {"cp.async.mbarrier.arrive", "l", "cp.async.mbarrier.arrive.b64 [$0];"},
    {"cp.async.mbarrier.arrive.shared", "l", "cp.async.mbarrier.arrive.shared.b64 [$0];"},
    {"cp.async.mbarrier.arrive.noinc", "l", "cp.async.mbarrier.arrive.noinc.b64 [$0];"},
    {"cp.async.mbarrier.arrive.noinc.shared", "l",
     "cp.async.mbarrier.arrive.noinc.shared.b64 [$0];"},
    {"mbarrier.init", "lr", "mbarrier.init.b64 [$0], $1;"},
    {"mbarrier.init.shared", "lr", "mbarrier.init.shared.b64 [$0], $1;"},
    {"mbarrier.inval", "l", "mbarrier.inval.b64 [$0];"},
    {"mbarrier.inval.shared", "l", "mbarrier.inval.shared.b64 [$0];"},
    {"mbarrier.arrive", "=ll", "mbarrier.arrive.b64 $0, [$1];"},
    {"mbarrier.arrive.shared", "=ll", "mbarrier.arrive.shared.b64 $0, [$1];"},
    {"mbarrier.arrive.noComplete", "=llr", "mbarrier.arrive.noComplete.b64 $0, [$1], $2;"},
    {"mbarrier.arrive.noComplete.shared", "=llr",
     "mbarrier.arrive.noComplete.shared.b64 $0, [$1], $2;"},
    {"mbarrier.arrive.drop", "=ll", "mbarrier.arrive_drop.b64 $0, [$1];"},
    {"mbarrier.arrive.drop.shared", "=ll", "mbarrier.arrive_drop.shared.b64 $0, [$1];"},
    {"mbarrier.arrive.drop.noComplete", "=llr",
     "mbarrier.arrive_drop.noComplete.b64 $0, [$1], $2;"},
    {"mbarrier.arrive.drop.noComplete.shared", "=llr",
     "mbarrier.arrive_drop.noComplete.shared.b64 $0, [$1], $2;"},
    {"mbarrier.test.wait", "pll", "mbarrier.test_wait.b64 p, [$1], $2;"},
    {"mbarrier.test.wait.shared", "pll", "mbarrier.test_wait.shared.b64 p, [$1], $2;"},
    {"mbarrier.pending.count", "=rl", "mbarrier.pending_count.b64 $0, $1;"},
    {"barrier.cluster.arrive", "", "barrier.cluster.arrive;"},
    {"barrier.cluster.arrive.relaxed", "", "barrier.cluster.arrive.relaxed;"},
    {"barrier.cluster.wait", "", "barrier.cluster.wait;"},
    {"barrier.cluster.arrive.aligned", "", "barrier.cluster.arrive.aligned;"},
    {"barrier.cluster.arrive.relaxed.aligned", "", "barrier.cluster.arrive.relaxed.aligned;"},
    {"barrier.cluster.wait.aligned", "", "barrier.cluster.wait.aligned;"},
    {"fence.mbarrier_init.release.cluster", "", "fence.mbarrier_init.release.cluster;"},
    {"fence.proxy.alias", "", "fence.proxy.alias;"},
    {"fence.proxy.async", "", "fence.proxy.async;"},
    {"fence.proxy.async.global", "", "fence.proxy.async.global;"},
    {"fence.proxy.async.shared_cta", "", "fence.proxy.async.shared::cta;"},
    {"fence.proxy.async.shared_cluster", "", "fence.proxy.async.shared::cluster;"},
    {"mapa", "=llr", "mapa.u64 $0, $1, $2;"},
    {"mapa.shared.cluster", "=llr", "mapa.shared::cluster.u64 $0, $1, $2;"},
    {"getctarank", "=rl", "getctarank.u64 $0, $1;"},
    {"getctarank.shared.cluster", "=rl", "getctarank.shared::cluster.u64 $0, $1;"},
    {"wgmma.fence.sync.aligned", "", "wgmma.fence.sync.aligned;"},
    {"wgmma.commit_group.sync.aligned", "", "wgmma.commit_group.sync.aligned;"},
    {"wgmma.wait_group.sync.aligned", "", "wgmma.wait_group.sync.aligned #0;"},
    {"cp.async.bulk.shared.cta.to.cluster", "lllr",
     "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [$0], [$2], $3, "
     "[$1];"},
    {"griddepcontrol.launch.dependents", "", "griddepcontrol.launch_dependents;"},
    {"griddepcontrol.wait", "", "griddepcontrol.wait;"},
};

static bool write_row(ptx_intrinsic *t, const char *operands, const char *text) {
  unsigned arg = 0;
  bool predicate = *operands == 'p';
  if (predicate) {
    ptx_intrinsic_result(t, 'r');
    t->out->predicate = true;
    operands++;
  } else if (*operands == '=') {
    ptx_intrinsic_result(t, operands[1]);
    operands += 2;
  }
  for (; *operands; operands++) ptx_intrinsic_use(t, arg++, *operands);
  if (predicate) plumb_text_printf(&t->text, "{ .reg .pred p; ");
  for (const char *c = text; *c; c++) {
    int64_t value;
    if (*c != '#') {
      plumb_text_append(&t->text, c, 1);
    } else {
      if (!ptx_intrinsic_constant(t, (size_t)(*++c - '0'), &value)) return false;
      plumb_text_printf(&t->text, "%lld", (long long)value);
    }
  }
  if (predicate) plumb_text_printf(&t->text, " selp.b32 $0, 1, 0, p; }");
  return true;
}

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

/* cp.async.bulk.tensor.{g2s{.cta}, s2g, reduce.OP}.{tile, im2col}.Nd */
static bool tensor(ptx_intrinsic *t, const char *rest) {
  static const char *const operations[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};
  const char *operation = NULL;
  bool load = strncmp(rest, "g2s.", 4) == 0, cta = strncmp(rest, "g2s.cta.", 8) == 0;
  int64_t multicast = 0;
  if (strncmp(rest, "reduce.", 7) == 0) {
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
      size_t n = strlen(operations[i]);
      if (strncmp(rest + 7, operations[i], n) == 0 && rest[7 + n] == '.') operation = operations[i];
    }
    if (!operation) return false;
    rest += 8 + strlen(operation);
  } else if (load || strncmp(rest, "s2g.", 4) == 0) {
    rest += cta ? 8 : 4;
  } else {
    return false;
  }
  bool im2col = strncmp(rest, "im2col.", 7) == 0;
  if (!im2col && strncmp(rest, "tile.", 5) != 0) return false;
  rest += im2col ? 7 : 5;
  if (rest[0] < '1' || rest[0] > '5' || strcmp(rest + 1, "d") != 0) return false;
  unsigned rank = (unsigned)(rest[0] - '0'), offsets = load && im2col ? rank - 2 : 0;
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
  if (!cta && !ptx_intrinsic_constant(t, 3 + rank + offsets + 2, &multicast)) return false;
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
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strcmp(rows[i].name, t->name) == 0) return write_row(t, rows[i].operands, rows[i].text);
  return strncmp(t->name, bulk_tensor, sizeof bulk_tensor - 1) == 0
             ? tensor(t, t->name + sizeof bulk_tensor - 1)
             : mbarrier(t, t->name) || bulk(t, t->name);
}
