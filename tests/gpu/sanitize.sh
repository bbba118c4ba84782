#!/usr/bin/env bash
# The GPU tests' small cases under compute-sanitizer: memcheck, initcheck, racecheck, synccheck.
# First each tool must report a bug that was planted for it, and pass a program without one.
#
# usage: tests/gpu/sanitize.sh compile          compiles the planted bugs (no GPU is needed)
#        tests/gpu/sanitize.sh run BUILD        all tools on the small cases; BUILD has the tests
#                                               and the CUDA module
# The GPU's architecture is that of POLYAD_CUDA_ARCHITECTURE (default 90).
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
architecture=${POLYAD_CUDA_ARCHITECTURE:-90}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

find_tool() { # find_tool NAME: its path, also where the toolkit is not in PATH
  command -v "$1" || { [ -x "/usr/local/cuda/bin/$1" ] && echo "/usr/local/cuda/bin/$1"; } ||
    { echo "$1 is missing: install the CUDA toolkit" >&2; return 1; }
}

compile() {
  local nvcc
  nvcc=$(find_tool nvcc) || return 1
  "$nvcc" -O1 -lineinfo -arch="sm_$architecture" -o "$scratch/planted_bugs" "$here/planted_bugs.cu"
}

declare -A bug_of=([memcheck]=bounds [initcheck]=uninitialised [racecheck]=race [synccheck]=barrier)

# Programs, and cases of theirs for which a sanitizer has the time (none: all cases are small).
small=("mttkrp test_few" "ttmc test_few" "hls test_few" "linalg test_operations" "linalg test_residual"
  "phi test_few" "sort" "build test_plan" "build test_empty"
  "apr test_elementwise_steps" "apr test_normalize" "tucker test_odd_ranks")

# under TOOL COMMAND…: runs it; status 9 where the tool reports anything
under() {
  local tool=$1
  shift
  "$sanitizer" --tool "$tool" --error-exitcode 9 --print-limit 3 "$@" >"$scratch/out" 2>&1
}

check_tool() { # check_tool NAME: whether it reports its planted bug and nothing else
  under "$1" "$scratch/planted_bugs" none ||
    { echo "$1: a correct program is reported (status $?)"; cat "$scratch/out"; return 1; }
  # The status alone proves nothing: a bug may end the program without any tool.
  under "$1" "$scratch/planted_bugs" "${bug_of[$1]}"
  grep -Eq '(ERROR|RACECHECK) SUMMARY: [1-9][0-9]* (error|hazard)' "$scratch/out" ||
    { echo "$1: the planted bug (${bug_of[$1]}) passes"; cat "$scratch/out"; return 1; }
  echo "$1: reports the planted bug (${bug_of[$1]})"
}

run_all() {
  local build=$1 failed=0 runs=0 tool
  sanitizer=$(find_tool compute-sanitizer) && compile || return 1
  "$scratch/planted_bugs" none || { echo "no GPU can be used"; return 1; }
  for tool in memcheck initcheck racecheck synccheck; do
    check_tool "$tool" || return 1
  done
  for tool in memcheck initcheck racecheck synccheck; do
    # A kernel of cuSOLVER's (ormqr) reads what nobody has written, and does not use it.
    [ "$tool" != initcheck ] || echo "initcheck: tucker: not run: cuSOLVER is not ours to mend"
    for case in "${small[@]}"; do
      read -ra words <<<"$case"
      [ "$tool ${words[0]}" != "initcheck tucker" ] || continue
      if under "$tool" "$build/tests/gpu/test_gpu_${words[0]}" "${words[@]:1}" &&
        grep -q '\[       OK \]' "$scratch/out"; then
        echo "$tool: $case: no report"
      else
        echo "$tool: $case: FAILED"
        tail -n 40 "$scratch/out"
        failed=1
      fi
      runs=$((runs + 1))
    done
  done
  echo "$runs runs under 4 tools"
  return $failed
}

case ${1:-} in
  compile) compile && echo "the planted bugs are compiled for sm_$architecture" ;;
  run) run_all "${2:?the build folder is missing}" ;;
  *)
    sed -n '5,8s/^# //p' "$0" >&2
    exit 2
    ;;
esac
