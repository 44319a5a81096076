/* ldmatrix, stmatrix, movmatrix: 8x8 matrices of 16-bit elements between shared memory and
 * the registers of a warp (PTX ISA 9.0, 9.7.14.5.15 to .17). A register of lane l holds two
 * elements: (l / 4, 2 (l % 4)) and the one to its right; with .trans the transposed ones. */
#include "targets/cpu/exec.h"

enum { ROWS = 8, ROW_BYTES = 16, MAX_MATRICES = 4 };

/* Element `half` of lane `l`: its row and its column. */
static uint32_t row_of(uint32_t l, uint32_t half, bool columns) {
  return columns ? 2 * (l % 4) + half : l / 4;
}
static uint32_t column_of(uint32_t l, uint32_t half, bool columns) {
  return columns ? l / 4 : 2 * (l % 4) + half;
}

/* --- rows in shared memory --- */

typedef struct rows {
  plumb_place places[MAX_MATRICES * ROWS];
  uint32_t count;
} rows;

/* Each as any access; false after a trap. */
static bool find_one_by_one(plumb_block_run *br, const plumb_strand *s, uint32_t first, bool write,
                            rows *out) {
  for (uint32_t i = 0; i < out->count; i++) {
    uint64_t address = br->addresses[first + i];
    if (!plumb_place_find(br, s, first + i, address, ROW_BYTES, write, &out->places[i]))
      return false;
    if (address % ROW_BYTES) return plumb_trap_misaligned(br, s, first + i, address, ROW_BYTES);
    if (out->places[i].window != PLUMB_WINDOW_SHARED)
      return plumb_trap_at(br, PLUMB_TRAP_WRONG_SPACE, s->frame, s->pc, (int32_t)(first + i),
                           "generic address 0x%llx does not lie in shared memory",
                           (unsigned long long)address);
  }
  return true;
}

/* Row i as the registers `values` of the warp hold it; false if some of it is undefined, which
 * equals nothing. */
static bool gather_row(plumb_block_run *br, const plumb_strand *s, const plumb_reg *values,
                       uint32_t first, uint32_t i, bool columns, uint8_t out[ROW_BYTES]) {
  const uint8_t *from =
      plumb_operand(br, s->frame, values[i / ROWS]) + (size_t)first * sizeof(uint32_t);
  uint32_t row = i % ROWS;
  bool defined = true;
  for (uint32_t c = 0; c < ROWS; c++) {
    uint32_t lane = columns ? 4 * c + row / 2 : 4 * row + c / 2, half = (columns ? row : c) % 2;
    memcpy(out + (size_t)c * 2, from + (size_t)lane * 4 + (size_t)half * 2, 2);
    defined &= !br->undef || !plumb_undef_get(s->frame, values[i / ROWS], first + lane);
  }
  return defined;
}

/* Whether an earlier row of the warp has the same address and the same bytes. As with any store
 * by a warp, who comes last then does not matter (CUDA C++ Programming Guide 13.0, "SIMT
 * Architecture": the last of several lanes' writes to one place is undefined). */
static bool is_repeated(plumb_block_run *br, const plumb_strand *s, const plumb_inst *inst,
                        uint32_t first, uint32_t i) {
  const plumb_reg *values = plumb_inst_operands(s->frame->fn, inst) + 1;
  const uint64_t *addresses = br->addresses + first;
  bool columns = inst->sub == PLUMB_MATRIX_COLUMNS;
  uint8_t own[ROW_BYTES], other[ROW_BYTES];
  for (uint32_t k = 0; k < i; k++) {
    if (addresses[k] != addresses[i]) continue;
    return gather_row(br, s, values, first, i, columns, own) &&
           gather_row(br, s, values, first, k, columns, other) &&
           memcmp(own, other, ROW_BYTES) == 0;
  }
  return false;
}

/* Lane first + i gives the address of row i; all are checked as any access is. */
static bool find_rows(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst, uint32_t first,
                      uint32_t matrices, bool write, rows *out) {
  plumb_lanes on = {0};
  uint16_t list[MAX_MATRICES * ROWS];
  uint64_t offsets[MAX_MATRICES * ROWS], base = plumb_window_base(PLUMB_WINDOW_SHARED);
  out->count = matrices * ROWS;
  for (uint32_t i = 0; i < out->count; i++) plumb_lanes_put(&on, first + i);
  plumb_lanes_settle(&on);
  if (!plumb_addresses(br, s, inst, &on)) return false;
  const uint64_t *addresses = br->addresses + first;
  plumb_view view;
  if (plumb_window_of(addresses[0]) == PLUMB_WINDOW_SHARED &&
      plumb_rows_find(br, addresses, out->count, ROW_BYTES, write, &view)) {
    for (uint32_t i = 0; i < out->count; i++) {
      uint64_t at = addresses[i] - view.base;
      out->places[i] =
          (plumb_place){view.data + at, view.state + at, addresses[i], view.window, NULL};
    }
  } else if (!find_one_by_one(br, s, first, write, out)) {
    return false;
  }
  uint32_t count = 0;
  for (uint32_t i = 0; i < out->count; i++) {
    if (br->race && write && is_repeated(br, s, inst, first, i)) continue;
    list[count] = (uint16_t)(first + i);
    offsets[count++] = addresses[i] - base;
  }
  *(write ? &br->counters.shared_store_bytes : &br->counters.shared_load_bytes) +=
      (uint64_t)out->count * ROW_BYTES;
  return !br->race || plumb_race_touch(br, s, list, count, PLUMB_WINDOW_SHARED, base, offsets,
                                       ROW_BYTES, write ? PLUMB_TOUCH_WRITE : PLUMB_TOUCH_READ);
}

static bool is_initialised(const rows *r) {
  uint8_t state[ROW_BYTES], all[ROW_BYTES];
  memset(all, PLUMB_BYTE_INITIALISED, sizeof all);
  memcpy(state, all, sizeof all);
  for (uint32_t i = 0; i < r->count; i++)
    for (uint32_t b = 0; b < ROW_BYTES; b++) state[b] &= r->places[i].state[b];
  return memcmp(state, all, sizeof all) == 0;
}

/* --- the three --- */

static void clear_result(plumb_block_run *br, plumb_strand *s, plumb_reg r, uint32_t lane) {
  if (br->undef) plumb_undef_set(br, s->frame, r, lane, 0);
  if (br->run->options.companions) plumb_companion_set(br, s->frame, r, lane, NULL);
}

/* One matrix whose bytes are all initialised, and of which nothing else is known. */
static void load_plain(const rows *r, uint32_t m, bool columns, uint8_t *to) {
  for (uint32_t row = 0; row < ROWS; row++) {
    const uint8_t *from = r->places[m * ROWS + row].data;
    if (!columns) /* four lanes a row */
      memcpy(to + (size_t)row * ROW_BYTES, from, ROW_BYTES);
    else
      for (uint32_t column = 0; column < ROWS; column++)
        memcpy(to + (size_t)column * ROW_BYTES + (size_t)row * 2, from + (size_t)column * 2, 2);
  }
}

static void load_element(plumb_block_run *br, plumb_strand *s, plumb_reg result, uint32_t lane,
                         uint32_t half, const plumb_place *row, uint32_t column) {
  plumb_place element = {.window = row->window, .address = row->address + 2 * column};
  if (br->run->options.companions && plumb_companion_uncertain_at(br, lane, &element, 2))
    plumb_companion_set_unknown(br, s->frame, result, lane);
  memcpy(plumb_reg_lanes(br, s->frame, result) + (size_t)lane * 4 + (size_t)half * 2,
         row->data + 2 * column, 2);
  const uint8_t *state = row->state + 2 * column;
  if (state[0] == PLUMB_BYTE_INITIALISED && state[1] == PLUMB_BYTE_INITIALISED) return;
  br->undef = true;
  plumb_undef_set(br, s->frame, result, lane,
                  plumb_undef_loaded(br, lane, element.address, s->frame->pc_base + s->pc + 1));
}

static bool load(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst, uint32_t first) {
  const plumb_reg *results = plumb_inst_results(s->frame->fn, inst);
  bool columns = inst->sub == PLUMB_MATRIX_COLUMNS;
  rows r;
  if (!find_rows(br, s, inst, first, inst->results, false, &r)) return false;
  bool plain = !br->undef && !br->run->options.companions && is_initialised(&r);
  for (uint32_t m = 0; m < inst->results; m++) {
    if (plain) {
      load_plain(&r, m, columns, plumb_reg_lanes(br, s->frame, results[m]) + (size_t)first * 4);
      continue;
    }
    for (uint32_t l = 0; l < PLUMB_WARP_LANES; l++) {
      clear_result(br, s, results[m], first + l);
      for (uint32_t half = 0; half < 2; half++)
        load_element(br, s, results[m], first + l, half,
                     &r.places[m * ROWS + row_of(l, half, columns)], column_of(l, half, columns));
    }
  }
  return true;
}

static bool store(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst, uint32_t first) {
  const plumb_reg *values = plumb_inst_operands(s->frame->fn, inst) + 1;
  bool columns = inst->sub == PLUMB_MATRIX_COLUMNS;
  uint32_t matrices = inst->operands - 1u;
  rows r;
  if (br->parked_aligned) plumb_effect_note(br, s);
  if (!find_rows(br, s, inst, first, matrices, true, &r)) return false;
  for (uint32_t m = 0; m < matrices; m++) {
    const uint8_t *from = plumb_operand(br, s->frame, values[m]) + (size_t)first * 4;
    for (uint32_t l = 0; l < PLUMB_WARP_LANES; l++) {
      uint32_t origin = br->undef ? plumb_undef_get(s->frame, values[m], first + l) : 0;
      uint8_t state = origin ? PLUMB_BYTE_UNINITIALISED : PLUMB_BYTE_INITIALISED;
      for (uint32_t half = 0; half < 2; half++) {
        const plumb_place *p = &r.places[m * ROWS + row_of(l, half, columns)];
        plumb_place element = *p;
        uint32_t at = 2 * column_of(l, half, columns);
        element.data += at;
        element.state += at;
        element.address += at;
        if (origin) plumb_undef_stored(br, first + l, element.address, origin);
        plumb_place_write(br, &element, first + l, 2, from + (size_t)l * 4 + (size_t)half * 2,
                          (uint8_t[2]){state, state});
        if (br->run->options.companions) {
          plumb_companion_drop(br, first + l, &element, 2);
          if (!plumb_companion_is_exact(s->frame, values[m], first + l))
            plumb_companion_forget(br, first + l, &element, 2);
        }
      }
    }
  }
  return true;
}

static void move(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst, uint32_t first) {
  plumb_reg value = plumb_inst_operands(s->frame->fn, inst)[0];
  plumb_reg result = plumb_inst_results(s->frame->fn, inst)[0];
  const uint8_t *from = plumb_operand(br, s->frame, value) + (size_t)first * 4;
  uint8_t out[PLUMB_WARP_LANES * 4];
  uint32_t origins[PLUMB_WARP_LANES] = {0};
  bool uncertain[PLUMB_WARP_LANES] = {false}, companions = br->run->options.companions;
  for (uint32_t l = 0; l < PLUMB_WARP_LANES; l++)
    for (uint32_t half = 0; half < 2; half++) {
      uint32_t row = row_of(l, half, true), column = column_of(l, half, true);
      uint32_t source = 4 * row + column / 2;
      uncertain[l] |= companions && !plumb_companion_is_exact(s->frame, value, first + source);
      memcpy(out + (size_t)l * 4 + (size_t)half * 2,
             from + (size_t)source * 4 + (size_t)(column % 2) * 2, 2);
      uint32_t origin = br->undef ? plumb_undef_get(s->frame, value, first + source) : 0;
      if (origin) origins[l] = origin;
    }
  memcpy(plumb_reg_lanes(br, s->frame, result) + (size_t)first * 4, out, sizeof out);
  for (uint32_t l = 0; l < PLUMB_WARP_LANES; l++) {
    clear_result(br, s, result, first + l);
    if (origins[l]) plumb_undef_set(br, s->frame, result, first + l, origins[l]);
    if (uncertain[l]) plumb_companion_set_unknown(br, s->frame, result, first + l);
  }
}

bool plumb_exec_matrix(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                       uint32_t first) {
  switch (inst->op) {
    case PLUMB_OP_MATRIX_LOAD:
      return load(br, s, inst, first);
    case PLUMB_OP_MATRIX_STORE:
      return store(br, s, inst, first);
    default:
      move(br, s, inst, first);
      return true;
  }
}
