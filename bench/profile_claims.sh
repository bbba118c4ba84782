#!/usr/bin/env bash
# What bounds the kernels that docs/claims.md speaks of: flycoo beside blco, F-COO's sums beside
# modecopy's, the thresholds of hls, and what small tensors' iterations hold beside MTTKRP. For a machine with an NVIDIA GPU, in about three
# minutes; with Nsight Compute (ncu) where it is installed and counters may be read, else by times.
#
# usage: bench/profile_claims.sh [BUILD] > profile_claims.txt
#   BUILD  folder with polyad (default build)
#
# How to read it:
# - times: flycoo over blco is the ratio to explain. Its own kernels are sum_segments (sums, with
#   the elements on their way to the next mode's order) and join_blocks; blco's is blco_tiles.
#   flycoo:no-remap has a copy for each mode: its sums without the remapping.
# - profile (bench/profile_table.py), a launch a line. A kernel whose "l2%" or "sm%" is above 80 is bound
#   by that. Else the largest stall says what its warps wait for: "long_scoreboard" loads from L2 or
#   memory (too few in flight), "short_scoreboard" and "mio_throttle" shared memory, "wait" and
#   "math_pipe_throttle" the instructions themselves, "barrier" each other. "inst" of two kernels on one
#   tensor compares instructions per nonzero.
# - F-COO: if join (nz_join) takes less than a tenth of nz_sum_sorted's time, a segmented scan could
#   save no more than that.
# - iterations: kernels of CP-ALS beside MTTKRP on small tensors, those that run outside the recorded
#   iteration: invert_small inverts the product of Gram matrices in one block, beside the next MTTKRP.
# - hls: the fastest threshold of each tensor in float16 (in float32 a GPU has no tiles), MTTKRP at rank 32
#   and the chain at rank 16, beside the time at the default, "hls".
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
build=${1:-build}
polyad=$build/polyad
most=240 # seconds in all: what is left out then is said
begin=$SECONDS

late() {
  [ $((SECONDS - begin)) -lt $most ] && return 1
  echo "left out, for time: $1"
}

bench() { # kernel tensor rank formats [options]
  timeout 60 "$polyad" bench "$1" "like:$2" -r "$3" --precision f32 --device cuda --format "$4" --repeat 5 \
    --warmup 2 "${@:5}" 2>&1 | grep -v '^ *$'
}

stalls=""
for reason in long_scoreboard short_scoreboard mio_throttle lg_throttle wait math_pipe_throttle barrier \
  not_selected; do
  stalls+=,smsp__average_warps_issue_stalled_${reason}_per_issue_active.ratio
done
metrics=gpu__time_duration.sum,sm__throughput.avg.pct_of_peak_sustained_elapsed
metrics+=,l1tex__throughput.avg.pct_of_peak_sustained_elapsed,lts__throughput.avg.pct_of_peak_sustained_elapsed
metrics+=,dram__throughput.avg.pct_of_peak_sustained_elapsed,sm__warps_active.avg.pct_of_peak_sustained_active
metrics+=,smsp__inst_executed.sum,l1tex__t_sector_hit_rate.pct,lts__t_sectors_op_read.sum
metrics+=,lts__t_sectors_op_write.sum,dram__bytes_read.sum,dram__bytes_write.sum$stalls

counters() { # tensor format kernels
  timeout 60 ncu --csv --clock-control none --metrics "$metrics" --kernel-name "regex:$3" --launch-skip 4 \
    --launch-count 6 "$polyad" bench mttkrp "like:$1" -r 32 --precision f32 --device cuda --format "$2" \
    --repeat 3 --warmup 1 2>&1 | bench/profile_table.py
}

echo "== times"
for tensor in uber nips nell-2@0.25 movies enron@0.15; do
  late "times of $tensor" || bench mttkrp "$tensor" 32 modecopy,flycoo,flycoo:no-remap,blco,fcoo
done
if command -v ncu >/dev/null && ncu --query-metrics >/dev/null 2>&1; then
  for tensor in uber nell-2@0.25 movies enron@0.15; do
    for pair in flycoo:sum_segments\|remap_elements\|join_blocks blco:blco_tiles \
      fcoo:nz_sum_sorted\|nz_join modecopy:sum_segments\|join_blocks; do
      echo "== profile: ${pair%%:*} on $tensor"
      late "it" || counters "$tensor" "${pair%%:*}" "${pair#*:}"
    done
  done
else
  echo "== no profile: ncu is missing"
fi
iteration() { # tensor rank
  timeout 60 ncu --csv --clock-control none --metrics gpu__time_duration.sum --launch-skip 12 --launch-count 26 \
    --kernel-name 'regex:invert_small|pass_rows|finish_update|model_norm|residual|scale' "$polyad" cpd \
    "data/$1.tns.gz" -r "$2" --precision f32 --device cuda --format modecopy --max-iters 40 --tol 0 --seed 1 \
    --quiet 2>&1 | bench/profile_table.py
}

if command -v ncu >/dev/null && ncu --query-metrics >/dev/null 2>&1; then
  for tensor in chicago-crime-2022 uber-apr-may; do
    for rank in 8 16 32; do
      echo "== iterations: $tensor, rank $rank"
      late "it" || iteration "$tensor" "$rank"
    done
  done
fi
thresholds=hls
for threshold in 16 24 40 56 64 80 96; do thresholds+=,hls:tile-threshold=$threshold; done
for tensor in movies g1; do
  echo "== hls thresholds: $tensor"
  late "MTTKRP" || bench mttkrp "$tensor" 32 "$thresholds" --compute f16
  late "the chain" || bench ttmc "$tensor" 16 "$thresholds" --compute f16
done
echo "== $((SECONDS - begin)) s"
