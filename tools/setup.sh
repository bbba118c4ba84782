#!/usr/bin/env bash
# Installs what polyad needs on Debian and Ubuntu; elsewhere says what to install.
#
# usage: tools/setup.sh [--missing] [build | check | all]
#   build  compiler and libraries: enough for `make`, `make demo`, `make install` (the default)
#   check  and what `make check` needs: test tools, Python packages of the tests
#   all    and what `.ci/run`, `make lint` and `make check-long` need
# With --missing it only lists the packages that it would install.
set -euo pipefail
only_list=false
if [ "${1:-}" = --missing ]; then
  only_list=true
  shift
fi

build=(gcc libc6-dev make cmake ninja-build pkg-config libopenblas0 libdeflate-dev
  zlib1g-dev libzstd-dev libxxhash-dev libcjson-dev libcmocka-dev)
check=(g++ gfortran bats bash-completion zsh fish gzip zstd man-db mandoc python3-dev python3-venv
  python3-cffi python3-numpy python3-pytest python3-jsonschema python3-matplotlib python3-scipy
  python3-pandas ocl-icd-libopencl1 opencl-headers pocl-opencl-icd libopenmpi-dev openmpi-bin python3-mpi4py procps)
all=(git abigail-tools clang lld llvm clang-format clang-tidy libomp-dev cppcheck doxygen shellcheck
  gcovr ccache valgrind libopenblas0-openmp chromium mkdocs debhelper
  dh-python dpkg-dev help2man libmpich-dev lintian)

# Installed where there are such packages: ISA-L reads .gz three times as fast as zlib; elsewhere clang
# brings its run-time libraries itself.
optional=(libisal-dev)

case ${1:-build} in
  build) packages=("${build[@]}") ;;
  check) packages=("${build[@]}" "${check[@]}") ;;
  all)
    packages=("${build[@]}" "${check[@]}" "${all[@]}")
    optional+=(libclang-rt-dev)
    ;;
  *)
    echo "usage: tools/setup.sh [--missing] [build | check | all]" >&2
    exit 2
    ;;
esac

elsewhere() {
  local module
  for module in libdeflate zlib libzstd libxxhash libcjson cmocka; do
    pkg-config --exists "$module" 2>/dev/null || break
    [ "$module" != cmocka ] || ! command -v cmake ninja >/dev/null || exit 0 # all is here
  done
  cat >&2 <<TEXT
polyad: this script installs packages on Debian and Ubuntu only. Please install:
  Fedora: dnf install gcc gcc-c++ make cmake ninja-build pkgconf openblas \\
          libdeflate-devel zlib-devel libzstd-devel xxhash-devel cjson-devel libcmocka-devel bats
  Arch:   pacman -S --needed base-devel cmake ninja openblas libdeflate zlib zstd xxhash \\
          cjson cmocka bash-bats
  macOS:  brew install cmake ninja pkg-config openblas libdeflate zlib zstd xxhash cjson \\
          cmocka bats-core libomp
then run make again.
TEXT
  exit 1
}
if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  if $only_list; then exit; fi
  elsewhere
fi

installed() {
  local state
  state=$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null || true)
  [[ $state == installed* ]] # with a second architecture it says "installedinstalled"
}
wanted=() missing=()
for package in "${packages[@]}"; do
  installed "$package" || missing+=("$package")
done
find_wanted() { # the optional packages that can be installed
  wanted=()
  for package in "${optional[@]}"; do
    installed "$package" || ! apt-cache show "$package" >/dev/null 2>&1 || wanted+=("$package")
  done
}
find_wanted
if $only_list; then
  echo "${missing[*]}${wanted[*]:+ ${wanted[*]}}"
  exit
fi
[ $((${#missing[@]} + ${#wanted[@]})) -gt 0 ] || exit 0

install=(apt-get install -y --no-install-recommends)
if [ "$(id -u)" -eq 0 ]; then
  as_root=()
elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
  as_root=(sudo)
elif [ ${#missing[@]} -eq 0 ]; then
  exit 0 # all that is needed is here
else
  echo "polyad: packages are missing and this user cannot install them. As root, run:" >&2
  echo "  apt-get update && ${install[*]} ${missing[*]}" >&2
  exit 1
fi

"${as_root[@]}" apt-get update -qq
find_wanted # a new machine had no lists before
install+=("${missing[@]}" "${wanted[@]}")
echo "polyad: installing ${install[*]:4}" >&2
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive "${install[@]}" >/dev/null
