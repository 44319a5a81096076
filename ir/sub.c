/* Which enumeration each operation's `sub` counts in (ops.def says it in words). */
#include "ir/print.h"

#define GETTER(name, expression) \
  static const char *get_##name(unsigned sub) { \
    return expression; \
  }
GETTER(sreg, plumb_sreg_texts[sub])
GETTER(cmp, plumb_cmp_texts[sub])
GETTER(nan_rule, plumb_nan_rule_texts[sub])
GETTER(atomic, plumb_atomic_texts[sub])
GETTER(barrier, plumb_barrier_texts[sub])
GETTER(shfl, plumb_shfl_texts[sub])
GETTER(vote, plumb_vote_texts[sub])
GETTER(prmt, plumb_prmt_texts[sub])
GETTER(proxy, plumb_proxy_texts[sub])
GETTER(group, plumb_group_texts[sub])
GETTER(mbarrier, plumb_mbarrier_texts[sub])
GETTER(tensormap_field, plumb_tensormap_field_texts[sub])
GETTER(matrix, plumb_matrix_texts[sub])
GETTER(math, plumb_math_table[sub].text)
GETTER(approx, plumb_approx_table[sub].text)

plumb_sub_texts plumb_op_sub_texts(plumb_op op) {
  switch (op) {
    case PLUMB_OP_SREG:
      return (plumb_sub_texts){PLUMB_SREG_COUNT, get_sreg};
    case PLUMB_OP_CMP:
      return (plumb_sub_texts){PLUMB_CMP_COUNT, get_cmp};
    case PLUMB_OP_MIN:
    case PLUMB_OP_MAX:
      return (plumb_sub_texts){PLUMB_NAN_RULE_COUNT, get_nan_rule};
    case PLUMB_OP_ATOMIC:
    case PLUMB_OP_REDUX:
      return (plumb_sub_texts){PLUMB_ATOMIC_COUNT, get_atomic};
    case PLUMB_OP_BARRIER:
      return (plumb_sub_texts){PLUMB_BARRIER_COUNT, get_barrier};
    case PLUMB_OP_SHFL:
      return (plumb_sub_texts){PLUMB_SHFL_COUNT, get_shfl};
    case PLUMB_OP_VOTE:
      return (plumb_sub_texts){PLUMB_VOTE_COUNT, get_vote};
    case PLUMB_OP_PRMT:
      return (plumb_sub_texts){PLUMB_PRMT_COUNT, get_prmt};
    case PLUMB_OP_FENCE:
      return (plumb_sub_texts){PLUMB_PROXY_COUNT, get_proxy};
    case PLUMB_OP_ASYNC_GROUP:
    case PLUMB_OP_WGMMA_GROUP:
      return (plumb_sub_texts){PLUMB_GROUP_COUNT, get_group};
    case PLUMB_OP_MBARRIER:
      return (plumb_sub_texts){PLUMB_MBARRIER_COUNT, get_mbarrier};
    case PLUMB_OP_TENSORMAP_REPLACE:
      return (plumb_sub_texts){PLUMB_TENSORMAP_FIELD_COUNT, get_tensormap_field};
    case PLUMB_OP_MATRIX_LOAD:
    case PLUMB_OP_MATRIX_STORE:
      return (plumb_sub_texts){PLUMB_MATRIX_COUNT, get_matrix};
    case PLUMB_OP_MATH:
      return (plumb_sub_texts){PLUMB_MATH_COUNT, get_math};
    case PLUMB_OP_APPROX:
      return (plumb_sub_texts){PLUMB_APPROX_COUNT, get_approx};
    default:
      return (plumb_sub_texts){0, NULL};
  }
}
