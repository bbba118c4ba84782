#!/usr/bin/env python3
"""Processes that mpirun starts, each with a GPU: the model of one GPU, the same bits for the same number of
processes by whatever way their rows travel, a GPU for each in turn, and errors that end all.

usage: processes.py POLYAD [MPIRUN [WORD…]]

77: there is no GPU, no mpirun, or a build without MPI. Nothing but Python's own modules is needed."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
USUAL = ["mpirun", "--oversubscribe", "--allow-run-as-root"]


def environment(nccl):
    kept = {k: v for k, v in os.environ.items() if k != "POLYAD_NCCL"}
    return {**kept, "OMP_NUM_THREADS": "1", **({} if nccl else {"POLYAD_NCCL": "off"})}


class Command:
    def __init__(self, command, launcher, folder):
        self.command, self.launcher, self.folder = command, launcher, folder

    def run(self, size, *words, nccl=True):
        start = [*self.launcher, "-n", str(size)] if size > 1 else []
        return subprocess.run([*start, self.command, *words], cwd=self.folder, env=environment(nccl),
                              capture_output=True, text=True, timeout=120)

    def told(self, size, *words, nccl=True):
        done = self.run(size, *words, "--quiet", "--json", "-", nccl=nccl)
        assert done.returncode == 0, f"{size} processes, {words}: {done.stdout[-300:]}{done.stderr[-2000:]}"
        return json.loads(done.stdout)

    def bytes_of(self, name):
        return (self.folder / name).read_bytes()


def gpus_of(command):
    """How many GPUs the command sees."""
    done = command.run(1, "devices", "--json", "-")
    if done.returncode != 0:
        return 0
    return sum(each["name"].startswith("cuda:") for each in json.loads(done.stdout)["devices"])


def check_method(command, gpus, method, sizes):
    words = ("cpd", "x.ptn", "-r", "5", "-i", "6", "--tol", "0", "--top", "0", *method)
    key = "log_likelihood" if "apr-mu" in method else "fit"
    alone = command.told(1, *words, "--device", "cuda:0")[key]
    for size in sizes:
        found = command.told(size, *words, "--device", "cuda", "-o", "a.ktensor")
        assert abs(found[key] - alone) <= 1e-12 * max(1, abs(alone)), (method, size, found[key], alone)
        members = found["team"]["members"]
        assert [m["device"] for m in members] == [f"cuda:{k % gpus}" for k in range(size)], members
        assert all(m["device_peak_bytes"] > 0 for m in members), members
        command.told(size, *words, "--device", "cuda", "-o", "b.ktensor")
        command.told(size, *words, "--device", "cuda", "-o", "c.ktensor", nccl=False)
        assert command.bytes_of("a.ktensor") == command.bytes_of("b.ktensor"), (method, size)
        assert command.bytes_of("a.ktensor") == command.bytes_of("c.ktensor"), (method, size, "by the hosts")
        print(f"{' '.join(method) or 'als'}, {size} processes: {key} {found[key]:.12g}, alone {alone:.12g}",
              flush=True)


def check_errors(command):
    """A process without memory, and lists of GPUs, which are for one process."""
    small = command.run(2, "cpd", "x.ptn", "-r", "5", "--device", "cuda", "--memory-limit", "1M")
    assert small.returncode != 0 and small.stdout == "", small
    lines = [line for line in small.stderr.splitlines() if line.startswith("polyad: error:")]
    assert len(lines) == 1, small.stderr
    several = command.run(2, "cpd", "x.ptn", "-r", "5", "--device", "cuda:0,cuda:0")
    assert several.returncode != 0 and "computes on one device" in several.stderr, several.stderr


def check_checkpoint(command):
    words = ("cpd", "x.ptn", "-r", "5", "--tol", "0", "--top", "0", "--device", "cuda")
    whole = command.told(2, *words, "-i", "8", "-o", "whole.ktensor")
    command.told(2, *words, "-i", "4", "--checkpoint", "state")
    command.told(2, *words, "-i", "8", "--resume", "state", "-o", "same.ktensor")
    assert command.bytes_of("whole.ktensor") == command.bytes_of("same.ktensor")
    for size in (1, 3):
        fit = command.told(size, *words, "-i", "8", "--resume", "state")["fit"]
        assert abs(fit - whole["fit"]) <= 1e-12, (size, fit, whole["fit"])


def main():
    launcher = sys.argv[2:] or USUAL
    with tempfile.TemporaryDirectory() as folder:
        command = Command(pathlib.Path(sys.argv[1]).resolve(), launcher, pathlib.Path(folder))
        gpus = gpus_of(command)
        if gpus == 0 or shutil.which(launcher[0]) is None:
            print(f"skipped: {gpus} GPUs, and {launcher[0]} is {shutil.which(launcher[0])}")
            return SKIPPED
        command.run(1, "generate", "x.ptn", "--dims", "400,300,500", "--rank", "3", "--noise", "0.1", "--nnz",
                    "90000", "--seed", "1")
        first = command.run(2, "cpd", "x.ptn", "-r", "2", "-i", "1", "--device", "cpu")
        if "several processes need MPI" in first.stderr:
            print(f"skipped: {first.stderr}")
            return SKIPPED
        check_method(command, gpus, (), (2, 3, 4))
        check_method(command, gpus, ("--nonnegative",), (2,))
        check_method(command, gpus, ("--nonnegative=1,3",), (2,))
        check_checkpoint(command)
        check_errors(command)
        command.run(1, "generate", "x.ptn", "--dims", "400,300,500", "--rank", "3", "--poisson", "--nnz", "90000",
                    "--seed", "1")
        check_method(command, gpus, ("-a", "apr-mu"), (2,))
    return 0


if __name__ == "__main__":
    sys.exit(main())
