#!/usr/bin/env bash
# The analyzer's checks that tools/lint.sh runs find what is planted: each function below has one
# fault, and a check that no longer sees its own is as good as none.
# usage: planted_bugs.sh   (in the root of the sources: .clang-tidy is read)
set -euo pipefail
command -v clang-tidy >/dev/null || { echo "clang-tidy is missing: skipped"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cat >"$scratch/planted.c" <<'END_OF_C'
#include <stdlib.h>
#include <string.h>
int *stack_address(void);
int *stack_address(void) {
  int here = 1, *there = &here;
  return there;
}
int branch(int x);
int branch(int x) {
  int unset;
  if (x > 3) unset = 1;
  return unset ? 1 : 2;
}
int subscript(const int *a, int x);
int subscript(const int *a, int x) {
  int at;
  if (x > 3) at = 1;
  return a[at];
}
int returned(int x);
int returned(int x) {
  int unset;
  if (x > 3) unset = 1;
  return unset;
}
void leak(int x);
void leak(int x) {
  int *p = malloc(sizeof *p);
  if (p != NULL) *p = x;
}
void twice(int *p);
void twice(int *p) {
  free(p);
  free(p);
}
END_OF_C
cp .clang-tidy "$scratch"
status=0
clang-tidy -quiet "$scratch/planted.c" -- -std=c11 >"$scratch/found" 2>/dev/null || status=$?
[ "$status" -ne 0 ] || { echo "clang-tidy ends with status 0"; exit 1; }
missing=0
for expected in "6:.*core.StackAddressEscape" "12:.*core.uninitialized.Branch" \
  "18:.*core.uninitialized.ArraySubscript" "24:.*core.uninitialized.UndefReturn" \
  "30:.*unix.Malloc" "34:.*unix.Malloc"; do
  if ! grep -q "planted.c:$expected" "$scratch/found"; then
    echo "not found: line $expected"
    missing=1
  fi
done
exit $missing
