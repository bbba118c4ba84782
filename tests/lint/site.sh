#!/usr/bin/env bash
# The documentation as a site: a warning, such as a link that leads nowhere, is an error.
# usage: site.sh OUTPUT_FOLDER
set -euo pipefail
command -v mkdocs >/dev/null || { echo "mkdocs is missing"; exit 77; }
mkdocs build --strict --quiet --clean --site-dir "$1"
test -s "$1/index.html"
# Every page of docs/ is in the site's menu.
failed=0
while read -r page; do
  grep -q ": ${page#docs/}\$" mkdocs.yml || { echo "$page is in no menu of mkdocs.yml"; failed=1; }
done < <(find docs -name '*.md')
exit $failed
