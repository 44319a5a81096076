/* Whether a result depends on what a specification leaves open (ir/freedom.h): the stage read
 * the other way, executed beside it, gives other bits.
 *
 *     plumb_freedom_readings readings;
 *     plumb_freedom_readings_create(arena, stage, bits, &readings);
 */
#ifndef PLUMB_TASKS_FREEDOM_H
#define PLUMB_TASKS_FREEDOM_H

#include "ir/freedom.h"
#include "ir/stage.h"
#include "tasks/array.h"
#include "tasks/invoke.h"

/* A stage in the reading that was asked for, and beside it each other reading that it has. */
typedef struct plumb_freedom_readings {
  const plumb_stage *stage;                       /* what is executed */
  const plumb_stage *others[PLUMB_FREEDOM_COUNT]; /* NULL: the stage has no such place */
} plumb_freedom_readings;

/* `bits` as plumb_freedom_parse sets them. Only PTX has a choice: any other stage, and one
 * that cannot be decoded, is its only reading. All lives in `arena`. */
void plumb_freedom_readings_create(plumb_arena *arena, const plumb_stage *stage, unsigned bits,
                                   plumb_freedom_readings *out);

/* Added to the seed of the schedule: the order of atomics has no program of its own. `which`:
 * the reading that is executed, PLUMB_FREEDOM_COUNT for the one that was asked for. */
uint64_t plumb_freedom_seed(unsigned bits, plumb_freedom which);

/* Whether two arrays of one type and size hold the same bits, NaNs of any payload being one
 * value. */
bool plumb_freedom_same(const plumb_array *a, const plumb_array *b);

/* Whether a float among them is infinite or a NaN: where no input and no output is, payloads are
 * not asked for. */
bool plumb_freedom_nonfinite(const plumb_array *a);

/* Whether two calls of one invocation ran to the same values. */
bool plumb_freedom_same_call(const plumb_invocation *v, const plumb_invoked *a,
                             const plumb_invoked *b);

/* Whether a trap says that the reading was none: a wait without an end is not legal. */
bool plumb_freedom_is_illegal(plumb_freedom which, const plumb_trap *trap);

/* What was seen of a stage's readings, each a set of 1 << plumb_freedom. */
typedef struct plumb_freedom_seen {
  unsigned depends; /* the other reading gives other results */
  unsigned alone;   /* those are not accepted, and what was executed is */
  unsigned rescued; /* those are accepted, and what was executed is not */
} plumb_freedom_seen;

/* plumb_freedom_sentence, which says too where the two readings are not both accepted. */
const char *plumb_freedom_note(plumb_arena *arena, unsigned bits, plumb_freedom which,
                               const plumb_freedom_seen *seen);

#endif
