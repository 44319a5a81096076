/* NVVM's matrix intrinsics (NVPTX Usage Guide; their names hold the instruction's own
 * suffixes in another order). */
#include "ir/ptx/intrinsic.h"
#include "ir/ptx/matrix.h"

enum { MAX_WORDS = 24 };

/* The words of a name. */
typedef struct words {
  char *at[MAX_WORDS];
  size_t count;
} words;

static bool split(plumb_arena *arena, const char *name, words *out) {
  char *copy = plumb_arena_copy_string(arena, name), *save;
  out->count = 0;
  for (char *w = strtok_r(copy, ".", &save); w; w = strtok_r(NULL, ".", &save)) {
    if (out->count == MAX_WORDS) return false;
    out->at[out->count++] = w;
  }
  return out->count >= 3;
}

static bool is(const words *w, size_t i, const char *text) {
  return i < w->count && strcmp(w->at[i], text) == 0;
}

/* Takes the last word if it is an address space. */
static const char *take_space(words *w) {
  const char *last = w->at[w->count - 1];
  if (last[0] != 'p' || last[1] < '0' || last[1] > '9') return "";
  w->count--;
  return strcmp(last, "p3") == 0 ? ".shared" : strcmp(last, "p1") == 0 ? ".global" : "";
}

/* --- operands, in the order of the call's arguments --- */

static void operand(ptx_intrinsic *t, bool output, char letter, const char *before,
                    const char *after) {
  size_t number = output ? ptx_intrinsic_result(t, letter)
                         : ptx_intrinsic_use(t, (unsigned)t->out->arg_count, letter);
  plumb_text_printf(&t->text, "%s$%zu%s", before, number, after);
}

static void fragment(ptx_intrinsic *t, bool output, char letter, unsigned count) {
  for (unsigned i = 0; i < count; i++)
    operand(t, output, letter, i ? ", " : "{", i + 1 == count ? "}" : "");
}

static char letter_of(const plumb_mma *mma, plumb_mma_matrix which) {
  plumb_dtype t = ptx_mma_reg_type(mma, which);
  return t == PLUMB_F64 ? 'd' : t == PLUMB_F32 ? 'f' : 'r';
}

/* Every argument is an operand. */
static bool finish(ptx_intrinsic *t) {
  plumb_text_printf(&t->text, ";");
  return t->out->arg_count == t->count;
}

/* --- ldmatrix, stmatrix --- */

static bool matrix_move(ptx_intrinsic *t, words *w) {
  bool store = is(w, 0, "stmatrix");
  const char *space = take_space(w);
  unsigned count = 0;
  for (size_t i = 0; i < w->count; i++) {
    if (w->at[i][0] == 'x') count = (unsigned)(w->at[i][1] - '0');
    if (i + 1 == w->count) plumb_text_printf(&t->text, "%s", space);
    plumb_text_printf(&t->text, "%s%s", i ? "." : "", w->at[i]);
  }
  if (count != 1 && count != 2 && count != 4) return false;
  plumb_text_printf(&t->text, " ");
  if (store) {
    operand(t, false, 'l', "[", "], ");
    fragment(t, false, 'r', count);
  } else {
    fragment(t, true, 'r', count);
    operand(t, false, 'l', ", [", "]");
  }
  return finish(t);
}

/* --- mma, wmma.mma --- */

/* The accumulators that are not named: of all but f16 and fp8 there is one kind. */
static plumb_mma_type accumulator(plumb_mma_type input) {
  if (plumb_mma_type_table[input].type_class != PLUMB_MMA_FLOAT) return PLUMB_MMA_S32;
  return input == PLUMB_MMA_F64 ? PLUMB_MMA_F64 : PLUMB_MMA_F32;
}

static bool assign_types(plumb_mma *mma, const plumb_mma_type *given, unsigned count) {
  uint8_t types[4];
  for (unsigned i = 0; i < 4; i++) types[i] = i < count ? (uint8_t)given[i] : 0;
  bool accumulators = count == 2 && (types[0] == PLUMB_MMA_F16 || types[0] == PLUMB_MMA_F32);
  if (count == 4) {
    mma->d = types[0], mma->a = types[1], mma->b = types[2], mma->c = types[3];
  } else if (accumulators) {
    mma->d = types[0], mma->c = types[1];
    mma->a = mma->b = PLUMB_MMA_F16;
  } else if (count == 1 || count == 2) {
    mma->a = types[0], mma->b = types[count - 1];
    mma->c = mma->d = (uint8_t)accumulator((plumb_mma_type)types[0]);
  } else {
    return false;
  }
  return true;
}

static bool multiply(ptx_intrinsic *t, const words *w, plumb_mma *mma) {
  plumb_mma_type types[4];
  unsigned count = 0, layouts = 0;
  const char *round = "", *op = "", *layout[2] = {"", ""};
  for (size_t i = 1; i < w->count; i++) {
    const char *part = w->at[i];
    plumb_mma_type type;
    if (ptx_mma_shape(part, mma) || is(w, i, "mma") || is(w, i, "popc") || is(w, i, "metadata"))
      continue;
    if (is(w, i, "sp"))
      mma->kind = PLUMB_MMA_SPARSE;
    else if (is(w, i, "ordered"))
      mma->ordered = true;
    else if (is(w, i, "satfinite"))
      mma->satfinite = true;
    else if (is(w, i, "xor") || is(w, i, "and"))
      op = part;
    else if ((is(w, i, "row") || is(w, i, "col")) && layouts < 2)
      layout[layouts++] = part;
    else if (part[0] == 'r' && strlen(part) == 2 && strchr("nzmp", part[1]))
      round = part;
    else if (plumb_mma_type_find(part, &type) && count < 4)
      types[count++] = type;
    else
      return false;
  }
  if (layouts != 2 || !assign_types(mma, types, count)) return false;
  mma->combine = *op == 'x' ? PLUMB_MMA_XOR_POPC : *op ? PLUMB_MMA_AND_POPC : PLUMB_MMA_MULTIPLY;
  mma->a_column = *layout[0] == 'c';
  mma->b_row = *layout[1] == 'r';
  if (!plumb_mma_valid(mma)) return false;
  bool sparse = mma->kind == PLUMB_MMA_SPARSE;
  plumb_text_printf(&t->text, "%smma%s.sync.aligned.%s.%s.m%un%uk%u%s%s%s.%s.%s.%s.%s%s%s%s ",
                    mma->kind == PLUMB_MMA_WMMA ? "wmma." : "",
                    !sparse        ? ""
                    : mma->ordered ? ".sp::ordered_metadata"
                                   : ".sp",
                    layout[0], layout[1], mma->m, mma->n, mma->k, *round ? "." : "", round,
                    mma->satfinite ? ".satfinite" : "", plumb_mma_type_table[mma->d].text,
                    plumb_mma_type_table[mma->a].text, plumb_mma_type_table[mma->b].text,
                    plumb_mma_type_table[mma->c].text, *op ? "." : "", op, *op ? ".popc" : "");
  fragment(t, true, letter_of(mma, PLUMB_MMA_D), plumb_mma_regs(mma, PLUMB_MMA_D));
  for (int which = PLUMB_MMA_A; which <= PLUMB_MMA_C; which++) {
    plumb_text_printf(&t->text, ", ");
    fragment(t, false, letter_of(mma, (plumb_mma_matrix)which),
             plumb_mma_regs(mma, (plumb_mma_matrix)which));
  }
  if (sparse) {
    operand(t, false, 'r', ", ", "");
    operand(t, false, 'n', ", ", "");
  }
  return finish(t);
}

/* --- wmma.load, wmma.store --- */

static bool complete(plumb_mma *mma, plumb_mma_matrix which, plumb_mma_type type) {
  for (unsigned a = 0; a < PLUMB_MMA_TYPE_COUNT; a++) {
    mma->a = mma->b = (uint8_t)(which <= PLUMB_MMA_B ? type : a);
    mma->c = mma->d = (uint8_t)(which <= PLUMB_MMA_B ? accumulator(type) : type);
    mma->combine = mma->a == PLUMB_MMA_B1 ? PLUMB_MMA_XOR_POPC : PLUMB_MMA_MULTIPLY;
    if (plumb_mma_valid(mma)) return true;
  }
  return false;
}

/* wmma, shape, load, a, row[, stride], type: the address, then the stride. */
static bool wmma_move(ptx_intrinsic *t, words *w) {
  const char *space = take_space(w);
  bool store = is(w, 2, "store"), stride = is(w, 5, "stride");
  plumb_mma mma = {.kind = PLUMB_MMA_WMMA};
  plumb_mma_type type;
  if (w->count != 6u + stride || !ptx_mma_shape(w->at[1], &mma) ||
      !plumb_mma_type_find(w->at[w->count - 1], &type))
    return false;
  const char *letter = strchr("abcd", w->at[3][0]);
  if (!letter || !*letter) return false;
  plumb_mma_matrix which = (plumb_mma_matrix)(letter - "abcd");
  if (!complete(&mma, which, type)) return false;
  plumb_text_printf(&t->text, "wmma.%s.%s.sync.aligned.%s.%s%s.%s ", w->at[2], w->at[3], w->at[4],
                    w->at[1], space, w->at[w->count - 1]);
  unsigned count = plumb_mma_regs(&mma, which);
  if (store) {
    operand(t, false, 'l', "[", "], ");
    fragment(t, false, letter_of(&mma, which), count);
  } else {
    fragment(t, true, letter_of(&mma, which), count);
    operand(t, false, 'l', ", [", "]");
  }
  if (stride) operand(t, false, 'r', ", ", "");
  return finish(t);
}

bool ptx_intrinsic_matrix(ptx_intrinsic *t) {
  words w;
  plumb_mma mma = {.kind = PLUMB_MMA_SYNC};
  if (!split(t->text.arena, t->name, &w)) return false;
  if (is(&w, 0, "ldmatrix") || is(&w, 0, "stmatrix")) return matrix_move(t, &w);
  if (is(&w, 0, "mma")) return multiply(t, &w, &mma);
  if (!is(&w, 0, "wmma")) return false;
  mma.kind = PLUMB_MMA_WMMA;
  return is(&w, 2, "mma") ? multiply(t, &w, &mma) : wmma_move(t, &w);
}
