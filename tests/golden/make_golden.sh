#!/usr/bin/env bash
# Makes the golden files of this version: one of every kind that polyad writes. They are kept for
# ever; a new version of a kind gets a folder of its own beside the old one.
# usage: make_golden.sh POLYAD FOLDER
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
polyad=$(realpath "$1") folder=$2
mkdir -p "$folder"
cd "$folder"
{
  echo "side,day,hour,value"
  for k in $(seq 0 59); do
    echo "side $((k % 4)),day-$((k * 7 % 5)),$((k % 6)),$((1 + k % 3))"
  done
} >rows.csv
"$polyad" convert rows.csv rides.ptn --columns side,day,hour
rm rows.csv
printf '1 1 0\n2 3 1.5\n2 2 0\n' >zeros.tns
"$polyad" convert zeros.tns zeros.ptn --zeros keep
rm zeros.tns
for name in rides.csv rides.tns rides.tns.gz rides.tns.zst rides.txt rides.tsv; do
  "$polyad" convert rides.ptn "$name"
done
for algorithm in als apr-mu apr-pdnr apr-pqnr; do
  "$polyad" cpd rides.ptn -r 2 --algorithm $algorithm --threads 1 --max-iters 3 --tol 0 --quiet \
    --checkpoint "$algorithm.state" --checkpoint-every 3 --output "$algorithm.ktensor"
  rm -f "$algorithm.state.prev"
done
"$polyad" tucker rides.ptn -r 2,2,2 --threads 1 --max-iters 3 --tol 0 --quiet --output rides.ttensor
"$polyad" cpd rides.ptn -r 2 --threads 1 --max-iters 3 --tol 0 --quiet --resume als.state --output model/
"$polyad" cpd rides.ptn -r 2 --threads 1 --max-iters 3 --tol 0 --quiet --resume als.state --output als.ptm
"$polyad" tucker rides.ptn -r 2,2,2 --threads 1 --max-iters 3 --tol 0 --quiet --output rides-tucker.ptm
"$polyad" convert rides.ptn rides.npz
"$polyad" cpd rides.ptn -r 2 --threads 1 --max-iters 3 --tol 0 --quiet --resume als.state --output als.npz
"$polyad" tucker rides.ptn -r 2,2,2 --threads 1 --max-iters 3 --tol 0 --quiet --output rides-tucker.npz
python3 "$here/hash_models.py" . >models.hash
