#!/usr/bin/env bash
# The GPU tests' small cases under compute-sanitizer: memcheck, initcheck, racecheck, synccheck.
# First each tool must report a bug that was planted for it, and pass a program without one. What a tool
# says of kernels in the loop of a graph counts if it passes a correct one there. Then
# every case runs under every tool, several at a time, the slow tools first; each says how long it
# took. What has not ended when the time is over fails.
#
# usage: tests/gpu/sanitize.sh compile          compiles the planted bugs (no GPU is needed)
#        tests/gpu/sanitize.sh run BUILD        all tools on the small cases; BUILD has the tests
#                                               and the CUDA module
#        tests/gpu/sanitize.sh programs BUILD   whether every program of the tests has a case
# The GPU's architecture is that of POLYAD_CUDA_ARCHITECTURE (default 90), the time for all that of
# POLYAD_SANITIZE_SECONDS (default 270), the cases at a time POLYAD_SANITIZE_JOBS (default: half of
# the processors, at most 8), and the GPUs that share them POLYAD_SANITIZE_GPUS (default 1).
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
architecture=${POLYAD_CUDA_ARCHITECTURE:-90}

find_tool() { # find_tool NAME: its path, also where the toolkit is not in PATH
  command -v "$1" || { [ -x "/usr/local/cuda/bin/$1" ] && echo "/usr/local/cuda/bin/$1"; } ||
    { echo "$1 is missing: install the CUDA toolkit" >&2; return 1; }
}

compile() { # compile FOLDER
  local nvcc
  nvcc=$(find_tool nvcc) || return 1
  "$nvcc" -O1 -lineinfo -arch="sm_$architecture" -o "$1/planted_bugs" "$here/planted_bugs.cu"
}

tools=(racecheck initcheck memcheck synccheck) # what takes longest comes first
declare -A bug_of=([memcheck]=bounds [initcheck]=uninitialised [racecheck]=race [synccheck]=barrier)

# Programs, and cases of theirs for which a sanitizer has the time (none: all cases are small).
small=("mttkrp test_few_from_0" "mttkrp test_few_from_1" "mttkrp test_few_from_2" "hls test_few" "ttmc test_few" "build test_plan" "build test_few"
  "linalg test_operations" "linalg test_refined" "linalg test_residual" "phi test_few" "tucker test_odd_ranks" "completion test_few"
  "mttkrp test_two_copies" "newton test_few" "apr test_elementwise_steps" "apr test_normalize" "apr_run test_few" "hls test_ranges"
  "build test_empty" "arrays test_values" "linalg test_copied_columns" "als test_few" "als test_few_ahead" "memory test_where_nothing_is_counted" "members test_cancelling"
  "stream kernels_agree_once" "half test_updates")
# Ranks above 1,024 and millions of nonzeros, for the two tools that take no minutes for them.
large=("ranks cuda test_cp_als" "linalg test_wide" "pairs test_products")

# under TOOL SECONDS OUTPUT COMMAND…: runs it; status 9 where the tool reports anything
under() {
  local tool=$1 seconds=$2 output=$3
  shift 3
  timeout "$seconds" "$(find_tool compute-sanitizer)" --tool "$tool" --error-exitcode 9 --print-limit 3 "$@" >"$output" 2>&1
}

check_tool() { # check_tool NAME FOLDER: whether it reports its planted bug and nothing else
  local out=$2/$1.planted
  under "$1" 60 "$out" "$2/planted_bugs" none ||
    { echo "$1: a correct program is reported (status $?)"; cat "$out"; return 1; }
  # The status alone proves nothing: a bug may end the program without any tool.
  under "$1" 60 "$out" "$2/planted_bugs" "${bug_of[$1]}"
  grep -Eq '(ERROR|RACECHECK) SUMMARY: [1-9][0-9]* (error|hazard)' "$out" ||
    { echo "$1: the planted bug (${bug_of[$1]}) passes"; cat "$out"; return 1; }
  echo "$1: reports the planted bug (${bug_of[$1]})"
}

# knows_loops NAME FOLDER: whether it passes a correct program whose kernel is in the loop of a graph.
# synccheck of CUDA 13.0 takes each barrier there for one that threads do not reach together.
knows_loops() {
  under "$1" 60 "$2/$1.loop" "$2/planted_bugs" loop && return
  echo "$1: apr_run: not run: it reports a correct kernel in the loop of a graph"
  return 1
}

# one FOLDER BUILD END "TOOL PROGRAM CASE": runs a case until second END, and says how it went
one() {
  local folder=$1 build=$2 end=$3 tool words left begin out
  read -r tool words <<<"$4"
  read -ra words <<<"$words"
  begin=$(date +%s)
  left=$((end - begin))
  out="$folder/$tool-${words[*]// /-}"
  local gpus=${POLYAD_SANITIZE_GPUS:-1}
  [ "$gpus" -le 1 ] || export CUDA_VISIBLE_DEVICES=$((${POLYAD_SANITIZE_SLOT:-0} % gpus))
  [ "$left" -gt 0 ] || { echo "$4: NOT RUN, the time is over"; return 1; }
  under "$tool" "$left" "$out" "$build/tests/gpu/test_gpu_${words[0]}" "${words[@]:1}"
  local status=$?
  local spent=$(($(date +%s) - begin))
  if [ $status -eq 0 ] && grep -q '\[       OK \]' "$out"; then
    echo "$4: no report ($spent s)"
  elif [ "$spent" -ge "$left" ]; then
    echo "$4: NOT ENDED, the time is over ($spent s)"
    return 1
  else
    # Two processes must not write between each other's lines.
    printf '%s: FAILED (%s s, status %s)\n%s\n' "$4" "$spent" "$status" "$(tail -n 40 "$out")"
    return 1
  fi
}

# Every program of the GPU's tests has a case here, but those that make calls fail and the one that
# runs no kernel.
check_programs() {
  local build=$1 program name missing=0
  for program in "$build"/tests/gpu/test_gpu_*; do
    name=${program##*/test_gpu_}
    case $name in fault | team_fault | begin) continue ;; esac
    [ -x "$program" ] || continue
    printf '%s\n' "${small[@]}" "${large[@]}" | grep -q "^$name " || { echo "$name: no case stands in $0"; missing=1; }
  done
  return $missing
}

run_all() {
  local build=$1 folder=$2 tool case cases end failed=0 runs=0 jobs
  find_tool compute-sanitizer >/dev/null && compile "$folder" && check_programs "$build" || return 1
  "$folder/planted_bugs" none || { echo "no GPU can be used"; return 1; }
  "$folder/planted_bugs" loop || { echo "a loop in a graph does not work"; return 1; }
  end=$(($(date +%s) + ${POLYAD_SANITIZE_SECONDS:-270}))
  jobs=$(($(nproc) / 2 > 8 ? 8 : $(nproc) / 2))
  jobs=${POLYAD_SANITIZE_JOBS:-$((jobs > 0 ? jobs : 1))}
  local loopless=' '
  for tool in "${tools[@]}"; do
    check_tool "$tool" "$folder" || return 1
    knows_loops "$tool" "$folder" || loopless+="$tool "
  done
  # A kernel of cuSOLVER's (ormqr) reads what nobody has written, and does not use it.
  echo "initcheck: tucker: not run: cuSOLVER is not ours to mend"
  # Runs of teams that are cancelled do not end under racecheck in five minutes and a half.
  echo "racecheck: members: not run: too slow"
  for tool in "${tools[@]}"; do
    cases=("${small[@]}")
    [[ $tool != memcheck && $tool != synccheck ]] || cases+=("${large[@]}")
    for case in "${cases[@]}"; do
      case "$tool ${case%% *}" in
        "initcheck tucker" | "racecheck members") continue ;;
        *" apr_run") [[ $loopless != *" $tool "* ]] || continue ;;
      esac
      printf '%s\0' "$tool $case"
      runs=$((runs + 1))
    done >>"$folder/cases"
  done
  xargs -0 -n 1 -P "$jobs" --process-slot-var=POLYAD_SANITIZE_SLOT "$here/sanitize.sh" one "$folder" "$build" "$end" <"$folder/cases" || failed=1
  echo "$runs runs under 4 tools, $jobs at a time"
  return $failed
}

scratch=
end_scratch() { [ -z "$scratch" ] || rm -rf "$scratch"; }
trap end_scratch EXIT
case ${1:-} in
  compile)
    scratch=$(mktemp -d)
    compile "$scratch" && echo "the planted bugs are compiled for sm_$architecture"
    ;;
  run)
    scratch=$(mktemp -d)
    run_all "$(cd "${2:?the build folder is missing}" && pwd)" "$scratch"
    ;;
  programs) check_programs "${2:?the build folder is missing}" ;;
  one) one "$2" "$3" "$4" "$5" ;; # for the script itself
  *)
    sed -n '7,10s/^# //p' "$0" >&2
    exit 2
    ;;
esac
