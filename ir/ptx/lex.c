/* Tokens of PTX (ISA 4.2 to 4.5). Lines starting with # (preprocessor) and with @@
 * (debug data, 11.5.1) are skipped. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "ir/ptx/ast.h"

ptx_lexer ptx_lexer_create(const char *path, const char *text, size_t length) {
  return (ptx_lexer){.path = path, .at = text, .end = text + length, .line_start = text, .line = 1};
}

static void new_line(ptx_lexer *l) {
  l->at++;
  l->line++;
  l->line_start = l->at;
}

static plumb_status skip_space(ptx_lexer *l, plumb_diag *diag) {
  while (l->at < l->end) {
    char c = *l->at;
    if (c == '\n') {
      new_line(l);
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      l->at++;
    } else if (l->at == l->line_start &&
               (c == '#' || (c == '@' && l->end - l->at > 1 && l->at[1] == '@'))) {
      while (l->at < l->end && *l->at != '\n') l->at++;
    } else if (c == '/' && l->end - l->at > 1 && l->at[1] == '/') {
      while (l->at < l->end && *l->at != '\n') l->at++;
    } else if (c == '/' && l->end - l->at > 1 && l->at[1] == '*') {
      int line = l->line, column = (int)(l->at - l->line_start) + 1;
      l->at += 2;
      for (;;) {
        if (l->end - l->at < 2)
          return plumb_fail(diag, PLUMB_BAD_INPUT, l->path, line, column, "comment has no end");
        if (l->at[0] == '*' && l->at[1] == '/') break;
        if (*l->at == '\n')
          new_line(l);
        else
          l->at++;
      }
      l->at += 2;
    } else {
      break;
    }
  }
  return PLUMB_OK;
}

static bool name_char(char c) {
  return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%';
}

static int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = (char)tolower((unsigned char)c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

static void take_digits(ptx_lexer *l, int base, uint64_t *value) {
  while (l->at < l->end && digit(*l->at) < base)
    *value = *value * (uint64_t)base + (uint64_t)digit(*l->at++);
}

/* Decimal floating point: digits, a point, an exponent (4.5.2). */
static bool decimal_float(ptx_lexer *l, ptx_token *t) {
  const char *at = l->at;
  bool point = false, exponent = false;
  while (at < l->end) {
    if (isdigit((unsigned char)*at)) {
    } else if (*at == '.' && !point && !exponent) {
      point = true;
    } else if ((*at == 'e' || *at == 'E') && !exponent) {
      exponent = true;
      if (l->end - at > 1 && (at[1] == '+' || at[1] == '-')) at++;
    } else {
      break;
    }
    at++;
  }
  if (!point && !exponent) return false;
  char buffer[64];
  size_t n = (size_t)(at - l->at);
  if (n >= sizeof buffer) n = sizeof buffer - 1;
  memcpy(buffer, l->at, n);
  buffer[n] = 0;
  double value = strtod(buffer, NULL);
  memcpy(&t->value, &value, sizeof value);
  t->kind = PTX_F64;
  l->at = at;
  return true;
}

static void number(ptx_lexer *l, ptx_token *t) {
  t->kind = PTX_INT;
  char next = l->end - l->at > 1 ? l->at[1] : 0;
  if (*l->at == '0' && (next == 'f' || next == 'F' || next == 'd' || next == 'D')) {
    t->kind = next == 'f' || next == 'F' ? PTX_F32 : PTX_F64;
    l->at += 2;
    take_digits(l, 16, &t->value);
    if (t->kind == PTX_F32) t->value &= UINT32_MAX;
  } else if (*l->at == '0' && (next == 'x' || next == 'X')) {
    l->at += 2;
    take_digits(l, 16, &t->value);
  } else if (*l->at == '0' && (next == 'b' || next == 'B')) {
    l->at += 2;
    take_digits(l, 2, &t->value);
  } else if (decimal_float(l, t)) {
    return;
  } else {
    take_digits(l, *l->at == '0' && isdigit((unsigned char)next) ? 8 : 10, &t->value);
  }
  if (t->kind == PTX_INT && l->at < l->end && (*l->at == 'U' || *l->at == 'u')) l->at++;
}

/* A suffix such as `.L1::no_allocate` or `.m16n8k16` is one token. */
static void dotted(ptx_lexer *l, ptx_token *t) {
  t->kind = PTX_DOT;
  const char *start = ++l->at;
  while (l->at < l->end &&
         (name_char(*l->at) || (*l->at == ':' && l->end - l->at > 2 && l->at[1] == ':')))
    l->at += *l->at == ':' ? 2 : 1;
  t->text = start;
  t->length = (size_t)(l->at - start);
}

plumb_status ptx_lexer_next(ptx_lexer *l, ptx_token *t, plumb_diag *diag) {
  const char *before = l->at;
  PLUMB_TRY(skip_space(l, diag));
  *t = (ptx_token){.kind = PTX_END,
                   .text = l->at,
                   .line = l->line,
                   .column = (int)(l->at - l->line_start) + 1,
                   .adjacent = before == l->at};
  if (l->at >= l->end) return PLUMB_OK;
  char c = *l->at, next = l->end - l->at > 1 ? l->at[1] : 0;
  if (isdigit((unsigned char)c)) {
    number(l, t);
  } else if (name_char(c)) {
    t->kind = PTX_NAME;
    while (l->at < l->end && name_char(*l->at)) l->at++;
    /* %tid.x and vector registers: the component belongs to the name. */
    if (c == '%')
      while (l->end - l->at > 1 && *l->at == '.' && strchr("xyzwrgba", l->at[1]) && l->at[1] &&
             (l->end - l->at == 2 || !name_char(l->at[2])))
        l->at += 2;
  } else if (c == '.' && (isalpha((unsigned char)next) || next == '_' ||
                          (isdigit((unsigned char)next) && t->adjacent))) {
    dotted(l, t);
    return PLUMB_OK;
  } else if (c == '"') {
    t->kind = PTX_STRING;
    t->text = ++l->at;
    while (l->at < l->end && *l->at != '"' && *l->at != '\n')
      l->at += *l->at == '\\' && l->end - l->at > 1 && l->at[1] != '\n' ? 2 : 1;
    if (l->at >= l->end || *l->at != '"')
      return plumb_fail(diag, PLUMB_BAD_INPUT, l->path, t->line, t->column, "string has no end");
    t->length = (size_t)(l->at++ - t->text);
    return PLUMB_OK;
  } else if (c > 0 && strchr("{}()[]<>,;:=|!@+-*/&^~?.", c)) {
    t->kind = PTX_PUNCT;
    l->at++;
  } else {
    return plumb_fail(diag, PLUMB_BAD_INPUT, l->path, t->line, t->column,
                      "byte 0x%02x starts no PTX token", (unsigned)(unsigned char)c);
  }
  t->length = (size_t)(l->at - t->text);
  return PLUMB_OK;
}
