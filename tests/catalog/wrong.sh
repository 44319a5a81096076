#!/usr/bin/env bash
# Every wrong translation of the catalogue is found, for the reason that its first lines name:
# wrong.sh PLUMB
set -uo pipefail
plumb=$1
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# verdict, the trap kinds of the candidate's stages, and the lines they stand on.
read_report() {
  python3 - "$1" <<'PYTHON'
import json, sys
report = json.load(open(sys.argv[1]))
found = [report["verdict"]]
for trap in report["traps"]:
    for key in ("location", "location2"):
        place = trap[key]
        if place and place["file"]:
            found.append("trapped:%s@%s:%d" % (trap["kind"], place["file"].split("/")[-1], place["line"]))
    found.append("trapped:%s" % trap["kind"])
if report["blame"] and any(s["worst"] for s in report["stages"] if s["verdict"] == "diverged"):
    found.append("worst")
print("\n".join(found))
PYTHON
}

check() {
  local task=$1 expect blame output code found
  expect=$(sed -n 's/^# expect: //p;1q' "$task")
  blame=$(sed -n '2s/^# blame: //p' "$task")
  output=$("$plumb" check "$task" --quiet --format json -o "$work/report.json" 2>&1)
  code=$?
  if [ "$code" != 1 ]; then
    echo "exit $code: $output"
    return 1
  fi
  found=$(read_report "$work/report.json")
  case "$expect" in
    trapped:*)
      # The report of a race names both accesses; the blamed line is one of them.
      grep -qxF "$expect@$blame" <<<"$found" && return 0
      ;;
    *)
      grep -qxF "$expect" <<<"$found" && grep -qx worst <<<"$found" && return 0
      ;;
  esac
  echo "expected $expect at $blame, found" $found
  return 1
}

for task in tasks/catalog/*/wrong-*.yaml; do
  name=${task#tasks/catalog/}
  if why=$(check "$task"); then
    echo "ok $name"
  else
    echo "FAIL $name: $why"
    failed=1
  fi
done
exit "$failed"
