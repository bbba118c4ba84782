"""Every way in which the command writes files, and what a file that it wrote must be like."""

import json
import pathlib
import re
import shutil

CPD = ("cpd", "good.tns", "-r", "2", "--threads", "1", "--max-iters", "3")
OLD = b"what was there before\n"


class Writer:
    """A command line and the one place that it writes."""

    def __init__(self, target, *arguments, shape=lambda contents: contents):
        self.target = target
        self.arguments = arguments
        self.shape = shape  # what two runs have in common where they write seconds

    def __str__(self):
        return f"{self.arguments[0]}-{self.target.strip('/')}"

    @property
    def is_directory(self):
        return self.target.endswith("/")

    def path(self, polyad):
        return polyad.path(self.target.rstrip("/"))

    def prepare(self, polyad):
        """An old file in the target's place; directories are made only where nothing is."""
        path = self.path(polyad)
        if path.is_dir():
            shutil.rmtree(path)
        if not self.is_directory:
            path.write_bytes(OLD)

    def contents(self, polyad):
        """What is in the target's place: None, bytes, or names and bytes of a directory."""
        path = self.path(polyad)
        if path.is_dir():
            return {p.name: p.read_bytes() for p in sorted(path.iterdir())}
        return path.read_bytes() if path.exists() else None

    def is_old(self, contents):
        return contents is None if self.is_directory else contents == OLD

    def is_new(self, contents, reference):
        return contents is not None and self.shape(contents) == self.shape(reference)


def keys(contents):
    try:
        return list(json.loads(contents))
    except ValueError:
        return None


def cache_lines(contents):
    """Lines and fields of a tuning cache, without what was measured."""
    return [re.sub(rb" [a-z0-9-]+ [\d,]+ [^; ]+|[0-9a-f]{16}$", b"", line)
            for line in contents.split(b"\n")]


WRITERS = [
    Writer("out.ktensor", *CPD, "--output", "out.ktensor"),
    Writer("out.json", *CPD, "--json", "out.json", shape=keys),
    Writer("out/", *CPD, "--output", "out/"),
    Writer("out.ttensor", "tucker", "good.tns", "-r", "1,2,2", "--output", "out.ttensor"),
    Writer("out-tucker/", "tucker", "good.tns", "-r", "1,2,2", "--output", "out-tucker/"),
    Writer("out.cache", *CPD, "--tune", "--tune-cache", "out.cache",
           shape=cache_lines),
    *(Writer(name, "convert", "good.tns", name)
      for name in ("out.tns", "out.tns.gz", "out.tns.zst", "out.ptn", "out.csv", "out.txt")),
    *(Writer(name, "generate", name, "--dims", "9,9,9", "--nnz", "99")
      for name in ("out-made.tns", "out-made.ptn")),
]


def temporaries(folder):
    return sorted(p.name for p in pathlib.Path(folder).rglob(".*.tmp"))
