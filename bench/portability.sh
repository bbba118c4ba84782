#!/usr/bin/env bash
# Measures portable kernels beside tuned ones on the devices of this machine; bench/portability.py
# makes tables and plots of it.
#
# usage: bench/portability.sh POLYAD OUT DEVICE… [-- options of polyad bench]
#   SCALES    which tensors (default: `portability` of bench/tensors.py, generated and real); a file
#             NAME.ptn in the current folder is taken instead of generating it anew
#   ELEMENTS  numbers in STREAM's arrays (default 100000000)
#   KERNELS   which of "stream mttkrp phi editions pi cpd" (default all but cpd)
set -uo pipefail
here=$(dirname "$0")
polyad=$1 out=$2
shift 2
devices=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do devices+=("$1") && shift; done
[ $# -eq 0 ] || shift
kernels=${KERNELS:-stream mttkrp phi editions pi}
mkdir -p "$out"
failed=0

# measure NAME ARGUMENT…: a failure of one is told and does not end the others.
measure() {
  local name=$1
  shift
  echo "== $name"
  "$polyad" bench "$@" --json "$out/$name.json" || { echo "FAILED: $name" && failed=1; }
}

for device in "${devices[@]}"; do
  label=${device/:/-}
  for kernel in $kernels; do
    if [ "$kernel" = stream ]; then
      for type in f64 f32; do
        measure "stream-$label-$type" stream --portable --device "$device" --precision $type \
          --elements "${ELEMENTS:-100000000}" "$@"
      done
      continue
    fi
    for tensor in ${SCALES:-$("$here/tensors.py" names portability)}; do
      name=$label-${tensor%@*}
      file=$("$here/tensors.py" sources "$tensor")
      [ ! -e "${tensor%@*}.ptn" ] || file=${tensor%@*}.ptn
      case $kernel in
        mttkrp | phi | pi)
          measure "$kernel-$name" "$kernel" "$file" --portable --device "$device" "$@"
          ;;
        editions)
          [ "${device%%:*}" != opencl ] || continue
          for variant in coo-atomic coo-pull; do
            measure "phi-$variant-$name" phi "$file" --format alto --variant $variant \
              --device "$device" "$@"
          done
          ;;
        cpd) # with the rows of Pi stored where a device can, as the paper's code does
          [ "${device%%:*}" != opencl ] || continue
          store=--store-pi
          [ "$device" = cpu ] || store=
          if [ ! -e "${tensor%@*}.ptn" ]; then
            "$here/tensors.py" make . "$tensor" --polyad "$polyad" >/dev/null
            [ -e "${tensor%@*}.ptn" ] || mv "$tensor.ptn" "${tensor%@*}.ptn"
          fi
          # shellcheck disable=SC2086
          "$polyad" cpd "${tensor%@*}.ptn" -r 16 --algorithm apr-mu $store --max-iters 3 --quiet \
            --device "$device" --json "$out/cpd-$name.json" || failed=1
          ;;
      esac
    done
  done
done
exit $failed
