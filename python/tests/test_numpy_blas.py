"""polyad and NumPy bring a BLAS each into one process, with threads of their own: whichever build of
OpenBLAS the C library finds, both give right results, at the same time, and threads do not
multiply. Builds that are not installed (libopenblas0-pthread, libopenblas0-openmp) are skipped;
POLYAD_TEST_BLAS names a folder to look for them instead of the system's."""

import os
import pathlib
import subprocess
import sys
import sysconfig

import pytest

PROGRAM = """
import os, sys, threading
import numpy as np
import polyad

rng = np.random.default_rng(0)
x = polyad.SparseTensor(rng.integers(0, 60, (6000, 3)), rng.random(6000), (60, 60, 60))
matrix = rng.random((400, 400))
product, inverse = matrix @ matrix, np.linalg.inv(matrix)
want = polyad.cp_als(x, 16, seed=1, tol=0, max_iters=15, threads=1)
core = polyad.tucker(x, 6, tol=0, max_iters=5, threads=1)
failures = []

def dense():
    for _ in range(8):
        if not (np.allclose(matrix @ matrix, product) and
                np.allclose(np.linalg.inv(matrix), inverse)):
            failures.append("NumPy")

for together in (False, True):
    worker = threading.Thread(target=dense)
    if together:
        worker.start()
    for _ in range(2):
        found = polyad.cp_als(x, 16, seed=1, tol=0, max_iters=15, threads=4)
        if abs(found.info["fit"] - want.info["fit"]) > 1e-10:
            failures.append("cp_als")
        if abs(polyad.tucker(x, 6, tol=0, max_iters=5, threads=4).fit(x) - core.fit(x)) > 1e-10:
            failures.append("tucker")
    if not together:
        worker.start()
    worker.join()
maps = open("/proc/self/maps").read()
print(sys.argv[1] in maps, failures, len(os.listdir("/proc/self/task")))
"""


def builds():
    system = pathlib.Path("/usr/lib", sysconfig.get_config_var("MULTIARCH") or "")
    top = pathlib.Path(os.environ.get("POLYAD_TEST_BLAS", system))
    found = {kind: top / f"openblas-{kind}/libopenblas.so.0" for kind in ("pthread", "openmp")}
    return {kind: path if path.exists() else None for kind, path in found.items()}


def run_with(kind, program):
    """A program, which gets the library's path as its argument, with that build before others."""
    library = builds()[kind]
    if library is None:
        pytest.skip(f"libopenblas0-{kind} is not installed")
    environment = {**os.environ, "LD_LIBRARY_PATH": str(library.parent)}
    done = subprocess.run([sys.executable, "-c", program, str(library.resolve())], text=True,
                          capture_output=True, timeout=110, env=environment)
    assert done.returncode == 0, done.stderr
    return library, done


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("kind", ["pthread", "openmp"])
def test_beside_numpy(kind):
    library, done = run_with(kind, PROGRAM)
    loaded, rest = done.stdout.split(" ", 1)
    failures, tasks = rest.rsplit(" ", 1)
    assert loaded == "True", f"the process did not load {library}"
    assert failures == "[]"
    # A pool of each BLAS, a team of 4 for each of the two Python threads that compute, and no more.
    assert int(tasks) <= 2 * os.cpu_count() + 2 * 4 + 2


# A build with OpenMP would wait in the child for threads of its parent that fork() does not copy.
FORK = """
import os, signal, warnings
import numpy as np, polyad
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
x = polyad.SparseTensor(rng.integers(0, 40, (60000, 3)), rng.random(60000), (40, 40, 40))
fit = polyad.tucker(x, 3, max_iters=2, threads=4).info["fit"]
child = os.fork()
if child == 0:
    signal.alarm(60)
    os._exit(abs(polyad.tucker(x, 3, max_iters=2).info["fit"] - fit) > 1e-12)
assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.parametrize("kind", ["pthread", "openmp"])
def test_eigenvalues_after_fork(kind):
    run_with(kind, FORK)
