#!/usr/bin/env bash
# Measures this machine: bandwidth, and for the tensors `quick` of bench/tensors.py, generated and
# real, MTTKRP in every format, building, reading and a whole decomposition. Tables on the terminal, JSON in BUILD/bench.
# usage: bench/run.sh BUILD [options of polyad bench…]
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
shift
polyad=$build/polyad
out=$build/bench
mkdir -p "$out"
"$polyad" bench stream --json "$out/stream.json"
mapfile -t tensors < <(bench/tensors.py sources quick)
for tensor in "${tensors[@]}"; do
  name=$(basename "${tensor#like:}" .tns.gz)
  echo
  echo "$tensor"
  "$polyad" bench mttkrp "$tensor" --format all --json "$out/mttkrp-$name.json" "$@"
  "$polyad" bench build "$tensor" --format all --repeat 3 --warmup 0 \
    --json "$out/build-$name.json"
done
for tensor in uber uber-apr-may; do
  file=$(bench/tensors.py make "$out" "$tensor" --ends .tns --polyad "$polyad")
  "$polyad" bench read "$file" --repeat 5 --json "$out/read-$tensor.json"
  "$polyad" bench end-to-end "$file" --json "$out/end-to-end-$tensor.json"
  "$polyad" bench end-to-end "$file" --algorithm apr-mu --max-iters 3 \
    --json "$out/end-to-end-apr-$tensor.json"
  rm -rf "$file" "${file%.tns}.labels"
done
echo
echo "JSON is in $out"
