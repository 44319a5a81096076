/* What the printer and the reader of the printed form share: how an operation's own
 * enumeration (`sub`) is spelled. Not the printed form's interface: see program.h. */
#ifndef PLUMB_IR_PRINT_H
#define PLUMB_IR_PRINT_H

#include "ir/program.h"

/* count 0: the operation has no enumeration, `sub` is a plain number. */
typedef struct plumb_sub_texts {
  unsigned count;
  const char *(*get)(unsigned sub);
} plumb_sub_texts;

plumb_sub_texts plumb_op_sub_texts(plumb_op op);

#endif
