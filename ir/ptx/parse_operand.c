/* Instructions and their operands (PTX ISA 4.3.2, chapter 6). */
#include "ir/ptx/parse.h"

enum { MAX_DEPTH = 16 };

static plumb_status add_item(ptx_parser *p, ptx_operand *out, size_t *capacity, int depth) {
  out->items = plumb_arena_grow(p->arena, out->items, capacity, out->count + 1, sizeof *out->items);
  return ptx_parse_operand(p, depth + 1, &out->items[out->count++]);
}

static plumb_status sequence(ptx_parser *p, char close, int depth, ptx_operand *out) {
  size_t capacity = 0;
  PLUMB_TRY(ptx_parser_advance(p));
  while (!ptx_parser_at(p, close)) {
    PLUMB_TRY(add_item(p, out, &capacity, depth));
    if (ptx_parser_at(p, ',')) {
      PLUMB_TRY(ptx_parser_advance(p));
    } else if (!ptx_parser_at(p, close)) {
      return ptx_parser_fail(p, close == '}' ? "`,` or `}`" : close == ')' ? "`,` or `)`" : "`]`");
    }
  }
  return ptx_parser_advance(p);
}

/* [base], [base+4], [base+-4], [12]; further items are a tensor's coordinates. */
static plumb_status address(ptx_parser *p, int depth, ptx_operand *out) {
  out->kind = PTX_OPERAND_ADDRESS;
  PLUMB_TRY(sequence(p, ']', depth, out));
  if (!out->count) return ptx_parser_fail(p, "an address between `[` and `]`");
  out->value = out->items[0].kind == PTX_OPERAND_NAME ? out->items[0].value : 0;
  if (out->items[0].kind == PTX_OPERAND_NAME) out->items[0].value = 0;
  return PLUMB_OK;
}

static plumb_status number(ptx_parser *p, bool minus, ptx_operand *out) {
  switch (p->token.kind) {
    case PTX_INT:
      out->kind = PTX_OPERAND_INT;
      PLUMB_TRY(ptx_parser_constant(p, &out->value));
      if (minus) out->value = 0 - out->value;
      return PLUMB_OK;
    case PTX_F32:
      out->kind = PTX_OPERAND_F32;
      out->value = p->token.value ^ (minus ? 1ull << 31 : 0);
      break;
    case PTX_F64:
      out->kind = PTX_OPERAND_F64;
      out->value = p->token.value ^ (minus ? 1ull << 63 : 0);
      break;
    default:
      return ptx_parser_fail(p, "an operand");
  }
  return ptx_parser_advance(p);
}

/* What follows a name or an address without a space: `.x` of a vector register (6.4.2),
 * the part selector of a video instruction (9.7.18) or `.unified` of a load. */
static plumb_status part(ptx_parser *p, ptx_operand *out) {
  if (p->token.kind != PTX_DOT || !p->token.adjacent) return PLUMB_OK;
  if (out->kind == PTX_OPERAND_NAME && p->token.length == 1 && strchr("xyzwrgba", *p->token.text))
    out->name = plumb_arena_printf(p->arena, "%s.%c", out->name, *p->token.text);
  else
    out->part = ptx_parser_text(p);
  return ptx_parser_advance(p);
}

static plumb_status named(ptx_parser *p, ptx_operand *out) {
  out->kind = PTX_OPERAND_NAME;
  out->name = ptx_parser_text(p);
  PLUMB_TRY(ptx_parser_advance(p));
  PLUMB_TRY(part(p, out));
  if (ptx_parser_at(p, '[') && p->token.adjacent) { /* an element of an array (6.4.2) */
    PLUMB_TRY(ptx_parser_advance(p));
    PLUMB_TRY(ptx_parser_constant(p, &out->index));
    if (!ptx_parser_at(p, ']')) return ptx_parser_fail(p, "`]`");
    PLUMB_TRY(ptx_parser_advance(p));
  }
  while (ptx_parser_at(p, '+') || ptx_parser_at(p, '-')) {
    bool minus = ptx_parser_at(p, '-');
    PLUMB_TRY(ptx_parser_advance(p));
    uint64_t value;
    PLUMB_TRY(ptx_parser_term(p, &value));
    out->value += minus ? 0 - value : value;
  }
  return PLUMB_OK;
}

/* -4, +1.5, and -a of vmad (9.7.18.4). */
static plumb_status signed_operand(ptx_parser *p, ptx_operand *out) {
  bool minus = false;
  while (ptx_parser_at(p, '-') || ptx_parser_at(p, '+')) {
    minus ^= ptx_parser_at(p, '-');
    PLUMB_TRY(ptx_parser_advance(p));
  }
  if (p->token.kind != PTX_NAME) return number(p, minus, out);
  out->minus = minus;
  return named(p, out);
}

plumb_status ptx_parse_operand(ptx_parser *p, int depth, ptx_operand *out) {
  *out = (ptx_operand){0};
  if (depth > MAX_DEPTH) return ptx_parser_fail(p, "an operand nested less deeply");
  if (ptx_parser_at(p, '!')) {
    PLUMB_TRY(ptx_parser_advance(p));
    out->negated = true;
    if (p->token.kind != PTX_NAME) return ptx_parser_fail(p, "a predicate after `!`");
  }
  if (ptx_parser_at(p, '[')) {
    PLUMB_TRY(address(p, depth, out));
    PLUMB_TRY(part(p, out));
  } else if (ptx_parser_at(p, '{')) {
    out->kind = PTX_OPERAND_VECTOR;
    PLUMB_TRY(sequence(p, '}', depth, out));
  } else if (ptx_parser_at(p, '(')) {
    out->kind = PTX_OPERAND_LIST;
    PLUMB_TRY(sequence(p, ')', depth, out));
  } else {
    PLUMB_TRY(signed_operand(p, out));
  }
  if (!ptx_parser_at(p, '|')) return PLUMB_OK;
  PLUMB_TRY(ptx_parser_advance(p));
  ptx_operand pair = {.kind = PTX_OPERAND_PAIR, .count = 2};
  pair.items = PLUMB_NEW_ARRAY(p->arena, ptx_operand, 2);
  pair.items[0] = *out;
  PLUMB_TRY(ptx_parse_operand(p, depth + 1, &pair.items[1]));
  *out = pair;
  return PLUMB_OK;
}

static plumb_status guard(ptx_parser *p, ptx_statement *out) {
  PLUMB_TRY(ptx_parser_advance(p));
  if (ptx_parser_at(p, '!')) {
    out->guard_not = true;
    PLUMB_TRY(ptx_parser_advance(p));
  }
  if (p->token.kind != PTX_NAME) return ptx_parser_fail(p, "a predicate after `@`");
  out->guard = ptx_parser_text(p);
  return ptx_parser_advance(p);
}

static char *one_line(plumb_arena *arena, const char *text, size_t length) {
  char *copy = plumb_arena_copy_text(arena, text, length > 200 ? 200 : length);
  for (char *c = copy; *c; c++)
    if (*c == '\n' || *c == '\t' || *c == '\r') *c = ' ';
  return copy;
}

plumb_status ptx_parse_instruction(ptx_parser *p, ptx_statement *out) {
  const char *start = p->token.text;
  out->kind = PTX_STATEMENT_INSTRUCTION;
  out->line = p->token.line;
  out->column = p->token.column;
  out->source = p->source;
  if (ptx_parser_at(p, '@')) PLUMB_TRY(guard(p, out));
  if (p->token.kind != PTX_NAME) return ptx_parser_fail(p, "an instruction");
  out->name = ptx_parser_text(p);
  PLUMB_TRY(ptx_parser_advance(p));
  while (p->token.kind == PTX_DOT) {
    if (out->part_count == PTX_MAX_PARTS) return ptx_parser_fail(p, "fewer suffixes");
    out->parts[out->part_count++] = ptx_parser_text(p);
    PLUMB_TRY(ptx_parser_advance(p));
  }
  size_t capacity = 0;
  while (!ptx_parser_at(p, ';')) {
    out->operands = plumb_arena_grow(p->arena, out->operands, &capacity, out->operand_count + 1,
                                     sizeof *out->operands);
    PLUMB_TRY(ptx_parse_operand(p, 0, &out->operands[out->operand_count++]));
    if (ptx_parser_at(p, ',')) {
      PLUMB_TRY(ptx_parser_advance(p));
      if (ptx_parser_at(p, ';')) return ptx_parser_fail(p, "an operand after `,`");
    } else if (!ptx_parser_at(p, ';')) {
      return ptx_parser_fail(p, "`,` or `;`");
    }
  }
  out->text = one_line(p->arena, start, (size_t)(p->token.text - start));
  return ptx_parser_advance(p);
}
