#!/usr/bin/env bash
# Every file has a unique name and at most 600 lines, and says what it is; no left-overs; sources are listed, not
# globbed; messages have one form.
set -u
failed=0
complain() {
  echo "$*"
  failed=1
}

for name in $(find src cli \( -name '*.c' -o -name '*.h' -o -name '*.cu' \) -printf '%f\n' |
  sort | uniq -d); do
  complain "the name $name occurs twice: $(find src cli -name "$name" | tr '\n' ' ')"
done
while read -r lines file; do
  [ "$file" = total ] || [ "$lines" -le 600 ] || complain "$file has $lines lines; 600 is the limit"
done < <(tools/sources.sh | grep -v '^tests/' | xargs wc -l)
while read -r found; do
  complain "$found"
done < <(tools/sources.sh | xargs grep -nE '\bTODO\b|\bFIXME\b|\bXXX\b|^ *#if 0')
# One getter gives a GPU's stream: a thread that records has another.
while read -r found; do
  complain "$found: expected pd_cuda_stream()"
done < <(grep -rnE '\bstate(_of\([^)]*\)+)?->stream\b' src --include='*.c' --include='*.h' |
  grep -vE 'cuda_(state\.h|device\.c):')
# Messages name a least value in one way.
while read -r found; do
  complain "$found: expected 'at least'"
done < <(grep -rnE '"[^"]*\bexpected [^"]*([0-9d%] or more|[a-z] at least")' src cli --include='*.c' --include='*.cu')
# The oracle shares nothing with the library but public types.
while read -r found; do
  complain "$found: expected headers of the oracle's own, of C or <polyad/...>"
done < <(grep -nE '#include "' tests/oracle/* | grep -vE '"(oracle/)?[a-z_]+_oracle\.h"|"oracle/(real|rounding)\.h"')
# A file opens with a comment, or its header does. Instances of one set or type have their body's.
while read -r file; do
  [[ $file =~ _(plain|avx2|avx512|f32|f64)\.[a-z]+$ ]] && continue
  for opening in "$file" "${file%.*}.h"; do
    [ -f "$opening" ] && [[ $(head -c 2 "$opening") == /[*/] ]] && continue 2
  done
  complain "$file opens without a comment, and so does its header"
done < <(tools/sources.sh | grep '^src/')
# Files of one instruction set are listed by their stem (polyad_isa_sources in cmake/isa.cmake).
listed() {
  local name
  name=$(basename "$1")
  grep -q "$name" "$2" && return
  [[ $name =~ ^(.*)_(plain|avx2|avx512)\.c$ ]] &&
    tr '\n' ' ' <"$2" | grep -qE "STEMS[^)]*\b${BASH_REMATCH[1]}\b"
}
while read -r file; do
  folder=$(dirname "$file")
  while [ ! -f "$folder/CMakeLists.txt" ]; do folder=$(dirname "$folder"); done
  listed "$file" "$folder/CMakeLists.txt" || complain "$file is in no CMakeLists.txt"
done < <(find src cli -name '*.c' -o -name '*.cu' | grep -v '^src/portable/')
exit $failed
