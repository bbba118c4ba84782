#!/usr/bin/env bash
# The committed style (.clang-format, as version 14 understands it).
command -v clang-format >/dev/null || { echo "clang-format is missing"; exit 77; }
tools/sources.sh | xargs clang-format --dry-run --Werror
