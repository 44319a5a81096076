/* Functions that a PTX module declares and never defines: the device runtime, and
 * libdevice by its documentation (libdevice User's Guide). */
#include "ir/ptx/decode.h"

static plumb_reg result_reg(ptx_decoder *d, const ptx_operand *results) {
  if (!results || results->count != 1 || results->items[0].kind != PTX_OPERAND_NAME)
    return PLUMB_NO_REG;
  ptx_symbol *s = ptx_symbol_find(d, d->s->scope, results->items[0].name);
  return s && s->kind == PTX_SYMBOL_REG ? s->reg : PLUMB_NO_REG;
}

static bool holds(ptx_decoder *d, plumb_reg r, unsigned bytes) {
  return r != PLUMB_NO_REG && plumb_dtype_bytes(plumb_reg_type(d->f, r)) == bytes;
}

/* Operations that are an instruction of the program and no MATH function. */
typedef struct direct {
  const char *name;
  plumb_op op;
  size_t operands;
  plumb_round round;
} direct;

static const direct directs[] = {{"fabs", PLUMB_OP_ABS, 1, PLUMB_RN},
                                 {"sqrt", PLUMB_OP_SQRT, 1, PLUMB_RN},
                                 {"fmin", PLUMB_OP_MIN, 2, PLUMB_RN},
                                 {"fmax", PLUMB_OP_MAX, 2, PLUMB_RN},
                                 {"fma", PLUMB_OP_FMA, 3, PLUMB_RN},
                                 {"copysign", PLUMB_OP_COPYSIGN, 2, PLUMB_RN},
                                 {"floor", PLUMB_OP_ROUND_INT, 1, PLUMB_RM},
                                 {"ceil", PLUMB_OP_ROUND_INT, 1, PLUMB_RP},
                                 {"trunc", PLUMB_OP_ROUND_INT, 1, PLUMB_RZ},
                                 {"rint", PLUMB_OP_ROUND_INT, 1, PLUMB_RN},
                                 {"nearbyint", PLUMB_OP_ROUND_INT, 1, PLUMB_RN},
                                 {"round", PLUMB_OP_ROUND_INT, 1, PLUMB_RNA}};

static bool libdevice(ptx_decoder *d, const char *name, const ptx_operand *results,
                      const ptx_operand *args) {
  char stem[32];
  size_t n = strlen(name += strlen("__nv_"));
  plumb_reg r = result_reg(d, results);
  if (n >= sizeof stem || (!holds(d, r, 4) && !holds(d, r, 8)) || !args || !args->count ||
      args->count > 3)
    return false;
  plumb_dtype t = plumb_dtype_bytes(plumb_reg_type(d->f, r)) == 4 ? PLUMB_F32 : PLUMB_F64;
  strcpy(stem, name);
  if (t == PLUMB_F32 && stem[n - 1] == 'f')
    stem[n - 1] = 0;
  else if (t == PLUMB_F32)
    return false;
  plumb_reg v[3];
  for (size_t i = 0; i < sizeof directs / sizeof *directs; i++) {
    if (strcmp(directs[i].name, stem) != 0 || args->count != directs[i].operands) continue;
    for (size_t a = 0; a < args->count; a++) v[a] = ptx_value(d, &args->items[a], t);
    plumb_inst *inst = ptx_build(d, directs[i].op, t, r, v, args->count);
    inst->round = (uint8_t)directs[i].round;
    return !d->unknown;
  }
  for (int i = 0; i < PLUMB_MATH_COUNT; i++) {
    const plumb_math_info *m = &plumb_math_table[i];
    /* powi and ldexp take an integer: not of this shape. */
    if (strcmp(m->text, stem) != 0 || args->count != (size_t)m->arity || i == PLUMB_MATH_POWI ||
        i == PLUMB_MATH_LDEXP)
      continue;
    for (size_t a = 0; a < args->count; a++) v[a] = ptx_value(d, &args->items[a], t);
    ptx_build(d, PLUMB_OP_MATH, t, r, v, args->count)->sub = (uint8_t)i;
    return !d->unknown;
  }
  return false;
}

bool ptx_known_function(ptx_decoder *d, const char *name, const ptx_operand *results,
                        const ptx_operand *args, bool *out_ok) {
  plumb_reg r = result_reg(d, results);
  *out_ok = true;
  if (strncmp(name, "__nv_", 5) == 0) {
    *out_ok = libdevice(d, name, results, args);
  } else if (strcmp(name, "malloc") == 0 && holds(d, r, 8) && args && args->count == 1) {
    plumb_reg bytes = ptx_value(d, &args->items[0], PLUMB_I64);
    ptx_build(d, PLUMB_OP_ALLOC, PLUMB_I64, r, &bytes, 1)->imm = 16;
  } else if (strcmp(name, "free") == 0 && args && args->count == 1) {
    plumb_reg address = ptx_value(d, &args->items[0], PLUMB_I64);
    plumb_build(&d->b, PLUMB_OP_FREE, PLUMB_I64, NULL, 0, &address, 1);
  } else if (strcmp(name, "vprintf") == 0 && args && args->count == 2 &&
             (r == PLUMB_NO_REG || holds(d, r, 4))) {
    /* format and argument buffer, generic addresses (CUDA C++ Programming Guide 10.37) */
    plumb_reg v[2] = {ptx_value(d, &args->items[0], PLUMB_I64),
                      ptx_value(d, &args->items[1], PLUMB_I64)};
    plumb_reg count = r != PLUMB_NO_REG ? r : plumb_reg_create(d->f, PLUMB_I32);
    plumb_build(&d->b, PLUMB_OP_PRINT, PLUMB_I32, &count, 1, v, 2)->imm = -1;
  } else if (strcmp(name, "__assertfail") == 0 && args && args->count == 5) {
    /* void __assertfail(message, file, unsigned line, function, size_t charSize) */
    plumb_reg v[4] = {ptx_value(d, &args->items[0], PLUMB_I64),
                      ptx_value(d, &args->items[1], PLUMB_I64), PLUMB_NO_REG,
                      ptx_value(d, &args->items[3], PLUMB_I64)};
    plumb_reg line = ptx_value(d, &args->items[2], PLUMB_I32);
    v[2] = plumb_build_cvt(&d->b, PLUMB_I64, PLUMB_I32, line, 0, PLUMB_RN);
    plumb_build(&d->b, PLUMB_OP_ASSERT_FAIL, PLUMB_I64, NULL, 0, v, 4);
  } else if (strcmp(name, "__assertfail") == 0 || strcmp(name, "__assert_fail") == 0) {
    ptx_guard_to_branch(d);
    plumb_inst *trap = plumb_build(&d->b, PLUMB_OP_TRAP, PLUMB_I1, NULL, 0, NULL, 0);
    trap->imm = plumb_string_add(d->program, "device assertion failed");
  } else {
    return false;
  }
  return true;
}
