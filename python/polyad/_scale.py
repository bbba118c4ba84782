"""What several processes would make of a tensor, before there are any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._algorithms import cp_als
from ._arguments import items, single
from ._context import context, index, real
from ._memory import precision_type
from ._native import ffi, lib
from ._plan import Plan, rank_argument
from ._tensor import as_tensor
from ._types import Precision, ScaleEstimate

_ITERATIONS = 5
_RANKS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


def plan_scale(x: Any, rank: int, ranks: int | Sequence[int] = _RANKS, *,
               seconds: float | None = None, network: float = 12.5e9, latency: float = 5e-6,
               ranks_per_host: int = 1, host_bandwidth: float | None = None,
               host_latency: float = 1e-6, precision: Precision = "f64", threads: int | None = None) -> list[ScaleEstimate]:
    """What :func:`cp_als` by several processes would take, for every number of them.

    The grid over the modes, nonzeros, rows and the bytes that travel are counted on the tensor, by
    what shares it out in a real run; memory and times are estimated.

    Parameters
    ----------
    x : SparseTensor (or what can be made into one)
    rank : int
        Components.
    ranks : int or sequence of int
        Numbers of processes, up to 65536.
    seconds : float, optional
        Of an iteration by one process with the whole tensor. Default: measured here, by iterations
        with `threads` threads.
    network : float
        Bytes that a machine sends a second, and gets at the same time; the default is 100 Gbit/s.
    latency : float
        Seconds of a message.
    ranks_per_host : int
        Processes of one machine, which share its memory, processors and network.
    host_bandwidth : float, optional
        Bytes that all processors of a machine read and write a second. Default: measured here, where
        `seconds` is, too.
    host_latency : float
        Seconds of a message within a machine.
    precision : {"f64", "f32"}
    threads : int, optional
        Default: all processors this process may use.

    Returns
    -------
    list of dict
        For every number of processes: "ranks", "grid"; of the process that has most "nnz_most",
        "rows_read_most", "rows_owned_most", "bytes_sent_most" (an iteration) and "bytes_most"
        (memory); "bytes_sent" by all; "seconds_compute", "seconds_network", "seconds" of an
        iteration and "efficiency", the time of one process over ranks times seconds.
    """
    tensor = as_tensor(x)
    sizes = [index(n, "ranks") for n in ([ranks] if single(ranks) else items(ranks, "ranks", "numbers"))]
    options = ffi.new("polyad_scale_options *")
    lib.polyad_scale_options_init(options)
    options.rank, options.precision = rank_argument(rank), precision_type(precision)
    options.bytes_per_second, options.latency = real(network, "network"), real(latency, "latency")
    if seconds is None:
        plan = Plan(tensor, rank, precision=precision, device="cpu", threads=threads)
        info = cp_als(plan, rank, max_iters=_ITERATIONS, tol=0, threads=threads).info
        mttkrp = sum(info["seconds_mttkrp"])
        options.seconds_mttkrp, options.bytes_format = mttkrp, plan.nbytes
        options.seconds_other = max(0.0, info["seconds_per_iteration"] - mttkrp)
    else:
        options.seconds_mttkrp = real(seconds, "seconds")
    options.ranks_per_host = index(ranks_per_host, "ranks_per_host")
    options.host_latency = real(host_latency, "host_latency")
    ctx = context()
    ctx.configure(threads=threads, device="cpu")
    if options.ranks_per_host > 1 and seconds is None:
        ctx.check(lib.polyad_scale_measure_host(ctx.pointer, tensor._handle, options))
    if host_bandwidth is not None:
        options.host_bytes_per_second = real(host_bandwidth, "host_bandwidth")
    return [_predict(ctx, tensor, options, size) for size in sizes]


def _predict(ctx: Any, tensor: Any, options: Any, size: int) -> ScaleEstimate:
    found = ffi.new("polyad_scale *")
    ctx.check(lib.polyad_scale_predict(ctx.pointer, tensor._handle, options, size, found, ffi.NULL))
    return {"ranks": int(found.size), "grid": tuple(found.grid[n] for n in range(tensor.ndim)),
            "nnz_most": int(found.most_nnz), "rows_read_most": int(found.most_rows_read),
            "rows_owned_most": int(found.most_rows_owned), "bytes_sent": int(found.bytes_sent),
            "bytes_sent_most": int(found.most_bytes_sent), "bytes_most": int(found.most_bytes),
            "seconds_compute": float(found.seconds_compute),
            "seconds_network": float(found.seconds_network), "seconds": float(found.seconds),
            "efficiency": float(found.efficiency)}
