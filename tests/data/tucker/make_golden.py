"""Makes the golden Tucker decompositions of this folder with pyttb: random sparse tensors, first
factors, and what pyttb.tucker_als finds from them, iteration by iteration.

usage: make_golden.py FOLDER     (needs numpy and pyttb)
"""

import json
import pathlib
import sys

import numpy as np
import pyttb as ttb

CASES = {"three": ((14, 12, 9), 300, (4, 3, 5)), "four": ((8, 7, 6, 9), 250, (2, 3, 2, 4))}
ITERATIONS = 12


def write_ttensor(path, core, factors):
    lines = ["ttensor", str(core.ndim), " ".join(str(len(u)) for u in factors),
             "tensor", str(core.ndim), " ".join(map(str, core.shape))]
    lines += [repr(float(x)) for x in core.flatten(order="F")]
    for factor in factors:
        lines += ["matrix", "2", f"{factor.shape[0]} {factor.shape[1]}"]
        lines += [" ".join(repr(float(x)) for x in row) for row in factor]
    path.write_text("\n".join(lines) + "\n")


def main():
    folder, golden = pathlib.Path(sys.argv[1]), {"pyttb": ttb.__version__}
    random = np.random.default_rng(1)
    for name, (shape, count, ranks) in CASES.items():
        cells = random.choice(int(np.prod(shape)), count, replace=False)
        subs = np.stack(np.unravel_index(cells, shape), axis=1)
        values = np.round(random.gamma(2.0, 1.0, (count, 1)) + 0.01, 6)
        x = ttb.sptensor(subs, values, shape)
        start = [random.uniform(0, 1, (i, r)) for i, r in zip(shape, ranks)]
        np.savetxt(folder / f"{name}.tns", np.hstack([subs + 1, values]),
                   fmt="%d " * len(shape) + "%.6f")
        write_ttensor(folder / f"{name}.ttensor", np.zeros(ranks), start)
        fits = []
        for iterations in range(1, ITERATIONS + 1):
            model, _, output = ttb.tucker_als(x, list(ranks), stoptol=0, maxiters=iterations,
                                              init=[u.copy() for u in start], printitn=0)
            fits.append(float(output["fit"]))
        golden[name] = {"ranks": ranks, "fits": fits, "norm": float(model.core.norm())}
    (folder / "golden.json").write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    main()
