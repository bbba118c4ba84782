#!/usr/bin/env python3
"""Runs a command that prepares, says so on standard error, and then does what is to be measured: it is
held at its first words until a file exists, so that other programs can be stopped for the measured part
alone.

usage: held.py --until FILE COMMAND ...

The command's standard error is a pipe that is full: its first write waits. "prepared" is printed on standard
error when it does (Linux tells by /proc/PID/syscall), and its exit status is this script's."""

import argparse
import fcntl
import os
import pathlib
import subprocess
import sys
import threading
import time

PIPE_BYTES = 4096


def full_pipe():
    read, write = os.pipe()
    fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    os.write(write, b"\0" * PIPE_BYTES)
    return read, write


def writes_to(pid, descriptor):
    """Whether the process is inside write() to a descriptor."""
    words = pathlib.Path(f"/proc/{pid}/syscall").read_text().split()
    return words[0] == "1" and int(words[1], 16) == descriptor


def drain(read):
    os.read(read, PIPE_BYTES)
    while got := os.read(read, PIPE_BYTES):
        sys.stderr.buffer.write(got.replace(b"\0", b""))
        sys.stderr.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--until", type=pathlib.Path, required=True)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    read, write = full_pipe()
    with subprocess.Popen(args.command, stderr=write) as process:
        os.close(write)
        told = False
        while process.poll() is None and not args.until.exists():
            if not told and writes_to(process.pid, 2):
                told = True
                print("prepared", file=sys.stderr, flush=True)
            time.sleep(0.05)
        drained = threading.Thread(target=drain, args=(read,))
        drained.start()
        status = process.wait()
        drained.join()
    sys.exit(status)


if __name__ == "__main__":
    main()
