#!/usr/bin/env bash
# MTTKRP over all modes by flycoo, remapping included, and by blco on a CUDA device: nine tensors,
# rank 32, float32, three alternating rounds each in one process. Prints a line for each tensor and
# on how many flycoo is at least as fast. delicious's factors of 20 million rows take most of the time.
#
# usage: bench/flycoo_blco.sh [BUILD] [DIR] [DEVICE] > flycoo_blco.txt
#   BUILD   folder with polyad (default build)
#   DIR     where tensors are made that are missing (default build/flycoo-blco)
#   DEVICE  default cuda
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}
polyad=$build/polyad folder=${2:-$build/flycoo-blco} device=${3:-cuda}
tensors=(uber uber-apr-may nips chicago movies vast@0.5 nell-2@0.5 enron@0.3 delicious@0.05)
mkdir -p "$folder"

make_tensor() { # make_tensor NAME[@SCALE]
  local file="$folder/$1.ptn" scale=1
  if [ -e "$file" ]; then return; fi
  if [ -e "data/$1.tns.gz" ]; then
    "$polyad" convert "data/$1.tns.gz" "$file" --quiet
    return
  fi
  case $1 in *@*) scale=${1#*@} ;; esac
  "$polyad" generate --device cpu --like "${1%@*}" --scale "$scale" --precision f32 --seed 1 "$file" --quiet
}

# The line of a tensor; its last field is how many times as fast flycoo is.
measure() {
  "$polyad" bench mttkrp "$folder/$1.ptn" -r 32 --precision f32 --device "$device" \
    --format flycoo,blco,flycoo,blco,flycoo,blco --repeat 5 --warmup 2 2>&1 |
    awk -v tensor="$1" '
      sub(/: all modes /, " ") { times[$1] = times[$1] " " $2; sum[$1] += $2; ++runs[$1] }
      /error:/ { message = $0 }
      END {
        if (runs["flycoo"] == 3 && runs["blco"] == 3)
          print tensor ": flycoo" times["flycoo"] " ms, blco" times["blco"] " ms, blco / flycoo",
            sprintf("%.3f", sum["blco"] / sum["flycoo"])
        else
          print tensor ": not measured: " message
      }'
}

for tensor in "${tensors[@]}"; do make_tensor "$tensor" & done
wait
measured=0 held=0
for tensor in "${tensors[@]}"; do
  line=$(measure "$tensor") || true
  echo "$line"
  [[ $line =~ \ ([0-9]+)\.[0-9]+$ ]] || continue
  measured=$((measured + 1))
  [ "${BASH_REMATCH[1]}" -eq 0 ] || held=$((held + 1))
done
echo "flycoo is at least as fast as blco on $held of ${#tensors[@]} tensors ($measured measured)"
