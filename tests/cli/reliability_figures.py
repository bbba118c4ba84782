"""Where tests write what they reached, for docs/reliability.md: one small JSON file for each test,
in the folder that the environment variable POLYAD_FIGURES names; without it nothing is written."""

import json
import os
import pathlib


def record(name, **figures):
    folder = os.environ.get("POLYAD_FIGURES")
    if folder:
        text = json.dumps(figures, indent=2, sort_keys=True) + "\n"
        pathlib.Path(folder, f"{name}.json").write_text(text, encoding="ascii")
