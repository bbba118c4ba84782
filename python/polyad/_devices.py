"""The devices of this machine.

OpenCL's drivers are opened in a process of their own: one that is out of order may end the process
that opens it, and with it a notebook."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import warnings

from ._context import Context, context, encode
from ._errors import text
from ._native import ffi, lib
from ._types import DeviceInfo

PROGRAM = f"""
import json, sys
from {__package__}._devices import _of_kind
print(json.dumps(_of_kind(sys.argv[1])))
"""
PATIENCE = 60.0  # seconds that a driver may take to answer


def _describe(ctx: Context, name: str) -> DeviceInfo | None:
    about = ffi.new("polyad_device_description *")
    if lib.polyad_device_describe_named(ctx.pointer, encode(name, "name"), about) != lib.POLYAD_OK:
        return None
    return {"name": text(about.name), "description": text(about.description),
            "processors": about.processors, "memory_bytes": int(about.memory_bytes),
            "cache_bytes": int(about.cache_bytes), "capability": text(about.capability)}


def _of_kind(kind: str) -> list[DeviceInfo]:
    found: list[DeviceInfo] = []
    while (about := _describe(context(), f"{kind}:{len(found)}")) is not None:
        found.append(about)
    return found


def _ending(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    return f"signal {-status}, {signal.strsignal(-status)}"


def _of_kind_elsewhere(kind: str) -> list[DeviceInfo]:
    package = pathlib.Path(__file__).parent
    path = os.pathsep.join([str(package.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    if not sys.executable:  # Python inside another program
        return []
    try:
        done = subprocess.run([sys.executable, "-c", PROGRAM, kind],
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE,
                              env={**os.environ, "PYTHONPATH": path})
    except subprocess.TimeoutExpired:
        warnings.warn(f"no device {kind} is listed: its driver did not answer within "
                      f"{PATIENCE:g} s", RuntimeWarning, stacklevel=3)
        return []
    if done.returncode != 0:
        warnings.warn(f"no device {kind} is listed: its driver ended the process that opened it "
                      f"({_ending(done.returncode)})", RuntimeWarning, stacklevel=3)
        return []
    found: list[DeviceInfo] = json.loads(done.stdout)
    return found


def devices() -> list[DeviceInfo]:
    """The devices that this build and machine can use: name, description, processors,
    memory_bytes, cache_bytes (0: unknown), capability. OpenCL is asked in a process of its own; a
    RuntimeWarning names a driver that ends it."""
    cpu = _describe(context(), "cpu")
    assert cpu is not None
    return [cpu, *_of_kind("cuda"), *_of_kind_elsewhere("opencl")]
