/* One PTX instruction as the models read it: the text of a row of ir/ptx/rows.def, split up
 * without the parser under test. Values are the bits of registers in 64-bit words. */
#ifndef PLUMB_TESTS_NUMERICS_FORM_H
#define PLUMB_TESTS_NUMERICS_FORM_H

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef __int128 form_wide;

enum { FORM_MAX = 8, FORM_PARTS = 12, FORM_SLOTS = 24, FORM_CARRY = FORM_SLOTS - 1 };

typedef struct form_type {
  char kind;     /* u s b f (IEEE), g (bf16), or t n (what is smaller) */
  unsigned bits; /* of an element */
  unsigned lanes;
  char text[8];
} form_type;

typedef struct form_operand {
  bool is_register, negated;
  uint8_t slot;
  unsigned bits; /* of the register */
  uint64_t value;
  char part[8]; /* the selector behind the dot */
} form_operand;

/* Answers to whether an instruction has a name, by the address of the literal asked for:
 * models ask the same for every lane. */
typedef struct form_asked {
  const char *name;
  bool answer;
} form_asked;

typedef struct form {
  form_asked ops[256], has[256];
  char op[12], parts[FORM_PARTS][12];
  unsigned part_count, type_count, dest_count, source_count;
  form_type types[4];
  form_operand dest[2], source[FORM_MAX];
} form;

/* The last type that the instruction names; the first, which then means nothing, where it names
 * none. */
static inline const form_type *form_last_type(const form *f) {
  return &f->types[f->type_count ? f->type_count - 1 : 0];
}

/* What a model says. */
typedef enum form_answer { FORM_VALUE, FORM_ANY, FORM_UNKNOWN } form_answer;

/* The registers of a text, in slots. */
typedef struct form_registers {
  char names[FORM_SLOTS][5];
  unsigned count;
} form_registers;

static inline size_t form_slot(const char *name) {
  return (size_t)((uint64_t)(uintptr_t)name * 0x9e3779b97f4a7c15ull >> 56);
}

/* Whether the instruction has the suffix; whether it is of this name. Both ask for literals. */
static inline bool form_has(form *f, const char *part) {
  form_asked *a = &f->has[form_slot(part)];
  if (a->name == part) return a->answer;
  *a = (form_asked){part, false};
  for (unsigned i = 0; i < f->part_count; i++)
    if (strcmp(f->parts[i], part) == 0) a->answer = true;
  return a->answer;
}
static inline bool form_is(form *f, const char *op) {
  form_asked *a = &f->ops[form_slot(op)];
  if (a->name != op) *a = (form_asked){op, strcmp(f->op, op) == 0};
  return a->answer;
}

static inline bool form_type_of(const char *text, form_type *out) {
  memset(out, 0, sizeof *out);
  const char *digits = text + strcspn(text, "0123456789");
  size_t stem = (size_t)(digits - text);
  out->lanes = 1;
  if (strlen(text) >= sizeof out->text) return false;
  snprintf(out->text, sizeof out->text, "%s", text);
  if (strcmp(text, "pred") == 0) {
    out->kind = 'b', out->bits = 1;
    return true;
  }
  if (text[0] == 'e' || text[0] == 't' || strncmp(text, "ue8m0", 5) == 0) { /* e4m3x2, tf32 */
    const char *x = strchr(text, 'x');
    out->kind = text[0] == 't' ? 't' : 'n';
    out->bits = text[0] == 't' ? 32 : 8;
    if (x) out->lanes = (unsigned)atoi(x + 1);
    return strcmp(text, "tf32") == 0 || strchr(text, 'm') != NULL;
  }
  bool bf = stem == 2 && strncmp(text, "bf", 2) == 0;
  if (!bf && (stem != 1 || !strchr("usbf", text[0]))) return false;
  out->kind = bf ? 'g' : text[0];
  char *end;
  out->bits = (unsigned)strtoul(digits, &end, 10);
  if (*end == 'x') out->lanes = (unsigned)strtoul(end + 1, &end, 10);
  return *end == 0 && out->bits > 0;
}

static inline unsigned form_class_bits(char class) {
  switch (class | 0x20) {
    case 'p':
      return 1;
    case 'h':
      return 16;
    case 'r':
    case 'f':
      return 32;
    case 'd':
    case 'e':
      return 64;
    default:
      return 0;
  }
}

static inline bool form_register(form_registers *r, const char *name, size_t length,
                                 form_operand *out) {
  out->is_register = true;
  out->bits = form_class_bits(name[1]);
  if (!out->bits || length > 4) return false;
  for (out->slot = 0; out->slot < r->count; out->slot++)
    if (strlen(r->names[out->slot]) == length && memcmp(r->names[out->slot], name, length) == 0)
      return true;
  if (r->count == FORM_CARRY) return false;
  memcpy(r->names[r->count++], name, length);
  return true;
}

/* -%r0.b3, !%p1, 0x96, 0f3F800000 */
static inline bool form_operand_of(form_registers *r, const char *text, form_operand *out) {
  memset(out, 0, sizeof *out);
  if (*text == '!' || (*text == '-' && text[1] == '%')) out->negated = true, text++;
  if (*text == '%') {
    size_t n = 1 + strcspn(text + 1, ".");
    if (text[n] == '.') snprintf(out->part, sizeof out->part, "%s", text + n + 1);
    return form_register(r, text, n, out);
  }
  char *end;
  if (*text == '0' && (text[1] == 'f' || text[1] == 'd'))
    out->value = strtoull(text + 2, &end, 16);
  else
    out->value = strtoull(text, &end, 0);
  return *end == 0 && end != text;
}

/* False where the text is more than registers and numbers. */
static inline bool form_parse(char *text, form_registers *r, form *f) {
  memset(f, 0, sizeof *f);
  while (isspace((unsigned char)*text)) text++;
  size_t word = strcspn(text, " ");
  if (!text[word] || *text == '@' || strpbrk(text, "{}[]")) return false;
  text[word] = 0;
  char *rest = text + word + 1, *keep = NULL;
  for (char *part = strtok_r(text, ".", &keep); part; part = strtok_r(NULL, ".", &keep)) {
    if (part == text) {
      snprintf(f->op, sizeof f->op, "%s", part);
      continue;
    }
    if (f->part_count == FORM_PARTS) return false;
    snprintf(f->parts[f->part_count++], sizeof f->parts[0], "%s", part);
    form_type t;
    if (form_type_of(part, &t) && f->type_count < 4) f->types[f->type_count++] = t;
  }
  bool first = true;
  for (char *o = strtok_r(rest, ", ", &keep); o; o = strtok_r(NULL, ", ", &keep), first = false) {
    char *bar = first ? strchr(o, '|') : NULL;
    if (bar) *bar = 0;
    form_operand *to = first ? &f->dest[f->dest_count++] : &f->source[f->source_count++];
    if (f->source_count == FORM_MAX || !form_operand_of(r, o, to)) return false;
    if (bar && !form_operand_of(r, bar + 1, &f->dest[f->dest_count++])) return false;
  }
  return f->dest_count > 0;
}

static inline uint64_t form_low(uint64_t v, unsigned bits) {
  return bits >= 64 ? v : v & ((1ull << bits) - 1);
}
/* The value of `bits` bits as an integer. */
static inline form_wide form_extend(uint64_t v, unsigned bits, bool is_signed) {
  v = form_low(v, bits);
  if (!is_signed || !(v >> (bits - 1) & 1)) return (form_wide)v;
  return (form_wide)v - ((form_wide)1 << bits);
}

#endif
