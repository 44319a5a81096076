/* vector.bitcast, vector.type_cast and vector.print: vectors as other vectors, as memory, as
 * text. */
#include <string.h>

#include "ir/mlir/vector_internal.h"

/* A register's bits as i64. */
static plumb_reg bits_of(plumb_mlir_decoder *d, plumb_dtype type, plumb_reg r) {
  static const plumb_dtype words[] = {
      [1] = PLUMB_I8, [2] = PLUMB_I16, [4] = PLUMB_I32, [8] = PLUMB_I64};
  if (type == PLUMB_I1) {
    plumb_reg word = plumb_reg_create(d->b.function, PLUMB_I64);
    plumb_build(&d->b, PLUMB_OP_SELECT, PLUMB_I64, &word, 1,
                (plumb_reg[]){r, plumb_mlir_i64(d, 1), plumb_mlir_i64(d, 0)}, 3);
    return word;
  }
  plumb_dtype word = words[plumb_dtype_bytes(type)];
  if (word != type) r = plumb_build1(&d->b, PLUMB_OP_MOV, word, r);
  return word == PLUMB_I64 ? r : plumb_build_cvt(&d->b, PLUMB_I64, word, r, 0, PLUMB_RN);
}

/* The other way round: the low bits of an i64. */
static plumb_reg of_bits(plumb_mlir_decoder *d, plumb_dtype type, plumb_reg bits) {
  static const plumb_dtype words[] = {
      [1] = PLUMB_I8, [2] = PLUMB_I16, [4] = PLUMB_I32, [8] = PLUMB_I64};
  if (type == PLUMB_I1)
    return plumb_build_cmp(&d->b, PLUMB_CMP_NE, PLUMB_I64, bits, plumb_mlir_i64(d, 0));
  plumb_dtype word = words[plumb_dtype_bytes(type)];
  if (word != PLUMB_I64) bits = plumb_build_cvt(&d->b, word, PLUMB_I64, bits, 0, PLUMB_RN);
  return word == type ? bits : plumb_build1(&d->b, PLUMB_OP_MOV, type, bits);
}

/* Elements that do not fill what holds them: the bits of all in order, the first in the lowest (as
 * LLVM's bitcast of vectors has it on a little-endian machine). */
static bool cast_bits(plumb_mlir_decoder *d, const plumb_mlir_flat *from, const plumb_reg *in,
                      const plumb_mlir_flat *to, plumb_reg *out) {
  size_t old = (size_t)from->bits, fresh = (size_t)to->bits;
  if (old > 64 || fresh > 64 || old * from->count != fresh * to->count)
    return plumb_mlir_reject(d, "elements of more than 64 bits");
  for (size_t k = 0; k < to->count; k++) {
    plumb_reg all = PLUMB_NO_REG;
    for (size_t at = k * fresh; at < (k + 1) * fresh;) {
      size_t i = at / old, end = (i + 1) * old < (k + 1) * fresh ? (i + 1) * old : (k + 1) * fresh;
      uint64_t mask = end - at == 64 ? UINT64_MAX : (1ull << (end - at)) - 1;
      plumb_reg part =
          plumb_build2(&d->b, PLUMB_OP_SHR_U, PLUMB_I64, bits_of(d, from->types[i], in[i]),
                       plumb_mlir_i64(d, (int64_t)(at - i * old)));
      part = plumb_build2(&d->b, PLUMB_OP_AND, PLUMB_I64, part, plumb_mlir_i64(d, (int64_t)mask));
      part = plumb_build2(&d->b, PLUMB_OP_SHL, PLUMB_I64, part,
                          plumb_mlir_i64(d, (int64_t)(at - k * fresh)));
      all = all == PLUMB_NO_REG ? part : plumb_build2(&d->b, PLUMB_OP_OR, PLUMB_I64, all, part);
      at = end;
    }
    out[k] = of_bits(d, to->types[k], all);
  }
  return true;
}

/* The elements' bytes in order, read as elements of another size: through the frame. */
bool plumb_vector_decode_bitcast(plumb_mlir_decoder *d, MlirOperation op,
                                 const plumb_mlir_op *row) {
  (void)row;
  plumb_mlir_flat from, to;
  if (!plumb_mlir_flatten(d, plumb_mlir_operand_type(op, 0), &from) ||
      !plumb_mlir_flatten(d, plumb_mlir_result_type(op, 0), &to))
    return false;
  plumb_mlir_run run = plumb_mlir_operand(d, op, 0);
  plumb_reg *regs = plumb_vector_regs(d, to.count);
  bool whole = from.bits == 8 * (int)plumb_dtype_bytes(from.types[0]) &&
               to.bits == 8 * (int)plumb_dtype_bytes(to.types[0]);
  if (!whole) {
    if (!cast_bits(d, &from, run.regs, &to, regs)) return false;
  } else if (from.count == to.count) {
    for (size_t i = 0; i < to.count; i++)
      regs[i] = plumb_build1(&d->b, PLUMB_OP_MOV, to.types[i], run.regs[i]);
  } else {
    unsigned in = plumb_dtype_bytes(from.types[0]), out = plumb_dtype_bytes(to.types[0]);
    plumb_reg address = plumb_reg_create(d->b.function, PLUMB_I64);
    plumb_build(&d->b, PLUMB_OP_FRAME, PLUMB_I64, &address, 1, NULL, 0)->imm =
        plumb_frame_reserve(d->b.function, from.count * in, 16);
    for (size_t i = 0; i < from.count; i++)
      plumb_build_store(&d->b, from.types[i], PLUMB_SPACE_LOCAL, address, (int64_t)(i * in),
                        run.regs[i]);
    for (size_t i = 0; i < to.count; i++)
      regs[i] =
          plumb_build_load(&d->b, to.types[i], PLUMB_SPACE_LOCAL, address, (int64_t)(i * out));
  }
  plumb_mlir_define_result(d, op, 0, regs, to.count);
  return true;
}

/* vector.type_cast: the trailing dimensions of a contiguous memref as a vector, or the leading
 * ones of its vectors as dimensions. The bytes stay: both types must agree on where each
 * element lies. */
bool plumb_vector_decode_type_cast(plumb_mlir_decoder *d, MlirOperation op,
                                   const plumb_mlir_op *row) {
  (void)row;
  MlirType type = plumb_mlir_result_type(op, 0);
  plumb_mlir_run run = plumb_mlir_operand(d, op, 0);
  plumb_mlir_buffer from;
  plumb_mlir_element to;
  if (!plumb_mlir_buffer_open(d, run, plumb_mlir_operand_type(op, 0), &from) ||
      !plumb_mlir_element_layout(d, type, &to))
    return false;
  size_t rank = (size_t)mlirShapedTypeGetRank(type);
  bool rows_agree = from.element.row == to.row && from.element.row_bytes == to.row_bytes;
  bool packed =
      to.row_bytes == (int64_t)(to.row * plumb_dtype_bytes(to.dtype)) &&
      from.element.row_bytes == (int64_t)(from.element.row * plumb_dtype_bytes(from.element.dtype));
  if (from.element.dtype != to.dtype || (!rows_agree && !packed))
    return plumb_mlir_reject(d, "elements that would lie elsewhere");
  plumb_reg *zeros = plumb_vector_regs(d, from.rank), *sizes = plumb_vector_regs(d, rank);
  for (size_t i = 0; i < from.rank; i++) zeros[i] = plumb_mlir_i64(d, 0);
  for (size_t i = 0; i < rank; i++) {
    if (mlirShapedTypeIsDynamicDim(type, (intptr_t)i))
      return plumb_mlir_reject(d, "a dynamic dimension");
    sizes[i] = plumb_mlir_i64(d, mlirShapedTypeGetDimSize(type, (intptr_t)i));
  }
  plumb_mlir_run out = plumb_mlir_contiguous(d, plumb_mlir_address(d, &from, zeros), sizes, rank);
  plumb_reg *regs = plumb_vector_regs(d, out.count);
  memcpy(regs, out.regs, out.count * sizeof *regs);
  regs[0] = run.regs[0]; /* what is freed */
  plumb_mlir_define_result(d, op, 0, regs, out.count);
  return true;
}

/* The conversion of one element, as MLIR's runner library prints it. */
static const char *conversion_of(MlirType element) {
  if (mlirTypeIsAFloat(element)) return "%g";
  bool is_bit = mlirTypeIsAInteger(element) && mlirIntegerTypeGetWidth(element) == 1;
  bool is_unsigned = mlirTypeIsAIndex(element) || is_bit ||
                     (mlirTypeIsAInteger(element) && mlirIntegerTypeIsUnsigned(element));
  return is_unsigned ? "%u" : "%d";
}

static void append_nested(plumb_text *text, const plumb_vector_shape *shape, size_t dimension,
                          const char *conversion) {
  if (dimension == shape->rank) {
    plumb_text_printf(text, "%s", conversion);
    return;
  }
  for (int64_t i = 0; i < shape->dims[dimension]; i++) {
    plumb_text_printf(text, "%s", i ? ", " : "( ");
    append_nested(text, shape, dimension + 1, conversion);
  }
  plumb_text_printf(text, " )");
}

/* vector.print: a value or a text, then what `punctuation` names (a new line, unless it says
 * otherwise). */
bool plumb_vector_decode_print(plumb_mlir_decoder *d, MlirOperation op, const plumb_mlir_op *row) {
  (void)row;
  plumb_text format = plumb_text_create(d->arena);
  plumb_mlir_run values = plumb_mlir_operands(d, op, 0, mlirOperationGetNumOperands(op));
  MlirAttribute attribute;
  if (plumb_mlir_attribute(op, "stringLiteral", &attribute)) {
    for (const char *c = plumb_mlir_symbol_text(d, attribute); *c; c++)
      plumb_text_printf(&format, *c == '%' ? "%%%%" : "%c", *c);
  } else if (values.count) {
    MlirType type = plumb_mlir_operand_type(op, 0), element = plumb_mlir_element_type(type);
    plumb_vector_shape shape;
    if (!plumb_vector_shape_of(d, type, &shape)) return false;
    if (mlirTypeIsAVector(type) && !shape.rank)
      plumb_text_printf(&format, "( %s )", conversion_of(element));
    else
      append_nested(&format, &shape, 0, conversion_of(element));
    plumb_dtype stored;
    int bits;
    if (strcmp(conversion_of(element), "%d") == 0 &&
        plumb_mlir_scalar_type(element, &stored, &bits)) {
      plumb_reg *extended = plumb_vector_regs(d, values.count);
      for (size_t i = 0; i < values.count; i++)
        extended[i] = plumb_mlir_extend(d, stored, bits, values.regs[i]);
      values.regs = extended;
    }
  }
  const char *mark = plumb_mlir_attribute_text(d, op, "punctuation");
  plumb_text_printf(&format, "%s",
                    strstr(mark, "newline") ? "\n"
                    : strstr(mark, "comma") ? ", "
                    : strstr(mark, "open")  ? "( "
                    : strstr(mark, "close") ? " )"
                                            : "");
  plumb_build(&d->b, PLUMB_OP_PRINT, PLUMB_I1, NULL, 0, values.regs, values.count)->imm =
      plumb_string_add(d->program, format.data ? format.data : "");
  return true;
}
