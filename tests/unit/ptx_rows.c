/* Runs every row of ir/ptx/rows.def, and checks that each form of an instruction that the
 * table says is executed has one. With PLUMB_PTX_ROWS_DIR=FOLDER each row's module is
 * written there too, for an assembler to judge. */
#include <stdlib.h>
#include <string.h>

#include "ir/ptx/ptx.h"
#include "targets/cpu/cpu.h"
#include "tests/unit/check.h"

enum { LANES = 32, MAX_VALUES = 16, LANE_BYTES = 16 * MAX_VALUES };

typedef struct value {
  char class, name[8];
} value;

typedef struct registers {
  value inputs[MAX_VALUES], outputs[MAX_VALUES];
  size_t input_count, output_count;
} registers;

static const char classes[] = "phrdqfe";

static void add_value(value *list, size_t *count, const char *name, size_t length) {
  for (size_t i = 0; i < *count; i++)
    if (strlen(list[i].name) == length && memcmp(list[i].name, name, length) == 0) return;
  if (*count == MAX_VALUES || length >= sizeof list->name) return;
  value *v = &list[(*count)++];
  memcpy(v->name, name, length);
  v->name[length] = 0;
  v->class = (char)(name[1] | 0x20);
}

/* %r0 to %r7 are inputs in the order of their first appearance, %R0 and so on outputs in
 * that of their numbers, predicates among them. */
static void find_registers(const char *text, registers *out) {
  memset(out, 0, sizeof *out);
  for (const char *c = text; *c; c++) {
    if (*c != '%' || !c[1] || !strchr(classes, c[1] | 0x20)) continue;
    size_t digits = strspn(c + 2, "0123456789");
    if (digits != 1 || strchr("abcdefghijklmnopqrstuvwxyz_", c[3] ? c[3] : ';')) continue;
    if (c[1] >= 'a' && c[2] < '8') add_value(out->inputs, &out->input_count, c, 3);
    if (c[1] < 'a') add_value(out->outputs, &out->output_count, c, 3);
  }
}

static const char *suffix(char class) {
  switch (class) {
    case 'h':
      return "b16";
    case 'd':
    case 'e':
      return "b64";
    case 'q':
      return "b128";
    case 'p':
      return "b16";
    default:
      return "b32";
  }
}

static char *module_text(plumb_arena *arena, const plumb_ptx_row *row, const registers *regs) {
  plumb_text t = plumb_text_create(arena);
  plumb_text_printf(
      &t,
      ".version 9.0\n.target sm_100a\n.address_size 64\n"
      ".const .align 16 .b8 c[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};\n"
      ".global .align 128 .b8 g[256];\n"
      ".func (.reg .b32 y) twice(.reg .b32 x) { add.u32 y, x, x; ret; }\n"
      ".visible .entry k(.param .u64 out, .param .align 16 .b8 in[%d]) {\n"
      " .reg .pred %%p<32>, %%P<8>; .reg .b16 %%h<32>, %%H<8>; .reg .b32 %%r<32>, %%R<8>;\n"
      " .reg .b64 %%d<32>, %%D<8>; .reg .b128 %%q<32>, %%Q<8>; .reg .f32 %%f<32>, %%F<8>;\n"
      " .reg .f64 %%e<32>, %%E<8>; .reg .b64 out_address, lane;\n"
      " .shared .align 128 .b8 s[256]; .local .align 16 .b8 l[64];\n"
      " ld.param.u64 out_address, [out]; cvta.to.global.u64 out_address, out_address;\n"
      " mov.u32 %%r31, %%laneid; mul.wide.u32 lane, %%r31, %d;\n"
      " add.u64 out_address, out_address, lane;\n",
      LANE_BYTES, LANE_BYTES);
  for (size_t i = 0; i < regs->input_count; i++) {
    const value *v = &regs->inputs[i];
    plumb_text_printf(&t, " ld.param.%s %s, [in+%zu];\n", suffix(v->class),
                      v->class == 'p' ? "%h31" : v->name, 16 * i);
    if (v->class == 'p') plumb_text_printf(&t, " setp.ne.b16 %s, %%h31, 0;\n", v->name);
  }
  plumb_text_printf(&t, " %s\n", row->text);
  for (size_t i = 0; i < regs->output_count; i++) {
    const value *v = &regs->outputs[i];
    if (v->class == 'p') plumb_text_printf(&t, " selp.b16 %%h31, 1, 0, %s;\n", v->name);
    plumb_text_printf(&t, " st.global.%s [out_address+%zu], %s;\n", suffix(v->class), 16 * i,
                      v->class == 'p' ? "%h31" : v->name);
  }
  plumb_text_printf(&t, " ret;\n}\n");
  return t.data;
}

/* A number, or low:high of 128 bits. */
static void read_value(const char **at, uint64_t out[2]) {
  char *end;
  out[0] = strtoull(*at, &end, 0);
  out[1] = 0;
  if (*end == ':') out[1] = strtoull(end + 1, &end, 0);
  *at = end + strspn(end, " ");
}

static unsigned bytes_of(char class) {
  return strchr("de", class) ? 8 : class == 'q' ? 16 : strchr("hp", class) ? 2 : 4;
}

static void compare(const plumb_ptx_row *row, const registers *regs, const uint8_t *lanes) {
  const char *at = row->outputs;
  size_t lane = 0;
  if (*at == '@') {
    lane = (size_t)strtoul(at + 1, (char **)&at, 10);
    at += strspn(at, " ");
  }
  for (size_t i = 0; i < regs->output_count; i++) {
    uint64_t expected[2], actual[2] = {0};
    CHECK(*at, "%s: no value for %s", row->text, regs->outputs[i].name);
    read_value(&at, expected);
    memcpy(actual, lanes + lane * LANE_BYTES + 16 * i, bytes_of(regs->outputs[i].class));
    CHECK(actual[0] == expected[0] && actual[1] == expected[1],
          "%s (%s)\n  %s expected 0x%llx:%llx\n  actual      0x%llx:%llx", row->text, row->inputs,
          regs->outputs[i].name, (unsigned long long)expected[0], (unsigned long long)expected[1],
          (unsigned long long)actual[0], (unsigned long long)actual[1]);
  }
  CHECK(!*at, "%s: a value more than outputs", row->text);
}

static void run_row(const plumb_ptx_row *row) {
  plumb_arena *arena = plumb_arena_create();
  registers regs;
  find_registers(row->text, &regs);
  char *text = module_text(arena, row, &regs);
  uint8_t params[8 + 8 + LANE_BYTES] = {0};
  const char *at = row->inputs;
  for (size_t i = 0; i < regs.input_count; i++) {
    uint64_t v[2];
    CHECK(*at, "%s: no value for %s", row->text, regs.inputs[i].name);
    read_value(&at, v);
    memcpy(params + 16 + 16 * i, v, 16);
  }
  CHECK(!*at, "%s: a value more than inputs", row->text);
  plumb_program *p = plumb_program_create(arena, "row");
  plumb_diag diag = {0};
  plumb_status status = plumb_ptx_decode(p, "row.ptx", text, strlen(text), &diag);
  if (status == PLUMB_OK) status = plumb_program_finish(p, &diag);
  plumb_machine *m = plumb_machine_create(arena);
  uint8_t lanes[LANES * LANE_BYTES] = {0};
  uint64_t out = plumb_machine_alloc(m, sizeof lanes, 128, "out");
  memcpy(params, &out, 8);
  if (status == PLUMB_OK) status = plumb_machine_write(m, out, lanes, sizeof lanes, &diag);
  if (status == PLUMB_OK) status = plumb_machine_load(m, p, &diag);
  plumb_launch launch = {.grid = {1, 1, 1}, .block = {LANES, 1, 1}};
  plumb_run_options options = plumb_run_options_default();
  options.jobs = 1;
  plumb_run_result result = {0};
  if (status == PLUMB_OK)
    status = plumb_machine_launch(m, "k", &launch, params, sizeof params, &options, &result, &diag);
  CHECK(status == PLUMB_OK, "%s: %s", row->text, diag.message);
  CHECK(result.trap.kind == PLUMB_TRAP_NONE, "%s: trap %s: %s", row->text,
        plumb_trap_text(result.trap.kind), result.trap.message);
  if (status == PLUMB_OK && result.trap.kind == PLUMB_TRAP_NONE &&
      plumb_machine_read(m, out, lanes, NULL, sizeof lanes, &diag) == PLUMB_OK)
    compare(row, &regs, lanes);
  plumb_machine_destroy(m);
  plumb_arena_destroy(arena);
}

static void write_module(const plumb_ptx_row *row, size_t index, const char *folder) {
  plumb_arena *arena = plumb_arena_create();
  registers regs;
  find_registers(row->text, &regs);
  FILE *f = fopen(plumb_arena_printf(arena, "%s/row%04zu.ptx", folder, index), "w");
  CHECK(f != NULL, "%s cannot be written", folder);
  if (f) {
    fputs(module_text(arena, row, &regs), f);
    fclose(f);
  }
  plumb_arena_destroy(arena);
}

/* Forms of instructions that other tests run whole: named by the test. */
static bool is_tested_elsewhere(const char *mnemonic) {
  static const char *const names[] = {
      "cp",       "mbarrier", "mapa",      "getctarank", "tensormap",      "wgmma",     "mma",
      "ldmatrix", "stmatrix", "movmatrix", "wmma",       "griddepcontrol", "setmaxnreg"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(names[i], mnemonic) == 0) return true;
  return false;
}

static void check_form(const plumb_ptx_form *form, void *user) {
  (void)user;
  CHECK(!form->executed || form->tested || is_tested_elsewhere(form->mnemonic),
        "no row of ir/ptx/rows.def has %s %s", form->mnemonic, form->types);
}

int main(void) {
  size_t count;
  const plumb_ptx_row *rows = plumb_ptx_rows(&count);
  const char *folder = getenv("PLUMB_PTX_ROWS_DIR");
  for (size_t i = 0; i < count; i++) {
    if (folder) write_module(&rows[i], i, folder);
    run_row(&rows[i]);
  }
  plumb_ptx_forms(check_form, NULL);
  return check_finish();
}
