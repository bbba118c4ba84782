#!/usr/bin/env python3
"""Every test that is neither long nor for a GPU ends after at most SECONDS, which its limit says.

usage: time_limits.py CTEST BUILD SECONDS"""
import json
import subprocess
import sys


def limit_of(test):
    """Seconds, and labels."""
    found = {item["name"]: item["value"] for item in test.get("properties", [])}
    return found.get("TIMEOUT", float("inf")), set(found.get("LABELS", []))


def main():
    ctest, build, most = sys.argv[1], sys.argv[2], float(sys.argv[3])
    listing = subprocess.run([ctest, "--test-dir", build, "--show-only=json-v1"], check=True,
                             capture_output=True, text=True).stdout
    tests = json.loads(listing)["tests"]
    wrong = 0
    for test in tests:
        seconds, labels = limit_of(test)
        if seconds > most and not labels & {"long", "gpu"}:
            print(f"{test['name']}: the limit is {seconds:g} s; expected at most {most:g}, or the label long")
            wrong += 1
    print(f"{len(tests)} tests")
    sys.exit(1 if wrong or not tests else 0)


if __name__ == "__main__":
    main()
