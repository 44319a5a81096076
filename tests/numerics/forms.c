/* Every form of the integer, logic, compare, conversion, float and video instructions, as PTX
 * text through parser, decoder and executor, against models that share nothing with them
 * (form_integer.h in 128 bits, form_float.h with MPFR). The texts are those of rows.def. What
 * has one operand of at most 16 bits, or of packed ones, is tried with each of them, packed
 * bytes with each pair; two operands of 16 bits are tried in exhaustive.c, which says what
 * covers which 8- and 16-bit form; wider ones here as the cross product of edge values, then
 * at random.
 *
 *     forms [TEXT]                     a few thousand operands a text: seconds
 *     PLUMB_NUMERICS_LONG=1 forms      a million random ones each, and every operand of 16
 *                                      bits with each edge value of a wider one; prints each
 *                                      text that is done
 *     PLUMB_NUMERICS_LONG=1 forms N M  the N-th of M parts: every M-th text */
#include "ir/ptx/ptx.h"
#include "targets/cpu/cpu.h"
#include "tests/numerics/pairs.h"

enum { LANES = 65536, FEW_LANES = 4096, THREADS = 256, STATEMENTS = 4, INPUTS = 8, OUTPUTS = 4 };

typedef struct text {
  const char *source;
  form forms[STATEMENTS];
  unsigned form_count, input_count, output_count;
  form_registers registers;
  uint8_t inputs[INPUTS], outputs[OUTPUTS]; /* slots */
  uint64_t offsets[INPUTS + OUTPUTS];       /* of their arrays, in bytes */
  uint64_t in_bytes, out_bytes;
  unsigned lanes; /* of a launch, at most */
} text;

static unsigned slot_bytes(text *t, unsigned slot) {
  unsigned bits = form_class_bits(t->registers.names[slot][1]);
  return bits < 16 ? 2 : bits / 8;
}

/* How many lanes are every operand there is: one of at most 16 bits or of packed ones, or two
 * of packed bytes; 0: more than LANES. One of 8 bits lies in a register with 24 more. */
static unsigned lanes_of_all(const text *t) {
  const form *f = &t->forms[0];
  const form_type *from = form_last_type(f);
  if (t->form_count != 1 || !f->type_count || from->bits > 16 || from->bits == 1) return 0;
  if (t->input_count == 1) return from->bits * from->lanes <= 8 ? FEW_LANES : LANES;
  return t->input_count == 2 && from->lanes == 4 ? LANES : 0;
}

static bool read_text(plumb_arena *arena, const char *source, bool is_long, text *t) {
  memset(t, 0, sizeof *t);
  t->source = source;
  char *copy = plumb_arena_copy_string(arena, source), *keep = NULL;
  for (char *s = strtok_r(copy, ";", &keep); s; s = strtok_r(NULL, ";", &keep)) {
    if (!s[strspn(s, " \n")]) continue;
    if (t->form_count == STATEMENTS || !form_parse(s, &t->registers, &t->forms[t->form_count++]))
      return false;
  }
  for (unsigned i = 0; i < t->registers.count; i++) {
    const char *name = t->registers.names[i];
    bool output = name[1] < 'a', input = !output && name[2] < '8' && !name[3];
    if ((input && t->input_count == INPUTS) || (output && t->output_count == OUTPUTS)) return false;
    if (input) t->inputs[t->input_count++] = (uint8_t)i;
    if (output) t->outputs[t->output_count++] = (uint8_t)i;
  }
  t->lanes = is_long || lanes_of_all(t) == LANES ? LANES : FEW_LANES;
  for (unsigned i = 0; i < t->input_count; i++) {
    t->offsets[i] = t->in_bytes;
    t->in_bytes += (uint64_t)slot_bytes(t, t->inputs[i]) * t->lanes;
  }
  for (unsigned i = 0; i < t->output_count; i++) {
    t->offsets[INPUTS + i] = t->out_bytes;
    t->out_bytes += (uint64_t)slot_bytes(t, t->outputs[i]) * t->lanes;
  }
  return t->form_count && t->output_count && t->input_count;
}

static char *module_text(plumb_arena *arena, text *t) {
  plumb_text m = plumb_text_create(arena);
  plumb_text_printf(
      &m,
      ".version 9.0\n.target sm_100a\n.address_size 64\n"
      ".visible .entry k(.param .u64 in, .param .u64 out) {\n"
      " .reg .pred %%p<32>, %%P<8>; .reg .b16 %%h<32>, %%H<8>; .reg .b32 %%r<32>, %%R<8>;\n"
      " .reg .b64 %%d<32>, %%D<8>; .reg .f32 %%f<32>, %%F<8>; .reg .f64 %%e<32>, %%E<8>;\n"
      " .reg .b64 base, at; .reg .b32 lane, x, y; .reg .b16 bit;\n"
      " mov.u32 lane, %%ctaid.x; mov.u32 x, %%ntid.x; mov.u32 y, %%tid.x;\n"
      " mad.lo.u32 lane, lane, x, y; ld.param.u64 base, [in];\n");
  for (unsigned i = 0; i < t->input_count; i++) {
    const char *name = t->registers.names[t->inputs[i]];
    unsigned bytes = slot_bytes(t, t->inputs[i]);
    bool predicate = name[1] == 'p';
    plumb_text_printf(&m, " mul.wide.u32 at, lane, %u; add.u64 at, at, base;", bytes);
    plumb_text_printf(&m, " ld.global.b%u %s, [at+%llu];\n", 8 * bytes, predicate ? "bit" : name,
                      (unsigned long long)t->offsets[i]);
    if (predicate) plumb_text_printf(&m, " setp.ne.b16 %s, bit, 0;\n", name);
  }
  plumb_text_printf(&m, " %s\n ld.param.u64 base, [out];\n", t->source);
  for (unsigned i = 0; i < t->output_count; i++) {
    const char *name = t->registers.names[t->outputs[i]];
    unsigned bytes = slot_bytes(t, t->outputs[i]);
    bool predicate = name[1] == 'P';
    if (predicate) plumb_text_printf(&m, " selp.b16 bit, 1, 0, %s;", name);
    plumb_text_printf(&m, " mul.wide.u32 at, lane, %u; add.u64 at, at, base;", bytes);
    plumb_text_printf(&m, " st.global.b%u [at+%llu], %s;\n", 8 * bytes,
                      (unsigned long long)t->offsets[INPUTS + i], predicate ? "bit" : name);
  }
  plumb_text_printf(&m, " ret;\n}\n");
  return m.data;
}

/* --- operands --- */

static unsigned edges_of(unsigned bits, uint64_t *out) {
  static const uint64_t of_16[] = {0x3c00, 0x3c01, 0x3bff, 0x0400, 0x03ff, 0x7bff, 0x7c00,
                                   0x7e00, 0x7fff, 0x3f80, 0x3f81, 0x0080, 0x007f, 0x7f7f,
                                   0x7f80, 0x7c01, 0x0001, 0x8000, 0x7fff, 0xffff, 0x0007,
                                   0x00ff, 0x0100, 0x00f0, 0x5555, 0xa5c3, 0x0010, 0x000f};
  static const uint64_t of_32[] = {
      0x3f800000, 0x3f800001, 0x3f7fffff, 0x00800000, 0x007fffff, 0x7f7fffff, 0x7f800000,
      0x7fc00000, 0x7fffffff, 0x7f800001, 1,          0x80000000, 0xffffffff, 31,
      32,         33,         255,        0x100,      0xffff,     0x10000,    0x55555555,
      0x12345678, 0x3c003bff, 0x7f807c00, 0x4f000000, 0x4b800001, 0x38800000, 0x477ff000,
      0x33000000, 0x7fff,     8,          0x00ff00ff};
  static const uint64_t of_64[] = {0x3ff0000000000000,
                                   0x3ff0000000000001,
                                   0x3fefffffffffffff,
                                   0x0010000000000000,
                                   0x000fffffffffffff,
                                   0x7fefffffffffffff,
                                   0x7ff0000000000000,
                                   0x7ff8000000000000,
                                   0x7ff0000000000001,
                                   1,
                                   0x8000000000000000,
                                   0xffffffffffffffff,
                                   63,
                                   64,
                                   65,
                                   0xffffffff,
                                   0x100000000,
                                   0x5555555555555555,
                                   0x123456789abcdef0,
                                   0x43e0000000000000,
                                   0x41efffffffe00000,
                                   0x3810000000000000,
                                   0x47efffffefffffff,
                                   0x7fffffff,
                                   0xff,
                                   0x3f10000000000000,
                                   0x40effe0000000000};
  const uint64_t *values = bits == 16 ? of_16 : bits == 32 ? of_32 : of_64;
  size_t count = (bits == 16   ? sizeof of_16
                  : bits == 32 ? sizeof of_32
                               : sizeof of_64) /
                 sizeof *values;
  unsigned n = 0;
  if (bits == 1) {
    out[0] = 0, out[1] = 1;
    return 2;
  }
  out[n++] = 0;
  for (size_t i = 0; i < count; i++) {
    out[n++] = values[i];
    out[n++] = form_low(values[i] ^ 1ull << (bits - 1), bits);
  }
  return n;
}

/* Bits of all lengths, floats of close exponents, small numbers, any. */
static uint64_t random_operand(unsigned bits) {
  uint64_t r = oracle_random(), s = oracle_random();
  if (bits == 1) return r >> 63;
  switch (s >> 61) {
    case 0:
      return form_low(r, bits) >> (s & (bits - 1));
    case 1:
      return r >> 58;
    case 2:
    case 3: { /* exponents about that of 1, in f16, f32, f64 */
      unsigned fraction = bits == 16 ? 10 : bits == 32 ? 23 : 52;
      uint64_t one = bits == 16 ? 0x3c00 : bits == 32 ? 0x3f800000 : 0x3ff0000000000000;
      uint64_t exponent = (s & 7) << fraction;
      return form_low((r >> 63 << (bits - 1)) |
                          ((one + exponent - (4ull << fraction)) ^ (r & ((1ull << fraction) - 1))),
                      bits);
    }
    default:
      return form_low(r, bits);
  }
}

typedef struct filler {
  unsigned stage, stages; /* stage 0: edges; then each edge with every 16 bits; then random */
  uint64_t edges[INPUTS][72];
  unsigned edge_counts[INPUTS];
  unsigned half, sweeps; /* the operand of 16 bits, and with how many others it is tried */
} filler;

/* A divisor of 0 and a quotient that overflows are undefined, and a trap at once. */
static bool divides(text *t) {
  form *f = &t->forms[0];
  return (form_is(f, "div") || form_is(f, "rem")) && !form_is_float(&t->forms[0].types[0]);
}

static void set_input(text *t, uint8_t *in, unsigned input, unsigned lane, uint64_t value) {
  unsigned bytes = slot_bytes(t, t->inputs[input]);
  if (divides(t) && input == 1) {
    uint64_t dividend = 0;
    memcpy(&dividend, in + t->offsets[0] + (size_t)lane * bytes, bytes);
    bool least = form_low(dividend << 1, 8 * bytes) == 0 && form_low(~value, 8 * bytes) == 0;
    if (value == 0 || least) value = 3;
  }
  memcpy(in + t->offsets[input] + (size_t)lane * bytes, &value, bytes);
}

static unsigned input_bits(text *t, unsigned input) {
  return form_class_bits(t->registers.names[t->inputs[input]][1]);
}

static void filler_start(filler *f, text *t, bool is_long) {
  unsigned halves = 0;
  memset(f, 0, sizeof *f);
  for (unsigned i = 0; i < t->input_count; i++) {
    f->edge_counts[i] = edges_of(input_bits(t, i), f->edges[i]);
    halves += input_bits(t, i) == 16;
  }
  bool is_pair = t->form_count == 1 && pair_is(&t->forms[0]); /* exhaustive.c */
  bool mixed = t->input_count == 2 && halves == 1 && !is_pair;
  f->half = input_bits(t, 0) == 16 ? 0 : 1;
  f->sweeps = is_long && mixed ? f->edge_counts[1 - f->half] : 0;
  f->stages = 1 + f->sweeps;
  if (is_long && !lanes_of_all(t) && !(is_pair && t->input_count == 2))
    f->stages += 1000000 / LANES + 1;
}

/* Lane l of all: the 16 bits l in one place, permutations of them in the others; of packed
 * bytes, the pair of them. */
static void fill_all(text *t, uint8_t *in, unsigned lanes) {
  unsigned places = input_bits(t, 0) / 8;
  uint64_t ignored = ~(uint64_t)(lanes - 1);
  bool packed = t->forms[0].types[t->forms[0].type_count - 1].lanes > 1;
  for (unsigned l = 0; l < lanes; l++) {
    uint64_t a = 0, b = 0, r = oracle_random();
    for (unsigned i = 0; i < places; i += t->input_count == 2 ? 1 : 2) {
      uint64_t bits = (l + i * 0x3a5fu) * (1 + 2 * i) & 0xffff;
      if (t->input_count == 1) {
        a |= bits << 8 * i;
      } else {
        a |= (bits & 0xff) << 8 * i, b |= (bits >> 8) << 8 * i;
      }
    }
    if (!packed) a = (a & ~ignored) | (r & ignored);
    set_input(t, in, 0, l, a);
    if (t->input_count == 2) set_input(t, in, 1, l, b);
  }
}

/* Fills the lanes of one launch: how many. */
static unsigned fill(filler *f, text *t, uint8_t *in, bool is_long) {
  unsigned stage = f->stage++, n = t->input_count;
  if (stage == 0 && lanes_of_all(t)) {
    fill_all(t, in, lanes_of_all(t));
    return lanes_of_all(t);
  }
  if (stage == 0) {
    unsigned all = is_long ? LANES : 2500, lanes = 0;
    uint64_t product = 1;
    for (unsigned i = 0; i < n; i++) product *= f->edge_counts[i];
    /* every combination, or as many of them, spread by a step without a common factor */
    uint64_t step = product <= all ? 1 : product / all | 1, at = 0;
    for (; lanes < all && at < product; at += step, lanes++) {
      uint64_t rest = at;
      for (unsigned i = 0; i < n; i++) {
        set_input(t, in, i, lanes, f->edges[i][rest % f->edge_counts[i]]);
        rest /= f->edge_counts[i];
      }
    }
    for (unsigned more = is_long ? 0 : 500; more && lanes < LANES; more--, lanes++)
      for (unsigned i = 0; i < n; i++) set_input(t, in, i, lanes, random_operand(input_bits(t, i)));
    return lanes;
  }
  if (stage <= f->sweeps) {
    for (unsigned l = 0; l < LANES; l++) {
      set_input(t, in, f->half, l, l);
      set_input(t, in, 1 - f->half, l, f->edges[1 - f->half][stage - 1]);
    }
    return LANES;
  }
  for (unsigned l = 0; l < LANES; l++)
    for (unsigned i = 0; i < n; i++) set_input(t, in, i, l, random_operand(input_bits(t, i)));
  return LANES;
}

/* Runs the statements of one lane; nan: of the last one. */
static form_answer run_model(text *t, uint64_t *slots, bool nan[4]) {
  bool carry = false;
  form_answer answer = FORM_VALUE;
  for (unsigned i = 0; i < t->form_count && answer == FORM_VALUE; i++)
    answer = form_step(&t->forms[i], slots, &carry, nan);
  return answer;
}

/* --- one text --- */

static unsigned long compared, covered;

static void describe(text *t, const uint8_t *in, unsigned lane, char *buffer, size_t bytes) {
  size_t n = 0;
  for (unsigned i = 0; i < t->input_count && n < bytes; i++) {
    uint64_t value = 0;
    unsigned size = slot_bytes(t, t->inputs[i]);
    memcpy(&value, in + t->offsets[i] + (size_t)lane * size, size);
    n += (size_t)snprintf(buffer + n, bytes - n, " %s=0x%llx", t->registers.names[t->inputs[i]],
                          (unsigned long long)value);
  }
}

static bool check_lanes(text *t, const uint8_t *in, const uint8_t *out, unsigned lanes,
                        unsigned *failures) {
  form *f = &t->forms[t->form_count - 1];
  for (unsigned l = 0; l < lanes; l++) {
    uint64_t slots[FORM_SLOTS] = {0};
    bool nan[4];
    for (unsigned i = 0; i < t->input_count; i++) {
      unsigned bytes = slot_bytes(t, t->inputs[i]);
      memcpy(&slots[t->inputs[i]], in + t->offsets[i] + (size_t)l * bytes, bytes);
    }
    form_answer answer = run_model(t, slots, nan);
    if (answer == FORM_UNKNOWN) return false;
    if (answer == FORM_ANY) continue;
    compared++;
    for (unsigned i = 0; i < t->output_count; i++) {
      unsigned bytes = slot_bytes(t, t->outputs[i]);
      uint64_t actual = 0, wanted = slots[t->outputs[i]];
      memcpy(&actual, out + t->offsets[INPUTS + i] + (size_t)l * bytes, bytes);
      if (actual == wanted || form_same(f, actual, wanted, nan)) continue;
      char inputs[200] = "";
      describe(t, in, l, inputs, sizeof inputs);
      if (++*failures <= 3)
        CHECK(false, "%s%s: %s is 0x%llx, not 0x%llx", t->source, inputs,
              t->registers.names[t->outputs[i]], (unsigned long long)actual,
              (unsigned long long)wanted);
    }
  }
  return true;
}

/* False: no model knows it. */
static bool check_text(const char *source, bool is_long) {
  plumb_arena *arena = plumb_arena_create();
  text t;
  bool known = read_text(arena, source, is_long, &t);
  if (!known) {
    plumb_arena_destroy(arena);
    return false;
  }
  static uint8_t in[INPUTS * LANES * 8], out[OUTPUTS * LANES * 8];
  plumb_program *p = plumb_program_create(arena, "form");
  plumb_machine *m = plumb_machine_create(arena);
  plumb_diag diag = {0};
  char *module = module_text(arena, &t);
  plumb_status status = plumb_ptx_decode(p, "form.ptx", module, strlen(module), &diag);
  if (status == PLUMB_OK) status = plumb_program_finish(p, &diag);
  if (status == PLUMB_OK) status = plumb_machine_load(m, p, &diag);
  uint64_t params[2] = {plumb_machine_alloc(m, t.in_bytes, 256, "in"),
                        plumb_machine_alloc(m, t.out_bytes, 256, "out")};
  static filler f;
  filler_start(&f, &t, is_long);
  unsigned failures = 0;
  for (unsigned i = 0; known && status == PLUMB_OK && i < f.stages; i++) {
    unsigned lanes = fill(&f, &t, in, is_long);
    for (unsigned l = lanes; l % THREADS; l++)
      for (unsigned k = 0; k < t.input_count; k++) set_input(&t, in, k, l, 1);
    plumb_launch launch = {.grid = {(lanes + THREADS - 1) / THREADS, 1, 1},
                           .block = {THREADS, 1, 1}};
    plumb_run_options options = plumb_run_options_default();
    options.jobs = 1;
    options.check_races = false;
    plumb_run_result result = {0};
    status = plumb_machine_write(m, params[0], in, t.in_bytes, &diag);
    if (status == PLUMB_OK)
      status =
          plumb_machine_launch(m, "k", &launch, params, sizeof params, &options, &result, &diag);
    if (status != PLUMB_OK) break;
    CHECK(result.trap.kind == PLUMB_TRAP_NONE, "%s: %s", source, result.trap.message);
    plumb_machine_read(m, params[1], out, NULL, t.out_bytes, &diag);
    known = check_lanes(&t, in, out, lanes, &failures);
  }
  CHECK(!known || status == PLUMB_OK, "%s: %s", source, diag.message);
  CHECK(failures == 0, "%s: %u of its results are wrong", source, failures);
  plumb_machine_destroy(m);
  plumb_arena_destroy(arena);
  return known;
}

/* What has no model here, and where it is tested. */
static bool is_tested_elsewhere(const char *source) {
  static const char *const parts[] = {
      ".approx",      ".full",   "ex2.",      "tanh.",  "cvt.rs.", /* approx.c; rows.def alone: rs
                                                                    */
      "ld.",          "st.",     "mov.",      "call",   "bar",     "vote",     "shfl",
      "redux",        "match",   "atom",      "red.",   "{",       "prefetch", "fence",
      "elect",        "alloca",  "bra",       "@",      "cvta",    "isspace",  "activemask",
      "createpolicy", "membar",  "nanosleep", "[",      "griddep", "stack",    "setmaxnreg",
      "ret",          "exit",    "trap",      "%clock", "tcgen",   "discard",  "applypri",
      "brx",          "pmevent", "brkpt",     "mma"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (strstr(source, parts[i])) return true;
  return false;
}

int main(int argc, char **argv) {
  bool is_long = getenv("PLUMB_NUMERICS_LONG") != NULL;
  unsigned long part = argc > 2 ? strtoul(argv[1], NULL, 10) : 1;
  unsigned long parts = argc > 2 ? strtoul(argv[2], NULL, 10) : 1, number = 0;
  size_t count;
  const plumb_ptx_row *rows = plumb_ptx_rows(&count);
  for (size_t i = 0; i < count; i++) {
    bool seen = i && strcmp(rows[i].text, rows[i - 1].text) == 0;
    if (seen || (argc == 2 && !strstr(rows[i].text, argv[1]))) continue;
    if (number++ % parts != part - 1) continue;
    unsigned long before = compared;
    bool known = check_text(rows[i].text, is_long);
    covered += known;
    CHECK(known || is_tested_elsewhere(rows[i].text), "no model knows %s", rows[i].text);
    if (is_long && known) printf("%s %lu results\n", rows[i].text, compared - before);
    if (is_long && !known) printf("%s elsewhere\n", rows[i].text);
    fflush(stdout);
  }
  printf("%lu texts, %lu results compared\n", covered, compared);
  return check_finish();
}
