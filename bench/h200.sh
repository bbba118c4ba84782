#!/usr/bin/env bash
# Builds polyad on a machine with an NVIDIA GPU, tests it, and measures.
#
# usage: bench/h200.sh STAGE…
#   carry     here, with a package registry: fetches the Debian packages of the libraries into
#             .carry (ignored by git; to be taken along to a machine that has no registry)
#   pack      here: puts what was built here (build) into .carry; unpack there saves building again
#   build     builds for this machine's GPU (TARGETS: only those); libraries come from .carry
#             where it exists
#   test      the tests labelled gpu, and the formats' tests on the CPU
#   sanitize  tests/gpu/sanitize.sh: compute-sanitizer's four tools on a small set
#   mutate    the mutation gate (tools/mutate.py) on all cores, for MUTATE_SECONDS (480) at most: report.json,
#             which begins as .carry/report.json where there is one, so that a later run goes on
#   small     measures `gpu-small` of bench/tensors.py, generated and real tensors, and movies: both
#             formats, the papers' variants, CP-ALS
#   medium    `gpu-medium`        large   `gpu-large`
#   music, amazon, twitch    one at a time: the largest takes five minutes, most of it on the host
#   phi       CP-APR's Phi on nell-2, on the GPU and on all cores
#   medium-paper, large-paper    the papers' variants
#   field     every format, on the tensors of small; field-medium and field-large on the others
#             (STRUCTURE=flat in the environment: generated tensors without the fibers of real ones)
#   hls       the tensors of paper D: both kernels of hls, its parts, its variants and other formats
#   profile   Nsight Compute on a few kernels
# Results go to $OUT (default build-gpu/results): one JSON object per tensor and line in
# STAGE.jsonl, what was printed in STAGE.log. Settings of the GPU are left as they are.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
OUT=${OUT:-build-gpu/results}
build=${BUILD:-build-gpu}
root=${CARRY_ROOT:-/tmp/polyad-carry}
architectures=${ARCHITECTURES:-90}
mkdir -p "$OUT"

packages=(libopenblas0-pthread libgfortran5 libquadmath0 libdeflate-dev libdeflate0 libisal-dev libisal2 zlib1g-dev zlib1g
  libzstd-dev libzstd1 libxxhash-dev libxxhash0 libcjson-dev libcjson1 libcmocka-dev libcmocka0 pkgconf
  pkgconf-bin libpkgconf3 opencl-c-headers ocl-icd-libopencl1)

carry() {
  mkdir -p .carry && (cd .carry && rm -f ./*.deb && apt-get -q download "${packages[@]}") &&
    du -sh .carry
}

# Makes the carried libraries visible to pkg-config, the linker and programs.
use_carried() {
  [ -d .carry ] || return 0
  local lib=$root/usr/lib/x86_64-linux-gnu file
  if [ ! -e "$root/.unpacked" ]; then
    mkdir -p "$root"
    for file in .carry/*.deb; do dpkg-deb -x "$file" "$root" || return 1; done
    touch "$root/.unpacked"
  fi
  export PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_LIBDIR=$lib/pkgconfig:$root/usr/share/pkgconfig
  export PKG_CONFIG_ALLOW_SYSTEM_LIBS=1 PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1
  export LD_LIBRARY_PATH=$PWD/$build/lib:$lib/openblas-pthread:$lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  export LIBRARY_PATH=$lib LDFLAGS="-Wl,-rpath-link,$lib"
  command -v pkg-config >/dev/null || export PATH=$PATH:$root/usr/bin
  # OpenCL's loader finds NVIDIA's driver by a file that a bare machine may lack.
  if [ ! -d /etc/OpenCL/vendors ]; then
    mkdir -p "$root/vendors" && echo libnvidia-opencl.so.1 >"$root/vendors/nvidia.icd"
    export OCL_ICD_VENDORS=$root/vendors
  fi
}

build() {
  use_carried || return 1
  [ ! -e "$root/usr/include/CL/cl.h" ] || OPENCL_HEADERS=$root/usr/include
  cmake -S . -B "$build" -G Ninja -DPOLYAD_CUDA=on -DPOLYAD_CUDA_ARCHITECTURES="$architectures" \
    -DPOLYAD_BUILD_PYTHON=OFF ${OPENCL_HEADERS:+-DOPENCL_HEADERS="$OPENCL_HEADERS"} &&
    cmake --build "$build" ${TARGETS:+--target $TARGETS}
}

# Programs, libraries and tests of a build, without symbols.
pack() {
  mkdir -p .carry && rm -rf "$build/packed" && mkdir "$build/packed" &&
    (cd "$build" && cp -P --parents polyad lib/*.so* tests/gpu/test_* tests/unit/test_team_shares \
      tests/property/test_{portable,gcp}_property tests/unit/test_{twotree,als_together,methods_device} bench/gpu/*_bench packed &&
      find packed -type f -exec strip {} +) &&
    tar -C "$build/packed" -c . | xz -6 -T2 >.carry/built.tar.xz && rm -r "$build/packed" && du -sh .carry
}

unpack() {
  use_carried || return 1
  mkdir -p "$build" && python3 -m tarfile -e .carry/built.tar.xz "$build"
}

# begin NAME COMMAND…: starts a command beside others; finish prints what they printed, one after the
# other, and tells whether all succeeded.
started=()
begin() {
  "${@:2}" >"$OUT/$1.part" 2>&1 &
  started+=("$! $1")
}

finish() {
  local failed=0 one name
  for one in "${started[@]}"; do
    name=${one#* }
    wait "${one% *}" || { [ $? -eq 77 ] || { echo "FAILED: $name"; failed=1; }; }
    echo "== $name" && cat "$OUT/$name.part" && rm "$OUT/$name.part"
  done
  started=()
  return $failed
}

# Every test under tests/gpu that was built, and no other.
test_gpu() {
  use_carried
  local program name functions failed=0
  for program in "$build"/tests/gpu/test_*; do
    case ${program##*/} in
      test_gpu_fault | test_gpu_team_fault) ;;
      test_gpu_mttkrp) # minutes as a whole: function by function
        mapfile -t functions < <(sed -n 's/^static void \(test_[a-z_]*\)(void \*\*state) {$/\1/p' tests/gpu/gpu_mttkrp_test.c)
        for name in "${functions[@]}"; do
          begin "${program##*/}-$name" env TEST_ONLY="$name" timeout 500 "$program"
        done
        ;;
      *) [ ! -x "$program" ] || begin "${program##*/}" timeout 500 "$program" ;;
    esac
  done
  begin pairs timeout 500 "$build/tests/unit/test_team_shares" cuda,cpu cpu,cuda
  begin twotree timeout 500 "$build/tests/unit/test_twotree" cuda
  begin together timeout 500 "$build/tests/unit/test_als_together" cuda
  begin methods timeout 500 "$build/tests/unit/test_methods_device" cuda
  begin gcp timeout 500 "$build/tests/property/test_gcp_property" cuda
  for name in cuda opencl; do
    [ ! -x "$build/tests/property/test_portable_property" ] ||
      begin "portable-$name" timeout 500 "$build/tests/property/test_portable_property" $name
  done
  begin mixed timeout 500 "$build/tests/gpu/test_gpu_members" cuda,cpu cpu,cuda
  finish || failed=1
  # One has limits of time for what it makes fail, the other watches the whole device's free memory: alone.
  for name in test_gpu_team_fault test_gpu_fault; do
    begin $name timeout 300 "$build/tests/gpu/$name"
    finish || failed=1
  done
  return $failed
}

sanitize() {
  use_carried
  tests/gpu/sanitize.sh run "$build"
}

mutate() {
  build='build-mutation'
  use_carried
  [ ! -e .carry/report.json ] || cp .carry/report.json "$OUT/"
  python3 tools/mutate.py --jobs "$(nproc)" --seconds "${MUTATE_SECONDS:-480}" --report "$OUT/report.json"
}

# Appends what was just measured to the stage's results, as one line.
keep() {
  tr -d '\n' <"$OUT/one.json" >>"$OUT/$1.jsonl" && echo >>"$OUT/$1.jsonl"
  rm -f "$OUT/one.json"
}

# measure STAGE "TENSOR SET…"…: one process per tensor, each result written when it is ready. TENSOR
# is what gpu_bench takes, or a set of bench/tensors.py.
measure() {
  use_carried
  local stage=$1 line source failed=0
  local lines=()
  shift
  for line in "$@"; do
    for source in $(python3 bench/tensors.py sources "${line%% *}"); do
      lines+=("$source ${line#* }")
    done
  done
  for line in "${lines[@]}"; do
    # shellcheck disable=SC2086
    timeout 400 "$build/bench/gpu/gpu_bench" $line ${STRUCTURE:+structure=$STRUCTURE} >"$OUT/one.json" || { echo "FAILED: $line"; failed=1; }
    keep "$stage"
  done
  return $failed
}

hls() {
  use_carried
  local tensor failed=0
  for tensor in movies art book g1 g2 g3; do
    timeout 100 "$build/bench/gpu/hls_bench" "$tensor" runs=20 thresholds >"$OUT/one.json" ||
      { echo "FAILED: $tensor"; failed=1; }
    keep hls
  done
  return $failed
}

profile() {
  use_carried
  local metrics=sm__throughput.avg.pct_of_peak_sustained_elapsed
  metrics+=,l1tex__throughput.avg.pct_of_peak_sustained_elapsed
  metrics+=,lts__throughput.avg.pct_of_peak_sustained_elapsed
  metrics+=,dram__throughput.avg.pct_of_peak_sustained_elapsed
  metrics+=,gpu__time_duration.sum,sm__warps_active.avg.pct_of_peak_sustained_active
  metrics+=,smsp__inst_executed.sum,lts__t_sectors_op_read.sum,l1tex__t_sector_hit_rate.pct
  local tensor
  for tensor in uber nell-2; do
    # The kernels that sum, not those that sort while a format is built.
    timeout 200 ncu --csv --clock-control none --metrics "$metrics" \
      --kernel-name "regex:sum_segments|join_blocks|remap_elements" --launch-skip 8 --launch-count 12 \
      "$build/bench/gpu/gpu_bench" "like:$tensor" f32 runs=2
  done
}

{ nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader; nproc; } 2>&1
ended=0
for stage in "$@"; do
  start=$SECONDS
  {
    case $stage in
      carry) carry ;;
      pack) pack ;;
      unpack) unpack ;;
      build) build ;;
      test) test_gpu ;;
      sanitize) sanitize ;;
      mutate) mutate ;;
      small) measure small "gpu-small default paper columns als" "movies default paper" ;;
      medium) measure medium "gpu-medium f32" "nell-2 default" "vast paper" ;;
      medium-paper) measure medium-paper "nell-2 paper" "enron paper" ;;
      large) measure large "gpu-large f32 runs=5" ;;
      large-paper) measure large-paper "gpu-large paper runs=3" ;;
      music | amazon | twitch) measure huge "$stage f32 runs=3" ;;
      phi) measure phi "nell-2 phi runs=5" "nell-2 phi device=cpu runs=3" ;;
      field) measure field "gpu-small field field64" "movies field field64" ;;
      field-medium) measure field-medium "gpu-medium field runs=5" ;;
      field-large) measure field-large "gpu-large field runs=5" ;;
      hls) hls ;;
      profile) profile ;;
      *)
        echo "unknown stage $stage" >&2
        exit 2
        ;;
    esac
  } >"$OUT/$stage.log" 2>&1
  code=$?
  echo "== $stage: exit $code, $((SECONDS - start)) s"
  if [ "$code" -ne 0 ]; then
    ended=1
    grep -n "FAILED" "$OUT/$stage.log"
    tail -n 40 "$OUT/$stage.log"
  else
    grep -E "all modes|cp-als|tests|PASSED|FAILED|WRONG|NOT RUN|NOT ENDED|tools|skipped" "$OUT/$stage.log" |
      cut -c1-170
  fi
  [ "$stage" != build ] || [ "$code" -eq 0 ] || exit 1
done
exit $ended
