#!/usr/bin/env bash
# The shared library exports what the public headers declare: all of it, and nothing else. To a C++
# program the functions have the same names.
# usage: exported_symbols.sh LIBRARY
set -euo pipefail
exported=$(nm -D --defined-only "$1" | awk '{print $3}' | sort)
# Names before a parenthesis in the preprocessed headers are the functions.
declared=$(printf '#include <%s>\n' polyad/polyad.h polyad/bench.h |
  "${CC:-cc}" -E -P -Iinclude -x c - |
  grep -oE '\bpolyad_[a-z0-9_]+ *\(' | tr -d ' (' | sort -u)
if ! difference=$(diff <(echo "$declared") <(echo "$exported")); then
  echo "declared in public headers (<) and exported (>) differ:"
  echo "$difference"
  exit 1
fi
if command -v "${CXX:-c++}" >/dev/null; then
  object=$(mktemp)
  trap 'rm -f "$object"' EXIT
  {
    printf '#include <%s>\n' polyad/polyad.h polyad/bench.h
    while read -r function; do
      printf 'void (*address_of_%s)() = (void (*)())%s;\n' "$function" "$function"
    done <<<"$declared"
  } | "${CXX:-c++}" -Iinclude -w -c -x c++ -o "$object" -
  if ! difference=$(diff <(echo "$declared") <(nm -u "$object" | awk '{print $2}' | sort)); then
    echo "declared in public headers (<) and sought by C++ programs (>) differ: extern \"C\" missing?"
    echo "$difference"
    exit 1
  fi
fi
echo "$(wc -l <<<"$exported") functions"
