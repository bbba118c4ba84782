#!/usr/bin/env python3
"""The tensors that are measured, named in one place: generated ones beside real ones.

usage: bench/tensors.py names SET           one name a line
       bench/tensors.py sources SET         what `polyad bench` takes for each, one a line
       bench/tensors.py make DIR SET [--ends .ptn,.tns] [--polyad build/polyad]
                                            writes NAME.ptn and NAME.tns where they are missing

SET is a set of below or a list with commas: names of real tensors (those of data/) and NAME or
NAME@SCALE of what `polyad generate --like` makes, with the fibers of the tensor of that name.
"""
import argparse
import os
import subprocess
import sys

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "data")
REAL = ("uber-apr-may", "flights-2001h1", "chicago-crime-2022", "nycflights13", "aminoacids")

SETS = {
    "real": REAL,
    # bench/run.sh
    "quick": ("uber", "chicago", "nell-2@0.1") + REAL[:3],
    # bench/*_cpu.py and phi_formats.py
    "mttkrp": ("uber", "nips", "chicago", "nell-2", "enron", "vast", "delicious") + REAL,
    "phi": ("chicago", "nell-2", "nips", "uber") + REAL[:4],  # counts: aminoacids has none
    "als": ("vast", "enron") + REAL[:2],
    "memory": ("uber", "nell-2", "enron") + REAL[:2],
    "read": ("uber", "enron") + REAL[:2],
    # bench/ptn_read.py
    "ptn": ("uber", "enron@0.15", "nell-2@0.3", "flights-2001h1"),
    # bench/portability.sh
    "portability": ("chicago", "nell-2@0.13", "nips", "uber", "lbnl-network") + REAL[:4],
    # bench/h200.sh
    "gpu-small": ("uber", "nips", "chicago") + REAL[:3],
    "gpu-medium": ("nell-2", "vast", "enron"),
    "gpu-large": ("nell-1", "delicious"),
    "gpu-sweep": ("uber", "nips", "chicago", "vast", "enron", "nell-2") + REAL[:2],
    # bench/whole_runs.py and idle_cpu.sh
    "whole": ("uber", "nips", "chicago", "nell-2@0.13") + REAL,
    "idle": ("uber",) + REAL[:3],
    # bench/build_cpu.py
    "build": ("uber-apr-may", "uber@0.3", "nips@0.3", "nell-2@0.02", "chicago-crime-2022"),
    # bench/whole_run_cpu.py
    "peers": ("chicago-crime-2022", "nycflights13", "flights-2001h1", "uber", "nips", "nell-2@0.05"),
    # bench/auto_choice.py
    "auto": ("uber", "nips", "chicago", "nell-2@0.02", "enron@0.1", "vast@0.1") + REAL,
    # bench/compare_builds.py
    "compare": ("uber", "nips", "chicago", "nell-2@0.13", "enron@0.1", "vast@0.2") + REAL,
}


def names(which):
    return SETS[which] if which in SETS else tuple(which.split(","))


def source(name):
    """What polyad reads or makes: a path from here, or like:NAME[@SCALE]."""
    if name not in REAL:
        return "like:" + name
    return os.path.relpath(os.path.join(DATA, name + ".tns.gz"))


def name_of(file):
    """The name of a tensor from what polyad was given."""
    return os.path.basename(file.removeprefix("like:")).removesuffix(".tns.gz")


def path(folder, name, end, polyad):
    """The tensor's file in the folder, made when it is missing."""
    made = os.path.join(folder, name + end)
    if os.path.exists(made):
        return made
    os.makedirs(folder, exist_ok=True)
    if name in REAL:
        command = [polyad, "convert", source(name), made]
    else:
        like, _, scale = name.partition("@")
        command = [polyad, "generate", "--like", like, "--scale", scale or "1", made]
    subprocess.run([*command, "--quiet"], check=True)
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("names", "sources", "make"))
    parser.add_argument("words", nargs="+", metavar="[DIR] SET")
    parser.add_argument("--ends", default=".ptn")
    parser.add_argument("--polyad", default="build/polyad")
    options = parser.parse_args()
    if len(options.words) != (2 if options.action == "make" else 1):
        parser.error("expected names SET, sources SET or make DIR SET")
    for name in names(options.words[-1]):
        if options.action == "make":
            for end in options.ends.split(","):
                print(path(options.words[0], name, end, options.polyad), flush=True)
        else:
            print(name if options.action == "names" else source(name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
