#!/usr/bin/env bash
# Decomposes bundled tensors and shows their components by label.
# usage: tools/demo.sh [--announce] BUILD   (--announce only says what make demo is about to do)
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "${1:-}" = --announce ]; then
  if [ -x "$2/polyad" ]; then
    echo "make demo: brings $2/polyad up to date, then decomposes two bundled tensors (a second)."
  else
    packages=$(tools/setup.sh --missing build)
    [ -z "$packages" ] || echo "make demo: first installs these packages: $packages"
    echo "make demo: builds the command (two to three minutes of processor time)" \
      "into $2/, then decomposes two bundled tensors (a second)."
  fi
  exit
fi
polyad=$1/polyad

cat <<'TEXT'

All 336,776 flights that left New York City in 2013, as a tensor date x carrier x origin x
destination. Each component below is a pattern of flights that go together: which airlines, from
which airport, to where, and on which days most of all.
TEXT
echo "\$ $polyad cpd data/nycflights13.tns.gz --rank 5 --nonnegative --seed 1"
echo
"$polyad" cpd data/nycflights13.tns.gz --rank 5 --nonnegative --seed 1

cat <<'TEXT'

215,551 crime reports in Chicago, January to November 2022: date x hour x community area x crime
type. One component is a few evenings at the end of July in area 32, the Loop: thefts at the
Lollapalooza festival.
TEXT
echo "\$ $polyad cpd data/chicago-crime-2022.tns.gz --rank 3 --nonnegative --seed 1"
echo
"$polyad" cpd data/chicago-crime-2022.tns.gz --rank 3 --nonnegative --seed 1

cat <<TEXT

Try your own: $polyad cpd FILE --rank R   (FILE: .tns, .tns.gz, .csv, .ptn; $polyad --help)
TEXT
