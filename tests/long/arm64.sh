#!/usr/bin/env bash
# Cross-compiles for arm64 and runs the unit tests under qemu-user.
# usage: arm64.sh SOURCE
#
# On Debian, as root:
#   dpkg --add-architecture arm64 && apt-get update && apt-get install -y crossbuild-essential-arm64 \
#     qemu-user libopenblas0:arm64 libdeflate-dev:arm64 zlib1g-dev:arm64 \
#     libzstd-dev:arm64 libxxhash-dev:arm64 libcjson-dev:arm64 libcmocka-dev:arm64
set -euo pipefail
source=$1
build=$source/build-arm64
libraries=/usr/lib/aarch64-linux-gnu
for tool in aarch64-linux-gnu-gcc qemu-aarch64; do
  command -v $tool >/dev/null || { echo "$tool is missing: see $0"; exit 77; }
done
for module in libdeflate zlib libzstd libxxhash libcjson cmocka; do
  PKG_CONFIG_LIBDIR=$libraries/pkgconfig:/usr/share/pkgconfig pkg-config --exists $module ||
    { echo "$module for arm64 is missing: see $0"; exit 77; }
done

export PKG_CONFIG_LIBDIR=$libraries/pkgconfig:/usr/share/pkgconfig
cmake -S "$source" -B "$build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$source/cmake/arm64.cmake" >/dev/null
cmake --build "$build" | tail -n 1
export POLYAD_EMULATED=1
exec ctest --test-dir "$build" -LE 'gpu|long|lint' -E '^command_' --timeout 1200 \
  --output-on-failure --no-label-summary
