#!/usr/bin/env bash
# A fat binary, an object or a program of nvcc is run in place of a text: fatbin.sh PLUMB
set -uo pipefail
plumb=$1
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# row NAME EXIT EXPECTED ARGUMENTS...: EXPECTED is a part of what goes to stdout and stderr.
row() {
  local name=$1 expected=$2 message=$3 output code
  shift 3
  output=$("$plumb" "$@" 2>&1)
  code=$?
  if [ "$code" != "$expected" ] || ! grep -qF -- "$message" <<<"$output"; then
    echo "FAIL $name: exit $code, not $expected with '$message': $output"
    failed=1
  else
    echo "ok $name"
  fi
}

for corpus in none speed size; do
  row "$corpus" 0 'kernel "k"' show "tests/fuzz/corpus/fatbin/$corpus.fatbin"
done
head -c 100 tests/fuzz/corpus/fatbin/size.fatbin >"$work/cut.fatbin"
row cut 2 "damaged fat binary" run "$work/cut.fatbin"
row elf-without 3 "holds no device code of nvcc" run "$plumb"

nvcc=$(command -v nvcc || echo "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc")
if [ ! -x "$nvcc" ]; then
  echo "skipped: the rows that need nvcc"
  exit $failed
fi
cat >"$work/k.cu" <<'CUDA'
extern "C" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }
int main() { return 0; }
CUDA
with=(-gencode arch=compute_80,code=compute_80 -gencode arch=compute_90,code=compute_90)
"$nvcc" -fatbin "${with[@]}" -o "$work/k.fatbin" "$work/k.cu" &&
  "$nvcc" -c "${with[@]}" --compress-mode=speed -o "$work/k.o" "$work/k.cu" &&
  "$nvcc" -cudart shared "${with[@]}" -o "$work/k" "$work/k.o" || exit 1
for file in k.fatbin k.o k; do
  row "$file" 0 "arg0 = [3, 5]" run "$work/$file" --block 2 --arg 'f32:[1.5,2.5]'
  row "$file-highest" 0 ".target sm_90" show "$work/$file"
done
"$nvcc" -fatbin -gencode arch=compute_80,code=sm_80 -o "$work/sass.fatbin" "$work/k.cu" || exit 1
row sass 3 "holds no PTX" run "$work/sass.fatbin"
exit $failed
