#!/usr/bin/env bash
# Cross-compiles format alto with its test program and runs it under qemu-user.
# usage: alto_cross.sh SOURCE ARCHITECTURE    (aarch64 or powerpc64le)
#
# On Debian, as root: apt-get install -y qemu-user gcc-aarch64-linux-gnu gcc-powerpc64le-linux-gnu
# No libraries for the other architecture are needed: the program is linked statically and leaves
# out what of polyad does not belong to the format.
set -euo pipefail
source=$1 architecture=$2
case $architecture in
  powerpc64le) emulator=qemu-ppc64le ;;
  *) emulator=qemu-$architecture ;;
esac
for tool in "$architecture-linux-gnu-gcc" "$emulator"; do
  command -v "$tool" >/dev/null || { echo "$tool is missing: see $0"; exit 77; }
done
cd "$source"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sources=(src/core/*.c src/engine/walk.c src/tensor/tensor*.c src/tensor/columns.c
  src/formats/alto/alto.c src/formats/alto/alto_[bcst]*.c src/formats/alto/alto_drive_plain.c
  src/formats/ttmc/*.c
  src/formats/rowsum/rowsum.c src/formats/rowsum/pair_tables.c
  src/formats/rowsum/rowsum_plain.c
  src/formats/traits.c tests/long/alto_cross.c)
options=(-std=c17 -O2 -fopenmp -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -DPOLYAD_STATIC -Iinclude
  -Isrc -ffunction-sections -fdata-sections)
objects=()
for file in "${sources[@]}"; do
  case $file in *_cuda.c | *_avx2.c | *_avx512.c | *tensor_hash.c) continue ;; esac
  object=$work/$(basename "$file" .c).o
  "$architecture-linux-gnu-gcc" "${options[@]}" -c "$file" -o "$object"
  objects+=("$object")
done
"$architecture-linux-gnu-gcc" -static -fopenmp -Wl,--gc-sections "${objects[@]}" -lm \
  -o "$work/alto_cross"
OMP_NUM_THREADS=3 "$emulator" "$work/alto_cross"
