#!/usr/bin/env bash
# Outputs do not depend on asserts: the command is built with and without NDEBUG, everything else
# equal, and both write the same bytes. With POLYAD_FIGURES set, asserts.json in that folder says how
# many files.
# usage: asserts.sh SOURCE [options of cmake…]
set -euo pipefail
source=$1
shift
options=("$@")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

build() { # build FOLDER FLAGS
  "$source/tools/configure.sh" "$1" -DCMAKE_BUILD_TYPE=Release "-DCMAKE_C_FLAGS_RELEASE=-O3 $2" \
    -DPOLYAD_BUILD_TESTS=OFF -DPOLYAD_BUILD_PYTHON=OFF -DPOLYAD_CUDA=off "${options[@]}" >/dev/null
  cmake --build "$1" --target polyad_command | tail -n 1
}
build "$source/build-asserts" ""
build "$source/build-ndebug" -DNDEBUG
# A build whose asserts are not there would compare a program with itself.
has_asserts() { # has_asserts BUILD; all of nm's output is read: a pipe that closes early is a failure
  nm -D "$1/lib/libpolyad.so" | grep -c __assert_fail >/dev/null
}
has_asserts "$source/build-asserts" || { echo "asserts are missing in the build with them"; exit 1; }
if has_asserts "$source/build-ndebug"; then
  echo "asserts are in the build without them"
  exit 1
fi

# JSON without what differs from run to run.
normal() {
  python3 -c '
import json, sys
def plain(value):
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items() if "second" not in k and "peak" not in k and k != "directory"}
    return [plain(v) for v in value] if isinstance(value, list) else value
print(json.dumps(plain(json.load(sys.stdin)), sort_keys=True))'
}

run_all() { # run_all BUILD FOLDER
  local polyad=$1/polyad format algorithm
  mkdir -p "$2"
  cd "$2"
  "$polyad" generate x.ptn --dims 60,50,40 --nnz 4000 --rank 3 --poisson --seed 1 --quiet
  "$polyad" info x.ptn --json - | normal >info.json
  for format in coo csf modecopy flycoo blco mmcsf bcsf hbcsf hicoo fcoo fwc alto hls portable twotree dense; do
    "$polyad" cpd x.ptn -r 5 --threads 3 --format $format --quiet --output "$format.ktensor" \
      --json "$format.raw"
    normal <"$format.raw" >"$format.json"
  done
  for algorithm in apr-mu apr-pdnr apr-pqnr; do
    "$polyad" cpd x.ptn -r 5 --threads 3 -a $algorithm -i 5 --quiet --output "$algorithm.ktensor" \
      --json "$algorithm.raw"
    normal <"$algorithm.raw" >"$algorithm.json"
  done
  "$polyad" tucker x.ptn -r 4,3,2 --threads 3 --quiet --output tucker.ttensor
  "$polyad" convert x.ptn x.tns.gz --quiet
  "$polyad" convert x.ptn x.csv --quiet
  rm -f ./*.raw
}
(run_all "$source/build-asserts" "$scratch/with")
(run_all "$source/build-ndebug" "$scratch/without")
diff -r "$scratch/with" "$scratch/without"
files=$(find "$scratch/with" -type f | wc -l)
echo "$files files are equal with asserts and without"
[ -z "${POLYAD_FIGURES:-}" ] || echo "{\"files\": $files}" >"$POLYAD_FIGURES/asserts.json"
