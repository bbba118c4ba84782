"""Several processes that other systems start, by the recipes of docs/scale.md, find what one finds.

usage: launchers.py dask|ray|spark|slurm COMMAND
What is not there is said and skipped: Python packages dask and distributed, ray, pyspark (with Java); for
slurm a cluster that answers, one node being enough. `pip install` what a run needs: CI has none of them.
"""

import importlib
import importlib.metadata
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

TENSOR = "x.ptn"
RUN = ["-r", "3", "-i", "5", "--tol", "0", "-t", "1", "--device", "cpu", "--top", "0"]


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def decompose(command, folder, hosts):
    """What a task does: the launcher on the machines that the job has, and the model that it wrote."""
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    mpirun = shutil.which("mpirun.openmpi") or "mpirun"
    subprocess.run([mpirun, "-n", str(len(hosts)), "--host", ",".join(hosts), command, "cpd", TENSOR, *RUN,
                    "-o", "there.ktensor", "--json", "there.json"],
                   cwd=folder, env={**os.environ, **root}, check=True)


def from_dask(command, folder):
    distributed = importlib.import_module("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, \
            distributed.Client(cluster) as client:
        workers = client.scheduler_info()["workers"]
        hosts = [worker["host"] for worker in workers.values()]
        client.submit(decompose, command, folder, hosts, workers=[next(iter(workers))]).result()


def from_ray(command, folder):
    ray = importlib.import_module("ray")
    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=1 << 27, log_to_driver=False,
             runtime_env={"env_vars": {"PYTHONPATH": str(pathlib.Path(__file__).parent)}})
    hosts = [node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"]]
    ray.get(ray.remote(decompose).remote(command, folder, hosts * 2))
    ray.shutdown()


def from_spark(command, folder):
    pyspark = importlib.import_module("pyspark")
    if shutil.which("java") is None:
        skip("pyspark needs Java")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    context = pyspark.SparkContext("local[2]", conf=pyspark.SparkConf().set("spark.ui.enabled", "false"))

    def task(_):  # all tasks of a barrier stage have a core each; the first one launches
        here = pyspark.BarrierTaskContext.get()
        hosts = [info.address.split(":")[0] for info in here.getTaskInfos()]
        if here.partitionId() == 0:
            decompose(command, folder, hosts)
        here.barrier()
        return [here.partitionId()]

    assert sorted(context.parallelize(range(2), 2).barrier().mapPartitions(task).collect()) == [0, 1]
    context.stop()


def from_slurm(command, folder):
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    subprocess.run(["srun", "--mpi=pmix", "-n", "2", command, "cpd", TENSOR, *RUN, "-o", "there.ktensor", "--json",
                    "there.json"], cwd=folder, env={**os.environ, **root}, check=True, timeout=300)


def version_of(kind):
    """What is there of it; ends the program where nothing is."""
    if kind == "slurm":
        found = shutil.which("sinfo") and subprocess.run(["sinfo", "-h"], stdout=subprocess.PIPE, text=True,
                                                         stderr=subprocess.DEVNULL, timeout=60, check=False)
        if not found or found.returncode != 0:
            skip("no Slurm answers here")
        plugins = subprocess.run(["srun", "--mpi=list"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                 check=False).stdout
        if "pmix" not in plugins:
            skip("Slurm is without PMIx here")
        return subprocess.run(["sinfo", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    package = {"dask": "distributed", "ray": "ray", "spark": "pyspark"}[kind]
    try:
        importlib.import_module(package)
    except ImportError:
        skip(f"Python package {package} is not installed")
    return f"{package} {importlib.metadata.version(package)}"


def main(kind, command):
    if shutil.which("mpirun") is None:
        skip("there is no mpirun")
    if not list((pathlib.Path(command).resolve().parent / "lib").glob("libpolyad_mpi_openmpi.so")):
        skip("this build is without Open MPI")
    print(version_of(kind), flush=True)
    with tempfile.TemporaryDirectory(prefix="polyad-launchers-") as folder:
        where = pathlib.Path(folder)
        subprocess.run([command, "generate", TENSOR, "--dims", "40,30,50", "--rank", "3", "--noise", "0.1", "--nnz",
                        "9000", "--seed", "1"], cwd=where, check=True)
        subprocess.run([command, "cpd", TENSOR, *RUN, "--json", "alone.json"], cwd=where, check=True)
        {"dask": from_dask, "ray": from_ray, "spark": from_spark, "slurm": from_slurm}[kind](command, folder)
        alone, there = (json.loads((where / f"{name}.json").read_text()) for name in ("alone", "there"))
        assert (where / "there.ktensor").stat().st_size > 0
        assert there["processes"] == 2, there["processes"]
        # Sums of 9,000 squares in another order; each iteration is a contraction or nearly so.
        assert abs(there["fit"] - alone["fit"]) <= 5 * 9000 * 2**-52, (there["fit"], alone["fit"])
    print("two processes found what one found")


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    main(sys.argv[1], str(pathlib.Path(sys.argv[2]).resolve()))
