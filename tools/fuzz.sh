#!/usr/bin/env bash
# Runs the fuzz targets (clang's libFuzzer with AddressSanitizer, leaks included, and
# UndefinedBehaviorSanitizer). What breaks one is copied to tests/data/regress/TARGET, where the
# tests replay it for ever, and the script fails.
#
# usage: tools/fuzz.sh [--seconds N] [--seed N] [--jobs N] [--build DIR] [--merge] [TARGET…]
#   --seconds N  of each target (default 60); 86400 for a day
#   --seed N     begin every run alike, so that what breaks once breaks again (default: at random)
#   --jobs N     targets at a time (default 2)
#   --build DIR  build folder, made when it is missing (default build-fuzz)
#   --merge      then keep the fewest inputs that reach what all reached in tests/fuzz/corpus
# Without TARGET: all of them. With POLYAD_FIGURES, a folder, their speeds go to fuzz.json there.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
# What a run has freed is kept from use for that run; more would have every run touch new memory.
export LC_ALL=C ASAN_OPTIONS=detect_leaks=1:quarantine_size_mb=4:malloc_context_size=8
export UBSAN_OPTIONS=print_stacktrace=1
export KMP_BLOCKTIME=0 OMP_WAIT_POLICY=passive # threads that wait would take the processors
MOST_KIB=1024 # of a corpus

seconds=60 seed=0 jobs=2 build=build-fuzz merge=no one=no targets=()
while [ $# -gt 0 ]; do
  case $1 in
    --seconds) seconds=$2; shift ;;
    --seed) seed=$2; shift ;;
    --jobs) jobs=$2; shift ;;
    --build) build=$2; shift ;;
    --merge) merge=yes ;;
    --one) one=yes ;; # for the script itself
    -*) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2; exit 2 ;;
    *) targets+=("$1") ;;
  esac
  shift
done

corpus_of() { # threads reads what tns reads
  [ "$1" = threads ] && echo tests/fuzz/corpus/tns || echo "tests/fuzz/corpus/$1"
}

# fuzz TARGET: one line of what was done; 1 when the target broke.
fuzz() {
  local name=$1 program=$build/tests/fuzz/fuzz_$1 work=$build/fuzz/$1 log=$build/fuzz/$1.log
  local corpus options=() spent runs longest=16384
  [ "$name" != tns ] || longest=2048 # its blocks are of 61 bytes: longer texts only take longer
  corpus=$(corpus_of "$name")
  mkdir -p "$work" "$build/fuzz/broken"
  [ -f "tests/fuzz/dictionaries/$name.dict" ] &&
    options+=("-dict=tests/fuzz/dictionaries/$name.dict")
  [ -d "$corpus" ] && options+=("$corpus")
  [ -d "tests/data/regress/$name" ] && options+=("tests/data/regress/$name")
  local TIMEFORMAT='%U %S'
  spent=$({ time "$program" -max_total_time="$seconds" -seed="$seed" -timeout=10 -rss_limit_mb=1024 -max_len="$longest" \
    -print_final_stats=1 -artifact_prefix="$build/fuzz/broken/$name-" "$work" "${options[@]}" \
    >"$log" 2>&1; } 2>&1)
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  if [ -z "$runs" ] || ! grep -q '^Done ' "$log"; then
    echo "$name: BROKEN"
    grep -m 3 -E 'broken promise|ERROR|runtime error|SUMMARY' "$log" | sed 's/^/  /'
    for input in "$build/fuzz/broken/$name-"*; do
      [ -f "$input" ] || continue
      mkdir -p "tests/data/regress/$name"
      mv "$input" "tests/data/regress/$name/$(basename "${input#"$build/fuzz/broken/$name-"}")"
    done
    echo "  its input is in tests/data/regress/$name: mend the fault, keep the input"
    return 1
  fi
  awk -v name="$name" -v runs="$runs" -v spent="$spent" \
    -v new="$(sed -n 's/^stat::new_units_added: *//p' "$log")" \
    -v edges="$(grep -oE 'cov: [0-9]+' "$log" | tail -n 1 | tr -dc 0-9)" 'BEGIN {
      split(spent, part, " ")
      printf "%-12s %9d runs, %7d a second of processor time, %5d edges, %4d new inputs\n",
        name, runs, runs / (part[1] + part[2] + 1e-9), edges, new }'
}

# keep TARGET: replaces its corpus. Inputs that a person has named stay, whatever they reach.
keep() {
  local name=$1 corpus new=$build/fuzz/$1.merged size
  corpus=$(corpus_of "$name")
  [ "$name" != threads ] || return 0
  rm -rf "$new"
  mkdir -p "$new" "$corpus"
  find "$corpus" -type f -regextype posix-extended ! -regex '.*/[0-9a-f]{40}' -exec cp -t "$new" {} +
  "$build/tests/fuzz/fuzz_$name" -merge=1 -max_len=1048576 "$new" "$corpus" "$build/fuzz/$name" \
    >"$build/fuzz/$name.merge.log" 2>&1 || { echo "$name: cannot be merged"; return 1; }
  size=$(cat "$new"/* | wc -c)
  if [ $((size / 1024)) -gt $MOST_KIB ]; then
    echo "$name: $((size / 1024)) KiB of inputs; expected at most $MOST_KIB: the corpus stays as it was"
    return 1
  fi
  rm -rf "$corpus"
  mv "$new" "$corpus"
  echo "$name: $(find "$corpus" -type f | wc -l) inputs, $size bytes"
}

if [ $one = yes ]; then
  fuzz "${targets[0]}"
  exit
fi
if [ ${#targets[@]} -eq 0 ]; then
  mapfile -t targets < <(sed -n 's/^polyad_add_fuzz(\([a-z_]*\).*/\1/p' tests/fuzz/CMakeLists.txt)
fi
if [ ! -f "$build/build.ninja" ]; then
  CC=clang tools/configure.sh "$build" -DPOLYAD_FUZZ=ON -DPOLYAD_SANITIZE=address,undefined \
    -DPOLYAD_CUDA=off -DPOLYAD_BUILD_PYTHON=OFF -DPOLYAD_BUILD_CLI=OFF \
    -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DCMAKE_C_FLAGS_RELWITHDEBINFO="-O1 -gline-tables-only" >"$build.log" 2>&1 ||
    { cat "$build.log"; exit 1; }
fi
cmake --build "$build" --target "${targets[@]/#/fuzz_}" >"$build/fuzz.log" 2>&1 ||
  { tail -n 50 "$build/fuzz.log"; exit 1; }
mkdir -p "$build/fuzz"
printf '%s\0' "${targets[@]}" | xargs -0 -n 1 -P "$jobs" \
  "$0" --one --seconds "$seconds" --seed "$seed" --build "$build" | tee "$build/fuzz/rates"
status=$?
# Runs a second of each target, for docs/reliability.md.
[ -z "${POLYAD_FIGURES:-}" ] ||
  sort "$build/fuzz/rates" | awk '$3 == "runs," { printf "%s\"%s\": %d", n++ ? ", " : "{", $1, $4 }
    END { print "}" }' >"$POLYAD_FIGURES/fuzz.json"
if [ $merge = yes ]; then
  for name in "${targets[@]}"; do keep "$name" || status=1; done
fi
exit $((status != 0))
