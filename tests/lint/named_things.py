#!/usr/bin/env python3
"""What pages and comments name is in the tree: files, folders, links between pages, functions.

A page is read for its links and for what stands in `backticks`; a source file for its comments. A name is a path
below the tree's root, below its own folder, or the end of a tracked file's path (`apr_mu.c`); names that
begin with pd_ or polyad_ and end in () are functions and must stand in code. Words in capitals are
placeholders (NAME.c), and what a build or a program makes has other extensions.

usage: named_things.py   (in the tree's root)
"""

import pathlib
import posixpath
import re
import shutil
import subprocess
import sys

PAGES = {".md"}
SOURCES = {".c", ".h", ".cu", ".cuh", ".cl", ".hip"}
# Pages that speak of other trees: of older versions, of other programs, of one machine's outputs.
APART = re.compile(r"^(CHANGELOG\.md|bench/results/|tests/data/|tests/mutation/)")
FILE = re.compile(r"(?<![\w./*<{$-])((?:\.\./|[\w-]+/)*[\w-]+\.(?:c|h|cu|cuh|cl|hip|py|sh|md))(?![\w(/*-])")
FOLDER = re.compile(r"(?<![\w./-])((?:src|tests|docs|bench|cli|tools|cmake|python|examples|include)/[\w/-]*)"
                    r"(?![\w.*<{/-])")
FUNCTION = re.compile(r"\b((?:pd|polyad)_\w+)\(\)|`((?:pd|polyad)_\w+)`")
# `name`, `name` in `file`; `name` (`file`); `file` (`name`, `beginning_…`)
IN_FILE = re.compile(r"((?:`\w+`, )*`\w+`) (?:in |\()`([\w./]+\.\w+)`")
FILE_HAS = re.compile(r"`([\w./]+\.\w+)` \(((?:`\w+…?`, )*`\w+…?`)")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
# Names that conventions.md shows as good and bad examples, and a file of another project.
EXAMPLES = {"polyad_noun_verb", "polyad_read_tensor", "pd_module_verb", "pd_tensor_internal_merge_runs",
            "polyad_tensor_t", "generate_real_tensor_siblings.sh"}
PLACEHOLDER = re.compile(r"[A-Z]{3,}|(?:^|/)(?:file|program|empty|input|output|std\w+)\.\w+$")


class Tree:
    def __init__(self, root):
        listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"],
                                cwd=root, capture_output=True, text=True, check=True)
        self.files = [path for path in listed.stdout.split() if (root / path).is_file()]
        self.root, self.asked = root, 0
        self.paths = set(self.files)
        for path in self.files:
            self.paths.update(str(parent) for parent in pathlib.PurePosixPath(path).parents)
        self.ends = {path[start:] for path in self.files for start in starts(path)}
        self.code = set()
        for path in self.files:
            if pathlib.PurePosixPath(path).suffix in SOURCES:
                self.code.update(re.findall(r"\b(?:pd|polyad)_\w+", COMMENT.sub("", self.text(path))))

    def text(self, path):
        return (self.root / path).read_text(errors="replace")

    def has(self, name, page):
        self.asked += 1
        if name in EXAMPLES:
            return True
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(page), name))
        return name.rstrip("/") in self.paths or beside in self.paths or name in self.ends


def starts(path):
    """Where a path's last folders begin: those of a/b/c.h are 0, 2 and 4."""
    return [0] + [place + 1 for place, letter in enumerate(path) if letter == "/"]


def line_of(text, match):
    return text.count("\n", 0, match.start()) + 1


def passages(path, text):
    """(line, words) of what is read in a file."""
    pattern = COMMENT if pathlib.PurePosixPath(path).suffix in SOURCES else re.compile(r"`[^`\n]+`")
    for match in pattern.finditer(text):
        for more, words in enumerate(match[0].split("\n")):
            yield line_of(text, match) + more, words


def places(tree, path, text):
    """Names that a page says are in a file, and are not."""
    said = [(match, match[1], match[2]) for match in IN_FILE.finditer(text)]
    said += [(match, match[2], match[1]) for match in FILE_HAS.finditer(text)]
    for match, names, file in said:
        held = [tree.text(other) for other in tree.files if ("/" + other).endswith("/" + file)]
        for name, more in re.findall(r"`(\w+)(…?)`", names) if held else ():
            if not any(re.search(rf"\b{name}" + ("" if more else r"\b"), one) for one in held):
                yield f"{path}:{line_of(text, match)}: there is no {name} in {file}"


def complaints(tree):
    for path in tree.files:
        suffix = pathlib.PurePosixPath(path).suffix
        if suffix not in PAGES | SOURCES or APART.match(path):
            continue
        text = tree.text(path)
        for line, words in passages(path, text):
            for name in FILE.findall(words) + FOLDER.findall(words):
                if not PLACEHOLDER.search(name) and not tree.has(name, path):
                    yield f"{path}:{line}: there is no {name}"
            for name in (called or word for called, word in FUNCTION.findall(words)):
                if not PLACEHOLDER.search(name) and name not in tree.code | EXAMPLES:
                    yield f"{path}:{line}: there is no {name} in the code"
        if suffix in PAGES:
            yield from places(tree, path, text)
        for match in LINK.finditer(text) if suffix in PAGES else ():
            if ":" not in match[1] and not tree.has(match[1], path):
                yield f"{path}:{line_of(text, match)}: the link to {match[1]} leads nowhere"


def main():
    if shutil.which("git") is None or not pathlib.Path(".git").exists():
        print("what is in the tree is not known without git")
        sys.exit(77)
    tree = Tree(pathlib.Path(".").resolve())
    found = list(complaints(tree))
    print("\n".join(found + [f"{tree.asked} names of files and folders, {len(found)} complaints"]))
    sys.exit(1 if found or tree.asked < 500 else 0)


if __name__ == "__main__":
    main()
