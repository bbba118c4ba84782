#!/usr/bin/env python3
"""Makes golden_cp_als.h: what pyttb's cp_als does in its first 20 iterations.

usage: make_golden_cp_als.py > golden_cp_als.h    (needs pyttb; made with 1.8.6)
"""

import contextlib
import io

import numpy as np
import pyttb as ttb

ITERATIONS = 20
# dims, nonzeros, rank, values
CASES = [
    ((7, 5, 6), 60, 3, "normal"),
    ((9, 4, 11), 90, 5, "counts"),
    ((6, 5, 4, 7), 150, 3, "counts"),
    ((5, 8, 3, 6), 200, 4, "normal"),
    ((4, 5, 3, 4, 6), 250, 3, "normal"),
    ((3, 6, 5, 4, 3), 120, 6, "counts"),
]


def make_case(number, dims, nnz, rank, values):
    """A sparse tensor and first factors, the same every time."""
    rng = np.random.default_rng(1000 + number)
    chosen = np.sort(rng.choice(int(np.prod(dims)), nnz, replace=False))
    coordinates = np.stack(np.unravel_index(chosen, dims), axis=1)
    data = rng.normal(size=nnz) if values == "normal" else 1.0 + rng.poisson(2, size=nnz)
    factors = [rng.uniform(size=(n, rank)) for n in dims]
    return coordinates, data, factors


def residuals(coordinates, data, factors, dims, rank):
    """||X - M||^2 / ||X||^2 after 1, 2, ... iterations."""
    tensor = ttb.sptensor(coordinates, data[:, None], dims)
    start = ttb.ktensor([f.copy() for f in factors])
    found = []
    for count in range(1, ITERATIONS + 1):
        with contextlib.redirect_stdout(io.StringIO()):
            _, _, output = ttb.cp_als(tensor, rank, stoptol=0, maxiters=count, init=start,
                                      printitn=0)
        found.append((output["normresidual"] / tensor.norm()) ** 2)
    return found


def numbers(values):
    return ", ".join(float(v).hex() for v in np.ravel(values))


def main():
    print("/* Made by make_golden_cp_als.py: residuals of pyttb's cp_als. Do not edit. */")
    print("/* clang-format off */")
    rows = []
    for number, (dims, nnz, rank, values) in enumerate(CASES):
        coordinates, data, factors = make_case(number, dims, nnz, rank, values)
        print(f"static const int32_t golden_index_{number}[] = "
              f"{{{', '.join(str(i) for i in coordinates.ravel())}}};")
        print(f"static const double golden_value_{number}[] = {{{numbers(data)}}};")
        for mode, factor in enumerate(factors):
            print(f"static const double golden_factor_{number}_{mode}[] = {{{numbers(factor)}}};")
        found = residuals(coordinates, data, factors, dims, rank)
        print(f"static const double golden_residual_{number}[] = {{{numbers(found)}}};")
        names = ", ".join(f"golden_factor_{number}_{m}" for m in range(len(dims)))
        rows.append(f"  {{{len(dims)}, {{{', '.join(map(str, dims))}}}, {nnz}, {rank}, "
                    f"golden_index_{number}, golden_value_{number}, {{{names}}}, "
                    f"golden_residual_{number}}},")
    print("""struct golden_case {
  int order;
  uint64_t dims[5];
  uint64_t nnz, rank;
  const int32_t *index;
  const double *value;
  const double *factor[5];
  const double *residual;
};""")
    print(f"enum {{ GOLDEN_ITERATIONS = {ITERATIONS} }};")
    print("static const struct golden_case golden_cases[] = {")
    print("\n".join(rows))
    print("};")
    print("/* clang-format on */")


if __name__ == "__main__":
    main()
