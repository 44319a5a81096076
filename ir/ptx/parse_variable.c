/* Variables, parameters and their initialisers (PTX ISA chapter 5). */
#include "ir/ptx/parse.h"

uint32_t ptx_type_bytes(const char *t) {
  static const struct {
    const char *text;
    uint32_t bytes;
  } rows[] = {{"pred", 1},   {"b8", 1},     {"u8", 1},     {"s8", 1},     {"b16", 2},
              {"u16", 2},    {"s16", 2},    {"f16", 2},    {"bf16", 2},   {"b32", 4},
              {"u32", 4},    {"s32", 4},    {"f32", 4},    {"f16x2", 4},  {"bf16x2", 4},
              {"tf32", 4},   {"b64", 8},    {"u64", 8},    {"s64", 8},    {"f64", 8},
              {"f32x2", 8},  {"b128", 16},  {"e4m3", 1},   {"e5m2", 1},   {"u16x2", 4},
              {"s16x2", 4},  {"e4m3x2", 2}, {"e5m2x2", 2}, {"texref", 8}, {"samplerref", 8},
              {"surfref", 8}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strcmp(rows[i].text, t) == 0) return rows[i].bytes;
  return 0;
}

bool ptx_parse_space(const ptx_parser *p, ptx_space *out) {
  static const char *const names[] = {"reg", "param", "local", "shared", "global", "const"};
  for (int i = 0; i < 6; i++)
    if (ptx_parser_at_dot(p, names[i])) {
      *out = (ptx_space)i;
      return true;
    }
  return false;
}

/* .attribute(.managed, .unified(a, b)): places of memory that change no value (5.4.8). */
plumb_status ptx_parse_attribute(ptx_parser *p) {
  int depth = 0;
  do {
    if (p->token.kind == PTX_END) return ptx_parser_fail(p, "`)`");
    depth += ptx_parser_at(p, '(') - ptx_parser_at(p, ')');
    PLUMB_TRY(ptx_parser_advance(p));
  } while (depth > 0);
  return PLUMB_OK;
}

/* The attributes between the state space and the name: .align 8 .v2 .u32 .ptr ... */
plumb_status ptx_parse_variable_type(ptx_parser *p, ptx_variable *v) {
  v->vector = 1;
  while (p->token.kind == PTX_DOT) {
    char *word = ptx_parser_text(p);
    PLUMB_TRY(ptx_parser_advance(p));
    if (strcmp(word, "align") == 0) {
      if (p->token.kind != PTX_INT || !p->token.value || p->token.value > 4096 ||
          (p->token.value & (p->token.value - 1)))
        return ptx_parser_fail(p, "an alignment that is a power of two up to 4096");
      if (!v->type) v->align = (uint32_t)p->token.value; /* else of what .ptr points to */
      PLUMB_TRY(ptx_parser_advance(p));
    } else if (strcmp(word, "v2") == 0 || strcmp(word, "v4") == 0 || strcmp(word, "v8") == 0) {
      v->vector = (uint32_t)(word[1] - '0');
    } else if (strcmp(word, "attribute") == 0) {
      PLUMB_TRY(ptx_parse_attribute(p));
    } else if (ptx_type_bytes(word)) {
      v->type = word;
    } else if (strcmp(word, "ptr") && strcmp(word, "global") && strcmp(word, "shared") &&
               strcmp(word, "const") && strcmp(word, "local") && strncmp(word, "shared::", 8)) {
      return plumb_fail(p->diag, PLUMB_BAD_INPUT, p->lexer.path, p->token.line, p->token.column,
                        "`.%s` is no type of PTX", word);
    }
  }
  if (!v->type) return ptx_parser_fail(p, "a type such as .u32");
  return PLUMB_OK;
}

static plumb_status dimensions(ptx_parser *p, ptx_variable *v) {
  v->elements = 1;
  while (ptx_parser_at(p, '[')) {
    v->is_array = true;
    PLUMB_TRY(ptx_parser_advance(p));
    if (ptx_parser_at(p, ']')) {
      v->unsized = true;
    } else {
      uint64_t n;
      PLUMB_TRY(ptx_parser_constant(p, &n));
      if (__builtin_mul_overflow(v->elements, n, &v->elements) || v->elements > (1ull << 40))
        return ptx_parser_fail(p, "an array of less than 2^40 elements before");
    }
    PLUMB_TRY(ptx_parser_expect(p, ']'));
  }
  return PLUMB_OK;
}

static plumb_status init_value(ptx_parser *p, const char *type, ptx_init *out);

/* 0xFF00(symbol): one byte of an address (5.4.4). */
static plumb_status masked(ptx_parser *p, const char *type, ptx_init *out) {
  ptx_init inner;
  out->mask = out->bits;
  PLUMB_TRY(ptx_parser_advance(p));
  if (p->token.kind != PTX_NAME) return ptx_parser_fail(p, "a symbol");
  PLUMB_TRY(init_value(p, type, &inner));
  out->symbol = inner.symbol, out->generic = inner.generic, out->bits = inner.bits;
  return ptx_parser_expect(p, ')');
}

static plumb_status init_number(ptx_parser *p, const char *type, bool minus, ptx_init *out) {
  ptx_token_kind kind = p->token.kind;
  out->bits = p->token.value;
  if (kind == PTX_F32 && minus) out->bits ^= 1ull << 31;
  if (kind == PTX_F64 && minus) out->bits ^= 1ull << 63;
  if (kind == PTX_F64 && strcmp(type, "f32") == 0) {
    double d;
    memcpy(&d, &out->bits, sizeof d);
    out->bits = plumb_dtype_from_double(PLUMB_F32, d);
  }
  if (kind == PTX_F32 || kind == PTX_F64) return ptx_parser_advance(p);
  PLUMB_TRY(ptx_parser_constant(p, &out->bits));
  if (ptx_parser_at(p, '(')) return masked(p, type, out);
  if (minus) out->bits = 0 - out->bits;
  if (strcmp(type, "f32") == 0 || strcmp(type, "f64") == 0) {
    /* An integer in a list of floats is its value (4.5.2). */
    double d = (double)(int64_t)out->bits;
    out->bits = plumb_dtype_from_double(type[1] == '3' ? PLUMB_F32 : PLUMB_F64, d);
  }
  return PLUMB_OK;
}

/* A number, symbol, symbol+4, generic(symbol)+4, or a name of a sampler's or texture's
 * field with its value (5.5), which is not kept. */
static plumb_status init_value(ptx_parser *p, const char *type, ptx_init *out) {
  bool minus = false;
  *out = (ptx_init){0};
  while (ptx_parser_at(p, '-')) {
    minus = !minus;
    PLUMB_TRY(ptx_parser_advance(p));
  }
  ptx_token_kind kind = p->token.kind;
  if (kind == PTX_INT || kind == PTX_F32 || kind == PTX_F64 || ptx_parser_at(p, '~') ||
      ptx_parser_at(p, '('))
    return init_number(p, type, minus, out);
  if (kind != PTX_NAME) return ptx_parser_fail(p, "a value");
  out->symbol = ptx_parser_text(p);
  PLUMB_TRY(ptx_parser_advance(p));
  if (ptx_parser_at(p, '=')) {
    *out = (ptx_init){0};
    PLUMB_TRY(ptx_parser_advance(p));
    return ptx_parser_advance(p);
  }
  if (strcmp(out->symbol, "generic") == 0 && ptx_parser_at(p, '(')) {
    out->generic = true;
    PLUMB_TRY(ptx_parser_advance(p));
    if (p->token.kind != PTX_NAME) return ptx_parser_fail(p, "a symbol");
    out->symbol = ptx_parser_text(p);
    PLUMB_TRY(ptx_parser_advance(p));
    PLUMB_TRY(ptx_parser_expect(p, ')'));
  }
  while (ptx_parser_at(p, '+') || ptx_parser_at(p, '-')) {
    bool less = ptx_parser_at(p, '-');
    PLUMB_TRY(ptx_parser_advance(p));
    uint64_t v;
    PLUMB_TRY(ptx_parser_term(p, &v));
    out->bits += less ? 0 - v : v;
  }
  return PLUMB_OK;
}

/* Nested braces of arrays of arrays are flattened; each row must be complete. */
static plumb_status initialiser(ptx_parser *p, ptx_variable *v) {
  size_t capacity = 0;
  int depth = 0;
  do {
    if (ptx_parser_at(p, '{')) {
      depth++;
      PLUMB_TRY(ptx_parser_advance(p));
    } else if (ptx_parser_at(p, '}')) {
      depth--;
      PLUMB_TRY(ptx_parser_advance(p));
    } else if (ptx_parser_at(p, ',')) {
      PLUMB_TRY(ptx_parser_advance(p));
    } else {
      v->inits =
          plumb_arena_grow(p->arena, v->inits, &capacity, v->init_count + 1, sizeof *v->inits);
      PLUMB_TRY(init_value(p, v->type, &v->inits[v->init_count++]));
    }
  } while (depth > 0);
  return PLUMB_OK;
}

plumb_status ptx_parse_declarators(ptx_parser *p, const ptx_variable *base, ptx_variable **list,
                                   size_t *count, size_t *capacity) {
  for (;;) {
    ptx_variable v = *base;
    v.line = p->token.line, v.column = p->token.column;
    if (p->token.kind != PTX_NAME) return ptx_parser_fail(p, "a name");
    v.name = ptx_parser_text(p);
    PLUMB_TRY(ptx_parser_advance(p));
    if (ptx_parser_at(p, '<')) {
      PLUMB_TRY(ptx_parser_advance(p));
      PLUMB_TRY(ptx_parser_int(p, &v.range));
      PLUMB_TRY(ptx_parser_expect(p, '>'));
    }
    PLUMB_TRY(dimensions(p, &v));
    if (ptx_parser_at(p, '=')) {
      PLUMB_TRY(ptx_parser_advance(p));
      PLUMB_TRY(initialiser(p, &v));
      if (v.unsized) v.elements = v.init_count, v.unsized = false;
    }
    *list = plumb_arena_grow(p->arena, *list, capacity, *count + 1, sizeof v);
    (*list)[(*count)++] = v;
    if (!ptx_parser_at(p, ',')) return ptx_parser_expect(p, ';');
    PLUMB_TRY(ptx_parser_advance(p));
  }
}

plumb_status ptx_parse_parameters(ptx_parser *p, uint32_t scope, ptx_variable **list,
                                  size_t *count) {
  size_t capacity = 0;
  PLUMB_TRY(ptx_parser_expect(p, '('));
  while (!ptx_parser_at(p, ')')) {
    ptx_variable v = {.scope = scope, .line = p->token.line, .column = p->token.column};
    if (!ptx_parse_space(p, &v.space)) return ptx_parser_fail(p, "a parameter");
    PLUMB_TRY(ptx_parser_advance(p));
    PLUMB_TRY(ptx_parse_variable_type(p, &v));
    if (p->token.kind != PTX_NAME) return ptx_parser_fail(p, "a parameter's name");
    v.name = ptx_parser_text(p);
    PLUMB_TRY(ptx_parser_advance(p));
    PLUMB_TRY(dimensions(p, &v));
    *list = plumb_arena_grow(p->arena, *list, &capacity, *count + 1, sizeof v);
    (*list)[(*count)++] = v;
    if (ptx_parser_at(p, ','))
      PLUMB_TRY(ptx_parser_advance(p));
    else if (!ptx_parser_at(p, ')'))
      return ptx_parser_fail(p, "`,` or `)`");
  }
  return ptx_parser_advance(p);
}

/* Linking directives (11.6) before a variable or a function. */
plumb_status ptx_parse_linkage(ptx_parser *p, ptx_variable *v) {
  while (ptx_parser_at_dot(p, "visible") || ptx_parser_at_dot(p, "extern") ||
         ptx_parser_at_dot(p, "weak") || ptx_parser_at_dot(p, "common")) {
    v->external |= ptx_parser_at_dot(p, "extern");
    v->is_weak |= ptx_parser_at_dot(p, "weak") || ptx_parser_at_dot(p, "common");
    v->is_visible = true;
    PLUMB_TRY(ptx_parser_advance(p));
  }
  return PLUMB_OK;
}
