#!/usr/bin/env bash
# Measures two builds of polyad on an otherwise idle machine in about ten minutes: kernels and
# decompositions of the old build beside the new one, then whole runs of the new one.
#
# usage: bench/idle_cpu.sh OLD NEW        (polyad commands)
#   OUT      where JSON goes (default bench/results/cpu): builds.json, whole_runs.json
#   TENSORS  where tensors are made, or are (default build/tensors)
#   MOST     the load average above which nothing is measured (default 0.5)
# Writes the tables of README.md and docs/measured.md anew where OUT is the default.
set -euo pipefail
[ $# -eq 2 ] || { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 2; }
old=$(realpath "$1")
new=$(realpath "$2")
cd "$(dirname "$0")/.."
out=${OUT:-bench/results/cpu}
folder=${TENSORS:-build/tensors}
mkdir -p "$out" "$folder"
load=$(cut -d' ' -f1 /proc/loadavg)
if awk -v load="$load" -v most="${MOST:-0.5}" 'BEGIN { exit !(load > most) }'; then
  echo "$0: load average $load found; expected at most ${MOST:-0.5} (MOST=…)" >&2
  exit 1
fi
for set in idle whole; do bench/tensors.py make "$folder" $set --polyad "$new" >/dev/null; done
bench/whole_runs.py --polyad "$new" --tensors "$folder" --output "$out/whole_runs.json"
# Exit status 1: a row is slower. The record is written all the same, and says which.
status=0
bench/compare_builds.py "$old" "$new" --tensors "$folder" --output "$out/builds.json" --names idle \
  --kernels mttkrp,phi,cpd --formats auto || status=$?
[ -n "${OUT:-}" ] || bench/readme_tables.py
exit $status
