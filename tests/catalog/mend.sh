#!/usr/bin/env bash
# Each wrong translation of the catalogue fails for its own reason: it differs from the good
# one in one line, at the line that it blames, and with that line mended it is accepted:
# mend.sh PLUMB
set -uo pipefail
plumb=$1
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# prepare FOLDER WRONG.yaml GOOD.yaml: in FOLDER, a copy of both tasks' folder, writes
# mended.yaml and its source; and small.yaml and small-mended.yaml, which try one value (the
# second) of each size. Exits 1 with the reason where the two differ in more than one line.
prepare() {
  python3 - "$@" <<'PYTHON'
import difflib, os, re, sys
folder, wrong_task, good_task = sys.argv[1:]
read = lambda name: open(os.path.join(folder, name)).read().splitlines(keepends=True)
def write(name, lines):
    open(os.path.join(folder, name), "w").write("".join(lines))
def source(task):
    return next(m.group(1) for m in (re.match(r"  source: (\S+\.cu)$", line) for line in task) if m)
def difference(wrong, good, name):
    """Where `wrong` differs from `good`, and what stands there in `good`: one line at most."""
    matcher = difflib.SequenceMatcher(None, wrong, good, autojunk=False)
    changes = [c for c in matcher.get_opcodes() if c[0] != "equal"]
    if len(changes) != 1 or changes[0][2] - changes[0][1] > 1 or changes[0][4] - changes[0][3] > 1:
        sys.exit(f"{name} differs from the good one in more than one line: {changes}")
    _, start, end, good_start, good_end = changes[0]
    return start, end, good[good_start:good_end]

wrong, good = read(wrong_task), read(good_task)
kept = lambda task: [i for i, l in enumerate(task) if not re.match(r"#|name: |  source: \S+\.cu$", l)]
plain = lambda task: [task[i] for i in kept(task)]
wrong_source = source(wrong)
if wrong_source != source(good):
    assert plain(wrong) == plain(good), "the tasks differ in more than name and source"
    text = read(wrong_source)
    start, end, lines = difference(text, read(source(good)), wrong_source)
    write("mended.cu", text[:start] + lines + text[end:])
    mended = [l.replace(wrong_source, "mended.cu") for l in wrong]
    line = start + 1
else:
    start, end, lines = difference(plain(wrong), plain(good), wrong_task)
    line = kept(wrong)[start] + 1
    mended = wrong[: line - 1] + lines + wrong[line - 1 + end - start :]
blamed = int(re.match(r"# blame: \S+:(\d+)$", wrong[1]).group(1))
if abs(blamed - line) > 3:
    sys.exit(f"line {line} differs, line {blamed} is blamed")
small = lambda task: [re.sub(r"\[\s*[^,\]]+,\s*([^,\]]+)[^\]]*\]", r"\1", l) if l.startswith("sizes:") else l
                      for l in task]
write("mended.yaml", mended)
write("small.yaml", small(wrong))
write("small-mended.yaml", small(mended))
PYTHON
}

# fails TASK KIND: the wrong one is found, as what it is.
fails() {
  local output code=0
  output=$("$plumb" check "$1" --quiet 2>&1) || code=$?
  [ "$code" = 1 ] || return 1
  case "$2" in
    trapped:*) grep -qF "trap       ${2#trapped:} at" <<<"$output" ;;
    *) grep -q "^  worst      " <<<"$output" ;;
  esac
}

check() {
  local task=$1 folder=$work/${1//\//-} name expect why output
  name=$(basename "$task" .yaml)
  expect=$(sed -n 's/^# expect: //p;1q' "$task")
  cp -r "$(dirname "$task")" "$folder"
  why=$(prepare "$folder" "$name.yaml" task.yaml 2>&1) || {
    echo "$why"
    return 1
  }
  # One shape is enough where the defect shows on it; else all of them.
  local wrong=small mended=small-mended
  if ! fails "$folder/$wrong.yaml" "$expect"; then
    wrong=$name mended=mended
    fails "$folder/$wrong.yaml" "$expect" || {
      echo "it is not found as $expect"
      return 1
    }
  fi
  output=$("$plumb" check "$folder/$mended.yaml" --quiet 2>&1) || {
    echo "mended, it still ends in exit code $?: $(tail -n 5 <<<"$output")"
    return 1
  }
  echo "$wrong"
}

for task in tasks/catalog/*/wrong-*.yaml; do
  if why=$(check "$task"); then
    echo "ok ${task#tasks/catalog/} ($why)"
  else
    echo "FAIL ${task#tasks/catalog/}: $why"
    failed=1
  fi
done
exit "$failed"
