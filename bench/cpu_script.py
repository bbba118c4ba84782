"""What the scripts that measure on the CPU share: options, running a program, keeping a record."""
import argparse
import json
import os
import subprocess
import sys


def parser(description):
    """With the options that every script has; each adds its own."""
    made = argparse.ArgumentParser(description=description,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--tensors", required=True)
    made.add_argument("--output", required=True)
    made.add_argument("--polyad", default="build/polyad")
    made.add_argument("--threads", type=int, default=2)
    return made


def record_of(command):
    """The JSON object that a program prints."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout)


def begin(options, **conditions):
    """A record without results yet; the command names files without their folders."""
    return {"command": " ".join(os.path.basename(word) for word in sys.argv),
            "threads": options.threads, **conditions, "results": []}


def save(options, record):
    record["load_average"] = os.getloadavg()
    with open(options.output, "w", encoding="utf-8") as out:
        json.dump(record, out, indent=1)
        out.write("\n")
