/* Every instruction of ir/ptx/rows.def with two operands of 8 or 16 bits, or of packed ones,
 * on every pair of them, as text through parser, decoder and executor.
 *
 * What "every 8- and 16-bit form" comes to:
 *
 *   one operand of 8 or 16 bits   all 65536 (forms.c): unary arithmetic, every cvt from 8 or
 *                                 16 bits, from f16, bf16 and the packed 8-bit floats; both
 *                                 halves of x2 at once; ex2 and tanh within their error
 *                                 (approx.c)
 *   two of them                   all 2^32 pairs (here)
 *   and a predicate               all 2^32 pairs with each value of it (here)
 *   two of them and a third       all 2^32 pairs of the first two, and with each pair another
 *   (mad, sad, fma, slct)         third one, which takes every value of 16 bits (or is random
 *                                 in 32 bits); edges crossed with edges in forms.c
 *   packed x2                     all 2^32 pairs in the lower half and, in another order, in
 *                                 the upper half at the same time: halves that depended on
 *                                 each other would show
 *   packed x4                     all 2^16 pairs of bytes in each place (forms.c)
 *   16 bits and a wider operand   every 16 bits with each edge of the other (forms.c); the
 *                                 amount of a shift is tried to 65535 (here)
 *   16 or fewer bits from wider   as the wider form that it is (forms.c, convert.c)
 *
 * The video instructions have operands of 32 bits.
 *
 *     exhaustive [TEXT]                           some thousand pairs a form: a second or two
 *     PLUMB_NUMERICS_LONG=1 exhaustive [TEXT]     all of them; prints each form that is done
 *     PLUMB_NUMERICS_LONG=1 exhaustive N M        the N-th of M parts: every M-th form
 */
#include <time.h>

#include "ir/ptx/ptx.h"
#include "targets/cpu/cpu.h"
#include "tests/numerics/pairs.h"

enum {
  ALL = 65536,
  THREADS = 1024,
  STEPS = 64,
  LANE_STEP = 40503,
  MAX_BYTES = 4,
  PARAM_BYTES = 20,
  MAX_FORMS = 512
};

/* The operands of a launch's step: a is one number, b the lane; in the upper half of x2 their
 * permutations, a the lane's and b the number's. */
static pair_operand number, lane, upper_number, upper_lane;
static uint32_t third[PAIR_LANES], third_half[PAIR_LANES], low[PAIR_LANES], high[PAIR_LANES];
static uint8_t wanted[PAIR_LANES * MAX_BYTES], actual[STEPS * PAIR_LANES * MAX_BYTES];

typedef struct subject {
  const char *source;
  form f;
  form_registers registers;
  unsigned steps, bytes; /* of a launch; of a result in memory */
  bool divides;
  plumb_machine *machine;
  struct {
    uint64_t out;
    uint32_t first, lane, predicate;
  } params;
} subject;

/* --- the kernel --- */

static const char *name_of(const subject *s, unsigned source) {
  return s->registers.names[s->f.source[source].slot];
}

/* The third operand of a pair: a linear congruence of full period a lane. */
static void third_text(const subject *s, plumb_text *m) {
  if (s->f.source_count < 3 || s->f.source[2].bits == 1) return;
  if (s->f.source[2].bits == 16)
    plumb_text_printf(m, " mad.lo.u16 %s, %s, 25173, 13849;\n", name_of(s, 2), name_of(s, 2));
  else
    plumb_text_printf(m, " mad.lo.u32 w, w, 1664525, 1013904223; mov.b32 %s, w;\n", name_of(s, 2));
}

static char *module_text(plumb_arena *arena, const subject *s) {
  plumb_text m = plumb_text_create(arena);
  bool packed = s->f.types[s->f.type_count - 1].lanes > 1;
  plumb_text_printf(
      &m,
      ".version 9.0\n.target sm_100a\n.address_size 64\n"
      ".visible .entry k(.param .u64 out, .param .u32 number, .param .u32 lane,"
      " .param .u32 predicate) {\n"
      " .reg .pred %%p<8>, %%P<8>, last; .reg .b16 %%h<8>, %%H<8>, a, b, x, y;\n"
      " .reg .b32 %%r<8>, %%R<8>, t, u, w; .reg .f32 %%f<8>, %%F<8>; .reg .b64 at, z;\n"
      " mov.u32 t, %%ctaid.x; mov.u32 u, %%ntid.x; mov.u32 w, %%tid.x; mad.lo.u32 t, t, u, w;\n"
      " ld.param.u64 at, [out]; mul.wide.u32 z, t, %u; add.u64 at, at, z;\n"
      " ld.param.u32 u, [lane]; add.u32 t, t, u; cvt.u16.u32 b, t;\n"
      " ld.param.u32 u, [number]; cvt.u16.u32 a, u;\n",
      s->bytes);
  if (packed)
    plumb_text_printf(&m,
                      " mul.lo.u16 x, b, %d; mul.lo.u16 y, a, %d;\n"
                      " mov.b32 %s, {a, x}; mov.b32 %s, {b, y};\n",
                      LANE_STEP, LANE_STEP, name_of(s, 0), name_of(s, 1));
  else
    plumb_text_printf(&m, " mov.b16 %s, a; cvt.u%u.u16 %s, b;\n", name_of(s, 0),
                      s->f.source[1].bits, name_of(s, 1));
  if (s->divides) /* by 3, not by 0; and see below */
    plumb_text_printf(&m,
                      " setp.eq.u16 last, b, 0; selp.b16 b, 3, b, last; mov.b16 %s, b;\n"
                      " setp.eq.u16 last, b, 0xffff;\n",
                      name_of(s, 1));
  if (s->f.source_count > 2 && s->f.source[2].bits == 1)
    plumb_text_printf(&m, " ld.param.u32 w, [predicate]; setp.ne.u32 %s, w, 0;\n", name_of(s, 2));
  else if (s->f.source_count > 2 && s->f.source[2].bits == 16)
    plumb_text_printf(&m, " mul.lo.u16 x, a, 47975; mad.lo.u16 %s, b, 27145, x;\n", name_of(s, 2));
  else if (s->f.source_count > 2)
    plumb_text_printf(&m, " mul.lo.u32 w, u, 2246822519; mad.lo.u32 w, t, 2654435761, w;\n");
  for (unsigned i = 0; i < s->steps; i++) {
    third_text(s, &m);
    if (s->divides && s->f.types[0].kind == 's') /* the least number by 3, not by -1 */
      plumb_text_printf(&m, " setp.eq.and.u16 %%p7, %s, 0x8000, last; selp.b16 %s, 3, b, %%p7;\n",
                        name_of(s, 0), name_of(s, 1));
    plumb_text_printf(&m, " %s\n", s->source);
    const char *to = s->registers.names[s->f.dest[0].slot];
    if (s->bytes == 1) {
      plumb_text_printf(&m, " selp.u16 x, 1, 0, %s;", to);
      if (s->f.dest_count == 2)
        plumb_text_printf(&m, " selp.u16 y, 2, 0, %s; or.b16 x, x, y;",
                          s->registers.names[s->f.dest[1].slot]);
      to = "x";
    }
    plumb_text_printf(&m, " st.global.b%u [at+%u], %s;\n", 8 * s->bytes, i * PAIR_LANES * s->bytes,
                      to);
    if (packed)
      plumb_text_printf(&m, " add.u32 %s, %s, 1; add.u32 %s, %s, 0x%x;\n", name_of(s, 0),
                        name_of(s, 0), name_of(s, 1), name_of(s, 1), (unsigned)LANE_STEP << 16);
    else
      plumb_text_printf(&m, " add.u16 %s, %s, 1;\n", name_of(s, 0), name_of(s, 0));
  }
  plumb_text_printf(&m, " ret;\n}\n");
  return m.data;
}

/* The program of the form in one step, as printed. */
static char *program_text(plumb_arena *arena, const subject *s) {
  plumb_program *p = plumb_program_create(arena, "pairs");
  subject one = *s;
  one.steps = 1;
  plumb_diag diag = {0};
  char *module = module_text(arena, &one);
  plumb_text printed = plumb_text_create(arena);
  if (plumb_ptx_decode(p, "pairs.ptx", module, strlen(module), &diag) != PLUMB_OK) return NULL;
  plumb_program_print(p, &printed);
  return printed.data;
}

static bool load(plumb_arena *arena, subject *s) {
  plumb_program *p = plumb_program_create(arena, "pairs");
  s->machine = plumb_machine_create(arena);
  plumb_diag diag = {0};
  char *module = module_text(arena, s);
  plumb_status status = plumb_ptx_decode(p, "pairs.ptx", module, strlen(module), &diag);
  if (status == PLUMB_OK) status = plumb_program_finish(p, &diag);
  if (status == PLUMB_OK) status = plumb_machine_load(s->machine, p, &diag);
  s->params.out =
      plumb_machine_alloc(s->machine, (uint64_t)s->steps * PAIR_LANES * s->bytes, 256, "out");
  CHECK(status == PLUMB_OK, "%s: %s", s->source, diag.message);
  return status == PLUMB_OK;
}

/* Results of the tile of `steps` numbers from `first` on and PAIR_LANES lanes. */
static bool launch(subject *s, uint32_t first, uint32_t at, bool predicate) {
  plumb_launch grid = {.grid = {PAIR_LANES / THREADS, 1, 1}, .block = {THREADS, 1, 1}};
  plumb_run_options options = plumb_run_options_default();
  options.jobs = 1;
  options.check_races = false;
  s->params.first = first, s->params.lane = at, s->params.predicate = predicate;
  plumb_run_result result = {0};
  plumb_diag diag = {0};
  plumb_status status = plumb_machine_launch(s->machine, "k", &grid, &s->params, PARAM_BYTES,
                                             &options, &result, &diag);
  bool ok = status == PLUMB_OK && result.trap.kind == PLUMB_TRAP_NONE;
  CHECK(ok, "%s: %s%s", s->source, diag.message, ok ? "" : result.trap.message);
  plumb_machine_read(s->machine, s->params.out, actual, NULL,
                     (size_t)s->steps * PAIR_LANES * s->bytes, &diag);
  return ok;
}

/* --- the comparison --- */

static void fill_lanes(const subject *s, const pair_plan *plan, uint32_t first, uint32_t at) {
  unsigned bits = plan->third_bits;
  for (unsigned i = 0; i < PAIR_LANES; i++) {
    uint32_t l = at + i;
    lane.bits[i] = (uint16_t)l, upper_lane.bits[i] = (uint16_t)(l * LANE_STEP);
    if (s->divides && l == 0) lane.bits[i] = 3;
    third[i] = bits == 16 && plan->lanes == 1 ? (uint16_t)(first * 47975 + lane.bits[i] * 27145u)
                                              : first * 2246822519u + l * 2654435761u;
    lane.value[i] = (float)pair_value(plan, lane.bits[i]);
    upper_lane.value[i] = (float)pair_value(plan, upper_lane.bits[i]);
  }
}

static void fill_number(const pair_plan *plan, pair_operand *o, uint16_t bits) {
  float v = (float)pair_value(plan, bits);
  for (unsigned i = 0; i < PAIR_LANES; i++) o->bits[i] = bits;
  if (!plan->is_float && plan->op != PAIR_COMPARE) return;
  for (unsigned i = 0; i < PAIR_LANES; i++) o->value[i] = v;
}

/* The third operands of the next step. */
PLUMB_CLONES
static void advance(const pair_plan *plan) {
  if (plan->third_bits == 16 && plan->lanes == 1)
    for (unsigned i = 0; i < PAIR_LANES; i++) third[i] = (third[i] * 25173 + 13849) & 0xffff;
  else
    for (unsigned i = 0; i < PAIR_LANES; i++) third[i] = third[i] * 1664525 + 1013904223;
  if (plan->lanes == 1) return;
  for (unsigned i = 0; i < PAIR_LANES; i++)
    low[i] = third[i] & 0xffff, third_half[i] = third[i] >> 16;
}

/* The elements' results as they lie in memory. */
PLUMB_CLONES
static void join(const pair_plan *plan, unsigned bytes) {
  uint32_t mask = plan->mask;
  uint16_t *words = (void *)wanted;
  uint32_t *doubles = (void *)wanted;
  bool packed = plan->lanes == 2;
  if (bytes == 1 && packed)
    for (unsigned i = 0; i < PAIR_LANES; i++)
      wanted[i] = (uint8_t)((low[i] & 1) | (high[i] & 1) << 1);
  else if (bytes == 1)
    for (unsigned i = 0; i < PAIR_LANES; i++) wanted[i] = low[i] & 1;
  else if (bytes == 2)
    for (unsigned i = 0; i < PAIR_LANES; i++) words[i] = (uint16_t)low[i];
  else if (packed)
    for (unsigned i = 0; i < PAIR_LANES; i++) doubles[i] = (low[i] & 0xffff) | high[i] << 16;
  else
    for (unsigned i = 0; i < PAIR_LANES; i++) doubles[i] = low[i] & mask;
}

static uint64_t element(const uint8_t *array, unsigned bytes, unsigned i) {
  uint64_t v = 0;
  memcpy(&v, array + (size_t)i * bytes, bytes);
  return v;
}

static uint64_t operand(const pair_plan *plan, const pair_operand *half, const pair_operand *upper,
                        unsigned i) {
  return half->bits[i] | (plan->lanes == 2 ? (uint64_t)upper->bits[i] << 16 : 0);
}

/* One lane against form_model.h; false: the model here is not the one there. */
static bool check_lane(subject *s, const pair_plan *plan, unsigned i, bool predicate, uint64_t got,
                       uint64_t expected, const char *who) {
  uint64_t slots[FORM_SLOTS] = {0};
  bool nan[4], carry = false;
  form *f = &s->f;
  slots[f->source[0].slot] = operand(plan, &number, &upper_lane, i);
  slots[f->source[1].slot] = operand(plan, &lane, &upper_number, i);
  uint64_t c = predicate;
  if (plan->third_bits > 1) c = third[i];
  if (f->source_count > 2) slots[f->source[2].slot] = c;
  uint64_t a = slots[f->source[0].slot], b = slots[f->source[1].slot];
  form_answer answer = form_step(f, slots, &carry, nan);
  uint64_t model = slots[f->dest[0].slot];
  if (f->dest_count == 2) model |= slots[f->dest[1].slot] << 1;
  bool ok = answer == FORM_VALUE && (got == model || form_same(f, got, model, nan));
  if (!ok || got != expected)
    CHECK(ok, "%s a=0x%llx b=0x%llx c=0x%llx: %s is 0x%llx, not 0x%llx (0x%llx)", s->source,
          (unsigned long long)a, (unsigned long long)b, (unsigned long long)c, who,
          (unsigned long long)got, (unsigned long long)model, (unsigned long long)expected);
  return ok;
}

/* One step's lanes: the machine's results against pairs.h, some of those against
 * form_model.h. */
static bool check_step(subject *s, const pair_plan *plan, uint32_t a, uint32_t step,
                       bool predicate) {
  fill_number(plan, &number, (uint16_t)a);
  if (plan->third_bits > 1) advance(plan);
  bool negated = s->f.source_count > 2 && s->f.source[2].negated;
  const uint32_t *c = plan->lanes == 2 ? low : third;
  bool minus_one = s->divides && plan->is_signed && lane.bits[PAIR_LANES - 1] == 0xffff;
  uint32_t overflow = minus_one && a == 0x8000 ? PAIR_LANES - 1 : PAIR_LANES;
  if (overflow < PAIR_LANES) lane.bits[overflow] = 3;
  if (plan->lanes == 2) {
    fill_number(plan, &upper_number, (uint16_t)(a * LANE_STEP));
    pair_run(plan, &upper_lane, &upper_number, third_half, predicate != negated, high);
  }
  pair_run(plan, &number, &lane, c, predicate != negated, low);
  join(plan, s->bytes);
  const uint8_t *results = actual + (size_t)step * PAIR_LANES * s->bytes;
  bool ok = true;
  if (memcmp(results, wanted, (size_t)PAIR_LANES * s->bytes) != 0)
    for (unsigned i = 0; ok && i < PAIR_LANES; i++) {
      uint64_t got = element(results, s->bytes, i), expected = element(wanted, s->bytes, i);
      if (got != expected) ok = check_lane(s, plan, i, predicate, got, expected, "the result");
    }
  unsigned i = (unsigned)(oracle_random() % PAIR_LANES);
  uint64_t expected = element(wanted, s->bytes, i);
  ok = ok && check_lane(s, plan, i, predicate, expected, expected, "the model");
  if (overflow < PAIR_LANES) lane.bits[overflow] = 0xffff;
  return ok;
}

static unsigned long pairs;

static bool check_tiles(subject *s, bool predicate, bool is_long) {
  bool negated = s->f.source_count > 2 && s->f.source[2].negated;
  pair_plan plan = pair_plan_of(&s->f, predicate != negated);
  for (uint32_t tile = 0; tile < (is_long ? ALL / PAIR_LANES * (ALL / s->steps) : 3); tile++) {
    uint32_t first = tile % (ALL / s->steps) * s->steps, at = tile / (ALL / s->steps) * PAIR_LANES;
    if (!is_long) first = tile == 2 ? 0x8000 - s->steps / 2 : (uint32_t)oracle_random() % ALL;
    if (!is_long) first -= first % s->steps;
    if (!is_long) at = tile == 2 ? ALL - PAIR_LANES : (uint32_t)oracle_random() % ALL;
    at -= at % PAIR_LANES;
    if (!launch(s, first, at, predicate)) return false;
    fill_lanes(s, &plan, first, at);
    for (uint32_t step = 0; step < s->steps; step++)
      if (!check_step(s, &plan, first + step, step, predicate)) return false;
    pairs += (unsigned long)s->steps * PAIR_LANES;
  }
  return true;
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* What decides a form's results: its program, and what is wanted of it. */
static char *signature_of(plumb_arena *arena, subject *s) {
  char *program = program_text(arena, s);
  plumb_text m = plumb_text_create(arena);
  for (int p = 0; p < 2; p++) {
    pair_plan t = pair_plan_of(&s->f, p);
    plumb_text_printf(&m, "%d %d%d%d%d%d%d%d%d%d %x %x %x %x %x %u %u\n", t.op, t.is_float,
                      t.is_bf16, t.flush, t.saturate, t.is_signed, t.propagate, t.exclusive_sign,
                      t.relu, t.to_f32, t.less, t.equal, t.greater, t.unordered, t.mask, t.lanes,
                      t.third_bits);
  }
  plumb_text_printf(&m, "%s", program ? program : s->source);
  return m.data;
}

static void check_form(subject *s, bool is_long) {
  plumb_arena *arena = plumb_arena_create();
  double start = seconds();
  unsigned long before = pairs;
  bool ok = load(arena, s) && check_tiles(s, false, is_long);
  bool chooses = s->f.source_count > 2 && s->f.source[2].bits == 1;
  if (ok && chooses) ok = check_tiles(s, true, is_long);
  if (is_long)
    printf("%s %s, %lu pairs, %.1f s\n", s->source, ok ? "agrees" : "DIFFERS", pairs - before,
           seconds() - start);
  fflush(stdout);
  plumb_machine_destroy(s->machine);
  plumb_arena_destroy(arena);
}

/* False: not a form of two operands of 16 bits. */
static bool read_form(const char *source, subject *s, bool is_long) {
  char copy[400];
  memset(s, 0, sizeof *s);
  s->source = source;
  snprintf(copy, sizeof copy, "%s", source);
  char *end = strchr(copy, ';');
  if (!end || strspn(end + 1, " \n") != strlen(end + 1)) return false; /* several statements */
  *end = 0;
  if (!form_parse(copy, &s->registers, &s->f) || !pair_is(&s->f)) return false;
  unsigned bits = s->f.dest[0].bits;
  s->bytes = bits == 1 ? 1 : bits / 8;
  s->steps = !is_long ? 4 : s->bytes == 4 ? STEPS / 2 : STEPS;
  s->divides = form_is(&s->f, "div") || form_is(&s->f, "rem");
  return true;
}

int main(int argc, char **argv) {
  bool is_long = getenv("PLUMB_NUMERICS_LONG") != NULL;
  unsigned long part = argc > 2 ? strtoul(argv[1], NULL, 10) : 1;
  unsigned long parts = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
  static subject s;
  static char *signatures[MAX_FORMS];
  static const char *sources[MAX_FORMS];
  unsigned forms = 0, distinct = 0;
  plumb_arena *arena = plumb_arena_create();
  size_t count;
  const plumb_ptx_row *rows = plumb_ptx_rows(&count);
  for (size_t i = 0; i < count && distinct < MAX_FORMS; i++) {
    if (i && strcmp(rows[i].text, rows[i - 1].text) == 0) continue;
    if (argc == 2 && !strstr(rows[i].text, argv[1])) continue;
    if (!read_form(rows[i].text, &s, is_long)) continue;
    CHECK(pair_plan_of(&s.f, false).op != PAIR_NONE, "no model knows %s", s.source);
    forms++;
    signatures[distinct] = signature_of(arena, &s), sources[distinct] = s.source;
    unsigned same = 0;
    while (strcmp(signatures[same], signatures[distinct]) != 0) same++;
    if (same < distinct) {
      if (is_long && part == 1) printf("%s is %s\n", s.source, sources[same]);
      continue;
    }
    if (distinct++ % parts == part - 1) check_form(&s, is_long);
  }
  CHECK(distinct < MAX_FORMS, "more than %d forms", MAX_FORMS);
  printf("%u forms, %u programs, %lu pairs\n", forms, distinct, pairs);
  plumb_arena_destroy(arena);
  return check_finish();
}
