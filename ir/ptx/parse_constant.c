/* Integer constant expressions (PTX ISA 4.5.6): C's operators over .s64, over .u64 where
 * an operand is one. */
#include "ir/ptx/parse.h"

typedef struct constant {
  uint64_t value;
  bool is_unsigned;
} constant;

enum { MAX_DEPTH = 32 };

static plumb_status expression(ptx_parser *p, int depth, int least, constant *out);

static bool has_u_suffix(const ptx_token *t) {
  char last = t->length ? t->text[t->length - 1] : 0;
  return last == 'U' || last == 'u';
}

/* (.s64) x and (.u64) x change the type only. */
static plumb_status parenthesis(ptx_parser *p, int depth, constant *out) {
  PLUMB_TRY(ptx_parser_advance(p));
  bool to_s64 = ptx_parser_at_dot(p, "s64");
  if (to_s64 || ptx_parser_at_dot(p, "u64")) {
    PLUMB_TRY(ptx_parser_advance(p));
    PLUMB_TRY(ptx_parser_expect(p, ')'));
    PLUMB_TRY(expression(p, depth + 1, 100, out));
    out->is_unsigned = !to_s64;
    return PLUMB_OK;
  }
  PLUMB_TRY(expression(p, depth + 1, 0, out));
  return ptx_parser_expect(p, ')');
}

static plumb_status unary(ptx_parser *p, int depth, constant *out) {
  char c = p->token.kind == PTX_PUNCT ? *p->token.text : 0;
  if (c == '(') return parenthesis(p, depth, out);
  if (c == '-' || c == '+' || c == '~' || c == '!') {
    PLUMB_TRY(ptx_parser_advance(p));
    PLUMB_TRY(expression(p, depth + 1, 100, out));
    out->value = c == '-'   ? 0 - out->value
                 : c == '~' ? ~out->value
                 : c == '!' ? out->value == 0
                            : out->value;
    return PLUMB_OK;
  }
  if (p->token.kind != PTX_INT) return ptx_parser_fail(p, "an integer");
  *out = (constant){p->token.value, has_u_suffix(&p->token)};
  return ptx_parser_advance(p);
}

typedef enum operation {
  MUL,
  DIV,
  REM,
  ADD,
  SUB,
  SHL,
  SHR,
  LT,
  GT,
  LE,
  GE,
  EQ,
  NE,
  AND,
  XOR,
  OR,
  LAND,
  LOR,
  NONE
} operation;

/* The operator at the current token, and whether it takes two tokens. */
static operation operator_at(const ptx_parser *p, int *out_precedence, bool *out_two) {
  static const struct {
    const char *text;
    operation op;
    int precedence;
  } rows[] = {{"<<", SHL, 8}, {">>", SHR, 8},  {"<=", LE, 7},  {">=", GE, 7},  {"==", EQ, 6},
              {"!=", NE, 6},  {"&&", LAND, 2}, {"||", LOR, 1}, {"*", MUL, 10}, {"/", DIV, 10},
              {"%", REM, 10}, {"+", ADD, 9},   {"-", SUB, 9},  {"<", LT, 7},   {">", GT, 7},
              {"&", AND, 5},  {"^", XOR, 4},   {"|", OR, 3}};
  /* A lone % is a name to the lexer. */
  if (p->token.kind != PTX_PUNCT && (p->token.length != 1 || *p->token.text != '%')) return NONE;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *t = rows[i].text;
    bool two = t[1] != 0;
    if (*p->token.text != *t || (two && (p->lexer.at >= p->lexer.end || *p->lexer.at != t[1])))
      continue;
    *out_precedence = rows[i].precedence;
    *out_two = two;
    return rows[i].op;
  }
  return NONE;
}

/* False for a division that has no value. */
static bool apply(operation op, constant a, constant b, constant *out) {
  bool u = a.is_unsigned || b.is_unsigned, less;
  uint64_t x = a.value, y = b.value;
  int64_t sx = (int64_t)x, sy = (int64_t)y;
  less = u ? x < y : sx < sy;
  out->is_unsigned = u;
  if ((op == DIV || op == REM) && y == 0) return false;
  bool wraps = !u && sx == INT64_MIN && sy == -1;
  switch (op) {
    case MUL:
      out->value = x * y;
      break;
    case DIV:
      out->value = u ? x / y : wraps ? x : (uint64_t)(sx / sy);
      break;
    case REM:
      out->value = u ? x % y : wraps ? 0 : (uint64_t)(sx % sy);
      break;
    case ADD:
      out->value = x + y;
      break;
    case SUB:
      out->value = x - y;
      break;
    case SHL:
      out->value = y > 63 ? 0 : x << y;
      out->is_unsigned = a.is_unsigned;
      break;
    case SHR:
      out->value = a.is_unsigned ? (y > 63 ? 0 : x >> y) : (uint64_t)(sx >> (y > 63 ? 63 : y));
      out->is_unsigned = a.is_unsigned;
      break;
    case LT:
      out->value = less;
      break;
    case GE:
      out->value = !less;
      break;
    case GT:
      out->value = !less && x != y;
      break;
    case LE:
      out->value = less || x == y;
      break;
    case EQ:
      out->value = x == y;
      break;
    case NE:
      out->value = x != y;
      break;
    case AND:
      out->value = x & y;
      break;
    case XOR:
      out->value = x ^ y;
      break;
    case OR:
      out->value = x | y;
      break;
    case LAND:
      out->value = x && y;
      break;
    default:
      out->value = x || y;
      break;
  }
  if (op >= LT && op != AND && op != XOR && op != OR) out->is_unsigned = false;
  return true;
}

static plumb_status conditional(ptx_parser *p, int depth, constant *out) {
  constant yes, no;
  PLUMB_TRY(ptx_parser_advance(p));
  PLUMB_TRY(expression(p, depth + 1, 0, &yes));
  PLUMB_TRY(ptx_parser_expect(p, ':'));
  PLUMB_TRY(expression(p, depth + 1, 0, &no));
  *out = out->value ? yes : no;
  return PLUMB_OK;
}

/* Operators of precedence above `least`. */
static plumb_status expression(ptx_parser *p, int depth, int least, constant *out) {
  if (depth > MAX_DEPTH) return ptx_parser_fail(p, "a constant expression nested less deeply");
  PLUMB_TRY(unary(p, depth, out));
  for (;;) {
    int precedence;
    bool two;
    if (ptx_parser_at(p, '?') && least == 0) return conditional(p, depth, out);
    operation op = operator_at(p, &precedence, &two);
    if (op == NONE || precedence <= least) return PLUMB_OK;
    for (int i = 0; i <= two; i++) PLUMB_TRY(ptx_parser_advance(p));
    constant right;
    PLUMB_TRY(expression(p, depth + 1, precedence, &right));
    if (!apply(op, *out, right, out))
      return ptx_parser_fail(p, "a division by another number than 0 before");
  }
}

static plumb_status above(ptx_parser *p, int least, uint64_t *out_value) {
  constant c;
  PLUMB_TRY(expression(p, 0, least, &c));
  *out_value = c.value;
  return PLUMB_OK;
}

plumb_status ptx_parser_constant(ptx_parser *p, uint64_t *out_value) {
  return above(p, 0, out_value);
}

plumb_status ptx_parser_term(ptx_parser *p, uint64_t *out_value) {
  return above(p, 9, out_value);
}

plumb_status ptx_parser_int(ptx_parser *p, uint64_t *out_value) {
  return above(p, 100, out_value);
}
