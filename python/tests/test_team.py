"""Processes of mpi4py share a decomposition."""

import importlib.util
import os
import shutil
import subprocess
import sys

import numpy as np
import polyad
import pytest
from polyad._context import Context

MPIRUN = shutil.which("mpirun")
pytestmark = pytest.mark.skipif(MPIRUN is None or importlib.util.find_spec("mpi4py") is None,
                                reason="needs mpirun and mpi4py")

PROGRAM = """
import sys
import numpy as np
import polyad
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
options = {"seed": 3, "max_iters": 5, "tol": 0, "threads": 1, "comm": world}
from_file = polyad.cp_als(sys.argv[1], 3, **options)
whole = polyad.SparseTensor.read(sys.argv[1])
share = polyad.SparseTensor(whole.coords[rank::size], whole.values[rank::size], whole.shape)
from_share = polyad.cp_als(share, 3, **options)
plan = polyad.Plan(share, 3, threads=1, comm=world, kernel="phi")
assert plan.shape == whole.shape
try:
    polyad.cp_apr(plan, 3, algorithm="pdnr")
    raise SystemExit("cp_apr on a team has not failed")
except polyad.UnsupportedError:
    pass
assert (from_file is None) == (from_share is None) == (rank > 0)
if rank == 0:
    np.savez(sys.argv[2], fit=[from_file.info["fit"], from_share.info["fit"]],
             factor=from_file.factors[1])
"""


@pytest.mark.parametrize("size", [1, 3])
def test_processes_find_what_one_finds(tmp_path, size):
    rng = np.random.default_rng(1)
    coords = rng.integers(0, [20, 15, 25], (3000, 3))
    x = polyad.SparseTensor(coords, rng.random(3000), (20, 15, 25))
    x.save(tmp_path / "x.ptn")
    (tmp_path / "program.py").write_text(PROGRAM)
    alone = polyad.cp_als(x, 3, seed=3, max_iters=5, tol=0, threads=1)
    done = subprocess.run([MPIRUN, "--oversubscribe", "--allow-run-as-root", "-n", str(size),
                           sys.executable, "program.py", "x.ptn", "found.npz"], cwd=tmp_path,
                          env={**os.environ, "OMP_NUM_THREADS": "1", "OMPI_MCA_btl": "self,vader",
                               "OMPI_MCA_mpi_yield_when_idle": "1",
                               "OMPI_MCA_orte_tmpdir_base": str(tmp_path)},  # shared with no other run
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=100, text=True)
    assert done.returncode == 0, done.stdout
    with np.load(tmp_path / "found.npz") as found:
        assert np.allclose(found["fit"], alone.info["fit"], rtol=0, atol=1e-12)
        assert np.allclose(found["factor"], alone.factors[1], rtol=0, atol=1e-9)


SHARING = """
import sys
import polyad
from mpi4py import MPI
from polyad import _context
from polyad._native import lib

def threads():
    return lib.polyad_threads(_context.context().pointer)

world, options = MPI.COMM_WORLD, {"seed": 3, "max_iters": 1, "comm": MPI.COMM_WORLD}
found = []
polyad.cp_als(sys.argv[1], 2, **options)
found.append(threads())
share = polyad.SparseTensor.read(sys.argv[1], comm=world)
plan = polyad.Plan(share, 2, comm=world)
found.append(plan.threads)
polyad.cp_als(plan, 2, max_iters=1)
found.append(threads())
polyad.cp_als(sys.argv[1], 2, threads=3, **options)
found.append(threads())
polyad.cp_als(polyad.SparseTensor.read(sys.argv[1]), 2, max_iters=1)
found.append(threads())
with open(f"threads.{world.Get_rank()}", "w") as told:
    print(*found, file=told)
"""


def test_processes_of_one_machine_divide_its_processors(tmp_path):
    x = polyad.SparseTensor([[0, 1], [1, 0]], [1.0, 2.0], (2, 2))
    x.save(tmp_path / "x.ptn")
    (tmp_path / "program.py").write_text(SHARING)
    alone = Context().default_threads
    environment = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    done = subprocess.run([MPIRUN, "--oversubscribe", "--allow-run-as-root", "--bind-to", "none", "-n", "2",
                           sys.executable, "program.py", "x.ptn"], cwd=tmp_path,
                          env={**environment, "OMPI_MCA_btl": "self,vader",
                               "OMPI_MCA_mpi_yield_when_idle": "1",
                               "OMPI_MCA_orte_tmpdir_base": str(tmp_path)},  # shared with no other run
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=100, text=True)
    assert done.returncode == 0, done.stdout
    share = max(1, alone // 2)
    for rank in range(2):
        found = (tmp_path / f"threads.{rank}").read_text()
        assert found.split() == list(map(str, (share, share, share, 3, share)))


def test_what_is_no_communicator_is_refused():
    x = polyad.SparseTensor([[0, 1]], [1.0], (2, 2))
    with pytest.raises(TypeError, match="MPI.COMM_WORLD"):
        polyad.cp_als(x, 1, comm=3)
