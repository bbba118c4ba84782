"""Memory limits and signals: category J, without devices."""

import fcntl
import json
import os
import pty
import re
import resource
import select
import signal
import struct
import subprocess
import termios
import threading
import time

import pytest
from conftest import COMMAND, GOOD, check_error, validate

SANITIZED = bool(os.environ.get("POLYAD_SANITIZE"))


def medium(polyad):
    polyad.ok("generate", "x.ptn", "--dims", "3000,2000,1000", "--nnz", "300000", "--seed", "1")
    return "x.ptn"


# ---- J01, J03 memory

@pytest.mark.long
@pytest.mark.skipif(SANITIZED, reason="sanitizers reserve address space")
@pytest.mark.parametrize("megabytes", [50, 75, 100, 125, 150, 175, 200, 250, 300, 400])
def test_j01_address_space(polyad, megabytes):
    name = medium(polyad)

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))

    result = polyad.run("cpd", name, "-r", "16", "--threads", "2", "--max-iters", "2",
                        "--output", "m.ktensor", preexec=limit, timeout=20)
    # 127: the loader could not map the libraries, before any line of ours.
    assert result.status in (0, 1, 127), (result.status, result.err)
    if result.status == 1:
        check_error(result.err.splitlines()[-1])
    assert polyad.path("m.ktensor").exists() == (result.status == 0)


@pytest.mark.skipif(SANITIZED, reason="sanitizers keep shadow memory")
@pytest.mark.parametrize("megabytes", [1, 8, 16, 24, 32, 48, 64, 128])
def test_j03_memory_limit(polyad, megabytes):
    name = medium(polyad)
    # What the process takes before it reads a tensor does not count as the tensor's.
    bare = polyad.json("cpd", "good.tns", "-r", "1")["peak_bytes"]
    result = polyad.run("cpd", name, "-r", "16", "--max-iters", "2", "--memory-limit",
                        f"{megabytes}M", "--json", "-")
    assert result.status in (0, 1)
    if result.status == 0:
        assert result.json["peak_bytes"] <= bare + 1.05 * (megabytes << 20)
    else:
        check_error(result.err)
        assert "limit" in result.err and "B" in result.err


def limited_group(megabytes):
    """A new control group with a memory limit, of either version; skips where none may be made."""
    for mount, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
                         ("/sys/fs/cgroup", "memory.max")):
        group = os.path.join(mount, f"polyad-test-{os.getpid()}-{megabytes}")
        try:
            os.mkdir(group)
        except OSError:
            continue
        try:
            with open(os.path.join(group, limit), "w", encoding="ascii") as file:
                file.write(str(megabytes << 20))
            return group
        except OSError:
            os.rmdir(group)
    return pytest.skip("control groups with a memory limit need root and a writable /sys/fs/cgroup")


@pytest.mark.skipif(SANITIZED, reason="sanitizers keep shadow memory")
@pytest.mark.parametrize("megabytes", [40, 80, 160, 1000])
def test_j02_control_group(polyad, megabytes):
    polyad.ok("generate", "x.ptn", "--dims", "3000,2000,1000", "--nnz", "2000000", "--seed", "1")
    group = limited_group(megabytes)

    def enter():
        with open(os.path.join(group, "cgroup.procs"), "w", encoding="ascii") as file:
            file.write(str(os.getpid()))

    try:
        result = polyad.run("cpd", "x.ptn", "-r", "16", "--max-iters", "2", "--output", "m.ktensor",
                            preexec=enter)
    except subprocess.SubprocessError:
        pytest.skip("a process may not enter a control group here")
    finally:
        os.rmdir(group)
    assert result.status in (0, 1), (result.status, result.err)  # not killed for memory
    if result.status == 1:
        check_error(result.err.splitlines()[-1])
        assert "limit" in result.err
    assert megabytes > 40 or result.status == 1  # less than the process and its factors take
    assert megabytes < 1000 or result.status == 0
    assert polyad.path("m.ktensor").exists() == (result.status == 0)


@pytest.mark.parametrize("megabytes", [1, 4])
def test_j03_refused_with_bytes(polyad, megabytes):
    polyad.fails(1, "cpd", medium(polyad), "-r", "16", "--memory-limit", f"{megabytes}M",
                 says=("limit", "iB"))


def test_huge_dims_are_refused_with_bytes(polyad):
    polyad.write("gap.tns", "1 1 1 1.0\n1000000000 1 1 2.0\n")
    polyad.fails(1, "cpd", "gap.tns", "-r", "16", "--memory-limit", "8G", says=("limit",))


def test_bytes_beyond_64_bits_are_the_most_that_there_are(polyad):
    most = 2**64 - 1
    for rank in (most, most // 8, most // 48):
        for row in polyad.json("info", "good.tns", "-r", rank)["formats"]:
            assert "reason" in row or row["bytes"] == min(row["bytes_format"] + row["bytes_factors"], most)
            assert "reason" in row or row["bytes_factors"] == min(6 * 8 * rank, most)


# ---- J04, J05 signals

class Running:
    """A decomposition that goes on until it is told to end."""

    def __init__(self, polyad, *more):
        name = medium(polyad)
        self.polyad = polyad
        self.process = subprocess.Popen(
            [COMMAND, "cpd", name, "-r", "8", "--tol", "0", "--max-iters", "1000000", "--output",
             "m.ktensor", "--json", "m.json", "--checkpoint", "c", "--checkpoint-every", "1",
             *more], cwd=polyad.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 60
        while not polyad.path("c").exists():  # the first checkpoint: iterations are running
            assert time.monotonic() < deadline and self.process.poll() is None
            time.sleep(0.01)

    def end(self, *signals, timeout=10):
        begin = time.monotonic()
        for number in signals:
            self.process.send_signal(number)
            time.sleep(0.01)
        out, err = self.process.communicate(timeout=timeout)
        return self.process.returncode, time.monotonic() - begin, out, err


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143),
                                            (signal.SIGHUP, 129)])
def test_j04_once_keeps_the_result(polyad, number, status):
    found, seconds, out, err = Running(polyad).end(number)
    assert found == status and seconds < 5
    assert re.fullmatch(rb"polyad: stopped after iteration \d+; model in m.ktensor; "
                        rb"go on with --resume c\n", err)
    result = json.loads(polyad.path("m.json").read_text())
    validate("cpd", result)
    assert result["reason"] == "cancelled" and result["iterations"] >= 1
    assert not result["converged"] and len(result["trace"]) == result["iterations"]
    polyad.ok("score", "m.ktensor", "m.ktensor")
    assert b"component 1" in out
    names = sorted(path.name for path in polyad.folder.iterdir())
    assert not [name for name in names if name.endswith(".tmp")], names


def test_j04_twice_ends_at_once(polyad):
    found, seconds, _, _ = Running(polyad).end(signal.SIGINT, signal.SIGINT, signal.SIGINT)
    assert found == 130 and seconds < 5


def test_j04_ignored_hangup_stays_ignored(polyad):
    name = medium(polyad)
    process = subprocess.Popen(["nohup", COMMAND, "cpd", name, "-r", "2", "--tol", "0",
                                "--max-seconds", "1.5", "--max-iters", "1000000", "--quiet"],
                               cwd=polyad.folder, stderr=subprocess.DEVNULL)
    time.sleep(0.5)
    process.send_signal(signal.SIGHUP)
    assert process.wait(30) == 0


@pytest.mark.parametrize("arguments", [
    ("generate", "big.tns", "--dims", "90000,80000,70000", "--nnz", "4000000"),
    ("generate", "big.tns.gz", "--dims", "900,800,700", "--nnz", "400000"),
    ("convert", "x.ptn", "big.tns.gz")])
def test_j04_while_writing(polyad, arguments):
    """Either the whole file or nothing, and no temporary file."""
    medium(polyad)
    name = arguments[1] if arguments[0] == "generate" else arguments[2]
    process = subprocess.Popen([COMMAND, *arguments], cwd=polyad.folder, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not [p for p in polyad.folder.iterdir() if p.name.startswith(name) and p.stat().st_size]:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode in (0, 130) and err == b"", (process.returncode, err)
    left = [p.name for p in polyad.folder.iterdir() if p.name.startswith("big")]
    assert left in ([], [name])
    if left:
        polyad.ok("info", name)


PIPE = 4096  # bytes that a pipe holds


@pytest.mark.parametrize("arguments", [
    ("cpd", "x.ptn", "-r", "2", "-o", "-"), ("tucker", "x.ptn", "-r", "2", "-o", "-"),
    ("convert", "x.ptn", "-"), ("predict", "m.ptm", "x.ptn", "-o", "-"),
    ("project", "m.ptm", "x.ptn", "--mode", "1", "-o", "-"), ("update", "m.ptm", "x.ptn", "--mode", "1", "-o", "-"),
    ("anomalies", "m.ptm", "x.ptn", "--top", "5000", "-o", "-")],
    ids=lambda arguments: arguments[0])
def test_j04_results_that_are_being_written_are_whole(polyad, arguments):
    """To a pipe that nobody reads yet; the status is the signal's all the same."""
    polyad.ok("generate", "x.ptn", "--dims", "9000,3,2", "--nnz", "20000")
    polyad.ok("cpd", "x.ptn", "-r", "2", "-i", "1", "-o", "m.ptm")
    whole = polyad.ok(*arguments, "--quiet").out
    assert len(whole) > 2 * PIPE
    process = subprocess.Popen([COMMAND, *arguments, "--quiet"], cwd=polyad.folder, stdout=subprocess.PIPE,
                               pipesize=PIPE)
    with process.stdout as pipe:
        begin = pipe.read(1)
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)
        assert begin + pipe.read() == whole
    assert process.wait(60) == 130


def test_j04_while_waiting_for_input(polyad):
    """Nothing is lost: the process ends at once, with the signal's status."""
    process = subprocess.Popen([COMMAND, "info", "-"], stdin=subprocess.PIPE, cwd=polyad.folder,
                               stderr=subprocess.PIPE)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    assert process.wait(5) == 130
    process.stdin.close()
    process.stderr.close()


def test_j04_bench_gives_what_is_measured(polyad):
    """H23: an interrupted benchmark writes the rows that it has."""
    name = medium(polyad)
    process = subprocess.Popen([COMMAND, "bench", "mttkrp", name, "--repeat", "1000000", "--mode",
                                "1", "--json", "b.json"], cwd=polyad.folder,
                               stdout=subprocess.PIPE)
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 130
    result = json.loads(polyad.path("b.json").read_text())
    validate("bench", result)
    assert len(result["results"]) == 1 and 1 <= result["results"][0]["runs"] < 1000000


def test_j05_stopped_and_continued(polyad):
    running = Running(polyad)
    running.process.send_signal(signal.SIGSTOP)
    time.sleep(0.5)
    running.process.send_signal(signal.SIGCONT)
    time.sleep(0.2)
    found, _, _, _ = running.end(signal.SIGINT)
    result = json.loads(polyad.path("m.json").read_text())
    assert found == 130
    times = [row["seconds"] for row in result["trace"]]
    assert times == sorted(times) and times[0] >= 0


# ---- the progress bar

def on_terminal(polyad, *arguments, columns=0):
    """What the command writes to a terminal on standard error."""
    try:
        master, slave = pty.openpty()
    except OSError as error:
        pytest.skip(f"no terminal can be made here: {error}")
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
    process = subprocess.Popen([COMMAND, *arguments], cwd=polyad.folder, stderr=slave,
                               stdout=subprocess.PIPE)
    os.close(slave)
    seen = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:
            break
        if not part:
            break
        seen += part
    process.communicate()
    os.close(master)
    return process.returncode, seen.decode()


@pytest.mark.parametrize("columns, widest", [(20, 19), (0, 256)])
def test_progress_stays_in_its_line(polyad, columns, widest):
    """A line that is wider than the terminal goes on in the next one, where nothing clears it."""
    status, seen = on_terminal(polyad, "cpd", medium(polyad), "-r", "8", "--tol", "0", "--max-iters", "12",
                               columns=columns)
    shown = [len(text) for text in seen.split("\r\x1b[K")]
    assert status == 0 and 0 < max(shown) <= widest


def test_progress_only_on_a_terminal(polyad):
    arguments = ("cpd", medium(polyad), "-r", "8", "--tol", "0", "--max-iters", "12")
    status, seen = on_terminal(polyad, *arguments)
    assert status == 0 and re.search(r"\[[#.-]+\] \d+/12 .*fit 0\.\d+", seen)
    assert "left" in seen
    assert seen.endswith("\r\x1b[K")  # nothing remains of it
    assert polyad.run(*arguments).err == ""
    assert on_terminal(polyad, *arguments, "--quiet") == (0, "")


def slowly(path, text, seconds):
    """Writes a pipe's text, with a pause before its end."""
    with open(path, "w", encoding="ascii") as pipe:
        pipe.write(text[:len(text) // 2])
        pipe.flush()
        time.sleep(seconds)
        pipe.write(text[len(text) // 2:])


def take_slowly(path, seconds, taken):
    with open(path, "rb") as pipe:
        time.sleep(seconds)
        taken.append(pipe.read())


def beside(function, *arguments):
    thread = threading.Thread(target=function, args=arguments, daemon=True)
    thread.start()
    return thread


def test_reading_and_writing_are_shown_on_a_terminal(polyad):
    text = "".join(f"{1 + k % 97} {1 + k % 89} {1 + k} 1\n" for k in range(20000))
    polyad.write("x.tns", text)
    for name in "in", "out.tns":
        os.mkfifo(polyad.path(name))
    helper = beside(slowly, polyad.path("in"), text, 2.2)
    status, seen = on_terminal(polyad, "info", "in", "--json", "j.json")
    helper.join()
    assert status == 0 and re.findall(r"reading  [12]\.\d s\r\x1b\[K", seen)
    assert seen.endswith("\r\x1b[K")
    taken = []
    helper = beside(take_slowly, polyad.path("out.tns"), 2.2, taken)
    status, seen = on_terminal(polyad, "convert", "x.tns", "out.tns")
    helper.join()
    assert status == 0 and len(taken[0].splitlines()) >= 20000
    assert re.findall(r"writing  [12]\.\d s\r\x1b\[K", seen)
    helper = beside(slowly, polyad.path("in"), text + "1 1 x 1\n", 1.7)
    status, seen = on_terminal(polyad, "info", "in")
    helper.join()
    assert status == 1 and "\r\x1b[Kpolyad: in:20001:5: error" in seen  # not behind the line
    helper = beside(slowly, polyad.path("in"), text, 1.7)
    assert polyad.ok("info", "in").err == ""
    helper.join()
    helper = beside(slowly, polyad.path("in"), text, 1.7)
    assert on_terminal(polyad, "info", "in", "--quiet") == (0, "")
    helper.join()


def test_hosvd_is_shown_on_a_terminal(polyad):
    polyad.ok("generate", "--dims", "4000,3000,20", "--nnz", "1000000", "x.ptn")
    status, seen = on_terminal(polyad, "cpd", "x.ptn", "-r", "8", "--init", "hosvd", "-i", "2",
                               "--threads", "1", "--json", "j.json")
    assert status == 0
    # A quick machine ends within the second after which it is shown.
    took = json.loads(polyad.path("j.json").read_text())["seconds_init"]
    assert took < 1.3 or re.search(r"HOSVD  \d+\.\d s", seen), took


@pytest.mark.long
def test_a_line_a_minute_off_a_terminal(polyad):
    os.mkfifo(polyad.path("in"))
    helper = beside(slowly, polyad.path("in"), "1 1 1 1\n2 2 2 2\n", 63)
    found = polyad.ok("info", "in")
    helper.join()
    assert re.fullmatch(r"polyad: reading  6\d\.\d s\n", found.err)
