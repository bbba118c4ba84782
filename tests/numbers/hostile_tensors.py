"""Small valid tensors that break naive decompositions: name, nonzeros, rank."""

import itertools
import random

import numpy as np


def dense(array):
    return {index: float(array[index]) for index in np.ndindex(array.shape) if array[index] != 0}


def of_factors(*factors):
    letters = "abcd"[:len(factors)]
    return np.einsum(",".join(f"{c}r" for c in letters) + "->" + letters, *factors)


def border():
    """a.a.b + a.b.a + b.a.a: rank 3, the limit of tensors of rank 2."""
    array = np.zeros((2, 2, 2))
    array[0, 0, 1] = array[0, 1, 0] = array[1, 0, 0] = 1
    return dense(array)


def swamp():
    """Columns at cosine 0.9999."""
    choose = np.random.default_rng(3)
    factors = []
    for length in (6, 7, 8):
        first = choose.random((length, 1))
        factors.append(first + 0.0141 * np.hstack([np.zeros((length, 1)),
                                                   choose.random((length, 2))]))
    return dense(of_factors(*factors))


def empty_slices():
    choose = random.Random(5)
    return {(100 * choose.randrange(9), 50 * choose.randrange(9), choose.randrange(5)):
            1 + choose.random() for _ in range(80)}


def scaled(scale):
    choose = random.Random(7)
    return {cell: scale * (1 + choose.random())
            for cell in itertools.product(range(4), range(3), range(5))}


def mixed(scale):
    return {(0, 0, 0): scale, (1, 1, 1): 1 / scale, (2, 2, 2): 1.0, (0, 1, 2): -1.0}


def rank_one():
    choose = np.random.default_rng(1)
    return dense(of_factors(*(choose.random((length, 1)) + 0.5 for length in (6, 7, 8))))


def exact_rank_three():
    choose = np.random.default_rng(2)
    return dense(of_factors(*(choose.random((length, 3)) for length in (9, 8, 7))))


def hostile_tensors(precision):
    """The scales of values that the precision can still square many times."""
    huge, tiny = (1e300, 1e-300) if precision == "f64" else (1e35, 1e-35)
    return {
        "K01 rank 1, sought 10": (rank_one(), 10),
        "K02 ones, sought 5": (dense(np.ones((10, 10, 10))), 5),
        "K02 one nonzero, sought 8": ({(2, 0, 1): -7.5}, 8),
        "K03 border rank": (border(), 2),
        "K04 swamp": (swamp(), 3),
        "K05 empty slices": (empty_slices(), 4),
        "K05 a mode of length 1": ({(i, 0, k): 1.0 + i + k for i in range(5) for k in range(4)}, 3),
        "K07 huge values": (scaled(huge), 3),
        "K07 tiny values": (scaled(tiny), 3),
        "K07 mixed values": (mixed(1e150 if precision == "f64" else 1e17), 4),
        "K08 exact rank 3, sought 3": (exact_rank_three(), 3),
        "K08 exact rank 3, sought 10": (exact_rank_three(), 10),
        "K11 a row of 4000 ones": ({(0, j, k): 1.0 for j in range(80) for k in range(50)}, 2),
    }
