#!/usr/bin/env bash
# Small tests of readers, writers, memory and models under valgrind: no error and nothing lost. Before
# them valgrind must report a planted read of memory that nobody wrote.
# usage: valgrind.sh BUILD
set -euo pipefail
build=$1
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
[ -z "${POLYAD_FIGURES:-}" ] || echo "{\"tests\": $ran}" >"$POLYAD_FIGURES/valgrind.json"
