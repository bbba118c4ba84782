#!/usr/bin/env python3
"""One CP-ALS of a package of Python's, from a .tns file to the written model; prints a JSON object.

usage: PYTHON bench/python_peers.py genten|pyttb FILE.tns MODEL RANK ITERATIONS

GenTen reads and writes by its own functions. pyttb's reader takes another format, line by line, so that
NumPy's reads the text for it. `seconds_read` is from the opened file to the package's tensor.
"""
import json
import os
import sys
import time


def genten(path, model, rank, iterations):
    import pygenten
    begin = time.perf_counter()
    tensor = pygenten.import_sptensor(path, 1)
    read = time.perf_counter() - begin
    found, _, history = pygenten.cp_als(tensor, rank=rank, maxiters=iterations, tol=0.0)
    pygenten.export_ktensor(model, found)
    return read, history.lastEntry().fit


def pyttb(path, model, rank, iterations):
    import numpy
    import pyttb as ttb
    begin = time.perf_counter()
    lines = numpy.loadtxt(path, comments="#", ndmin=2)
    subs = lines[:, :-1].astype(numpy.int64) - 1
    tensor = ttb.sptensor(subs, lines[:, -1:].copy(), tuple(int(n) + 1 for n in subs.max(axis=0)))
    read = time.perf_counter() - begin
    found, _, about = ttb.cp_als(tensor, rank, maxiters=iterations, stoptol=0.0, printitn=0)
    ttb.export_data(found, model)
    return read, about["fit"]


def main():
    package, path, model, rank, iterations = sys.argv[1:]
    read, fit = {"genten": genten, "pyttb": pyttb}[package](path, model, int(rank), int(iterations))
    print("\n" + json.dumps({"seconds_read": read, "fit": float(fit)}), flush=True)
    os._exit(0)  # GenTen 0.1.5 aborts when the interpreter takes it down


if __name__ == "__main__":
    main()
