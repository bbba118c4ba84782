"""Runs the command in a scratch folder and checks what every failure must look like."""

import functools
import gzip
import json
import os
import pathlib
import re
import subprocess

import jsonschema
import pytest
from model_check import SUBCOMMANDS
from model_files import check_run

COMMAND = os.environ.get("POLYAD_COMMAND", "polyad")
ROOT = pathlib.Path(os.environ.get("POLYAD_ROOT", pathlib.Path(__file__).parents[2]))
# Whether models are compared with what their runs say of them (tests/cli/model_check.py).
CHECKED = os.environ.get("POLYAD_CHECK_MODELS", "1") != "0"
GOOD = "1 1 1 1.0\n1 2 1 2.0\n2 1 2 3.0\n"


class Result:
    def __init__(self, process):
        self.status = process.returncode
        self.out = process.stdout
        self.err = process.stderr.decode("utf-8", "strict")

    @property
    def json(self):
        return json.loads(self.out.decode("utf-8", "strict"), parse_constant=refuse_constant)


def pytest_addoption(parser):
    parser.addoption("--part", default="1/1", help="K/N: every N-th case from the K-th on")


@pytest.hookimpl(trylast=True)  # of what the other options leave
def pytest_collection_modifyitems(config, items):
    part, parts = map(int, config.getoption("--part").split("/"))
    config.hook.pytest_deselected(items=[item for k, item in enumerate(items) if k % parts != part - 1])
    items[:] = items[part - 1::parts]


def refuse_constant(name):
    raise AssertionError(f"JSON holds {name}")


class Polyad:
    """The command in a folder of its own."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "good.tns").write_text(GOOD)

    def path(self, name):
        return self.folder / name

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    def run(self, *arguments, stdin=b"", env=None, timeout=120, preexec=None):
        everything = {k: v for k, v in os.environ.items() if not k.startswith(("LC_", "OMP_"))}
        everything["OMP_WAIT_POLICY"] = "passive"  # other tests run beside this one
        everything.update(env or {})
        everything = {name: value for name, value in everything.items() if value is not None}
        words = [os.fsencode(a) if isinstance(a, str) else a for a in map(keep, arguments)]
        result = Result(subprocess.run(
            [COMMAND, *words], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            cwd=self.folder, env=everything, timeout=timeout, preexec_fn=preexec))
        if CHECKED and result.status == 0:
            check_run(COMMAND, words, self.folder, stdin, result.out)
        return result

    def ok(self, *arguments, **options):
        result = self.run(*arguments, **options)
        assert result.status == 0, result.err
        return result

    def json(self, *arguments, **options):
        more = ()
        if CHECKED and arguments[0] in SUBCOMMANDS.values() and not {"-o", "--output"} & set(arguments):
            more = ("--output", self.folder.with_name(self.folder.name + ".txt"))  # to be checked
        result = self.ok(*arguments, *more, "--json", "-", **options)
        validate(arguments[0], result.json)
        return result.json

    def fails(self, status, *arguments, says=(), **options):
        """The command must fail in the one form that all failures have."""
        before = self.snapshot()
        result = self.run(*arguments, **options)
        expected = status if isinstance(status, tuple) else (status,)
        assert result.status in expected, (result.status, result.err)
        assert result.out == b""
        check_error(result.err)
        for text in [says] if isinstance(says, str) else says:
            assert text in result.err, result.err
        assert self.snapshot() == before, "a failed run changed files"
        return result

    def snapshot(self):
        found = {}
        for path in sorted(self.folder.rglob("*")):
            name = str(path.relative_to(self.folder))
            if path.is_symlink():
                found[name] = os.readlink(path)
            elif path.is_file():
                found[name] = path.read_bytes() if os.access(path, os.R_OK) else None
            else:
                found[name] = "other"
        return found


def keep(argument):
    return argument if isinstance(argument, (bytes, str)) else str(argument)


def check_error(text):
    """One line of at most 300 bytes, no control bytes; notes and warnings may come before."""
    lines = text.splitlines()
    errors = [line for line in lines if "error:" in line]
    assert len(errors) == 1, text
    assert re.match(r"polyad: (.*: )?error: .", errors[0]), text
    assert len(errors[0].encode()) <= 300, len(errors[0])
    assert all(c >= " " and c != "\x7f" for c in errors[0]), repr(errors[0])


@functools.cache
def validator(command):
    """Of the command's JSON. The schema is checked here, once."""
    schema = json.loads((ROOT / "docs/json" / f"{command}.json").read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema)


def validate(command, value):
    validator(command).validate(value)


def read_tns(path):
    """Coordinates to value, of a .tns file (plain or gzip)."""
    opener = gzip.open if str(path).endswith(".gz") else open
    found = {}
    with opener(path, "rt") as file:
        for line in file:
            if line.startswith("#"):
                continue
            *index, value = line.split()
            found[tuple(map(int, index))] = float(value)
    return found


@pytest.fixture
def polyad(tmp_path):
    return Polyad(tmp_path)
