"""Runs the notebooks under examples/notebooks and keeps what their cells show.

usage: run_notebooks.py [FILE…]   (default: all; needs nbclient, ipykernel, matplotlib and pandas)
"""

import pathlib
import sys

import nbformat
from nbclient import NotebookClient

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples/notebooks"


def main() -> None:
    given = [pathlib.Path(name).resolve() for name in sys.argv[1:]]
    for path in given or sorted(FOLDER.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        NotebookClient(notebook, timeout=600, startup_timeout=300,
                       resources={"metadata": {"path": str(FOLDER)}}).execute()
        for cell in notebook.cells:
            cell.metadata.pop("execution", None)  # times, which differ from run to run
        notebook.metadata["language_info"] = {"name": "python"}
        nbformat.write(notebook, path)


if __name__ == "__main__":
    main()
