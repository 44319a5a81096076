/* Memory that a host program shares with the machine, and several programs in one machine. */
#include <stdlib.h>
#include <string.h>

#include "targets/cpu/cpu.h"
#include "tests/unit/check.h"

/* k: *p = g + 1, with g a global of the program that starts as `value`. */
static plumb_program *make_program(plumb_arena *arena, int32_t value) {
  plumb_program *p = plumb_program_create(arena, "p");
  size_t index = plumb_global_create(p, "g", PLUMB_SPACE_GLOBAL, sizeof value, sizeof value);
  plumb_global *g = &p->globals[index];
  uint8_t *init = plumb_arena_alloc(arena, sizeof value);
  memcpy(init, &value, sizeof value);
  g->init = init;
  g->zeroed = true;
  plumb_function *f = plumb_function_create(p, "k", PLUMB_KERNEL);
  uint32_t offset = plumb_function_add_kernel_param(f, "p", PLUMB_I64, 8, 8);
  plumb_builder b = plumb_builder_at(f, plumb_block_create(f));
  plumb_reg at = plumb_reg_create(f, PLUMB_I64);
  plumb_build(&b, PLUMB_OP_ADDRESS, PLUMB_I64, &at, 1, NULL, 0)->imm = 0;
  plumb_reg to =
      plumb_build_load(&b, PLUMB_I64, PLUMB_SPACE_PARAM, plumb_constant_i64(p, (int64_t)offset), 0);
  plumb_reg x = plumb_build_load(&b, PLUMB_I32, PLUMB_SPACE_GLOBAL, at, 0);
  plumb_reg y = plumb_build2(&b, PLUMB_OP_ADD, PLUMB_I32, x, plumb_constant(p, PLUMB_I32, 1));
  plumb_build_store(&b, PLUMB_I32, PLUMB_SPACE_GLOBAL, to, 0, y);
  plumb_build_ret(&b, NULL, 0);
  plumb_diag diag = {0};
  CHECK(plumb_program_finish(p, &diag) == PLUMB_OK, "%s", diag.message);
  return p;
}

static plumb_trap_kind launch(plumb_machine *m, uint64_t address) {
  plumb_launch l = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
  plumb_run_result r = {0};
  plumb_diag diag = {0};
  plumb_status status = plumb_machine_launch(m, "k", &l, &address, 8, NULL, &r, &diag);
  CHECK(status == PLUMB_OK, "%s", diag.message);
  return r.trap.kind;
}

static void check_modules(void) {
  plumb_arena *arena = plumb_arena_create();
  plumb_machine *m = plumb_machine_create(arena);
  plumb_module *one = NULL, *two = NULL;
  plumb_diag diag = {0};
  static const char *const twins[] = {"g"};
  plumb_machine_separate(m);
  CHECK(!plumb_machine_add(m, make_program(arena, 10), NULL, 0, &one, &diag), "%s", diag.message);
  CHECK(!plumb_machine_add(m, make_program(arena, 20), twins, 1, &two, &diag), "%s", diag.message);
  uint64_t x = plumb_machine_alloc(m, 4, 4, "x");
  int32_t got = 0;
  plumb_machine_select(m, one);
  launch(m, x);
  plumb_machine_read(m, x, &got, NULL, 4, NULL);
  CHECK(got == 11, "%d", got);
  plumb_machine_select(m, two);
  /* The host writes the twin where the kernel finds it. */
  *(int32_t *)(uintptr_t)plumb_machine_symbol(m, "g") += 5;
  launch(m, x);
  plumb_machine_read(m, x, &got, NULL, 4, NULL);
  CHECK(got == 26, "%d", got);
  plumb_machine_remove(m, two);
  CHECK(!plumb_machine_symbol(m, "g"), "a removed module is still selected");
  plumb_machine_select(m, one);
  launch(m, x);
  plumb_machine_read(m, x, &got, NULL, 4, NULL);
  CHECK(got == 11, "%d", got);
  plumb_machine_destroy(m);
  plumb_arena_destroy(arena);
}

static void check_shared_memory(void) {
  plumb_arena *arena = plumb_arena_create();
  plumb_machine *m = plumb_machine_create(arena);
  plumb_module *module = NULL;
  plumb_extent extent;
  plumb_machine_separate(m);
  CHECK(!plumb_machine_add(m, make_program(arena, 1), NULL, 0, &module, NULL), "module");
  plumb_machine_select(m, module);

  uint64_t plain = plumb_machine_alloc(m, 100, 4, "plain");
  CHECK(plain >> 47, "0x%llx could be a host address", (unsigned long long)plain);
  CHECK(plumb_machine_find(m, plain + 100, &extent) && !extent.host, "plain");
  CHECK(!plumb_machine_find(m, plain + 101, &extent), "past the end");

  uint64_t twin = plumb_machine_alloc_twin(m, 8, "twin");
  int32_t *seen = (int32_t *)(uintptr_t)twin;
  CHECK(twin && seen[0] == 0, "twin");
  seen[1] = 7;
  CHECK(launch(m, twin) == PLUMB_TRAP_NONE && seen[0] == 2 && seen[1] == 7, "%d %d", seen[0],
        seen[1]);
  CHECK(launch(m, twin + 8) == PLUMB_TRAP_OUT_OF_BOUNDS, "past a twin's end");
  CHECK(!plumb_machine_free(m, twin, NULL) && launch(m, twin) == PLUMB_TRAP_OUT_OF_BOUNDS, "freed");

  int32_t *own = malloc(16);
  memset(own, 0, 16);
  uint64_t lent = plumb_machine_borrow(m, own, 12, "lent");
  CHECK(launch(m, lent + 8) == PLUMB_TRAP_NONE && own[2] == 2, "%d", own[2]);
  CHECK(launch(m, lent + 12) == PLUMB_TRAP_OUT_OF_BOUNDS && own[3] == 0, "past what was lent");
  CHECK(launch(m, (uintptr_t)own) == PLUMB_TRAP_OUT_OF_BOUNDS, "a host address is no device one");
  plumb_machine_free(m, lent, NULL);
  free(own);
  plumb_machine_destroy(m);
  plumb_arena_destroy(arena);
}

/* Copies carry what is known of each byte. */
static void check_copies(void) {
  plumb_arena *arena = plumb_arena_create();
  plumb_machine *m = plumb_machine_create(arena);
  uint64_t a = plumb_machine_alloc(m, 8, 4, "a"), b = plumb_machine_alloc(m, 8, 4, "b");
  uint8_t bytes[8], known[8];
  CHECK(!plumb_machine_fill(m, a, 0x1234, 2, 2, NULL), "fill");
  CHECK(!plumb_machine_fill(m, b, 9, 1, 8, NULL), "fill");
  CHECK(!plumb_machine_copy(m, b, a, 6, NULL), "copy");
  plumb_machine_read(m, b, bytes, known, 8, NULL);
  CHECK(!memcmp(bytes, "\x34\x12\x34\x12\0\0\x09\x09", 8), "bytes");
  CHECK(!memcmp(known, "\1\1\1\1\0\0\1\1", 8), "known");
  CHECK(plumb_machine_copy(m, b, a, 9, NULL) == PLUMB_BAD_INPUT, "too long");
  CHECK(plumb_machine_fill(m, b, 0, 4, 3, NULL) == PLUMB_BAD_INPUT, "too long");
  CHECK(!plumb_machine_alloc_twin(m, 8, "t"), "a twin in a machine that is not separate");
  plumb_machine_destroy(m);
  plumb_arena_destroy(arena);
}

int main(void) {
  check_modules();
  check_shared_memory();
  check_copies();
  return check_finish();
}
