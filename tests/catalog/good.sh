#!/usr/bin/env bash
# Every good task of the catalogue is accepted: good.sh PLUMB
set -uo pipefail
plumb=$1
failed=0

for task in tasks/catalog/*/task.yaml; do
  name=$(basename "$(dirname "$task")")
  output=$("$plumb" check "$task" --quiet 2>&1)
  code=$?
  if [ "$code" = 0 ]; then
    echo "ok $name"
  else
    echo "FAIL $name: exit $code"
    printf '%s\n' "$output" | tail -n 20
    failed=1
  fi
done
exit "$failed"
