/* Modules, functions, variables and directives (PTX ISA chapters 5, 7 and 11). */
#include "ir/ptx/parse.h"

plumb_status ptx_parser_advance(ptx_parser *p) {
  return ptx_lexer_next(&p->lexer, &p->token, p->diag);
}

char *ptx_parser_text(ptx_parser *p) {
  return plumb_arena_copy_text(p->arena, p->token.text, p->token.length);
}

plumb_status ptx_parser_fail(ptx_parser *p, const char *expected) {
  int shown = p->token.length > 60 ? 60 : (int)p->token.length;
  if (p->token.kind == PTX_END)
    return plumb_fail(p->diag, PLUMB_BAD_INPUT, p->lexer.path, p->token.line, p->token.column,
                      "expected %s, found the end of the text", expected);
  return plumb_fail(p->diag, PLUMB_BAD_INPUT, p->lexer.path, p->token.line, p->token.column,
                    "expected %s, found `%s%.*s`", expected, p->token.kind == PTX_DOT ? "." : "",
                    shown, p->token.text);
}

plumb_status ptx_parser_expect(ptx_parser *p, char c) {
  if (ptx_parser_at(p, c)) return ptx_parser_advance(p);
  return ptx_parser_fail(p, (char[]){'`', c, '`', 0});
}

plumb_status ptx_parser_int(ptx_parser *p, uint64_t *out_value) {
  bool minus = false;
  while (ptx_parser_at(p, '-')) {
    minus = !minus;
    PLUMB_TRY(ptx_parser_advance(p));
  }
  if (p->token.kind != PTX_INT) return ptx_parser_fail(p, "an integer");
  *out_value = minus ? 0 - p->token.value : p->token.value;
  return ptx_parser_advance(p);
}

uint32_t ptx_type_bytes(const char *t) {
  static const struct {
    const char *text;
    uint32_t bytes;
  } rows[] = {{"pred", 1},       {"b8", 1},     {"u8", 1},   {"s8", 1},    {"b16", 2},
              {"u16", 2},        {"s16", 2},    {"f16", 2},  {"bf16", 2},  {"b32", 4},
              {"u32", 4},        {"s32", 4},    {"f32", 4},  {"f16x2", 4}, {"bf16x2", 4},
              {"tf32", 4},       {"b64", 8},    {"u64", 8},  {"s64", 8},   {"f64", 8},
              {"f32x2", 8},      {"b128", 16},  {"e4m3", 1}, {"e5m2", 1},  {"texref", 8},
              {"samplerref", 8}, {"surfref", 8}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strcmp(rows[i].text, t) == 0) return rows[i].bytes;
  return 0;
}

static uint32_t scope_create(ptx_parser *p, uint32_t parent) {
  ptx_module *m = p->module;
  m->scope_parents = plumb_arena_grow(p->arena, m->scope_parents, &m->scope_capacity,
                                      m->scope_count + 1, sizeof *m->scope_parents);
  m->scope_parents[m->scope_count] = parent;
  return (uint32_t)m->scope_count++;
}

static bool space_of(const ptx_parser *p, ptx_space *out) {
  static const char *const names[] = {"reg", "param", "local", "shared", "global", "const"};
  for (int i = 0; i < 6; i++)
    if (ptx_parser_at_dot(p, names[i])) {
      *out = (ptx_space)i;
      return true;
    }
  return false;
}

/* The attributes between the state space and the name: .align 8 .v2 .u32 .ptr ... */
static plumb_status variable_type(ptx_parser *p, ptx_variable *v) {
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
    } else if (strcmp(word, "v2") == 0 || strcmp(word, "v4") == 0) {
      v->vector = word[1] == '2' ? 2 : 4;
    } else if (strcmp(word, "attribute") == 0) {
      while (!ptx_parser_at(p, ')') && p->token.kind != PTX_END) PLUMB_TRY(ptx_parser_advance(p));
      PLUMB_TRY(ptx_parser_expect(p, ')'));
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
      PLUMB_TRY(ptx_parser_int(p, &n));
      if (__builtin_mul_overflow(v->elements, n, &v->elements) || v->elements > (1ull << 40))
        return ptx_parser_fail(p, "an array of less than 2^40 elements before");
    }
    PLUMB_TRY(ptx_parser_expect(p, ']'));
  }
  return PLUMB_OK;
}

static plumb_status init_value(ptx_parser *p, const char *type, ptx_init *out) {
  bool minus = false;
  *out = (ptx_init){0};
  while (ptx_parser_at(p, '-')) {
    minus = !minus;
    PLUMB_TRY(ptx_parser_advance(p));
  }
  ptx_token_kind kind = p->token.kind;
  if (kind == PTX_INT || kind == PTX_F32 || kind == PTX_F64) {
    out->bits = p->token.value;
    if (kind == PTX_INT && minus) out->bits = 0 - out->bits;
    if (kind == PTX_F32 && minus) out->bits ^= 1ull << 31;
    if (kind == PTX_F64 && minus) out->bits ^= 1ull << 63;
    if (kind == PTX_F64 && ptx_type_bytes(type) == 4) {
      double d;
      memcpy(&d, &out->bits, sizeof d);
      out->bits = plumb_dtype_from_double(PLUMB_F32, d);
    }
    PLUMB_TRY(ptx_parser_advance(p));
    if (kind != PTX_INT || !ptx_parser_at(p, '(')) return PLUMB_OK;
    out->mask = out->bits; /* 0xFF00(symbol): one byte of an address (5.4.4) */
    out->bits = 0;
    PLUMB_TRY(ptx_parser_advance(p));
    ptx_init inner;
    if (p->token.kind != PTX_NAME) return ptx_parser_fail(p, "a symbol");
    PLUMB_TRY(init_value(p, type, &inner));
    out->symbol = inner.symbol, out->generic = inner.generic, out->bits = inner.bits;
    return ptx_parser_expect(p, ')');
  }
  if (kind != PTX_NAME) return ptx_parser_fail(p, "a value");
  out->symbol = ptx_parser_text(p);
  PLUMB_TRY(ptx_parser_advance(p));
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
    PLUMB_TRY(ptx_parser_int(p, &v));
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

static plumb_status declarators(ptx_parser *p, const ptx_variable *base, ptx_variable **list,
                                size_t *count, size_t *capacity) {
  for (;;) {
    ptx_variable v = *base;
    v.line = p->token.line;
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

static plumb_status parameters(ptx_parser *p, uint32_t scope, ptx_variable **list, size_t *count) {
  size_t capacity = 0;
  PLUMB_TRY(ptx_parser_expect(p, '('));
  while (!ptx_parser_at(p, ')')) {
    ptx_variable v = {.scope = scope, .line = p->token.line};
    if (!space_of(p, &v.space)) return ptx_parser_fail(p, "a parameter");
    PLUMB_TRY(ptx_parser_advance(p));
    PLUMB_TRY(variable_type(p, &v));
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

/* .loc file line column [, function_name label, inlined_at file line column] */
static plumb_status location(ptx_parser *p) {
  uint64_t v[3], at[3] = {0};
  for (int i = 0; i < 3; i++) PLUMB_TRY(ptx_parser_int(p, &v[i]));
  while (ptx_parser_at(p, ',')) {
    PLUMB_TRY(ptx_parser_advance(p));
    bool inlined = p->token.length == 10 && memcmp(p->token.text, "inlined_at", 10) == 0;
    if (p->token.kind != PTX_NAME) return ptx_parser_fail(p, "function_name or inlined_at");
    PLUMB_TRY(ptx_parser_advance(p));
    if (inlined) {
      for (int i = 0; i < 3; i++) PLUMB_TRY(ptx_parser_int(p, &at[i]));
    } else {
      PLUMB_TRY(ptx_parser_advance(p));
      if (ptx_parser_at(p, '+')) {
        PLUMB_TRY(ptx_parser_advance(p));
        PLUMB_TRY(ptx_parser_advance(p));
      }
    }
  }
  p->source =
      (ptx_source){(int)(v[0] & INT32_MAX), (int)(v[1] & INT32_MAX), (int)(v[2] & INT32_MAX),
                   (int)(at[0] & INT32_MAX), (int)(at[1] & INT32_MAX)};
  return PLUMB_OK;
}

static plumb_status file(ptx_parser *p) {
  ptx_module *m = p->module;
  uint64_t index;
  PLUMB_TRY(ptx_parser_int(p, &index));
  if (index > 100000) return ptx_parser_fail(p, "a file index up to 100000 before");
  if (p->token.kind != PTX_STRING) return ptx_parser_fail(p, "a file name");
  char *name = ptx_parser_text(p);
  PLUMB_TRY(ptx_parser_advance(p));
  if (p->token.kind == PTX_STRING) {
    name = plumb_arena_printf(p->arena, "%s/%s", name, ptx_parser_text(p));
    PLUMB_TRY(ptx_parser_advance(p));
  }
  while (ptx_parser_at(p, ',')) {
    PLUMB_TRY(ptx_parser_advance(p));
    PLUMB_TRY(ptx_parser_advance(p));
  }
  m->files =
      plumb_arena_grow(p->arena, m->files, &m->file_capacity, (size_t)index + 1, sizeof *m->files);
  m->files[index] = name;
  if (index >= m->file_count) m->file_count = (size_t)index + 1;
  return PLUMB_OK;
}

/* Debug sections hold no code: skipped up to the closing brace. */
static plumb_status section(ptx_parser *p) {
  while (!ptx_parser_at(p, '{')) {
    if (p->token.kind == PTX_END) return ptx_parser_fail(p, "`{`");
    PLUMB_TRY(ptx_parser_advance(p));
  }
  while (!ptx_parser_at(p, '}')) {
    if (p->token.kind == PTX_END) return ptx_parser_fail(p, "`}`");
    PLUMB_TRY(ptx_parser_advance(p));
  }
  return ptx_parser_advance(p);
}

static plumb_status triple(ptx_parser *p, uint64_t out[3]) {
  out[0] = out[1] = out[2] = 1;
  for (int i = 0; i < 3; i++) {
    PLUMB_TRY(ptx_parser_int(p, &out[i]));
    if (!ptx_parser_at(p, ',')) break;
    PLUMB_TRY(ptx_parser_advance(p));
  }
  return PLUMB_OK;
}

/* Directives that may stand at module level and in a body alike. */
static plumb_status common_directive(ptx_parser *p, bool *out_known) {
  *out_known = true;
  if (ptx_parser_at_dot(p, "loc")) {
    PLUMB_TRY(ptx_parser_advance(p));
    return location(p);
  }
  if (ptx_parser_at_dot(p, "file")) {
    PLUMB_TRY(ptx_parser_advance(p));
    return file(p);
  }
  if (ptx_parser_at_dot(p, "section")) return section(p);
  if (ptx_parser_at_dot(p, "pragma") || ptx_parser_at_dot(p, "alias")) {
    while (!ptx_parser_at(p, ';')) {
      if (p->token.kind == PTX_END) return ptx_parser_fail(p, "`;`");
      PLUMB_TRY(ptx_parser_advance(p));
    }
    return ptx_parser_advance(p);
  }
  *out_known = false;
  return PLUMB_OK;
}

static plumb_status list_directive(ptx_parser *p, ptx_function *f, const char *name,
                                   uint32_t scope) {
  ptx_list list = {.name = name, .scope = scope};
  bool prototype = ptx_parser_at_dot(p, "callprototype");
  PLUMB_TRY(ptx_parser_advance(p));
  if (prototype) {
    if (ptx_parser_at(p, '(')) PLUMB_TRY(parameters(p, scope, &list.outputs, &list.output_count));
    PLUMB_TRY(ptx_parser_advance(p)); /* `_` */
    if (ptx_parser_at(p, '(')) PLUMB_TRY(parameters(p, scope, &list.inputs, &list.input_count));
    while (p->token.kind == PTX_DOT) {
      PLUMB_TRY(ptx_parser_advance(p));
      if (p->token.kind == PTX_INT) PLUMB_TRY(ptx_parser_advance(p));
    }
  } else {
    size_t capacity = 0;
    while (p->token.kind == PTX_NAME) {
      list.targets = plumb_arena_grow(p->arena, list.targets, &capacity, list.target_count + 1,
                                      sizeof *list.targets);
      list.targets[list.target_count++] = ptx_parser_text(p);
      PLUMB_TRY(ptx_parser_advance(p));
      if (ptx_parser_at(p, ',')) PLUMB_TRY(ptx_parser_advance(p));
    }
  }
  f->lists =
      plumb_arena_grow(p->arena, f->lists, &f->list_capacity, f->list_count + 1, sizeof *f->lists);
  f->lists[f->list_count++] = list;
  return ptx_parser_expect(p, ';');
}

static ptx_statement *statement(ptx_parser *p, ptx_function *f, uint32_t scope) {
  f->statements = plumb_arena_grow(p->arena, f->statements, &f->statement_capacity,
                                   f->statement_count + 1, sizeof *f->statements);
  ptx_statement *s = &f->statements[f->statement_count++];
  s->scope = scope;
  return s;
}

/* `name:` is a label; anything else that starts with a name is an instruction. */
static plumb_status label_or_instruction(ptx_parser *p, ptx_function *f, uint32_t scope) {
  ptx_lexer ahead = p->lexer;
  ptx_token next;
  PLUMB_TRY(ptx_lexer_next(&ahead, &next, p->diag));
  if (p->token.kind != PTX_NAME || next.kind != PTX_PUNCT || *next.text != ':')
    return ptx_parse_instruction(p, statement(p, f, scope));
  char *name = ptx_parser_text(p);
  int line = p->token.line, column = p->token.column;
  PLUMB_TRY(ptx_parser_advance(p));
  PLUMB_TRY(ptx_parser_advance(p));
  if (ptx_parser_at_dot(p, "branchtargets") || ptx_parser_at_dot(p, "callprototype") ||
      ptx_parser_at_dot(p, "calltargets"))
    return list_directive(p, f, name, scope);
  ptx_statement *s = statement(p, f, scope);
  s->kind = PTX_STATEMENT_LABEL, s->name = name, s->line = line, s->column = column;
  return PLUMB_OK;
}

static plumb_status body(ptx_parser *p, ptx_function *f) {
  uint32_t scope = scope_create(p, f->scope);
  int depth = 1;
  PLUMB_TRY(ptx_parser_advance(p));
  while (depth) {
    ptx_variable v = {.scope = scope};
    bool known = true;
    if (ptx_parser_at(p, '{')) {
      scope = scope_create(p, scope), depth++;
      PLUMB_TRY(ptx_parser_advance(p));
    } else if (ptx_parser_at(p, '}')) {
      scope = p->module->scope_parents[scope], depth--;
      if (depth) PLUMB_TRY(ptx_parser_advance(p));
    } else if (ptx_parser_at(p, ';')) {
      PLUMB_TRY(ptx_parser_advance(p));
    } else if (p->token.kind == PTX_DOT) {
      PLUMB_TRY(common_directive(p, &known));
      if (known) continue;
      if (!space_of(p, &v.space)) return ptx_parser_fail(p, "a directive of a function body");
      PLUMB_TRY(ptx_parser_advance(p));
      PLUMB_TRY(variable_type(p, &v));
      PLUMB_TRY(declarators(p, &v, &f->variables, &f->variable_count, &f->variable_capacity));
    } else if (p->token.kind == PTX_NAME || ptx_parser_at(p, '@')) {
      PLUMB_TRY(label_or_instruction(p, f, scope));
    } else {
      return ptx_parser_fail(p, "a statement");
    }
  }
  f->has_body = true;
  return ptx_parser_advance(p);
}

static plumb_status function_directives(ptx_parser *p, ptx_function *f) {
  while (p->token.kind == PTX_DOT) {
    bool known;
    PLUMB_TRY(common_directive(p, &known));
    if (known) continue;
    char *word = ptx_parser_text(p);
    PLUMB_TRY(ptx_parser_advance(p));
    if (strcmp(word, "noreturn") == 0) {
      f->noreturn = true;
    } else if (strcmp(word, "maxntid") == 0) {
      PLUMB_TRY(triple(p, f->max_threads));
    } else if (strcmp(word, "reqntid") == 0) {
      PLUMB_TRY(triple(p, f->required_threads));
    } else if (strcmp(word, "reqnctapercluster") == 0) {
      PLUMB_TRY(triple(p, f->required_cluster));
    } else {
      /* Hints and limits that change no result: .minnctapersm 2, .maxnreg 64, ... */
      while (p->token.kind == PTX_INT || ptx_parser_at(p, ',')) PLUMB_TRY(ptx_parser_advance(p));
    }
  }
  return PLUMB_OK;
}

static plumb_status function(ptx_parser *p, bool is_entry, bool is_weak) {
  ptx_module *m = p->module;
  ptx_function f = {.is_entry = is_entry, .is_weak = is_weak, .line = p->token.line};
  p->source = (ptx_source){0};
  f.scope = scope_create(p, 0);
  PLUMB_TRY(ptx_parser_advance(p));
  if (ptx_parser_at_dot(p, "attribute")) {
    while (!ptx_parser_at(p, ')') && p->token.kind != PTX_END) PLUMB_TRY(ptx_parser_advance(p));
    PLUMB_TRY(ptx_parser_expect(p, ')'));
  }
  if (ptx_parser_at(p, '(')) PLUMB_TRY(parameters(p, f.scope, &f.outputs, &f.output_count));
  if (p->token.kind != PTX_NAME) return ptx_parser_fail(p, "a function's name");
  f.name = ptx_parser_text(p);
  PLUMB_TRY(ptx_parser_advance(p));
  if (ptx_parser_at(p, '(')) PLUMB_TRY(parameters(p, f.scope, &f.inputs, &f.input_count));
  PLUMB_TRY(function_directives(p, &f));
  if (ptx_parser_at(p, ';'))
    PLUMB_TRY(ptx_parser_advance(p));
  else if (ptx_parser_at(p, '{'))
    PLUMB_TRY(body(p, &f));
  else
    return ptx_parser_fail(p, "`{` or `;`");
  m->functions = plumb_arena_grow(p->arena, m->functions, &m->function_capacity,
                                  m->function_count + 1, sizeof f);
  m->functions[m->function_count++] = f;
  return PLUMB_OK;
}

static plumb_status module_item(ptx_parser *p) {
  ptx_module *m = p->module;
  ptx_variable v = {0};
  bool known;
  PLUMB_TRY(common_directive(p, &known));
  if (known) return PLUMB_OK;
  if (ptx_parser_at_dot(p, "version") || ptx_parser_at_dot(p, "target") ||
      ptx_parser_at_dot(p, "address_size")) {
    bool size = ptx_parser_at_dot(p, "address_size");
    int line = p->token.line;
    PLUMB_TRY(ptx_parser_advance(p));
    if (size && p->token.kind == PTX_INT && p->token.value != 64)
      return ptx_parser_fail(p, "an address size of 64");
    while (p->token.line == line && p->token.kind != PTX_END) PLUMB_TRY(ptx_parser_advance(p));
    return PLUMB_OK;
  }
  while (ptx_parser_at_dot(p, "visible") || ptx_parser_at_dot(p, "extern") ||
         ptx_parser_at_dot(p, "weak") || ptx_parser_at_dot(p, "common")) {
    v.external |= ptx_parser_at_dot(p, "extern");
    v.is_weak |= ptx_parser_at_dot(p, "weak") || ptx_parser_at_dot(p, "common");
    PLUMB_TRY(ptx_parser_advance(p));
  }
  if (ptx_parser_at_dot(p, "entry") || ptx_parser_at_dot(p, "func"))
    return function(p, ptx_parser_at_dot(p, "entry"), v.is_weak);
  if (ptx_parser_at_dot(p, "tex"))
    v.space = PTX_GLOBAL;
  else if (!space_of(p, &v.space) || v.space == PTX_PARAM)
    return ptx_parser_fail(p, "a directive of a PTX module");
  PLUMB_TRY(ptx_parser_advance(p));
  PLUMB_TRY(variable_type(p, &v));
  return declarators(p, &v, &m->variables, &m->variable_count, &m->variable_capacity);
}

plumb_status ptx_parse(plumb_arena *arena, const char *path, const char *text, size_t length,
                       ptx_module *out_module, plumb_diag *diag) {
  *out_module = (ptx_module){.path = path};
  ptx_parser p = {.arena = arena, .module = out_module, .diag = diag};
  p.lexer = ptx_lexer_create(path, text, length);
  scope_create(&p, UINT32_MAX);
  PLUMB_TRY(ptx_parser_advance(&p));
  if (!ptx_parser_at_dot(&p, "version"))
    return ptx_parser_fail(&p, "`.version`: a PTX module begins with it");
  while (p.token.kind != PTX_END) {
    if (ptx_parser_at(&p, ';')) {
      PLUMB_TRY(ptx_parser_advance(&p));
      continue;
    }
    if (p.token.kind != PTX_DOT) return ptx_parser_fail(&p, "a directive");
    PLUMB_TRY(module_item(&p));
  }
  return PLUMB_OK;
}
