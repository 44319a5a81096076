#include "tasks/invoke.h"

#include <string.h>

#include "ir/signature.h"

/* --- binding --- */

static plumb_status find_entry(const plumb_stage *stage, plumb_invocation *v,
                               const plumb_function **out, plumb_diag *diag) {
  /* Without a name: the only host function, else the only kernel. */
  const plumb_function *host = NULL, *kernel = NULL, *named = NULL;
  size_t hosts = 0, kernels = 0;
  for (size_t i = 0; i < stage->program->function_count; i++) {
    const plumb_function *f = stage->program->functions[i];
    if (f->external || f->kind == PLUMB_DEVICE) continue;
    if (v->entry && strcmp(f->name, v->entry) == 0 && (!named || f->kind == PLUMB_HOST)) named = f;
    if (f->kind == PLUMB_HOST) {
      host = f;
      hosts++;
    } else {
      kernel = f;
      kernels++;
    }
  }
  if (v->entry && !named)
    return plumb_fail(diag, PLUMB_BAD_INPUT, v->path, 0, 0, "has no function '%s' to run",
                      v->entry);
  *out = named ? named : hosts == 1 ? host : hosts == 0 && kernels == 1 ? kernel : NULL;
  if (!*out)
    return plumb_fail(diag, PLUMB_BAD_INPUT, v->path, 0, 0,
                      "has %zu host functions and %zu kernels; name one with --entry", hosts,
                      kernels);
  return PLUMB_OK;
}

static plumb_status bind_host(plumb_arena *arena, const plumb_stage *stage, plumb_invocation *v,
                              plumb_diag *diag) {
  plumb_signature info;
  PLUMB_TRY(plumb_signature_read(arena, v->path, stage->text, v->entry, &info, diag));
  if (v->arg_count != info.input_count)
    return plumb_fail(diag, PLUMB_BAD_INPUT, v->path, 0, 0,
                      "%s takes %zu arguments, %zu are given (--arg, one each)", v->entry,
                      info.input_count, v->arg_count);
  for (size_t i = 0; i < v->arg_count; i++) {
    const plumb_signature_value *in = &info.inputs[i];
    v->arg_values[i] = in->kind == PLUMB_SIGNATURE_TENSOR;
    PLUMB_TRY(plumb_value_parse(arena, v->arg_texts[i], in->dtype,
                                in->kind == PLUMB_SIGNATURE_SCALAR ? NULL : in->dims, in->rank,
                                &v->args[i], diag));
    if (v->args[i].is_scalar != (in->kind == PLUMB_SIGNATURE_SCALAR))
      return plumb_fail(diag, PLUMB_BAD_INPUT, v->path, 0, 0,
                        "argument %zu of %s is %s; got '%.40s'", i, v->entry, in->text,
                        v->arg_texts[i]);
    for (size_t d = 0; d < in->rank; d++)
      if (v->args[i].array.rank != in->rank ||
          (in->dims[d] >= 0 && in->dims[d] != v->args[i].array.dims[d]))
        return plumb_fail(diag, PLUMB_BAD_INPUT, v->path, 0, 0,
                          "argument %zu of %s is %s; the shape of '%.40s' does not fit", i,
                          v->entry, in->text, v->arg_texts[i]);
  }
  v->result_count = info.result_count;
  v->results = PLUMB_NEW_ARRAY(arena, plumb_call_result, info.result_count);
  for (size_t i = 0; i < info.result_count; i++)
    v->results[i] = (plumb_call_result){
        info.results[i].dtype,
        info.results[i].kind == PLUMB_SIGNATURE_SCALAR ? -1 : (int)info.results[i].rank};
  return PLUMB_OK;
}

plumb_status plumb_invocation_bind(plumb_arena *arena, const plumb_stage *stage0,
                                   plumb_invocation *v, plumb_diag *diag) {
  const plumb_function *entry;
  if (!stage0->program) {
    if (diag) *diag = stage0->problem;
    return PLUMB_UNSUPPORTED;
  }
  PLUMB_TRY(find_entry(stage0, v, &entry, diag));
  v->entry = entry->name;
  v->args = PLUMB_NEW_ARRAY(arena, plumb_value, v->arg_count);
  v->arg_values = PLUMB_NEW_ARRAY(arena, bool, v->arg_count);
  if (entry->kind == PLUMB_HOST && stage0->kind == PLUMB_STAGE_MLIR)
    return bind_host(arena, stage0, v, diag);
  for (size_t i = 0; i < v->arg_count; i++) {
    /* A lone number is the parameter's own value: its type is the parameter's. */
    plumb_dtype type = PLUMB_DTYPE_COUNT;
    const char *text = v->arg_texts[i];
    if (i < entry->param_count && v->arg_count == entry->param_count && !strpbrk(text, "[@:") &&
        entry->params[i].size_bytes == plumb_dtype_bytes(entry->params[i].type)) {
      type = entry->params[i].type;
      /* PTX has `.b32` parameters: a number with a point is a float of that width. */
      if (!plumb_dtype_is_float(type) && strpbrk(text, ".") && strncmp(text, "0x", 2) != 0)
        type = plumb_dtype_bytes(type) == 8   ? PLUMB_F64
               : plumb_dtype_bytes(type) == 4 ? PLUMB_F32
                                              : type;
    }
    PLUMB_TRY(plumb_value_parse(arena, text, type, NULL, 0, &v->args[i], diag));
  }
  return PLUMB_OK;
}

/* --- running --- */

/* Operands in the order of the arguments; arrays are buffers. */
static void lay_out(plumb_arena *arena, const plumb_invocation *v, plumb_call *call) {
  plumb_operand *operands = PLUMB_NEW_ARRAY(arena, plumb_operand, v->arg_count);
  plumb_buffer *buffers = PLUMB_NEW_ARRAY(arena, plumb_buffer, v->arg_count);
  for (size_t i = 0; i < v->arg_count; i++) {
    const plumb_array *a = &v->args[i].array;
    operands[i].buffer = -1;
    if (v->args[i].is_scalar) {
      unsigned bytes = plumb_dtype_bytes(a->type);
      memcpy(&operands[i].bits, a->data, bytes < 8 ? bytes : 8);
      continue;
    }
    operands[i].buffer = (int)call->buffer_count;
    buffers[call->buffer_count++] =
        (plumb_buffer){plumb_arena_printf(arena, "arg%zu", i), a, false, true};
  }
  call->operands = operands;
  call->operand_count = v->arg_count;
  call->buffers = buffers;
}

static plumb_status invoke(plumb_arena *arena, const plumb_stage *stage, const plumb_invocation *v,
                           const plumb_run_options *options, plumb_invoked *out) {
  if (!stage->program) {
    out->problem = stage->problem;
    return PLUMB_UNSUPPORTED;
  }
  const plumb_function *f = plumb_program_find(stage->program, v->entry);
  if (!f || f->external)
    return plumb_fail(&out->problem, PLUMB_UNSUPPORTED, v->path, 0, 0,
                      "the stage has no function '%s'", v->entry);
  plumb_call call = {.program = stage->program,
                     .function = f,
                     .launch = v->launch,
                     .results = v->results,
                     .result_count = v->result_count,
                     .path = v->path};
  plumb_called called;
  lay_out(arena, v, &call);
  PLUMB_TRY(plumb_call_run(arena, &call, options, &called, &out->problem));
  out->trap = called.trap;
  out->counters = called.counters;
  out->results = called.results;
  out->args = PLUMB_NEW_ARRAY(arena, plumb_readback, v->arg_count);
  for (size_t i = 0; i < v->arg_count; i++)
    out->args[i] = call.operands[i].buffer < 0 ? (plumb_readback){.array = v->args[i].array}
                                               : called.buffers[call.operands[i].buffer];
  return PLUMB_OK;
}

void plumb_invoke(plumb_arena *arena, const plumb_stage *stage, const plumb_invocation *v,
                  const plumb_run_options *options, plumb_invoked *out) {
  *out = (plumb_invoked){0};
  out->status = invoke(arena, stage, v, options, out);
}
