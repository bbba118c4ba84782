#!/usr/bin/env bash
# Small tests of readers, writers, memory and models under valgrind, the command given each hostile
# text, and the kept inputs of every fuzz target: no error and nothing lost. Before them valgrind must
# report a planted read of memory that nobody wrote.
# usage: valgrind.sh SOURCE BUILD
set -euo pipefail
source=$1 build=$2
command -v valgrind >/dev/null || { echo "valgrind is missing: skipped"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export OMP_WAIT_POLICY=passive

watch() { # watch PROGRAM: status 9 where valgrind reports something
  valgrind -q --error-exitcode=9 --leak-check=full --show-leak-kinds=definite \
    --errors-for-leak-kinds=definite "$@" >"$scratch/log" 2>&1
}

cat >"$scratch/planted.c" <<'END'
#include <stdlib.h>
int main(void) {
  int *unwritten = malloc(sizeof *unwritten), found = *unwritten == 7;
  free(unwritten);
  return found;
}
END
${CC:-cc} -O0 -o "$scratch/planted" "$scratch/planted.c"
status=0
watch "$scratch/planted" || status=$?
[ $status -eq 9 ] || { echo "the planted error is not reported: status $status"; exit 1; }

ran=0
for name in core_error refused_calls radix_sort tensor_use ktensor ttensor io_tns_lines io_text_cases \
  io_text_toolbox io_labels io_limits io_npz io_arguments; do
  if ! watch "$build/tests/unit/test_$name"; then
    echo "test_$name under valgrind:"
    tail -n 40 "$scratch/log"
    exit 1
  fi
  ran=$((ran + 1))
  echo "test_$name: nothing reported"
done

# Hostile texts, with one fault each or none: a process for each, as users have it. What is said of
# them is test command_bad_text's; here the status must be the one without valgrind.
files=0
"$build/tests/unit/io_text_case_files" "$scratch" >"$scratch/list"
while read -r _ file verdict _; do
  expected=$([ "$verdict" = accept ] && echo 0 || echo 1) status=0
  watch "$build/polyad" info "$scratch/$file" </dev/null || status=$?
  if [ $status -ne "$expected" ]; then
    echo "polyad info $file under valgrind: status $status, expected $expected"
    tail -n 40 "$scratch/log"
    exit 1
  fi
  files=$((files + 1))
done <"$scratch/list"
echo "$files hostile texts: nothing reported"

inputs=0
for program in "$build"/tests/fuzz/replay_*; do
  name=${program##*/replay_}
  folders=("$source/tests/fuzz/corpus/$([ "$name" = threads ] && echo tns || echo "$name")"
    "$source/tests/data/regress/$name")
  if ! watch "$program" "${folders[@]}"; then
    echo "inputs of fuzz target $name under valgrind:"
    tail -n 40 "$scratch/log"
    exit 1
  fi
  read -r count _ <"$scratch/log"
  inputs=$((inputs + count))
  echo "$count inputs of fuzz target $name: nothing reported"
done
[ "$inputs" -gt 0 ] || { echo "no input of a fuzz target was read"; exit 1; }
[ -z "${POLYAD_FIGURES:-}" ] ||
  echo "{\"tests\": $ran, \"files\": $files, \"inputs\": $inputs}" >"$POLYAD_FIGURES/valgrind.json"
