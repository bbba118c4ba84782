#!/usr/bin/env bash
# MTTKRP over all modes by flycoo, remapping included, and by blco on a CUDA device: nine tensors,
# rank 32, float32, three alternating rounds each.
#
# usage: bench/flycoo_blco.sh [BUILD] [DIR] > flycoo_blco.txt
#   BUILD  folder with polyad (default build)
#   DIR    where tensors are made that are missing (default build/flycoo-blco)
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}
polyad=$build/polyad folder=${2:-$build/flycoo-blco}
mkdir -p "$folder"
make_tensor() { # make_tensor NAME[@SCALE]
  local file="$folder/$1.ptn"
  if [ -e "$file" ]; then return; fi
  if [ -e "data/$1.tns.gz" ]; then
    "$polyad" convert "data/$1.tns.gz" "$file" --quiet
  else
    "$polyad" generate --device cpu --like "${1%@*}" --scale "$2" --precision f32 --seed 1 "$file" --quiet
  fi
}
for tensor in uber uber-apr-may nips chicago movies vast@0.5 nell-2@0.5 enron@0.3 delicious@0.05; do
  scale=1
  case $tensor in *@*) scale=${tensor#*@} ;; esac
  make_tensor "$tensor" "$scale"
  for round in 1 2 3; do
    for format in flycoo blco; do
      echo "== $tensor $round"
      "$polyad" bench mttkrp "$folder/$tensor.ptn" -r 32 --precision f32 --device cuda --format "$format" \
        --repeat 5 --warmup 2 2>&1 | grep 'all modes\|error:'
    done
  done
done
