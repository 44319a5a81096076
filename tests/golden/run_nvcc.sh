#!/usr/bin/env bash
# nvcc's PTX of the tiled matmul agrees with the reference bit for bit, on values whose
# products and sums are exact: run_nvcc.sh PLUMB
set -uo pipefail
plumb=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
matmul=tasks/catalog/tiled-matmul

# The check finds nvcc, compiles with the task's flags, and saves the PTX.
sed "s|source: |source: $PWD/$matmul/|; s|^sizes:.*|sizes: {M: 1, N: 1, K: 1}|" \
  "$matmul/task.yaml" >"$work/task.yaml"
"$plumb" check "$work/task.yaml" --quiet --save "$work/stages" >"$work/report" 2>&1
ptx=$(echo "$work"/stages/candidate-nvcc-*.ptx)
if [ ! -f "$ptx" ]; then
  if command -v nvcc >/dev/null || [ -x "${CUDA_HOME:-/nowhere}/bin/nvcc" ]; then
    echo "FAIL: nvcc is there, but no PTX of it was saved"
    cat "$work/report"
    exit 1
  fi
  echo "skipped: there is no nvcc (tools/setup brings it)"
  exit 77
fi

# shape M N K
shape() {
  local a="f32:$1x$3:fill:exact,1" b="f32:$3x$2:fill:exact,2"
  "$plumb" run "$matmul/matmul.mlir" --arg "${a#f32:}" --arg "${b#f32:}" --save "$work/reference" \
    >"$work/out" 2>&1 &&
    "$plumb" run "$ptx" --entry tiled_matmul --grid $((($2 + 15) / 16)),$((($1 + 15) / 16)) \
      --block 16,16 --arg "$a" --arg "$b" --arg "f32:$1x$2:fill:special,3" --arg "$1" --arg "$2" \
      --arg "$3" --save "$work/kernel" >"$work/out" 2>&1 || {
    echo "FAIL $1x$2x$3: $(tail -n 5 "$work/out")"
    exit 1
  }
  cmp "$work/reference/result0.npy" "$work/kernel/arg2.npy" || {
    echo "FAIL $1x$2x$3: the results differ"
    exit 1
  }
  # Both sides read the same inputs.
  cmp "$work/reference/arg0.npy" "$work/kernel/arg0.npy" &&
    cmp "$work/reference/arg1.npy" "$work/kernel/arg1.npy" || exit 1
  echo "ok $1x$2x$3"
}
shape 1 1 1
shape 16 16 16
shape 37 41 33
shape 5 70 129
