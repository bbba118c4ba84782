#!/usr/bin/env bash
# Measures this machine: bandwidth, and for synthetic tensors of three sizes MTTKRP in every
# format, building, reading and a whole decomposition. Tables on the terminal, JSON in BUILD/bench.
# usage: bench/run.sh BUILD [options of polyad bench…]
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
shift
polyad=$build/polyad
out=$build/bench
mkdir -p "$out"
"$polyad" bench stream --json "$out/stream.json"
for tensor in uber chicago nell-2@0.1; do
  name=${tensor%@*}
  echo
  echo "like $tensor"
  "$polyad" bench mttkrp "like:$tensor" --format all --json "$out/mttkrp-$name.json" "$@"
  "$polyad" bench build "like:$tensor" --format all --repeat 3 --warmup 0 \
    --json "$out/build-$name.json"
done
"$polyad" generate --like uber "$out/uber.tns" --quiet
"$polyad" bench read "$out/uber.tns" --repeat 5 --json "$out/read.json"
"$polyad" bench end-to-end "$out/uber.tns" --json "$out/end-to-end.json"
"$polyad" bench end-to-end "$out/uber.tns" --algorithm apr-mu --max-iters 3 \
  --json "$out/end-to-end-apr.json"
rm -f "$out/uber.tns"
echo
echo "JSON is in $out"
