"""Several processes that mpirun starts find what one finds, tell the errors of any, and end together."""

import json
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

import pytest
from conftest import CHECKED, COMMAND, validate
from model_files import check_run

SHIM = os.environ.get("POLYAD_FAULT_SHIM", "")
pytestmark = pytest.mark.skipif(bool(os.environ.get("POLYAD_SANITIZE")),
                                reason="MPI's own leaks would be reported")
SIZES = (2, 3, 4, 7, 8)
OPTIONS = {"openmpi": ["--oversubscribe", "--allow-run-as-root"], "mpich": []}
launcher = []  # of the MPI under test
# Open MPI's launchers that start and end at the same time in one folder take it away from each other:
# each test program has its own.
scratch = tempfile.TemporaryDirectory(prefix="mpi-")


def launcher_of(mpi):
    """Debian has several MPIs beside each other; elsewhere mpirun is that of the only module."""
    modules = list((pathlib.Path(COMMAND).resolve().parent / "lib").glob("libpolyad_mpi_*.so"))
    if f"libpolyad_mpi_{mpi}.so" not in [module.name for module in modules]:
        return None
    return shutil.which(f"mpirun.{mpi}") or (shutil.which("mpirun") if len(modules) == 1 else None)


@pytest.fixture(autouse=True, params=["openmpi", pytest.param("mpich", marks=pytest.mark.long)])
def mpi(request):
    mpirun = launcher_of(request.param)
    if mpirun is None:
        pytest.skip(f"needs mpirun of {request.param} and a build with it")
    launcher[:] = [mpirun, *OPTIONS[request.param]]
    return request.param


def words(size, *arguments):
    return [*launcher, "-n", str(size), COMMAND, *map(str, arguments)]


def environment():
    found = {k: v for k, v in os.environ.items()
             if not k.startswith(("OMP_", "OMPI_", "PMI", "HYDRA_", "LC_"))}
    return {**found, "OMP_NUM_THREADS": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
            "OMPI_MCA_btl": "self,vader", "OMPI_MCA_orte_tmpdir_base": scratch.name}


def run(polyad, size, *arguments, timeout=60, launch=()):
    command = words(size, *arguments)
    command[len(launcher):len(launcher)] = launch
    result = subprocess.run(command, cwd=polyad.folder, env=environment(), timeout=timeout,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True)
    if CHECKED and result.returncode == 0:
        check_run(COMMAND, [str(word) for word in arguments], polyad.folder, b"", result.stdout)
    return result


def told(polyad, size, *arguments):
    # A model is written, so that it can be checked.
    model = () if "-o" in arguments else ("-o", polyad.folder.with_name(polyad.folder.name + ".ktensor"))
    result = run(polyad, size, *arguments, *model, "--json", "-")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    validate("cpd", found)
    return found


@pytest.fixture
def noisy(polyad):
    polyad.ok("generate", "x.tns", "--dims", "40,30,50", "--rank", "3", "--noise", "0.1", "--nnz", "9000",
              "--seed", "1")
    polyad.ok("convert", "x.tns", "x.ptn")
    return polyad


def close(a, b):
    return math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12)


@pytest.mark.parametrize("method, sizes", [((), SIZES), (("--nonnegative",), (3,)), (("--nonnegative=1,3",), (2,)), (("-a", "apr-mu"), (4,))])
def test_several_processes_find_what_one_finds(polyad, method, sizes):
    kind = ("--poisson",) if "apr-mu" in method else ("--noise", "0.1")
    polyad.ok("generate", "x.tns", "--dims", "40,30,50", "--rank", "3", *kind, "--nnz", "9000", "--seed", "1")
    arguments = ("cpd", "x.tns", "-r", "3", "-i", "5", "--tol", "0", *method)
    key = "log_likelihood" if "apr-mu" in method else "fit"
    alone = polyad.json(*arguments, "--threads", "1")
    assert alone["processes"] == 1 and alone["team"] is None
    for size in sizes:
        found = told(polyad, size, *arguments, "-o", "a.ktensor")
        assert close(found[key], alone[key]), (size, found[key], alone[key])
        assert found["processes"] == size and math.prod(found["team"]["grid"]) == size
        members = found["team"]["members"]
        assert [m["rank"] for m in members] == list(range(size))
        assert {m["device"] for m in members} == {"cpu"}
        assert sum(m["nnz"] for m in members) == alone["nnz"] == found["nnz"]
        assert sum(m["rows_owned"] for m in members) == sum(alone["dims"])
        told(polyad, size, *arguments, "-o", "b.ktensor")
        assert polyad.path("a.ktensor").read_bytes() == polyad.path("b.ktensor").read_bytes()


@pytest.mark.parametrize("size", [2, 3])
def test_processes_of_one_machine_divide_its_processors(noisy, mpi, size):
    """Whatever OMP_NUM_THREADS says, which does not count for one process either."""
    unbound = {"openmpi": ("--bind-to", "none"), "mpich": ()}[mpi]
    arguments = ("cpd", "x.ptn", "-r", "3", "-i", "2", "--device", "cpu", "--json", "-")
    alone = noisy.json(*arguments[:-2])["manifest"]["threads"]
    done = run(noisy, size, *arguments, "--verbose", launch=unbound)
    assert done.returncode == 0, done.stderr
    share = max(1, alone // size)
    assert json.loads(done.stdout)["manifest"]["threads"] == share
    said = f"threads: {share} of {alone}, since other processes of the team may use the same processors"
    assert done.stderr.count(said) == (share < alone)
    asked = run(noisy, size, *arguments, "--verbose", "-t", str(alone), launch=unbound)
    assert json.loads(asked.stdout)["manifest"]["threads"] == alone and "threads: " not in asked.stderr


@pytest.mark.parametrize("size", [2, 3])
def test_processes_by_themselves_divide_the_processors(noisy, mpi, size):
    """tucker shares no work: each process runs the whole command beside the others."""
    unbound = {"openmpi": ("--bind-to", "none"), "mpich": ()}[mpi]
    arguments = ("tucker", "x.ptn", "-r", "2,2,2", "-i", "2", "--device", "cpu", "--json", "t.json")
    alone = noisy.json(*arguments[:-2])["manifest"]["threads"]
    for words, expected in (((), max(1, alone // size)), (("-t", alone), alone)):
        done = run(noisy, size, *arguments, *words, launch=unbound)
        assert done.returncode == 0 and done.stdout.count("fit ") == size, done.stderr
        assert json.loads(noisy.path("t.json").read_text())["manifest"]["threads"] == expected


def limit_of(said):
    number, unit = re.search(r"the memory limit is ([0-9.]+) (\w+)", said).groups()
    return float(number) * 1024 ** ["bytes", "KiB", "MiB", "GiB", "TiB"].index(unit)


@pytest.mark.parametrize("command", ["cpd", "rank"])
def test_processes_of_one_machine_divide_its_memory(noisy, command):
    """The limit is measured anew in each, while other programs take memory."""
    words = ("-r", "200000000") if command == "cpd" else ("--ranks", "200000000", "--starts", "1")
    arguments = (command, "x.ptn", *words, "--device", "cpu")
    alone = noisy.fails(1, *arguments, says="the memory limit is")
    done = run(noisy, 3, *arguments)
    assert done.returncode == 1 and 0.2 < limit_of(done.stderr) / limit_of(alone.err) < 0.5, done.stderr
    asked = run(noisy, 3, *arguments, "--memory-limit", "1G")
    assert limit_of(asked.stderr) == pytest.approx(2 ** 30, rel=0.01)


def test_the_summary_says_how_many_compute_together(noisy):
    """With a launcher that does not connect them each would say what one says."""
    done = run(noisy, 3, "cpd", "x.ptn", "-r", "3", "-i", "2")
    assert done.returncode == 0 and done.stdout.count(" on cpu by 3 processes: fit ") == 1, done.stdout
    assert " processes" not in noisy.ok("cpd", "x.ptn", "-r", "3", "-i", "2", "--device", "cpu").out.decode()


@pytest.mark.parametrize("size", SIZES)
def test_what_is_counted_beforehand_is_what_processes_have(noisy, size):
    told_before = noisy.json("plan", "x.ptn", "-r", "3", "--ranks", str(size), "--seconds", "1")
    expected = next(row for row in told_before["predictions"] if row["ranks"] == size)
    arguments = ("cpd", "x.ptn", "-r", "3", "--tol", "0")
    found = told(noisy, size, *arguments, "-i", "2")["team"]
    assert found["grid"] == expected["grid"] and close(found["imbalance"], expected["imbalance"])
    for member, before in zip(found["members"], expected["members"], strict=True):
        assert all(member[key] == before[key] for key in ("rank", "nnz", "rows_read", "rows_owned"))
    # What two iterations more send: the rows, and sums, which are the same on all: their difference.
    longer = told(noisy, size, *arguments, "-i", "4")["team"]["members"]
    sent = [after["bytes_sent"] - member["bytes_sent"] for after, member in zip(longer, found["members"])]
    rows = [2 * before["bytes_sent"] for before in expected["members"]]
    assert [a - sent[1] for a in sent[1:]] == [b - rows[1] for b in rows[1:]]


def test_every_file_format_is_shared(noisy):
    noisy.ok("convert", "x.tns", "x.tns.gz")
    lines = [line.split() for line in noisy.path("x.tns").read_text().splitlines() if line[0] != "#"]
    noisy.write("x.csv", "a,b,c,value\n" + "".join(",".join(line) + "\n" for line in lines))
    arguments = ("-r", "3", "-i", "3", "--tol", "0")
    alone = noisy.json("cpd", "x.tns", *arguments)
    for name in ("x.tns", "x.tns.gz", "x.ptn", "x.csv"):
        found = told(noisy, 3, "cpd", name, *arguments, "-o", name + ".ktensor")
        assert found["nnz"] == alone["nnz"]
        # Labels are numbered as they come, and random factors follow the numbers.
        if name != "x.csv":
            assert found["dims"] == alone["dims"] and close(found["fit"], alone["fit"]), name


def test_more_processes_than_nonzeros_and_modes_of_length_one(polyad):
    polyad.write("few.tns", "3 1 2 1.5\n7 1 1 -2\n7 1 9 4\n")
    arguments = ("cpd", "few.tns", "-r", "1", "-i", "4", "--tol", "0")
    alone = polyad.json(*arguments)
    for size in (2, 7):
        assert abs(told(polyad, size, *arguments)["fit"] - alone["fit"]) < 1e-12


def test_the_first_process_talks_alone(noisy):
    result = run(noisy, 3, "cpd", "x.tns", "-r", "2", "-i", "2", "--verbose")
    assert result.returncode == 0
    assert result.stdout.count("nonzeros") == 1 and result.stdout.count("after 2 iterations") == 1
    assert "process 0 of 3" in result.stderr and "process 1 of 3" not in result.stderr


@pytest.mark.parametrize("wrong", [10, 5990])
def test_a_bad_line_is_named_wherever_it_is(noisy, wrong):
    lines = noisy.path("x.tns").read_text().splitlines()
    wrong = min(wrong, len(lines) - 2)
    lines[wrong] = "1 2 three 4"
    noisy.write("bad.tns", "\n".join(lines) + "\n")
    result = run(noisy, 4, "cpd", "bad.tns", "-r", "2")
    assert result.returncode != 0 and result.stdout == ""
    errors = [line for line in result.stderr.splitlines() if "error:" in line and line.startswith("polyad")]
    assert len(errors) == 1 and f"bad.tns:{wrong + 1}:" in errors[0], result.stderr
    assert errors[0].count("error:") == 1  # also where another process tells it


def test_what_needs_the_whole_tensor_is_refused(noisy):
    for more in (("--report", "x.html"), ("--init", "hosvd"), ("-a", "apr-pdnr"), ("--absent", "unknown")):
        noisy.fails(2, "cpd", "x.tns", "-r", "2", *more, says="2 processes",
                    env={"OMPI_COMM_WORLD_SIZE": "2"})  # as mpirun tells it


def test_a_device_that_is_not_there_ends_all(noisy):
    for device in ("cuda:4000", "abacus", "cpu,cpu"):
        result = run(noisy, 3, "cpd", "x.tns", "-r", "2", "--device", device)
        errors = [line for line in result.stderr.splitlines() if line.startswith("polyad: error:")]
        assert result.returncode != 0 and result.stdout == "" and len(errors) == 1, result.stderr


def test_what_processes_do_not_share_warns_once(noisy):
    """Each does it whole; what all write is whole, too."""
    work = ("tucker", "x.ptn", "-r", "2,2,2", "--threads", "1", "-o")
    alone = run(noisy, 1, *work, "alone.ptm")
    assert alone.returncode == 0 and "processes" not in alone.stderr, alone.stderr
    done = run(noisy, 3, *work, "all.ptm")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("each of the 3 processes runs this whole command by itself") == 1, done.stderr
    assert noisy.path("all.ptm").read_bytes() == noisy.path("alone.ptm").read_bytes()
    assert "processes" not in run(noisy, 2, "info", "x.ptn", "--quiet").stderr


def test_one_process_may_not_have_another_kind_of_device(noisy):
    result = run_unlike(noisy, ["cpd", "x.tns", "-r", "2", "--quiet"], more=["--device", "abacus"])
    errors = [line for line in result.stderr.splitlines() if line.startswith("polyad: error:")]
    assert result.returncode != 0 and len(errors) == 1 and "process 1: device 'abacus'" in errors[0], errors


def test_first_components_have_the_rows_of_their_labels(polyad):
    """Where the processes know the tensor's; else they say that rows go by number."""
    for name, step in (("there", 1), ("turned", -1)):
        labels = ["a", "bb", "cccc"][::step]
        polyad.path(f"{name}.labels").mkdir()
        for mode in (1, 2):
            polyad.write(f"{name}.labels/mode-{mode}-m{mode}.map", "\n".join(labels) + "\n")
        polyad.write(f"{name}.tns", "".join(f"{i + 1} {j + 1} {len(a) * len(b)}\n"
                                            for i, a in enumerate(labels) for j, b in enumerate(labels)))
        polyad.ok("convert", f"{name}.tns", f"{name}.ptn")
    polyad.ok("cpd", "turned.ptn", "-r", "1", "-o", "turned.ptm")
    words = ("-r", "1", "-i", "0", "--init", "turned.ptm")
    own = polyad.json("cpd", "turned.ptn", *words)["fit"]  # of columns of length 1
    assert close(told(polyad, 2, "cpd", "there.ptn", *words)["fit"], own)
    assert run(polyad, 2, "cpd", "there.tns", *words).stderr.count("turned.ptm are taken by number") == 1
    assert told(polyad, 2, "cpd", "there.tns", *words)["fit"] < own - 0.01


def test_a_missing_file_and_a_full_output_end_all(noisy):
    for arguments in (("cpd", "none.tns", "-r", "2"),
                      ("cpd", "x.tns", "-r", "2", "-o", "no-such-folder/x.ktensor")):
        started = time.monotonic()
        result = run(noisy, 3, *arguments)
        assert result.returncode != 0 and "error:" in result.stderr
        assert time.monotonic() - started < 30


def test_a_checkpoint_goes_on_with_any_number_of_processes(noisy):
    arguments = ("cpd", "x.ptn", "-r", "3", "--tol", "0")
    whole = told(noisy, 3, *arguments, "-i", "8", "-o", "whole.ktensor")
    told(noisy, 3, *arguments, "-i", "4", "--checkpoint", "state")
    told(noisy, 3, *arguments, "-i", "8", "--resume", "state", "-o", "same.ktensor")
    assert noisy.path("whole.ktensor").read_bytes() == noisy.path("same.ktensor").read_bytes()
    assert close(told(noisy, 2, *arguments, "-i", "8", "--resume", "state")["fit"], whole["fit"])
    assert close(noisy.json(*arguments, "-i", "8", "--resume", "state")["fit"], whole["fit"])


def children(process):
    """Processes of the command that mpirun has started, itself or by a helper of its own."""
    table = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,comm="], text=True, check=True,
                           stdout=subprocess.PIPE).stdout
    rows = [line.split(maxsplit=2) for line in table.splitlines()]
    family = {str(process.pid)}
    for _ in range(3):
        family |= {row[0] for row in rows if row[1] in family}
    return [int(row[0]) for row in rows if row[0] in family and row[2] == "polyad"]


def rank_of(pid):
    """As the launcher tells the process."""
    words = pathlib.Path(f"/proc/{pid}/environ").read_text().split("\0")
    return next(w.split("=")[1] for w in words if w.startswith("OMPI_COMM_WORLD_RANK="))


def start_three(noisy, *more):
    """The launcher of three processes that would compute for ever, and theirs."""
    process = subprocess.Popen(words(3, "cpd", "x.ptn", "-r", "4", "-i", "100000000", "--tol", "0", *more),
                               cwd=noisy.folder, env=environment(), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 30
    while len(children(process)) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    ranks = children(process)
    assert len(ranks) == 3
    return process, ranks


def check_killed(noisy, seconds, which):
    """A process that is killed so long after the start ends all within 30 s. Open MPI's launcher names its
    rank; MPICH's kills the others at once and names any of them, or tells how one's start was aborted for
    want of the killed one's memory."""
    process, ranks = start_three(noisy)
    time.sleep(seconds)
    named = " RUNNING AT" if "mpich" in launcher[0] else f"process rank {rank_of(ranks[which])} "
    os.kill(ranks[which], signal.SIGKILL)
    told_by_launcher = "".join(process.communicate(timeout=30))  # MPICH's on standard output
    assert process.returncode != 0, told_by_launcher
    if "mpich" not in launcher[0] or "Abort(" not in told_by_launcher:
        assert "signal 9" in told_by_launcher and named in told_by_launcher, told_by_launcher


@pytest.mark.skipif(shutil.which("ps") is None, reason="needs ps")
def test_a_killed_process_ends_all(noisy):
    check_killed(noisy, 0.5, 1)


@pytest.mark.skipif(shutil.which("ps") is None, reason="needs ps")
def test_a_signal_to_one_process_keeps_the_model(noisy):
    """Whichever it is; the first says so."""
    process, ranks = start_three(noisy, "-o", "kept.ktensor", "--checkpoint", "c", "--checkpoint-every", "1")
    deadline = time.monotonic() + 30
    while not noisy.path("c").exists() and time.monotonic() < deadline:  # all are computing then
        time.sleep(0.05)
    os.kill(ranks[2], signal.SIGTERM)
    told = "".join(process.communicate(timeout=30))
    assert process.returncode != 0 and told.count("polyad: stopped after iteration ") == 1, told
    noisy.ok("score", "kept.ktensor", "kept.ktensor")


@pytest.mark.long
@pytest.mark.skipif(shutil.which("ps") is None, reason="needs ps")
@pytest.mark.parametrize("instant", range(20))
def test_a_process_killed_at_any_instant_ends_all(noisy, instant):
    check_killed(noisy, 0.03 * instant, instant % 3)


def run_unlike(polyad, arguments, before=(), more=()):
    """Three processes, of which the second has words before its command or more options."""
    line = list(launcher)
    for rank in range(3):
        line += ([":"] if rank > 0 else []) + ["-n", "1", *(before if rank == 1 else ()), COMMAND, *arguments,
                                               *(more if rank == 1 else ())]
    return subprocess.run(line, cwd=polyad.folder, env=environment(), timeout=60, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.parametrize("kind", ["values", "lines", "format"])
def test_another_file_in_one_process_ends_all(noisy, kind):
    """The second process runs in another folder, where another file has the name."""
    name = "x.tns" if kind == "lines" else "x.ptn"
    noisy.path("there").mkdir()
    if kind == "lines":  # of the same length
        noisy.path("there/x.tns").write_text(noisy.path("x.tns").read_text().replace("1", "2"))
    elif kind == "values":  # one of which is another
        lines = noisy.path("x.tns").read_text().splitlines()
        lines[-1] = " ".join([*lines[-1].split()[:-1], "9.5"])
        noisy.path("there/y.tns").write_text("\n".join(lines) + "\n")
        noisy.ok("convert", "there/y.tns", "there/x.ptn")
    else:
        shutil.copy(noisy.path("x.tns"), noisy.path("there/x.ptn"))
    arguments = ["cpd", name, "-r", "3", "-i", "3"]
    assert run_unlike(noisy, arguments).returncode == 0
    result = run_unlike(noisy, arguments, before=["env", f"--chdir={noisy.path('there')}"])
    assert result.returncode == 1 and result.stdout == "", result.stdout
    errors = [line for line in result.stderr.splitlines() if line.startswith("polyad")]
    assert len(errors) == 1 and "process 1" in errors[0], result.stderr
    if kind != "format":
        assert "another file than process 0" in errors[0], errors


@pytest.mark.long
def test_memory_that_one_process_lacks_ends_all(polyad):
    """At 50 points of what it has in use at most one process may have no more."""
    polyad.ok("generate", "big.ptn", "--dims", "400,300,500", "--nnz", "100000", "--seed", "1")
    arguments = ["cpd", "big.ptn", "-r", "3", "-i", "1", "--tol", "0", "--json", "-"]
    enough = run_unlike(polyad, arguments)
    assert enough.returncode == 0, enough.stderr
    peak = json.loads(enough.stdout)["team"]["members"][1]["peak_bytes"]
    failed = 0
    for point in range(1, 51):
        limit = str(peak * point // 51)
        result = run_unlike(polyad, arguments, more=["--memory-limit", limit])
        if result.returncode == 0:  # with less room some arrays are smaller
            assert close(json.loads(result.stdout)["fit"], json.loads(enough.stdout)["fit"]), limit
            continue
        failed += 1
        errors = [line for line in result.stderr.splitlines() if line.startswith("polyad")]
        assert result.stdout == "" and len(errors) == 1, result.stderr
        assert "process 1" in errors[0] and "memory limit" in errors[0], errors
    assert failed > 25


def without_times(text):
    return re.sub(r"[0-9.e-]+ s\b", "", text)


@pytest.mark.long
@pytest.mark.skipif(not SHIM, reason="needs the fault shim")
def test_a_read_that_fails_in_one_process_ends_all(polyad):
    name = "big.ptn"
    polyad.ok("generate", name, "--dims", "400,300,500", "--nnz", "600000", "--seed", "1")
    arguments = ["cpd", name, "-r", "3", "-i", "1", "--tol", "0"]

    def failing_at(which):
        faulty = ["env", f"LD_PRELOAD={SHIM}", "FAULT_CALL=read", f"FAULT_AT={which}", "FAULT_HOW=5",
                  f"FAULT_NAME={name}", "FAULT_COUNT=reads"]
        return run_unlike(polyad, arguments, before=faulty)

    enough = failing_at(1000000)
    assert enough.returncode == 0
    reads = int(polyad.path("reads").read_text())
    assert reads > 5
    for which in range(1, min(reads, 50) + 1):
        result = failing_at(which)
        if which <= 2 and result.returncode == 0:  # looks at the file's kind and header before it is read
            assert without_times(result.stdout) == without_times(enough.stdout)
            continue
        assert result.returncode != 0 and result.stdout == "", which
        errors = [line for line in result.stderr.splitlines() if line.startswith("polyad")]
        assert len(errors) == 1 and "process 1" in errors[0] and name in errors[0], result.stderr


@pytest.mark.long
def test_many_processes(noisy):
    arguments = ("cpd", "x.ptn", "-r", "3", "-i", "2", "--tol", "0")
    alone = noisy.json(*arguments)["fit"]
    result = run(noisy, 64, *arguments, "--json", "many.json", timeout=600)
    assert result.returncode == 0, result.stderr
    assert close(json.loads(noisy.path("many.json").read_text())["fit"], alone)
