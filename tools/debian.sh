#!/usr/bin/env bash
# Builds the Debian packages, looks them over with lintian, and tries them: unpacked into a folder of
# their own they do what debian/tests asks of installed ones; as root they are also installed and removed.
# usage: tools/debian.sh [--cuda] FOLDER      (the packages go there; --cuda: also libpolyad-cuda)
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
profiles=
if [ "${1:-}" = --cuda ]; then
  profiles=pkg.polyad.cuda
  shift
fi
mkdir -p "$1"
folder=$(cd "$1" && pwd)
for tool in dpkg-buildpackage dh dh_python3 help2man lintian; do
  command -v "$tool" >/dev/null || { echo "debian: there is no $tool (tools/setup.sh all)"; exit 77; }
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

tree=$folder/tree
rm -rf "$tree" "$folder"/*.deb
mkdir "$tree"
git -C "$root" ls-files -coz --exclude-standard | (cd "$root" && xargs -0 cp --parents -t "$tree")
echo "debian: building"
# Packages of debug symbols take longer to compile than all others; nothing here looks at them.
(cd "$tree" && DEB_CFLAGS_STRIP=-g \
  DEB_BUILD_OPTIONS="noautodbgsym parallel=${CMAKE_BUILD_PARALLEL_LEVEL:-2}" \
  dpkg-buildpackage -us -uc -b ${profiles:+-P"$profiles"}) >"$folder/build.log" 2>&1 ||
  { tail -n 40 "$folder/build.log"; exit 1; }
echo "debian: lintian"
lintian --fail-on error,warning --allow-root "$folder"/polyad_*.changes

packages=("$folder"/*.deb)
for package in "${packages[@]}"; do
  case $package in *-dbgsym_*) continue ;; esac
  dpkg-deb -x "$package" "$scratch/installed"
  dpkg-deb --info "$package" >/dev/null
done
prefix=$scratch/installed/usr
libraries=$(dirname "$(find "$prefix/lib" -name 'libpolyad.so')")
export PATH="$prefix/bin:$PATH" LD_LIBRARY_PATH="$libraries" CMAKE_PREFIX_PATH="$prefix" \
  PKG_CONFIG_PATH="$libraries/pkgconfig" PYTHONPATH="$prefix/lib/python3/dist-packages"
sed -n 's/^Test-Command: //p' "$tree/debian/tests/control" | while read -r test; do
  echo "debian: $test"
  (cd "$tree" && $test)
done
polyad cpd "$root/data/aminoacids.tns.gz" --rank 2 -i 2 --device cpu --format portable --quiet >/dev/null
unset LD_LIBRARY_PATH PYTHONPATH

if [ "$(id -u)" -eq 0 ] && ! dpkg-query -W 'libpolyad*' >/dev/null 2>&1; then
  mapfile -t packages < <(printf '%s\n' "${packages[@]}" | grep -v -- '-dbgsym_')
  mapfile -t names < <(for package in "${packages[@]}"; do dpkg-deb -f "$package" Package; done)
  dpkg -i "${packages[@]}" >"$folder/install.log" 2>&1 || { cat "$folder/install.log"; exit 1; }
  (cd "$tree" && /usr/bin/polyad --version && debian/tests/first-result >/dev/null)
  dpkg --purge "${names[@]}" >>"$folder/install.log" 2>&1
  left=$(find /usr -name '*polyad*' -newer "$folder/build.log" ! -path '/usr/share/doc/*' -print -quit)
  [ -z "$left" ] || { echo "debian: $left is left after the packages were removed"; exit 1; }
  echo "debian: installed, tried and removed"
else
  echo "debian: not installed, only unpacked: that needs root, and no polyad from packages"
fi
rm -rf "$tree"
