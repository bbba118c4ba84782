#!/usr/bin/env bash
# The portable kernels compile as HIP. usage: portable_hip.sh OUTPUT_FOLDER
set -euo pipefail
command -v hipcc >/dev/null || { echo "hipcc is missing"; exit 77; }
mkdir -p "$1"
for type in f32 f64; do
  HIP_PLATFORM=amd hipcc --offload-arch=gfx90a -std=c++17 -O1 -Werror -Iinclude -Isrc -x hip \
    -c "src/portable/portable_hip_$type.hip" -o "$1/portable_hip_$type.o"
done
echo "compiled for gfx90a"
