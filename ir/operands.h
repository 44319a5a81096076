/* What each operation takes and gives: counts and sizes of operands and results, and which
 * variants (`sub`) exist for which type. The verifier asks; handlers rely on it. */
#ifndef PLUMB_IR_OPERANDS_H
#define PLUMB_IR_OPERANDS_H

#include "ir/program.h"

/* Why the instruction does not fit its operation, NULL if it does. Its `op`, `type` and
 * `type2` are in range, its registers and constants exist. Static text. */
const char *plumb_inst_misfit(const plumb_function *f, const plumb_inst *inst);

#endif
