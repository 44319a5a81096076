/* The executor on built programs: host functions, launches from them, poison, limits,
 * undefined memory and what is not supported. */
#include "tests/unit/check.h"

#include <string.h>

#include "targets/cpu/cpu.h"

typedef struct fixture {
  plumb_arena *arena;
  plumb_program *p;
  plumb_function *f;
  plumb_builder b;
} fixture;

static fixture begin(const char *name, plumb_function_kind kind) {
  fixture x = {.arena = plumb_arena_create()};
  x.p = plumb_program_create(x.arena, name);
  x.f = plumb_function_create(x.p, name, kind);
  x.b = plumb_builder_at(x.f, plumb_block_create(x.f));
  x.b.loc = plumb_loc_add(x.p, "test", 7, 1, 7);
  return x;
}

static plumb_reg i64(fixture *x, int64_t v) {
  return plumb_constant_i64(x->p, v);
}

/* Returns one value, and says so in the function's result types. */
static void build_ret1(fixture *x, plumb_reg r) {
  x->f->result_types = PLUMB_NEW(x->arena, plumb_dtype);
  x->f->result_types[0] = plumb_reg_type(x->f, r);
  x->f->result_count = 1;
  plumb_build_ret(&x->b, &r, 1);
}

/* Runs function `name` with one argument word and ends the fixture. */
static plumb_run_result run(fixture *x, const char *name, const uint64_t *args, size_t count,
                            plumb_status wanted) {
  plumb_diag diag = {0};
  plumb_run_result result = {0};
  plumb_machine *m = plumb_machine_create(x->arena);
  plumb_status status = plumb_program_finish(x->p, &diag);
  if (status == PLUMB_OK) status = plumb_machine_load(m, x->p, &diag);
  plumb_run_options options = plumb_run_options_default();
  options.step_limit = 10000000;
  if (status == PLUMB_OK)
    status = plumb_machine_call(m, name, args, count, &options, &result, &diag);
  CHECK(status == wanted, "%s: status %s, wanted %s: %s", name, plumb_status_name(status),
        plumb_status_name(wanted), diag.message);
  plumb_machine_destroy(m);
  return result;
}

static void wants(const fixture *x, const plumb_run_result *r, plumb_trap_kind kind) {
  CHECK(r->trap.kind == kind, "%s: trap %s, wanted %s: %s", x->f->name,
        plumb_trap_text(r->trap.kind), plumb_trap_text(kind),
        r->trap.message ? r->trap.message : "-");
  plumb_arena_destroy(x->arena);
}

/* Adds 1 .. n in a loop. */
static void test_sum(void) {
  fixture x = begin("sum", PLUMB_HOST);
  plumb_reg n = plumb_function_add_param(x.f, "n", PLUMB_I64);
  plumb_reg i = plumb_reg_create(x.f, PLUMB_I64), sum = plumb_reg_create(x.f, PLUMB_I64);
  uint32_t loop = plumb_block_create(x.f), end = plumb_block_create(x.f);
  plumb_build_mov(&x.b, i, i64(&x, 0));
  plumb_build_mov(&x.b, sum, i64(&x, 0));
  plumb_build_bra(&x.b, loop);
  x.b.block = loop;
  plumb_build_mov(&x.b, i, plumb_build2(&x.b, PLUMB_OP_ADD, PLUMB_I64, i, i64(&x, 1)));
  plumb_build_mov(&x.b, sum, plumb_build2(&x.b, PLUMB_OP_ADD, PLUMB_I64, sum, i));
  plumb_build_condbr(&x.b, plumb_build_cmp(&x.b, PLUMB_CMP_LT_U, PLUMB_I64, i, n), loop, end);
  x.b.block = end;
  build_ret1(&x, sum);
  plumb_run_result r = run(&x, "sum", (uint64_t[]){100}, 1, PLUMB_OK);
  CHECK(r.result_count == 1 && r.results[0] == 5050, "sum is %llu",
        r.result_count ? (unsigned long long)r.results[0] : 0);
  wants(&x, &r, PLUMB_TRAP_NONE);
}

/* A loop that a counter decides ends at the limit; one that nothing decides is proven to be
 * endless. */
static void test_step_limit(bool decides) {
  fixture x = begin("endless", PLUMB_HOST);
  plumb_reg i = plumb_reg_create(x.f, PLUMB_I64);
  uint32_t loop = plumb_block_create(x.f), end = plumb_block_create(x.f);
  plumb_build_mov(&x.b, i, i64(&x, 0));
  plumb_build_bra(&x.b, loop);
  x.b.block = loop;
  plumb_build_mov(&x.b, i, plumb_build2(&x.b, PLUMB_OP_ADD, PLUMB_I64, i, i64(&x, 1)));
  plumb_reg more = plumb_build_cmp(&x.b, PLUMB_CMP_LT_U, PLUMB_I64, i, i64(&x, INT64_MAX));
  if (decides)
    plumb_build_condbr(&x.b, more, loop, end);
  else
    plumb_build_bra(&x.b, loop);
  x.b.block = end;
  plumb_build_ret(&x.b, NULL, 0);
  plumb_run_result r = run(&x, "endless", NULL, 0, PLUMB_OK);
  CHECK(r.trap.location.line == 7, "the loop is not named: line %d", r.trap.location.line);
  wants(&x, &r, decides ? PLUMB_TRAP_STEP_LIMIT : PLUMB_TRAP_DEADLOCK);
}

static void test_poison(bool decides) {
  fixture x = begin("poison", PLUMB_HOST);
  plumb_reg n = plumb_function_add_param(x.f, "n", PLUMB_I64);
  plumb_reg shifted = plumb_build2(&x.b, PLUMB_OP_SHL, PLUMB_I64, i64(&x, 1), n);
  uint32_t end = plumb_block_create(x.f), other = plumb_block_create(x.f);
  plumb_reg c = plumb_build_cmp(&x.b, PLUMB_CMP_EQ, PLUMB_I64, shifted, i64(&x, 0));
  if (decides)
    plumb_build_condbr(&x.b, c, end, other);
  else
    plumb_build_bra(&x.b, end);
  x.b.block = other;
  plumb_build_ret(&x.b, NULL, 0);
  x.b.block = end;
  plumb_build_ret(&x.b, NULL, 0);
  plumb_run_result r = run(&x, "poison", (uint64_t[]){64}, 1, PLUMB_OK);
  wants(&x, &r, decides ? PLUMB_TRAP_POISON : PLUMB_TRAP_NONE);
}

static void test_overflow(void) {
  fixture x = begin("deep", PLUMB_HOST);
  plumb_build_call(&x.b, "deep", NULL, 0, NULL, 0);
  plumb_build_ret(&x.b, NULL, 0);
  plumb_run_result r = run(&x, "deep", NULL, 0, PLUMB_OK);
  wants(&x, &r, PLUMB_TRAP_STACK_OVERFLOW);
}

static void test_unsupported(void) {
  fixture x = begin("unknown", PLUMB_HOST);
  plumb_build_unsupported(&x.b, "foo.bar", NULL, 0);
  plumb_build_ret(&x.b, NULL, 0);
  plumb_run_result r = run(&x, "unknown", NULL, 0, PLUMB_UNSUPPORTED);
  wants(&x, &r, PLUMB_TRAP_NONE);
}

/* Allocates, sets, copies and frees; `times` frees. */
static void test_heap(int times, plumb_trap_kind kind) {
  fixture x = begin("heap", PLUMB_HOST);
  plumb_reg a = plumb_build1(&x.b, PLUMB_OP_ALLOC, PLUMB_I64, i64(&x, 64));
  plumb_reg c = plumb_build1(&x.b, PLUMB_OP_ALLOC, PLUMB_I64, i64(&x, 64));
  plumb_reg byte = plumb_constant(x.p, PLUMB_I8, 5);
  plumb_build(&x.b, PLUMB_OP_MEMSET, PLUMB_I8, NULL, 0, (plumb_reg[]){a, byte, i64(&x, 64)}, 3);
  plumb_build(&x.b, PLUMB_OP_MEMCPY, PLUMB_I8, NULL, 0, (plumb_reg[]){c, a, i64(&x, 64)}, 3);
  plumb_reg v = plumb_build_load(&x.b, PLUMB_I32, PLUMB_SPACE_GENERIC, c, 60);
  for (int i = 0; i < times; i++) plumb_build(&x.b, PLUMB_OP_FREE, PLUMB_I64, NULL, 0, &a, 1);
  build_ret1(&x, v);
  plumb_run_result r = run(&x, "heap", NULL, 0, PLUMB_OK);
  if (kind == PLUMB_TRAP_NONE)
    CHECK(r.result_count == 1 && r.results[0] == 0x05050505u, "the copy is wrong");
  wants(&x, &r, kind);
}

/* A host function that launches a kernel on its own allocation and loads the result. */
static void test_launch(uint32_t threads, plumb_status status) {
  fixture x = begin("main", PLUMB_HOST);
  plumb_reg a = plumb_build1(&x.b, PLUMB_OP_ALLOC, PLUMB_I64, i64(&x, 4096));
  plumb_reg one = i64(&x, 1), block[3] = {i64(&x, threads), one, one}, grid[3] = {one, one, one};
  plumb_build_launch(&x.b, "fill", grid, block, i64(&x, 0), &a, 1);
  plumb_reg v = plumb_build_load(&x.b, PLUMB_I32, PLUMB_SPACE_GLOBAL, a, 40);
  build_ret1(&x, v);
  plumb_function *k = plumb_function_create(x.p, "fill", PLUMB_KERNEL);
  plumb_function_add_kernel_param(k, "a", PLUMB_I64, 8, 8);
  plumb_builder b = plumb_builder_at(k, plumb_block_create(k));
  plumb_reg base = plumb_build_load(&b, PLUMB_I64, PLUMB_SPACE_PARAM, i64(&x, 0), 0);
  plumb_reg tid = plumb_build_sreg(&b, PLUMB_SREG_TID_X);
  plumb_reg wide = plumb_build_cvt(&b, PLUMB_I64, PLUMB_I32, tid, 0, PLUMB_RN);
  plumb_reg offset = plumb_build2(&b, PLUMB_OP_MUL, PLUMB_I64, wide, i64(&x, 4));
  plumb_reg at = plumb_build2(&b, PLUMB_OP_ADD, PLUMB_I64, base, offset);
  plumb_build_store(&b, PLUMB_I32, PLUMB_SPACE_GLOBAL, at, 0, tid);
  plumb_build_ret(&b, NULL, 0);
  plumb_run_result r = run(&x, "main", NULL, 0, status);
  if (status == PLUMB_OK)
    CHECK(r.result_count == 1 && r.results[0] == 10 && r.counters.launches == 1, "launch");
  wants(&x, &r, PLUMB_TRAP_NONE);
}

static void test_alloca(int64_t bytes, plumb_trap_kind kind) {
  fixture x = begin("stack", PLUMB_HOST);
  plumb_reg a = plumb_build1(&x.b, PLUMB_OP_ALLOCA, PLUMB_I64, i64(&x, bytes));
  plumb_build_store(&x.b, PLUMB_I64, PLUMB_SPACE_LOCAL, a, 8, i64(&x, 77));
  plumb_reg v = plumb_build_load(&x.b, PLUMB_I64, PLUMB_SPACE_LOCAL, a, 8);
  build_ret1(&x, v);
  plumb_run_result r = run(&x, "stack", NULL, 0, PLUMB_OK);
  if (kind == PLUMB_TRAP_NONE) CHECK(r.result_count && r.results[0] == 77, "alloca");
  wants(&x, &r, kind);
}

int main(void) {
  test_sum();
  test_step_limit(true);
  test_step_limit(false);
  test_poison(true);
  test_poison(false);
  test_overflow();
  test_unsupported();
  test_heap(1, PLUMB_TRAP_NONE);
  test_heap(2, PLUMB_TRAP_INVALID_FREE);
  test_launch(64, PLUMB_OK);
  test_launch(1025, PLUMB_BAD_INPUT);
  test_alloca(16, PLUMB_TRAP_NONE);
  test_alloca(8, PLUMB_TRAP_OUT_OF_BOUNDS);
  test_alloca(1ll << 40, PLUMB_TRAP_STACK_OVERFLOW);
  return check_finish();
}
