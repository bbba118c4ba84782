"""Times polyad.cp_als against pyttb.cp_als on a bundled tensor, from the same first factors.

usage: bench/python_cp_als.py [--rank 16] [--iterations 5] [--rounds 3] [--json FILE]

Rounds alternate between the two, so that a busy machine slows both. Reported are medians, the
ratio, and the difference of the fits after the same iterations.
"""

import argparse
import json
import pathlib
import platform
import statistics
import sys
import time

import numpy as np

import polyad

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tensor", default=str(DATA / "uber-apr-may.tns.gz"))
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--iterations", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", default="-")
    options = parser.parse_args()
    import pyttb

    x = polyad.read(options.tensor)
    rng = np.random.default_rng(0)
    start = [rng.random((n, options.rank)) for n in x.shape]
    theirs = x.to_pyttb()
    guess = pyttb.ktensor([np.asfortranarray(f) for f in start], np.ones(options.rank))
    seconds: dict[str, list[float]] = {"polyad": [], "polyad_with_plan": [], "pyttb": []}
    fits = {}
    for _ in range(options.rounds):
        begin = time.perf_counter()
        _, _, output = pyttb.cp_als(theirs, options.rank, init=guess, stoptol=0, printitn=0,
                                    maxiters=options.iterations)
        seconds["pyttb"].append(time.perf_counter() - begin)
        fits["pyttb"] = float(output["fit"])
        for name in ("polyad", "polyad_with_plan"):
            plan = polyad.Plan(x, options.rank) if name == "polyad_with_plan" else None
            begin = time.perf_counter()
            model = polyad.cp_als(plan or polyad.Plan(x, options.rank), options.rank, init=start,
                                  tol=0, max_iters=options.iterations)
            seconds[name].append(time.perf_counter() - begin)
        fits["polyad"] = model.info["fit"]
    median = {name: statistics.median(times) for name, times in seconds.items()}
    result = {
        "command": "python " + " ".join(sys.argv), "tensor": pathlib.Path(options.tensor).name,
        "nnz": x.nnz, "rank": options.rank, "iterations": options.iterations,
        "threads": polyad.devices()[0]["processors"],
        "processor": polyad.devices()[0]["description"], "python": platform.python_version(),
        "polyad": polyad.version(), "pyttb": getattr(pyttb, "__version__", "unknown"),
        "seconds": seconds, "median_seconds": median,
        "times_faster": median["pyttb"] / median["polyad"],
        "times_faster_with_plan": median["pyttb"] / median["polyad_with_plan"],
        "fit": fits, "fit_difference": abs(fits["polyad"] - fits["pyttb"]),
    }
    text = json.dumps(result, indent=2)
    if options.json == "-":
        print(text)
    else:
        pathlib.Path(options.json).write_text(text + "\n")
        print(f"{result['times_faster']:.1f} times faster than pyttb "
              f"({result['times_faster_with_plan']:.1f} with a plan made before), "
              f"fits differ by {result['fit_difference']:.1e}")


if __name__ == "__main__":
    main()
