/* The freedom of a specification, made explicit: another legal reading of a program, built by
 * rewriting it before it is finished. Nothing else rewrites programs, and the default reading
 * is the program as it was decoded.
 *
 *     size_t places = plumb_program_read_otherwise(p, PLUMB_FREEDOM_CONTRACT);
 *     PLUMB_TRY(plumb_program_finish(p, diag));     now with places fmas in it
 */
#ifndef PLUMB_IR_FREEDOM_H
#define PLUMB_IR_FREEDOM_H

#include "ir/program.h"

typedef enum plumb_freedom {
#define X(name, flag, usual, other, what) PLUMB_FREEDOM_##name,
#include "ir/freedom.def"
#undef X
  PLUMB_FREEDOM_COUNT
} plumb_freedom;

typedef struct plumb_freedom_info {
  const char *flag, *usual, *other, *what;
} plumb_freedom_info;

extern const plumb_freedom_info plumb_freedom_table[PLUMB_FREEDOM_COUNT];

/* Sets the bits (1 << plumb_freedom) of the readings that `text`, "NAME=VALUE,...", asks for in
 * place of the default. False where it names none; the caller's message may list
 * plumb_freedom_names(). */
bool plumb_freedom_parse(const char *text, unsigned *bits);
/* "contract=unfused|fused, ..."; static storage. */
const char *plumb_freedom_names(void);
/* The text that parses to `bits`: "contract=fused,order=next". */
const char *plumb_freedom_text(plumb_arena *arena, unsigned bits);
/* "whether ... are fused (--freedom contract=unfused was executed; contract=fused gives other
 * results)", `which_are` standing after "results". */
const char *plumb_freedom_sentence(plumb_arena *arena, unsigned bits, plumb_freedom which,
                                   const char *which_are);

/* Rewrites the kernels and device functions of an unfinished program to the other reading; how many
 * places have it, also noted function by function (other_readings). For NAN those are the integer
 * instructions that read a float result, without which no result can tell one payload from another,
 * and 0 leaves the program as it is. For ORDER nothing is rewritten.
 *
 * CONTRACT  an add or sub of a mul's result in the same block, both to nearest and with one
 *           flushing, becomes an fma
 * NAN       NaNs of f16, bf16 and f32 results become 0x7e00, 0x7fc0, 0x7fc00000
 * TRY_WAIT  an unguarded mbarrier.try_wait asks until the phase is complete
 * APPROX    approximate instructions give a value at an end of what their pages allow, above or
 *           below by the operands' bits, in place of the nearest one */
size_t plumb_program_read_otherwise(plumb_program *p, plumb_freedom which);

#endif
