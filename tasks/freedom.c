#include "tasks/freedom.h"

#include <math.h>
#include <string.h>

#include "ir/ptx/ptx.h"

static bool has_host(const plumb_program *p) {
  for (size_t i = 0; i < p->function_count; i++)
    if (p->functions[i]->kind == PLUMB_HOST && !p->functions[i]->external) return true;
  return false;
}

/* The stage's program, unfinished: its text decoded again, or, with host code beside the
 * device's text, out of the printed program, which has no locations. NULL where that fails. */
static plumb_program *again(plumb_arena *arena, const plumb_stage *stage) {
  plumb_diag diag;
  const char *name = stage->program->name;
  plumb_program *p = plumb_program_create(arena, name);
  if (!has_host(stage->program))
    return plumb_ptx_decode(p, name, stage->text, stage->text_length, &diag) == PLUMB_OK ? p : NULL;
  plumb_text printed = plumb_text_create(arena);
  plumb_program_print(stage->program, &printed);
  return plumb_program_read(arena, name, printed.data, printed.length, &p, &diag) == PLUMB_OK
             ? p
             : NULL;
}

/* The stage with the readings of `bits`, but for `which` (PLUMB_FREEDOM_COUNT: no exception),
 * which is read the other way. NULL where it has no place for that. */
static const plumb_stage *read_stage(plumb_arena *arena, const plumb_stage *stage, unsigned bits,
                                     plumb_freedom which) {
  plumb_stage *s = PLUMB_NEW(arena, plumb_stage);
  plumb_diag diag;
  *s = *stage;
  s->program = again(arena, stage);
  if (!s->program) return NULL;
  for (int i = 0; i < PLUMB_FREEDOM_COUNT; i++) {
    bool asked = (bits >> i & 1) != 0, excepted = i == (int)which;
    if (!asked && !excepted) continue;
    /* back to the default: only the places are counted */
    plumb_program *p = asked && excepted ? again(arena, stage) : s->program;
    if (!p || (!plumb_program_read_otherwise(p, (plumb_freedom)i) && excepted)) return NULL;
  }
  if (plumb_program_finish(s->program, &diag) != PLUMB_OK) return NULL;
  s->digest = plumb_program_digest(s->program);
  return s;
}

void plumb_freedom_readings_create(plumb_arena *arena, const plumb_stage *stage, unsigned bits,
                                   plumb_freedom_readings *out) {
  *out = (plumb_freedom_readings){.stage = stage};
  if (stage->kind != PLUMB_STAGE_PTX || !stage->program) return;
  if (bits) {
    const plumb_stage *asked = read_stage(arena, stage, bits, PLUMB_FREEDOM_COUNT);
    if (asked) out->stage = asked;
  }
  for (int i = 0; i < PLUMB_FREEDOM_COUNT; i++)
    out->others[i] = read_stage(arena, stage, bits, (plumb_freedom)i);
}

uint64_t plumb_freedom_seed(unsigned bits, plumb_freedom which) {
  return (bits >> PLUMB_FREEDOM_ORDER & 1) ^ (which == PLUMB_FREEDOM_ORDER);
}

static bool is_nan(plumb_dtype type, const unsigned char *element) {
  uint64_t bits = 0;
  memcpy(&bits, element, plumb_dtype_bytes(type));
  return plumb_dtype_is_float(type) && isnan(plumb_dtype_to_double(type, bits));
}

bool plumb_freedom_same(const plumb_array *a, const plumb_array *b) {
  unsigned bytes = plumb_dtype_bytes(a->type);
  if (!a->data || !b->data) return a->data == b->data;
  if (a->type != b->type || a->count != b->count) return false;
  if (memcmp(a->data, b->data, a->count * bytes) == 0) return true;
  for (size_t i = 0; i < a->count; i++) {
    const unsigned char *x = (const unsigned char *)a->data + i * bytes;
    const unsigned char *y = (const unsigned char *)b->data + i * bytes;
    if (memcmp(x, y, bytes) != 0 && !(bytes <= 8 && is_nan(a->type, x) && is_nan(a->type, y)))
      return false;
  }
  return true;
}

bool plumb_freedom_nonfinite(const plumb_array *a) {
  unsigned bytes = plumb_dtype_bytes(a->type);
  if (!a->data || !plumb_dtype_is_float(a->type) || bytes > 8) return false;
  for (size_t i = 0; i < a->count; i++) {
    uint64_t bits = 0;
    memcpy(&bits, (const unsigned char *)a->data + i * bytes, bytes);
    if (!isfinite(plumb_dtype_to_double(a->type, bits))) return true;
  }
  return false;
}

bool plumb_freedom_same_call(const plumb_invocation *v, const plumb_invoked *a,
                             const plumb_invoked *b) {
  if (a->status != PLUMB_OK || b->status != PLUMB_OK) return false;
  if (a->trap.kind != PLUMB_TRAP_NONE || b->trap.kind != PLUMB_TRAP_NONE) return false;
  for (size_t k = 0; k < v->arg_count; k++)
    if (!plumb_freedom_same(&a->args[k].array, &b->args[k].array)) return false;
  for (size_t k = 0; k < v->result_count; k++)
    if (!plumb_freedom_same(&a->results[k].array, &b->results[k].array)) return false;
  return true;
}

bool plumb_freedom_is_illegal(plumb_freedom which, const plumb_trap *trap) {
  return which == PLUMB_FREEDOM_TRY_WAIT && trap->kind == PLUMB_TRAP_DEADLOCK;
}

const char *plumb_freedom_note(plumb_arena *arena, unsigned bits, plumb_freedom which,
                               const plumb_freedom_seen *seen) {
  const char *which_are = seen->alone >> which & 1     ? ", which are not accepted"
                          : seen->rescued >> which & 1 ? ", which are accepted"
                                                       : "";
  return plumb_freedom_sentence(arena, bits, which, which_are);
}
