#!/usr/bin/env python3
"""A commit that mends code brings a test. One whose subject begins with Mend, Fix, Correct or Repair
and which changes what is shipped (src/, cli/, include/, python/polyad/) changes tests, too, or says in
its body why there is none: "No-test: the machine that shows it is gone".

Commits after SINCE are read. Where git or that commit is missing (an archive, a shallow clone) there
is nothing to read, and the check is skipped. It first has to find planted mends without a test.

usage: mends.py [ROOT]
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

SINCE = "33ca1b0d"  # the rule began after this commit
MEND = re.compile(r"(?:[\w.+-]+: )?(?:mend|fix|correct|repair)(?:s|e?d|ing)?\b", re.I)
SHIPPED = ("src/", "cli/", "include/", "python/polyad/")
TESTS = ("tests/", "python/tests/")
NO_TEST = re.compile(r"^No-test: *\S.{9,}$", re.M)


def git(root, *arguments):
    ran = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False)
    return ran.stdout if ran.returncode == 0 else None


def mends_without_test(root, since):
    """Names and subjects; None: `since` is not in this history."""
    if git(root, "merge-base", "--is-ancestor", since, "HEAD") is None:
        return None
    found = []
    log = git(root, "log", "--no-merges", "--reverse", "--name-only", "--format=%x00%h%x01%s%x01%b%x01",
              f"{since}..HEAD")
    for commit in log.split("\0")[1:]:
        name, subject, body, files = commit.split("\1")
        files = files.split()
        if not MEND.match(subject) or not any(file.startswith(SHIPPED) for file in files):
            continue
        if not any(file.startswith(TESTS) for file in files) and not NO_TEST.search(body):
            found.append(f"{name} {subject}")
    return found


def planted():
    """What is found among commits of which two are mends without a test."""
    commits = [("Begin", ["src/a.c", "tests/a.c"], ""), ("Mend a", ["src/a.c", "tests/a.c"], ""),
               ("Mend b", ["src/a.c"], "No-test: seen on a machine that is gone"),
               ("Fix c", ["cli/a.c"], "Nothing to say."), ("Fixture of tests", ["src/a.c"], ""),
               ("alto: mends d", ["src/a.c", "docs/a.md"], "No-test: no"),
               ("Correct a page", ["docs/a.md"], "")]
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        git(root, "init", "-q")
        for number, (subject, files, body) in enumerate(commits):
            for file in files:
                path = root / file
                path.parent.mkdir(exist_ok=True)
                path.write_text(f"{number}\n")
            git(root, "add", "-A")
            git(root, "-c", "user.name=a", "-c", "user.email=a", "-c", "commit.gpgsign=false", "commit",
                "-q", "--no-verify", "-m", subject, "-m", body)
        first = git(root, "rev-list", "--max-parents=0", "HEAD")
        return mends_without_test(root, first.strip()) if first else None


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        del os.environ[name]  # of a hook that runs this
    try:
        found = planted()
    except FileNotFoundError:
        print("skipped: no git")
        return 77
    subjects = None if found is None else [line.split(" ", 1)[1] for line in found]
    if subjects != ["Fix c", "alto: mends d"]:
        print(f"mends.py: the planted mends without a test are {subjects}; expected Fix c, alto: mends d")
        return 1
    found = mends_without_test(root, SINCE)
    if found is None:
        print(f"skipped: commit {SINCE} is not in this history (an archive or a shallow clone)")
        return 77
    for line in found:
        print(f"{line}: a mend without a test; expected a change in tests/, or 'No-test: reason' in "
              "its body")
    return 1 if found else 0


sys.exit(main())
