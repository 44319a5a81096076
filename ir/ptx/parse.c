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

static uint32_t scope_create(ptx_parser *p, uint32_t parent) {
  ptx_module *m = p->module;
  m->scope_parents = plumb_arena_grow(p->arena, m->scope_parents, &m->scope_capacity,
                                      m->scope_count + 1, sizeof *m->scope_parents);
  m->scope_parents[m->scope_count] = parent;
  return (uint32_t)m->scope_count++;
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

static plumb_status alias(ptx_parser *p) {
  ptx_module *m = p->module;
  ptx_alias a = {.line = p->token.line, .column = p->token.column};
  PLUMB_TRY(ptx_parser_advance(p));
  if (p->token.kind != PTX_NAME) return ptx_parser_fail(p, "an alias");
  a.name = ptx_parser_text(p);
  PLUMB_TRY(ptx_parser_advance(p));
  PLUMB_TRY(ptx_parser_expect(p, ','));
  if (p->token.kind != PTX_NAME) return ptx_parser_fail(p, "the function that it names");
  a.target = ptx_parser_text(p);
  PLUMB_TRY(ptx_parser_advance(p));
  m->aliases =
      plumb_arena_grow(p->arena, m->aliases, &m->alias_capacity, m->alias_count + 1, sizeof a);
  m->aliases[m->alias_count++] = a;
  return ptx_parser_expect(p, ';');
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
  if (ptx_parser_at_dot(p, "alias")) return alias(p);
  if (ptx_parser_at_dot(p, "pragma")) {
    while (!ptx_parser_at(p, ';')) {
      if (p->token.kind == PTX_END) return ptx_parser_fail(p, "`;`");
      PLUMB_TRY(ptx_parser_advance(p));
    }
    return ptx_parser_advance(p);
  }
  *out_known = false;
  return PLUMB_OK;
}

/* After `name:`, which `list` has already. */
static plumb_status list_directive(ptx_parser *p, ptx_function *f, ptx_list list, uint32_t scope) {
  bool prototype = ptx_parser_at_dot(p, "callprototype");
  PLUMB_TRY(ptx_parser_advance(p));
  if (prototype) {
    if (ptx_parser_at(p, '('))
      PLUMB_TRY(ptx_parse_parameters(p, scope, &list.outputs, &list.output_count));
    if (p->token.kind != PTX_NAME) return ptx_parser_fail(p, "`_`");
    PLUMB_TRY(ptx_parser_advance(p));
    if (ptx_parser_at(p, '('))
      PLUMB_TRY(ptx_parse_parameters(p, scope, &list.inputs, &list.input_count));
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
    return list_directive(
        p, f, (ptx_list){.name = name, .scope = scope, .line = line, .column = column}, scope);
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
      PLUMB_TRY(ptx_parse_linkage(p, &v));
      if (!ptx_parse_space(p, &v.space))
        return ptx_parser_fail(p, "a directive of a function body");
      PLUMB_TRY(ptx_parser_advance(p));
      PLUMB_TRY(ptx_parse_variable_type(p, &v));
      PLUMB_TRY(
          ptx_parse_declarators(p, &v, &f->variables, &f->variable_count, &f->variable_capacity));
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

static plumb_status function(ptx_parser *p, bool is_entry, const ptx_variable *linkage) {
  ptx_module *m = p->module;
  ptx_function f = {.is_entry = is_entry,
                    .is_weak = linkage->is_weak,
                    .is_visible = is_entry || linkage->is_visible || linkage->external,
                    .line = p->token.line,
                    .column = p->token.column};
  p->source = (ptx_source){0};
  f.scope = scope_create(p, 0);
  PLUMB_TRY(ptx_parser_advance(p));
  while (p->token.kind == PTX_DOT) { /* .attribute(...), .noreturn */
    bool noreturn = ptx_parser_at_dot(p, "noreturn");
    if (!noreturn && !ptx_parser_at_dot(p, "attribute"))
      return ptx_parser_fail(p, "a function's name");
    f.noreturn |= noreturn;
    PLUMB_TRY(ptx_parser_advance(p));
    if (!noreturn) PLUMB_TRY(ptx_parse_attribute(p));
  }
  if (ptx_parser_at(p, '('))
    PLUMB_TRY(ptx_parse_parameters(p, f.scope, &f.outputs, &f.output_count));
  if (p->token.kind != PTX_NAME) return ptx_parser_fail(p, "a function's name");
  f.name = ptx_parser_text(p);
  PLUMB_TRY(ptx_parser_advance(p));
  if (ptx_parser_at(p, '(')) PLUMB_TRY(ptx_parse_parameters(p, f.scope, &f.inputs, &f.input_count));
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

static void read_version(const ptx_token *token, unsigned out[2]) {
  out[0] = out[1] = 0;
  for (size_t i = 0, part = 0; i < token->length; i++) {
    if (token->text[i] == '.' && part == 0)
      part = 1;
    else if (token->text[i] < '0' || token->text[i] > '9' || out[part] > 99999)
      return;
    else
      out[part] = out[part] * 10 + (unsigned)(token->text[i] - '0');
  }
}

/* .version, .target and .address_size (11.1): which code the module may hold. A newer
 * version and any target are taken: only an unknown instruction is unsupported (the version
 * is noted in the program: decode.c). */
static plumb_status module_head(ptx_parser *p) {
  bool is_size = ptx_parser_at_dot(p, "address_size");
  bool is_version = ptx_parser_at_dot(p, "version");
  PLUMB_TRY(ptx_parser_advance(p));
  if (is_size && (p->token.kind != PTX_INT || p->token.value != 64))
    return ptx_parser_fail(p, "an address size of 64");
  if (is_version && p->token.kind != PTX_F64 && p->token.kind != PTX_INT)
    return ptx_parser_fail(p, "a version such as 9.0");
  if (is_version) read_version(&p->token, p->module->version);
  if (is_size || is_version) return ptx_parser_advance(p);
  for (;;) {
    if (p->token.kind != PTX_NAME) return ptx_parser_fail(p, "a target such as sm_90");
    PLUMB_TRY(ptx_parser_advance(p));
    if (!ptx_parser_at(p, ',')) return PLUMB_OK;
    PLUMB_TRY(ptx_parser_advance(p));
  }
}

/* .const[2]: the bank of PTX before 2.2 (5.1.3). */
static plumb_status const_bank(ptx_parser *p) {
  uint64_t bank;
  if (!ptx_parser_at(p, '[')) return PLUMB_OK;
  PLUMB_TRY(ptx_parser_advance(p));
  PLUMB_TRY(ptx_parser_int(p, &bank));
  return ptx_parser_expect(p, ']');
}

static plumb_status module_item(ptx_parser *p) {
  ptx_module *m = p->module;
  ptx_variable v = {0};
  bool known;
  PLUMB_TRY(common_directive(p, &known));
  if (known) return PLUMB_OK;
  if (ptx_parser_at_dot(p, "version") || ptx_parser_at_dot(p, "target") ||
      ptx_parser_at_dot(p, "address_size"))
    return module_head(p);
  PLUMB_TRY(ptx_parse_linkage(p, &v));
  if (ptx_parser_at_dot(p, "entry") || ptx_parser_at_dot(p, "func"))
    return function(p, ptx_parser_at_dot(p, "entry"), &v);
  if (ptx_parser_at_dot(p, "tex"))
    v.space = PTX_GLOBAL;
  else if (!ptx_parse_space(p, &v.space) || v.space == PTX_PARAM)
    return ptx_parser_fail(p, "a directive of a PTX module");
  PLUMB_TRY(ptx_parser_advance(p));
  if (v.space == PTX_CONST) PLUMB_TRY(const_bank(p));
  PLUMB_TRY(ptx_parse_variable_type(p, &v));
  return ptx_parse_declarators(p, &v, &m->variables, &m->variable_count, &m->variable_capacity);
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
