/* The `forms` column of instructions.def: which suffixes an instruction may have, and the
 * type forms one by one for `plumb ops ptx`. */
#include <string.h>

#include "ir/ptx/decode.h"
#include "ir/ptx/ptx.h"

typedef struct span {
  const char *at;
  size_t length;
} span;

static bool span_is(span s, const char *text) {
  return strlen(text) == s.length && memcmp(s.at, text, s.length) == 0;
}

/* Takes the text up to one of `stops`; false at the end. */
static bool take(span *rest, const char *stops, span *out) {
  while (rest->length && strchr(stops, *rest->at)) rest->at++, rest->length--;
  out->at = rest->at;
  out->length = 0;
  while (rest->length && !strchr(stops, *rest->at)) rest->at++, rest->length--, out->length++;
  return out->length != 0;
}

static span types_of(const char *forms) {
  return (span){forms, strcspn(forms, ";")};
}

static bool is_modifier(const char *forms, const char *part) {
  const char *list = strchr(forms, ';') + 1;
  span rest = {list, strlen(list)}, word;
  while (take(&rest, " ", &word))
    if (span_is(word, part)) return true;
  return false;
}

static bool is_type(const char *forms, const char *part) {
  span rest = types_of(forms), word;
  while (take(&rest, " .|", &word))
    if (span_is(word, part)) return true;
  return false;
}

static bool matches(span form, const char *const *types, size_t count) {
  if (count == 0) return span_is(form, "-");
  span position, word;
  size_t at = 0;
  while (take(&form, ".", &position)) {
    bool found = false;
    while (at < count && take(&position, "|", &word)) found |= span_is(word, types[at]);
    if (!found) return false;
    at++;
  }
  return at == count;
}

bool ptx_form_known(const char *forms, const ptx_statement *s) {
  const char *types[PTX_MAX_PARTS];
  size_t count = 0;
  if (!strchr(forms, ';')) return true;
  for (size_t i = 0; i < s->part_count; i++) {
    if (is_type(forms, s->parts[i]))
      types[count++] = s->parts[i];
    else if (!is_modifier(forms, s->parts[i]))
      return false;
  }
  span rest = types_of(forms), form;
  while (take(&rest, " ", &form))
    if (matches(form, types, count)) return true;
  return false;
}

/* --- one form after another --- */

typedef struct walk {
  plumb_ptx_form form;
  char types[64];
  void (*visit)(const plumb_ptx_form *form, void *user);
  void *user;
} walk;

/* Appends each alternative of the next position in turn. */
static void positions(walk *w, span rest, size_t length) {
  span position, word;
  if (!take(&rest, ".", &position)) {
    w->form.types = w->types;
    w->form.tested = w->form.executed && ptx_form_tested(w->form.mnemonic, w->types);
    w->visit(&w->form, w->user);
    return;
  }
  while (take(&position, "|", &word)) {
    if (length + word.length + 2 > sizeof w->types) continue;
    size_t at = length;
    if (at) w->types[at++] = '.';
    memcpy(w->types + at, word.at, word.length);
    w->types[at + word.length] = 0;
    positions(w, rest, at + word.length);
  }
}

void plumb_ptx_forms(void (*visit)(const plumb_ptx_form *form, void *user), void *user) {
  size_t count;
  const plumb_ptx_op *ops = plumb_ptx_ops(&count);
  for (size_t i = 0; i < count; i++) {
    walk w = {.visit = visit, .user = user};
    w.form = (plumb_ptx_form){ops[i].mnemonic, ops[i].section, NULL, ops[i].decoded, false};
    if (!strchr(ops[i].forms, ';')) {
      w.form.types = ops[i].forms;
      w.form.tested = ops[i].decoded && ptx_form_tested(ops[i].mnemonic, NULL);
      visit(&w.form, user);
      continue;
    }
    span rest = types_of(ops[i].forms), form;
    while (take(&rest, " ", &form)) positions(&w, form, 0);
  }
}

/* --- which forms have a test row --- */

static const plumb_ptx_row rows[] = {
#define R(text, inputs, outputs) {text, inputs, outputs},
#include "ir/ptx/rows.def"
#undef R
};

const plumb_ptx_row *plumb_ptx_rows(size_t *out_count) {
  *out_count = sizeof rows / sizeof *rows;
  return rows;
}

/* The next instruction's mnemonic and suffixes in a row's text: a word at the start of a
 * statement. */
static bool next_instruction(const char **at, span *out) {
  const char *c = *at;
  for (;;) {
    c += strspn(c, " ;\n\t");
    if (*c == '@') c += strcspn(c, " "), c += strspn(c, " ");
    if (!*c) return false;
    span word = {c, strcspn(c, " ;")};
    const char *end = c + word.length;
    if (word.length && end[-1] == ':') { /* a label */
      c = end;
      continue;
    }
    *at = end + strcspn(end, ";");
    if (*c == '.' || *c == '{' || *c == '}') { /* a declaration, a brace */
      c = *c == '.' ? *at : c + 1;
      continue;
    }
    *out = word;
    return true;
  }
}

static bool same_types(span instruction, const char *forms, const char *types) {
  span rest = instruction, word;
  char found[64] = "";
  size_t length = 0;
  take(&rest, ".", &word);
  while (take(&rest, ".", &word)) {
    char part[40];
    if (word.length >= sizeof part) return false;
    memcpy(part, word.at, word.length);
    part[word.length] = 0;
    if (!is_type(forms, part)) continue;
    if (length + word.length + 2 > sizeof found) return false;
    if (length) found[length++] = '.';
    memcpy(found + length, part, word.length + 1);
    length += word.length;
  }
  return strcmp(length ? found : "-", types) == 0;
}

bool ptx_form_tested(const char *mnemonic, const char *types) {
  size_t n = strlen(mnemonic);
  const char *forms = ptx_find_forms(mnemonic);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *at = rows[i].text;
    span word;
    while (next_instruction(&at, &word)) {
      if (word.length < n || memcmp(word.at, mnemonic, n) != 0) continue;
      if (word.length > n && word.at[n] != '.') continue;
      if (!types || same_types(word, forms, types)) return true;
    }
  }
  return false;
}
