/* The printed form of a program. Line by line:
 *
 *     program 1 "softmax"
 *     global "tile" space=shared size=1024 align=4
 *     kernel "k" {
 *       param "x" i64 offset=0 size=8 align=8
 *       regs i64 f32*2
 *       block
 *         %0 = load i64 space=param i64:0x0
 *         @!%3 %1 = add f32 flags=ftz %1 f32:0x3f800000
 *         ret i1
 *     }
 *
 * A block is named by its number in the function, a register by %number, a constant by
 * type and bits. `;` starts a comment. Fields at their default are left out. */
#include <inttypes.h>
#include <string.h>

#include "ir/print.h"

static void print_string(plumb_text *out, const char *text) {
  plumb_text_append(out, "\"", 1);
  for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
    if (*c == '"' || *c == '\\' || *c < 32 || *c > 126)
      plumb_text_printf(out, "\\%02x", *c);
    else
      plumb_text_append(out, (const char *)c, 1);
  }
  plumb_text_append(out, "\"", 1);
}

static void print_reg(plumb_text *out, const plumb_program *p, plumb_reg r) {
  if (!plumb_reg_is_const(r)) {
    plumb_text_printf(out, "%%%" PRIu32, r);
    return;
  }
  const plumb_const *c = &p->consts[plumb_reg_const_index(r)];
  plumb_text_printf(out, "%s:0x%" PRIx64, plumb_dtype_table[c->type].text, c->bits);
  if (c->type == PLUMB_I128) plumb_text_printf(out, ":0x%" PRIx64, c->hi);
}

static void print_flags(plumb_text *out, uint32_t flags) {
  flags &= ~(uint32_t)PLUMB_FLAG_GUARD_NOT; /* printed with the guard */
  const char *separator = " flags=";
#define PLUMB_FLAG_ROW(name, text, bit) \
  if (flags & (1u << (bit))) { \
    plumb_text_printf(out, "%s%s", separator, text); \
    separator = ","; \
  }
#include "ir/enums.def"
#undef PLUMB_FLAG_ROW
}

static bool imm_is_string(const plumb_program *p, const plumb_inst *inst) {
  switch (inst->op) {
    case PLUMB_OP_CALL:
    case PLUMB_OP_LAUNCH:
    case PLUMB_OP_UNSUPPORTED:
    case PLUMB_OP_PRINT:
    case PLUMB_OP_TRAP:
      return inst->imm >= 0 && (uint64_t)inst->imm < p->string_count;
    default:
      return false;
  }
}

static void print_sub(plumb_text *out, const plumb_inst *inst) {
  plumb_sub_texts texts = plumb_op_sub_texts((plumb_op)inst->op);
  if (inst->sub < texts.count)
    plumb_text_printf(out, " sub=%s", texts.get(inst->sub));
  else if (inst->sub)
    plumb_text_printf(out, " sub=%u", inst->sub);
}

static void print_loc(plumb_text *out, const plumb_program *p, uint32_t index) {
  if (!index || index >= p->loc_count) return;
  const plumb_loc *loc = &p->locs[index];
  plumb_text_printf(out, " loc=%d:%d:%d", loc->line, loc->column, loc->stage_line);
  if (loc->file) {
    plumb_text_append(out, ":", 1);
    print_string(out, loc->file);
  }
}

static void print_inst(plumb_text *out, const plumb_program *p, const plumb_function *f,
                       const plumb_inst *inst) {
  plumb_text_printf(out, "    ");
  if (inst->guard != PLUMB_NO_REG)
    plumb_text_printf(out, "@%s%%%" PRIu32 " ", inst->flags & PLUMB_FLAG_GUARD_NOT ? "!" : "",
                      inst->guard);
  const plumb_reg *results = plumb_inst_results(f, inst), *operands = plumb_inst_operands(f, inst);
  for (size_t i = 0; i < inst->results; i++) {
    print_reg(out, p, results[i]);
    plumb_text_printf(out, i + 1 == inst->results ? " = " : " ");
  }
  plumb_text_printf(out, "%s %s", plumb_op_table[inst->op].mnemonic,
                    plumb_dtype_table[inst->type].text);
  if (inst->type2 != inst->type)
    plumb_text_printf(out, " from=%s", plumb_dtype_table[inst->type2].text);
  print_sub(out, inst);
  if (inst->round) plumb_text_printf(out, " round=%s", plumb_round_texts[inst->round]);
  if (inst->space) plumb_text_printf(out, " space=%s", plumb_space_texts[inst->space]);
  if (inst->align_log2) plumb_text_printf(out, " align=%u", inst->align_log2);
  print_flags(out, inst->flags);
  if (imm_is_string(p, inst)) {
    plumb_text_printf(out, " text=");
    print_string(out, p->strings[inst->imm]);
  } else if (inst->imm) {
    plumb_text_printf(out, " imm=%" PRId64, inst->imm);
  }
  /* A callee's number is found again from its name. */
  bool named =
      inst->op == PLUMB_OP_CALL || inst->op == PLUMB_OP_LAUNCH || inst->op == PLUMB_OP_UNSUPPORTED;
  if (inst->target != UINT32_MAX && !named) plumb_text_printf(out, " to=%" PRIu32, inst->target);
  if (inst->target2 != UINT32_MAX) plumb_text_printf(out, " else=%" PRIu32, inst->target2);
  print_loc(out, p, inst->loc);
  for (size_t i = 0; i < inst->operands; i++) {
    plumb_text_append(out, " ", 1);
    print_reg(out, p, operands[i]);
  }
  plumb_text_append(out, "\n", 1);
}

static void print_regs(plumb_text *out, const plumb_function *f) {
  if (!f->reg_count) return;
  plumb_text_printf(out, "  regs");
  for (size_t i = 0; i < f->reg_count;) {
    size_t run = 1;
    while (i + run < f->reg_count && f->reg_types[i + run] == f->reg_types[i]) run++;
    plumb_text_printf(out, " %s", plumb_dtype_table[f->reg_types[i]].text);
    if (run > 1) plumb_text_printf(out, "*%zu", run);
    i += run;
  }
  plumb_text_append(out, "\n", 1);
}

static void print_signature(plumb_text *out, const plumb_function *f) {
  for (size_t i = 0; i < f->param_count; i++) {
    const plumb_param *param = &f->params[i];
    plumb_text_printf(out, "  param ");
    print_string(out, param->name ? param->name : "");
    plumb_text_printf(out, " %s offset=%" PRIu32 " size=%" PRIu32 " align=%" PRIu32,
                      plumb_dtype_table[param->type].text, param->offset, param->size_bytes,
                      param->align);
    if (param->reg != PLUMB_NO_REG) plumb_text_printf(out, " %%%" PRIu32, param->reg);
    plumb_text_append(out, "\n", 1);
  }
  if (f->result_count) {
    plumb_text_printf(out, "  results");
    for (size_t i = 0; i < f->result_count; i++)
      plumb_text_printf(out, " %s", plumb_dtype_table[f->result_types[i]].text);
    plumb_text_append(out, "\n", 1);
  }
  if (f->param_bytes) plumb_text_printf(out, "  param_bytes %" PRIu32 "\n", f->param_bytes);
  if (f->frame_bytes) plumb_text_printf(out, "  frame %" PRIu32 "\n", f->frame_bytes);
  if (f->max_threads) plumb_text_printf(out, "  max_threads %" PRIu32 "\n", f->max_threads);
  if (f->required_threads[0])
    plumb_text_printf(out, "  required_threads %" PRIu32 " %" PRIu32 " %" PRIu32 "\n",
                      f->required_threads[0], f->required_threads[1], f->required_threads[2]);
  if (f->required_cluster[0])
    plumb_text_printf(out, "  required_cluster %" PRIu32 " %" PRIu32 " %" PRIu32 "\n",
                      f->required_cluster[0], f->required_cluster[1], f->required_cluster[2]);
}

static void print_function(plumb_text *out, const plumb_program *p, const plumb_function *f) {
  static const char *const kinds[] = {
      [PLUMB_HOST] = "host", [PLUMB_KERNEL] = "kernel", [PLUMB_DEVICE] = "device"};
  plumb_text_printf(out, "%s ", kinds[f->kind]);
  print_string(out, f->name);
  plumb_text_printf(out, f->external ? " external {\n" : " {\n");
  print_regs(out, f);
  print_signature(out, f);
  for (size_t i = 0; i < f->table_count; i++) {
    plumb_text_printf(out, "  table");
    for (uint32_t k = 1; k <= f->tables[i][0]; k++)
      plumb_text_printf(out, " %" PRIu32, f->tables[i][k]);
    plumb_text_append(out, "\n", 1);
  }
  for (size_t b = 0; b < f->block_count; b++) {
    plumb_text_printf(out, "  block ; %zu\n", b);
    for (size_t i = 0; i < f->blocks[b].inst_count; i++)
      print_inst(out, p, f, &f->blocks[b].insts[i]);
  }
  plumb_text_printf(out, "}\n");
}

static void print_global(plumb_text *out, const plumb_global *g) {
  plumb_text_printf(out, "global ");
  print_string(out, g->name);
  plumb_text_printf(out, " space=%s size=%" PRIu64 " align=%" PRIu32, plumb_space_texts[g->space],
                    g->size_bytes, g->align);
  if (g->zeroed) plumb_text_printf(out, " zeroed");
  if (g->dynamic) plumb_text_printf(out, " dynamic");
  if (g->external) plumb_text_printf(out, " external");
  if (g->init && g->size_bytes) {
    plumb_text_printf(out, " init=");
    for (uint64_t i = 0; i < g->size_bytes; i++) plumb_text_printf(out, "%02x", g->init[i]);
  }
  plumb_text_append(out, "\n", 1);
  for (size_t i = 0; i < g->reloc_count; i++) {
    plumb_text_printf(out, "  reloc ");
    print_string(out, g->relocs[i].symbol);
    plumb_text_printf(out, " offset=%" PRIu64 " addend=%" PRId64 "%s\n", g->relocs[i].offset,
                      g->relocs[i].addend, g->relocs[i].generic ? " generic" : "");
  }
}

void plumb_program_print(const plumb_program *p, plumb_text *out) {
  plumb_text_printf(out, "program 1 ");
  print_string(out, p->name);
  plumb_text_append(out, "\n", 1);
  for (size_t i = 0; i < p->global_count; i++) print_global(out, &p->globals[i]);
  for (size_t i = 0; i < p->function_count; i++) print_function(out, p, p->functions[i]);
}
