#include "tasks/size.h"

#include <ctype.h>
#include <string.h>

typedef struct parser {
  const char *expression;
  const char *at;
  plumb_size_lookup lookup;
  void *user;
  plumb_diag *diag;
  int depth;
} parser;

static plumb_status fail(parser *p, const char *what) {
  return plumb_fail(p->diag, PLUMB_BAD_INPUT, NULL, 0, 0, "size '%.80s': %s at '%.20s'",
                    p->expression, what, *p->at ? p->at : "end");
}

static void skip_space(parser *p) {
  while (isspace((unsigned char)*p->at)) p->at++;
}

static plumb_status parse_sum(parser *p, int64_t *out);

static plumb_status apply(parser *p, char op, int64_t a, int64_t b, int64_t *out) {
  bool overflow = false;
  if (op == '+') overflow = __builtin_add_overflow(a, b, out);
  if (op == '-') overflow = __builtin_sub_overflow(a, b, out);
  if (op == '*') overflow = __builtin_mul_overflow(a, b, out);
  if (op == '/' || op == '%') {
    if (b == 0) return fail(p, "division by zero");
    if (a == INT64_MIN && b == -1) return fail(p, "overflow");
    *out = op == '/' ? a / b : a % b;
  }
  return overflow ? fail(p, "overflow") : PLUMB_OK;
}

static plumb_status call(parser *p, const char *name, size_t length, int64_t *out) {
  int64_t args[2] = {0, 0};
  size_t count = 0;
  p->at++;
  for (;;) {
    if (count == 2) return fail(p, "too many arguments");
    PLUMB_TRY(parse_sum(p, &args[count++]));
    skip_space(p);
    if (*p->at == ',') {
      p->at++;
      continue;
    }
    if (*p->at != ')') return fail(p, "expected ')'");
    p->at++;
    break;
  }
  bool one = length == 4 && memcmp(name, "pow2", 4) == 0;
  if (count != (one ? 1u : 2u)) return fail(p, "wrong number of arguments before");
  if (one) {
    int64_t power = 1;
    while (power < args[0])
      if (__builtin_mul_overflow(power, (int64_t)2, &power)) return fail(p, "overflow");
    *out = power;
    return PLUMB_OK;
  }
  if (length == 3 && memcmp(name, "min", 3) == 0) {
    *out = args[0] < args[1] ? args[0] : args[1];
  } else if (length == 3 && memcmp(name, "max", 3) == 0) {
    *out = args[0] > args[1] ? args[0] : args[1];
  } else if (length == 7 && memcmp(name, "ceildiv", 7) == 0) {
    if (args[1] <= 0) return fail(p, "ceildiv by a number that is not positive");
    *out = args[0] / args[1] + (args[0] % args[1] > 0);
  } else {
    return fail(p, "unknown function (known: ceildiv, min, max, pow2)");
  }
  return PLUMB_OK;
}

static plumb_status parse_atom(parser *p, int64_t *out) {
  skip_space(p);
  if (++p->depth > 64) return fail(p, "nested too deeply");
  plumb_status status = PLUMB_OK;
  if (*p->at == '(') {
    p->at++;
    PLUMB_TRY(parse_sum(p, out));
    skip_space(p);
    if (*p->at != ')') return fail(p, "expected ')'");
    p->at++;
  } else if (*p->at == '-') {
    p->at++;
    int64_t value;
    PLUMB_TRY(parse_atom(p, &value));
    status = apply(p, '-', 0, value, out);
  } else if (isdigit((unsigned char)*p->at)) {
    int64_t value = 0;
    for (; isdigit((unsigned char)*p->at); p->at++)
      if (__builtin_mul_overflow(value, (int64_t)10, &value) ||
          __builtin_add_overflow(value, (int64_t)(*p->at - '0'), &value))
        return fail(p, "number too large");
    *out = value;
  } else if (isalpha((unsigned char)*p->at) || *p->at == '_') {
    const char *name = p->at;
    while (isalnum((unsigned char)*p->at) || *p->at == '_') p->at++;
    size_t length = (size_t)(p->at - name);
    skip_space(p);
    if (*p->at == '(')
      status = call(p, name, length, out);
    else if (!p->lookup(p->user, name, length, out)) {
      p->at = name;
      status = fail(p, "unknown size");
    }
  } else {
    status = fail(p, "expected a number or a size");
  }
  p->depth--;
  return status;
}

static plumb_status parse_product(parser *p, int64_t *out) {
  PLUMB_TRY(parse_atom(p, out));
  for (;;) {
    skip_space(p);
    char op = *p->at;
    if (op != '*' && op != '/' && op != '%') return PLUMB_OK;
    p->at++;
    int64_t right;
    PLUMB_TRY(parse_atom(p, &right));
    PLUMB_TRY(apply(p, op, *out, right, out));
  }
}

static plumb_status parse_sum(parser *p, int64_t *out) {
  PLUMB_TRY(parse_product(p, out));
  for (;;) {
    skip_space(p);
    char op = *p->at;
    if (op != '+' && op != '-') return PLUMB_OK;
    p->at++;
    int64_t right;
    PLUMB_TRY(parse_product(p, &right));
    PLUMB_TRY(apply(p, op, *out, right, out));
  }
}

plumb_status plumb_size_evaluate(const char *expression, plumb_size_lookup lookup, void *user,
                                 int64_t *out_value, plumb_diag *diag) {
  parser p = {expression, expression, lookup, user, diag, 0};
  PLUMB_TRY(parse_sum(&p, out_value));
  skip_space(&p);
  return *p.at ? fail(&p, "unexpected text") : PLUMB_OK;
}
