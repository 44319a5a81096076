#!/usr/bin/env bash
# Programs of nvcc -cudart shared under `plumb run --`: programs.sh PLUMB
# Exit code 77 (skipped) where there is no nvcc.
set -uo pipefail
plumb=$1
here=$(dirname "${BASH_SOURCE[0]}")
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# row NAME EXIT EXPECTED ARGUMENTS...: EXPECTED is a part of what goes to stdout and stderr.
row() {
  local name=$1 expected=$2 message=$3 output code
  shift 3
  output=$("$plumb" run "$@" 2>&1)
  code=$?
  if [ "$code" != "$expected" ] || ! grep -qF -- "$message" <<<"$output"; then
    echo "FAIL $name: exit $code, not $expected with '$message': $output"
    failed=1
  else
    echo "ok $name"
  fi
}

row no-program 2 "run -- needs a program" --
row not-found 2 "cannot be run" -- "$work/nothing"
row exit-code 7 "" -- sh -c 'exit 7'
row its-own-flags 0 "--arch -x" -- sh -c 'echo "$@"' sh --arch -x

nvcc=$(command -v nvcc || echo "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc")
if [ ! -x "$nvcc" ]; then
  [ $failed = 0 ] && exit 77
  exit 1
fi
cuda=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
gcc -std=gnu17 -fsyntax-only -I. -I"$cuda/include" "$here/abi.c" || failed=1

compile() { "$nvcc" -std=c++17 -cudart shared -lineinfo -gencode arch=compute_80,code=compute_80 -o "$work/$1" "$here/$1.cu"; }
compile runtime && compile faults || exit 1

row runtime 0 "0 failures" -- "$work/runtime"
row printf 0 "lane 1 of 2:  3.00 text x 1099511627776" -- "$work/runtime"
row too-old 0 "holds no PTX for sm_75" --arch sm_75 -- "$work/faults" trap

# fault NAME CODE MESSAGE: the code comes from the synchronisation and from the next call, is not
# taken away by asking for it, and a reset ends it.
fault() {
  row "$1" 0 "$2 $2 $2 0" -- "$work/faults" "$1"
  row "$1-reported" 0 "$3" -- "$work/faults" "$1"
  row "$1-reset" 0 $'\n0' -- "$work/faults" "$1"
}
# Place of a statement in the source, as a report gives it.
place() { echo "faults.cu:$(grep -nF -- "$1" "$here/faults.cu" | head -1 | cut -d: -f1), line"; }
fault out-of-bounds 700 "offset 256 of allocation 1 (cudaMalloc in faults+0x"
fault misaligned 716 "$(place "(char *)x + n")"
fault assert 710 'assertion `x == nullptr || n > 1000` failed'
fault trap 719 "kernel '_Z5stopsPii' stopped: assert"
fault uninitialised 719 "$(place "x[1] + n")"
fault race 719 "in block (0, 0, 0), thread (1, 0, 0)"
fault divergent 719 "stopped: divergent-barrier"
fault host 700 "outside every allocation"
row allowed 0 "0 0 0 0" --allow uninitialised -- "$work/faults" uninitialised
row steps 0 "702 702 702 0" --steps 1 --allow uninitialised -- "$work/faults" uninitialised
row races-allowed 0 "0 0 0 0" --allow races -- "$work/faults" race

# What PTX leaves open: the setting acts, and a note says what depends on it, once a kernel.
compile freedom || exit 1
# free NAME DEPENDS FLAGS RESULT: DEPENDS is a part of the one note, or "-" for none.
free() {
  local name=$1 depends=$2 result=$3 notes
  shift 3
  row "freedom-$name" 0 "$result" "$@" -- "$work/freedom" $name
  notes=$("$plumb" run "$@" -- "$work/freedom" $name 2>&1 | grep -F "plumb: note: what kernel ")
  if [ "$depends" = - ] && [ -z "$notes" ]; then return; fi
  [ "$(wc -l <<<"$notes")" = 1 ] && grep -qF -- "$depends" <<<"$notes" && [ "$depends" != - ] && return
  echo "FAIL freedom-$name $*: notes: $notes"
  failed=1
}
free fused "a rounding suffix are fused (--freedom contract=unfused was" "3f8ccccd 00000000"
free fused "contract=fused was executed; contract=unfused gives" "3f8ccccd 3275c290" --freedom contract=fused
free approximate "value of an approximate instruction lies (" "3f8ccccd 40892fe0"
free "approximate managed" "approx=edge was executed" "3f8ccccd 40892fde" --freedom approx=edge
free ordered "the order of atomic operations (--freedom order=seed was" "000000ff 00000000"
free ordered "order=next was executed; order=seed gives" "000000bf 00000000" --freedom order=next
free global "value of an approximate instruction lies (" "3f8ccccd 41800000"
free exact - "3f8cd0ad 401ae148"
free heap - "3f8ccccd 40092fe0"
said=$("$plumb" run -- "$work/freedom" approximate 2>/dev/null | grep -c "said once")
[ "$said" = 2 ] || { echo "FAIL freedom: a kernel that is tried prints: $said"; failed=1; }
exit $failed
