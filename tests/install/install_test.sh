#!/usr/bin/env bash
# Installs into a scratch prefix; builds and runs programs against it with CMake, pkg-config, C++ and
# the static library; uninstalls and finds nothing left.
# usage: install_test.sh SOURCE BUILD CMAKE CC
set -euo pipefail
source=$1 build=$2 cmake=$3 cc=$4
here=$source/tests/install
scratch=$(mktemp -d)
saved_manifest=$(mktemp)
saved_notes=$(mktemp)
trap 'rm -rf "$scratch" "$saved_manifest" "$saved_notes"' EXIT
[ ! -e "$build/install_manifest.txt" ] || cp "$build/install_manifest.txt" "$saved_manifest"
[ ! -e "$build/install_directories.txt" ] || cp "$build/install_directories.txt" "$saved_notes"

fail() {
  echo "FAILED: $*"
  exit 1
}

prefix="$scratch/a prefix"
"$cmake" --install "$build" --prefix "$prefix" >"$scratch/install.log"
libdir=$(dirname "$(find "$prefix" -name libpolyad.so)")
export PKG_CONFIG_PATH=$libdir/pkgconfig

echo "== files"
find "$prefix" ! -type d -printf '%P\n' | LC_ALL=C sort | tee "$scratch/files"
for file in include/polyad/polyad.h bin/polyad "${libdir#"$prefix"/}/libpolyad_portable.so" share/man/man1/polyad.1 \
  share/bash-completion/completions/polyad share/zsh/site-functions/_polyad \
  share/fish/vendor_completions.d/polyad.fish; do
  grep -q "^$file\$" "$scratch/files" || fail "$file was not installed"
done
version=$(pkg-config --modversion polyad)
soname=$(objdump -p "$libdir/libpolyad.so" | awk '/SONAME/ {print $2}')
case $version in
  0.*) expected=libpolyad.so.${version%.*} ;; # each 0.x is an interface of its own
  *) expected=libpolyad.so.${version%%.*} ;;
esac
[ "$soname" = "$expected" ] || fail "soname $soname, expected $expected for version $version"

echo "== the installed command, moved elsewhere, finds its library"
cp -r "$prefix" "$scratch/moved"
"$scratch/moved/bin/polyad" --version | grep -qF "$version" || fail "the moved command does not run"
"$scratch/moved/bin/polyad" cpd "$source/data/aminoacids.tns.gz" --rank 2 -i 2 --device cpu \
  --format portable --quiet || fail "the moved command does not find the portable kernels"

echo "== no run path makes the loader look into the working directory"
while read -r file; do
  if objdump -p "$file" | awk '/R(UN)?PATH/ {print $2}' | grep -E '^:|::|:$'; then
    fail "an empty entry in the run path of $file"
  fi
done < <(find "$build/polyad" "$build/lib" "$build/python" "$prefix" -type f \
  \( -name polyad -o -name '*.so*' \) ! -path '*/bash-completion/*')

if grep -q '^POLYAD_HARDENING:BOOL=ON' "$build/CMakeCache.txt"; then
  echo "== hardening of what is installed"
  "$here/hardened.sh" "$cc" "$prefix/bin/polyad" "$libdir/libpolyad.so" || fail "not hardened"
fi

echo "== a foreign CMake project: examples/"
"$cmake" -S "$source/examples" -B "$scratch/examples" -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_C_COMPILER="$cc" -DCMAKE_C_FLAGS="-Wall -Wextra -Werror" >"$scratch/cmake.log"
"$cmake" --build "$scratch/examples" >>"$scratch/cmake.log"
examples=$scratch/examples
(cd "$scratch" && "$examples/decompose_file" "$source/data/nycflights13.tns.gz" 3 model.ktensor) |
  tee "$scratch/decompose.log"
grep -q '^component 3' "$scratch/decompose.log" || fail "decompose_file printed no third component"
grep -q '^  carrier: [A-Z0-9][A-Z0-9]$' "$scratch/decompose.log" || fail "no labels were printed"
head -n 1 "$scratch/model.ktensor" | grep -q '^ktensor' || fail "no model was written"
"$examples/from_arrays" | tee "$scratch/arrays.log"
awk '/^fit/ { exit !($2 > 0.9999) }' "$scratch/arrays.log" || fail "from_arrays missed the patterns"
"$examples/progress_and_cancel" "$source/data/aminoacids.tns.gz" 3 0.9 >"$scratch/progress.log"
grep -q 'cancelled$' "$scratch/progress.log" || fail "progress_and_cancel was not cancelled"
built=$(find "$examples" -maxdepth 1 -type f -perm -u+x -printf '%f\n' | wc -l)
[ "$built" -eq "$(find "$source/examples" -name '*.c' | wc -l)" ] || fail "an example is not built"

echo "== C code of the documentation"
"$here/documented_code.py" "$source" "$cc" "$prefix" "$libdir" || fail "a block does not compile or run"

echo "== CMake: the static library"
mkdir "$scratch/static"
cat >"$scratch/static/CMakeLists.txt" <<TEXT
cmake_minimum_required(VERSION 3.22)
project(uses_static LANGUAGES C)
find_package(polyad REQUIRED)
add_executable(program $here/static_program.c)
target_link_libraries(program PRIVATE polyad::polyad_static)
TEXT
"$cmake" -S "$scratch/static" -B "$scratch/static" -DCMAKE_PREFIX_PATH="$prefix" >"$scratch/cmake.log"
"$cmake" --build "$scratch/static" >>"$scratch/cmake.log"
"$scratch/static/program"

# From here on the prefix has no blank: pkg-config's output is split at blanks.
mv "$prefix" "$scratch/prefix"
libdir=${libdir/"$prefix"/"$scratch/prefix"}
prefix=$scratch/prefix
export PKG_CONFIG_PATH=$libdir/pkgconfig

echo "== pkg-config, shared and static"
read -ra flags <<<"$(pkg-config --cflags --libs polyad)"
"$cc" -std=c17 -o "$scratch/shared_program" "$here/static_program.c" "${flags[@]}"
LD_LIBRARY_PATH=$libdir "$scratch/shared_program"
read -ra flags <<<"$(pkg-config --static --cflags --libs polyad | sed "s|-lpolyad|$libdir/libpolyad.a|")"
"$cc" -std=c17 -o "$scratch/static_program" "$here/static_program.c" "${flags[@]}"
"$scratch/static_program"

echo "== C++: each header by itself and all together"
if command -v "${CXX:-c++}" >/dev/null; then
  for header in "$prefix"/include/polyad/*.h; do
    echo "#include <polyad/$(basename "$header")>" | tee -a "$scratch/headers.h" |
      "${CXX:-c++}" -std=c++11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only \
        -I"$prefix/include" -x c++ -
  done
  "${CXX:-c++}" -std=c++11 -Wall -Wextra -Wpedantic -Werror -I"$prefix/include" \
    -DHEADERS_FILE="\"$scratch/headers.h\"" -o "$scratch/cpp_program" "$here/every_header.cpp" \
    -L"$libdir" -lpolyad
  LD_LIBRARY_PATH=$libdir "$scratch/cpp_program"
fi

echo "== uninstall leaves nothing, but what was there before"
destdir=$scratch/destdir
mkdir -p "$destdir/opt/somewhere/share/man/man1" "$destdir/opt/somewhere/lib"
touch "$destdir/opt/somewhere/lib/another"
(cd "$destdir" && find . | LC_ALL=C sort) >"$scratch/before"
rm -f "$build/install_directories.txt"
for _ in first again; do # what the first one made is not forgotten by the second one
  DESTDIR=$destdir "$cmake" --install "$build" --prefix /opt/somewhere >"$scratch/install.log"
done
[ "$(find "$destdir" -type f | wc -l)" -gt 10 ] || fail "DESTDIR was ignored"
DESTDIR=$destdir "$cmake" -D MANIFEST="$build/install_manifest.txt" \
  -P "$source/cmake/uninstall.cmake" >"$scratch/uninstall.log"
(cd "$destdir" && find . | LC_ALL=C sort) >"$scratch/after"
diff "$scratch/before" "$scratch/after" || fail "uninstall left (>) or took (<) what it should not"
"$cmake" --install "$build" --prefix "$scratch/new/prefix" >"$scratch/install.log"
"$cmake" -D MANIFEST="$build/install_manifest.txt" -P "$source/cmake/uninstall.cmake" \
  >"$scratch/uninstall.log"
[ ! -e "$scratch/new" ] || fail "left after uninstall: $(find "$scratch/new")"
[ ! -s "$saved_manifest" ] || cp "$saved_manifest" "$build/install_manifest.txt"
[ ! -s "$saved_notes" ] || cp "$saved_notes" "$build/install_directories.txt"
echo "all is well"
