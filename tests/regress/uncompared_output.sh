#!/usr/bin/env bash
# An output that the reference does not give is an error, not equal: uncompared_output.sh PLUMB
set -euo pipefail
plumb=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp tasks/catalog/transpose/transpose.mlir tasks/catalog/transpose/transpose.cu "$work"
row() { # row NAME MESSAGE, the task on stdin
  cat >"$work/$1.yaml"
  local code=0
  "$plumb" check "$work/$1.yaml" --quiet >"$work/out" 2>&1 || code=$?
  if [ "$code" != 2 ] || ! grep -qF -- "$2" "$work/out"; then
    echo "FAIL $1: exit $code: $(cat "$work/out")"
    exit 1
  fi
  echo "ok $1"
}
task=tasks/catalog/transpose/task.yaml
sed '/^tensors:/a\  extra: {type: f32, shape: [1], role: output}' "$task" |
  sed '$a\' | awk '/^  extra:/{held=$0; next} {print} /role: output/ && held{print held; held=""}' |
  row extra 'output extra: the reference neither returns nor takes it'
sed 's/, role: output//' "$task" | row none 'the task has fewer outputs'
