"""Files, streams and places for output: category G, and --json (H25)."""

import gzip
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import pytest
from conftest import COMMAND, GOOD, Polyad, check_error, read_tns

SHIM = os.environ.get("POLYAD_FAULT_SHIM", "")
CPD = ("cpd", "good.tns", "-r", "2")
needs_shim = pytest.mark.skipif(not SHIM, reason="built with sanitizers: no LD_PRELOAD")


def big(polyad, lines=200000, name="big.tns"):
    polyad.write(name, "".join(f"{k % 997 + 1} {k % 89 + 1} {k // 89 % 991 + 1} {k % 7 + 1}\n"
                               for k in range(lines)))
    return name


@pytest.fixture
def nobody():
    """A folder that an ordinary user may use, and how to become one."""
    if os.getuid() != 0:
        yield Polyad(pathlib.Path(tempfile.mkdtemp())), None
        return
    folder = pathlib.Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o777)
    runner = Polyad(folder)

    def become():
        os.setgid(65534)
        os.setuid(65534)

    try:
        usable = runner.run("--version", preexec=become).status == 0
    except (PermissionError, subprocess.SubprocessError):
        usable = False
    if not usable:
        pytest.skip("an ordinary user cannot run this build")
    yield runner, become
    shutil.rmtree(folder)


# ---- inputs

@pytest.mark.parametrize("name", ["d", "d.tns", "d.ptn", "d.csv", "d.tns.gz", "."])
def test_g02_directory(polyad, name):
    if name != ".":
        polyad.path(name).mkdir()
    polyad.fails(1, "info", name, says="irectory")


def test_g03_permission(nobody):
    polyad, become = nobody
    polyad.path("good.tns").chmod(0)
    polyad.fails(1, "info", "good.tns", preexec=become, says="Permission denied")


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
@pytest.mark.parametrize("content", [GOOD.encode(), gzip.compress(GOOD.encode())])
def test_g04_standard_input(polyad, name, content):
    assert polyad.json("info", name, stdin=content)["nnz"] == 3
    assert polyad.json("cpd", name, "-r", "1", stdin=content)["nnz"] == 3


def test_g04_standard_input_is_named(polyad):
    polyad.fails(1, "info", "-", stdin=b"1 1 1 1.0\n1 2 x 2.0\n", says="<stdin>:2")


@pytest.mark.parametrize("suffix", [".tns", ".tns.gz", ""])
def test_g04_fifo(polyad, suffix):
    fifo = polyad.path("pipe" + suffix)
    os.mkfifo(fifo)
    data = gzip.compress(GOOD.encode()) if suffix.endswith("gz") else GOOD.encode()
    writer = threading.Thread(target=lambda: fifo.write_bytes(data), daemon=True)
    writer.start()
    result = polyad.run("info", fifo.name, "--json", "-", timeout=30)
    writer.join()
    assert result.status == 0 and result.json["nnz"] == 3


def test_g04_process_substitution(polyad):
    polyad.path("good.tns.gz").write_bytes(gzip.compress(GOOD.encode()))
    out = subprocess.run(["bash", "-c", f"'{COMMAND}' info <(zcat good.tns.gz) --json -"],
                         cwd=polyad.folder, capture_output=True, check=True).stdout
    assert json.loads(out)["nnz"] == 3


@pytest.mark.parametrize("name", ["/dev/null", "/dev/zero", "/dev/urandom", "/proc/self/mem",
                                  "/proc/cpuinfo"])
def test_g05_odd_files(polyad, name):
    begin = time.monotonic()
    polyad.fails(1, "info", name)
    assert time.monotonic() - begin < 5


def test_g06_links(polyad):
    polyad.path("a.tns").symlink_to("b.tns")
    polyad.path("b.tns").symlink_to("a.tns")
    polyad.path("c.tns").symlink_to("nowhere")
    polyad.fails(1, "info", "a.tns", says="evels of symbolic links")
    polyad.fails(1, "info", "c.tns", says="No such file")
    polyad.path("d.tns").symlink_to("good.tns")
    assert polyad.json("info", "d.tns")["nnz"] == 3


@pytest.mark.parametrize("change", ["append", "truncate", "rewrite"])
def test_g08_file_changes_while_it_is_read(polyad, change):
    name = big(polyad)
    content, stop = polyad.path(name).read_bytes(), threading.Event()

    def disturb():
        while not stop.is_set():
            with open(polyad.path(name), "r+b") as file:
                if change == "append":
                    file.seek(0, 2)
                    file.write(b"1 1 1 1\n")
                elif change == "truncate":
                    file.truncate(len(content) // 2)
                    file.truncate(len(content))
                else:
                    file.write(content[:100000])

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        for _ in range(8):
            assert polyad.run("info", name, timeout=60).status in (0, 1)
    finally:
        stop.set()
        thread.join()


@needs_shim
@pytest.mark.parametrize("name", ["good.tns", "good.ptn", "good.tns.gz", "good.csv"])
def test_g09_reading_fails(polyad, name):
    if name != "good.tns":
        polyad.ok("convert", "good.tns", name)
    expected = polyad.json("info", name)["hash"]
    env = {"LD_PRELOAD": SHIM, "FAULT_CALL": "read", "FAULT_NAME": name}
    polyad.fails(1, "info", name, env=env, says=(name, "Input/output error"))
    for how in ("short", "eintr"):
        found = polyad.json("info", name, env={**env, "FAULT_HOW": how})
        assert found["hash"] == expected


# ---- outputs

@pytest.mark.parametrize("option", ["--output", "--json", "--checkpoint"])
@pytest.mark.parametrize("place", ["missing/m.ktensor", "good.tns/m.ktensor", "folder"])
def test_g10_fails_before_the_work(polyad, option, place):
    """The input is a pipe that nobody writes: reading it would wait for ever."""
    os.mkfifo(polyad.path("never.tns"))
    polyad.path("folder").mkdir()
    polyad.fails(1, "cpd", "never.tns", "-r", "2", option, place, timeout=20, says=place)


@pytest.mark.parametrize("arguments", [
    ("info", "never.tns", "--json", "missing/x"), ("convert", "never.tns", "missing/x.tns"),
    ("convert", "never.tns", "x.tns", "--json", "missing/x"),
    ("bench", "mttkrp", "never.tns", "--json", "missing/x"),
    ("cpd", "never.tns", "-r", "2", "--output", "missing/dir/"),
    ("cpd", "never.tns", "-r", "2", "--output", "folder/")])
def test_g10_every_command(polyad, arguments):
    os.mkfifo(polyad.path("never.tns"))
    polyad.path("folder").mkdir()
    polyad.fails(1, *arguments, timeout=20)


def test_g10_unwritable_directory(nobody):
    polyad, become = nobody
    polyad.path("locked").mkdir(mode=0o555)
    os.mkfifo(polyad.path("never.tns"))
    for option, place in (("--output", "locked/m.ktensor"), ("--output", "locked/dir/"),
                          ("--json", "locked/x.json"), ("--checkpoint", "locked/c")):
        polyad.fails(1, "cpd", "never.tns", "-r", "2", option, place, preexec=become, timeout=20,
                     says="Permission denied")


def test_g11_output_is_replaced_after_success_only(polyad):
    polyad.write("m.ktensor", "old")
    polyad.write("bad.tns", GOOD + "1 1 x 1\n")
    polyad.fails(1, "cpd", "bad.tns", "-r", "2", "--output", "m.ktensor", says="bad.tns:4")
    before = polyad.path("m.ktensor").stat().st_ino
    polyad.ok(*CPD, "--output", "m.ktensor")
    assert polyad.path("m.ktensor").read_text().startswith("ktensor")
    assert polyad.path("m.ktensor").stat().st_ino != before


def test_g11_output_keeps_link_and_mode(polyad):
    polyad.write("real.ktensor", "old")
    polyad.path("real.ktensor").chmod(0o640)
    polyad.path("link.ktensor").symlink_to("real.ktensor")
    polyad.ok(*CPD, "--output", "link.ktensor")
    assert polyad.path("link.ktensor").is_symlink()
    assert polyad.path("real.ktensor").read_text().startswith("ktensor")
    assert polyad.path("real.ktensor").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("name", ["e.tns", "e.tns.gz", "e.sptensor", "e.ptn", "e.npz"])
def test_a_tensor_without_nonzeros_is_read_again(polyad, name):
    """polyad writes it as the comment with its lengths."""
    polyad.write("start.tns", "# dims: 2 3 4\n")
    polyad.ok("convert", "start.tns", name)
    found = polyad.json("info", name)
    assert found["dims"] == [2, 3, 4] and found["nnz"] == 0
    polyad.ok("convert", name, "again.tns")
    assert polyad.path("again.tns").read_text() == "# dims: 2 3 4\n"
    polyad.write("none.tns", "# dims: 2 x\n")
    polyad.fails(1, "info", "none.tns", says="1 line and no nonzero")


@pytest.mark.parametrize("link", ["same", "symlink", "hardlink"])
@pytest.mark.parametrize("arguments", [("cpd", "good.txt", "-r", "2", "--output"),
                                       ("cpd", "good.tns", "-r", "2", "--json"),
                                       ("convert", "good.tns"), ("info", "good.tns", "--json")])
def test_g12_output_is_the_input(polyad, link, arguments):
    name, other = arguments[1], "other" + arguments[1][-4:]
    polyad.write("good.txt", polyad.path("good.tns").read_bytes())
    if link == "symlink":
        polyad.path(other).symlink_to(name)
    elif link == "hardlink":
        os.link(polyad.path(name), polyad.path(other))
    polyad.fails(1, *arguments, name if link == "same" else other, says="input")


def test_g12_output_is_the_first_model(polyad):
    polyad.ok(*CPD, "--output", "m.ktensor")
    polyad.fails(1, *CPD, "--init", "m.ktensor", "--output", "m.ktensor", says="input")


WRITERS = [(*CPD, "--output", "out.ktensor"), (*CPD, "--json", "out.json"),
           (*CPD, "--output", "out/"), ("convert", "good.tns", "out.tns.gz"),
           ("convert", "good.tns", "out.ptn")]
MORE_WRITERS = [("convert", "good.tns", "out.tns"), ("convert", "good.tns", "out.csv"),
                ("convert", "good.tns", "out.txt"), ("convert", "good.tns", "out.tns.zst"),
                ("generate", "out.tns", "--dims", "9,9,9", "--nnz", "99"),
                ("generate", "out.ptn", "--dims", "9,9,9", "--nnz", "99")]


@needs_shim
@pytest.mark.parametrize("call", ["write", "fsync", "close", "rename"])
@pytest.mark.parametrize("arguments", [
    *WRITERS, *(pytest.param(a, marks=pytest.mark.long) for a in MORE_WRITERS)],
    ids=lambda a: "-".join(a[:1] + a[-1:]))
def test_g14_every_writing_call_fails(polyad, arguments, call):
    """The k-th call of a kind, for every k: an error, the old file, no temporary. Checks before
    the work close a file too, which may fail unharmed: three successes in a row are the end."""
    target = next(a for a in arguments if a.startswith("out"))
    if not target.endswith("/"):
        polyad.write(target, "old")
    before, failures, successes = polyad.snapshot(), 0, 0
    for k in range(1, 30):
        env = {"LD_PRELOAD": SHIM, "FAULT_CALL": call, "FAULT_AT": str(k), "FAULT_HOW": "28",
               "FAULT_NAME": "out"}
        result = polyad.run(*arguments, env=env)
        if result.status == 0:
            successes += 1
            if successes == 3:
                break
            if target.endswith("/"):
                shutil.rmtree(polyad.path(target))
            else:
                polyad.write(target, "old")
            continue
        failures, successes = failures + 1, 0
        assert result.status == 1 and "out" in result.err, result.err
        check_error(result.err)
        assert polyad.snapshot() == before, f"call {k}"
    assert failures > 0, "the fault was never met"
    assert successes == 3, "the fault never went away"


def run_shell(polyad, text):
    return subprocess.run(["bash", "-c", text.replace("polyad ", f"'{COMMAND}' ")],
                          cwd=polyad.folder, capture_output=True, timeout=60)


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&-", "<&- >&- 2>&-"])
def test_g15_closed_streams(polyad, closed):
    done = run_shell(polyad, f"polyad cpd good.tns -r 2 -o m.ktensor --json m.json {closed}")
    assert done.returncode in (0, 1)
    assert polyad.path("m.ktensor").read_text().startswith("ktensor")
    json.loads(polyad.path("m.json").read_text())
    polyad.path("bad.tns").write_text("1 1 x 1\n")
    done = run_shell(polyad, f"polyad info bad.tns --json bad.json {closed}")
    assert done.returncode == 1 and not polyad.path("bad.json").exists()


def test_g15_lost_results_are_an_error(polyad):
    assert run_shell(polyad, "polyad info good.tns >&-").returncode == 1
    assert run_shell(polyad, "polyad info good.tns --quiet >&-").returncode == 1
    assert run_shell(polyad, "polyad convert good.tns copy.tns >&-").returncode == 0
    if os.path.exists("/dev/full"):
        done = run_shell(polyad, "polyad info good.tns >/dev/full")
        assert done.returncode == 1 and b"No space left" in done.stderr


@pytest.mark.parametrize("command", ["info good.tns --json -", "cpd good.tns -r 2",
                                     "convert big.tns -", "cpd good.tns -r 2 -o -", "--help",
                                     "cpd --help", "formats"])
def test_g16_reader_goes_away(polyad, command):
    big(polyad, 20000)
    done = run_shell(polyad, f"(sleep 0.2; polyad {command}; echo status $? >&2) | true")
    assert done.stderr in (b"status 141\n", b"status 1\n", b"status 0\n"), done.stderr


@pytest.mark.parametrize("arguments", [
    (*CPD, "--json", "-", "--output", "-"), ("convert", "good.tns", "-", "--json", "-"),
    (*CPD, "--json", "x", "--output", "x"), (*CPD, "--checkpoint", "x", "--output", "x"),
    ("generate", "x.tns", "--dims", "9,9", "--nnz", "9", "--json", "x.tns")])
def test_g17_two_outputs_in_one_place(polyad, arguments):
    polyad.fails(2, *arguments, says="both")


def test_g18_two_writers(polyad):
    name = big(polyad)
    both = [subprocess.Popen([COMMAND, "cpd", name, "-r", "3", "--max-iters", "3", "--seed", seed,
                              "--output", "m.ktensor", "--quiet"], cwd=polyad.folder)
            for seed in ("1", "2")]
    assert [p.wait(120) for p in both] == [0, 0]
    polyad.ok("score", "m.ktensor", "m.ktensor")
    assert sorted(p.name for p in polyad.folder.iterdir()) == [name, "good.tns", "m.ktensor"]


def test_g20_no_temporary_folder_needed(polyad):
    env = {"TMPDIR": "/nonexistent", "HOME": "/nonexistent"}
    polyad.ok(*CPD, "--output", "m.ktensor", env=env)
    bare = subprocess.run([COMMAND, *CPD], cwd=polyad.folder, env={}, capture_output=True)
    assert bare.returncode == 0, bare.stderr


def test_g20_deleted_folder(polyad):
    path = polyad.path("good.tns")
    done = run_shell(polyad, f"mkdir gone && cd gone && rmdir ../gone && polyad info '{path}'")
    assert done.returncode == 0, done.stderr
    done = run_shell(polyad, f"mkdir gone && cd gone && rmdir ../gone && "
                             f"polyad cpd '{path}' -r 2 --output x.ktensor")
    assert done.returncode == 1 and b"x.ktensor" in done.stderr


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="no second filesystem")
def test_g21_other_filesystem(polyad):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        polyad.ok(*CPD, "--output", f"{folder}/m.ktensor", "--json", f"{folder}/m.json")
        assert sorted(os.listdir(folder)) == ["m.json", "m.ktensor"]


def test_g22_warnings_are_capped(polyad):
    polyad.write("tiny.tns", "".join(f"{k} 1 1 1e-400\n{k} 2 1 1\n" for k in range(1, 100001)))
    result = polyad.ok("info", "tiny.tns")
    assert 0 < len(result.err.splitlines()) <= 20 and "100000" in result.err


# ---- H25

def test_h25_json_of_a_failing_run(polyad):
    polyad.write("bad.tns", "1 1 x 1\n")
    polyad.write("old.json", "old")
    for arguments in (("info", "bad.tns"), ("cpd", "bad.tns", "-r", "2"),
                      ("convert", "bad.tns", "x.tns"), ("bench", "read", "bad.tns"),
                      ("cpd", "good.tns", "-r", "2", "--init", "bad.tns"),
                      ("score", "bad.tns", "good.tns"),
                      ("generate", "x.tns", "--dims", "2,2", "--nnz", "5")):
        polyad.fails(1, *arguments, "--json", "new.json")
        polyad.fails(1, *arguments, "--json", "old.json")


@pytest.mark.long
def test_stdin_of_4_gib_in_constant_memory(polyad):
    """One line of 4 GiB without a line end, through a pipe (A33 at full size)."""
    done = subprocess.run(
        ["bash", "-c", f"head -c 4G /dev/zero | tr '\\0' '1' | '{COMMAND}' info -"],
        cwd=polyad.folder, capture_output=True, timeout=300)
    assert done.returncode == 1 and b"<stdin>:1" in done.stderr


# ---- models --------------------------------------------------------------------------------------

def test_a_binary_model_is_taken_wherever_a_model_is(polyad):
    polyad.write("table.csv", "day,place,value\n" + "".join(
        f"d{k % 5},p{k % 7},{1 + k % 3}\n" for k in range(35)))
    for name in ("m.ktensor", "m.ptm", "m.ptm.gz"):
        polyad.ok("cpd", "table.csv", "-r", "2", "--max-iters", "9", "--tol", "0", "-o", name)
    assert polyad.ok("score", "m.ptm", "m.ktensor").out == b"1.000000\n"
    assert polyad.ok("score", "m.ptm.gz", "m.ptm").out == b"1.000000\n"
    for name in ("m.ktensor", "m.ptm"):
        polyad.ok("cpd", "table.csv", "-r", "2", "--init", name, "-i", "1", "-o", name.replace(".", "-") + "-next")
    assert polyad.path("m-ktensor-next").read_bytes() == polyad.path("m-ptm-next").read_bytes()
    polyad.ok("tucker", "table.csv", "-r", "2", "-o", "t.ptm")
    polyad.ok("tucker", "table.csv", "-r", "2", "-i", "1", "--init", "t.ptm")
    polyad.fails(1, "cpd", "table.csv", "-r", "2", "--init", "t.ptm", says="a Tucker model")
    polyad.fails(1, "info", "m.ptm", says="format ptm; expected a tensor")
    polyad.write("m.ptm", polyad.path("m.ptm").read_bytes()[:1400])
    polyad.fails(1, "score", "m.ptm", "m.ktensor", says="it is truncated")


@pytest.mark.parametrize("name", ["x.tns", "x.csv", "quoted.csv", "x.ptn", "x.npz", "x.npy"])
def test_values_that_are_too_small_are_told(polyad, name):
    """They become zeros, and are no nonzeros any more."""
    polyad.write("x.tns", "1 1 4\n2 1 1e-60\n2 2 -1e-50\n3 1 2\n")
    if name == "quoted.csv":  # whose rows are read one by one
        polyad.write(name, 'a,b,value\n"1",1,4\n2,1,1e-60\n2,2,-1e-50\n3,1,2\n')
    elif name == "x.npy":
        np = pytest.importorskip("numpy")
        np.save(polyad.path(name), np.array([[4, 0], [1e-60, -1e-50], [2, 0]]))
    elif name != "x.tns":
        polyad.ok("convert", "x.tns", name)
    assert "warning" not in polyad.ok("info", name).err
    narrow = polyad.ok("info", name, "--precision", "f32")
    line = ":2" if name == "x.tns" else ""
    assert f"{name}{line}: a value is too small for its type and becomes 0 (2 in all)" in narrow.err
    assert polyad.json("info", name, "--precision", "f32")["nnz"] == 2


@pytest.mark.parametrize("name", ["x.tns", "x.txt", "x.ptn", "x.tns.gz"])
def test_zeros(polyad, name):
    """Kept by every file that is written, dropped again where a reader is not asked to keep them."""
    polyad.write("zeros.tns", "1 1 1 0\n2 1 2 3\n2 2 2 -1\n2 2 2 1\n3 1 1 1e-60\n")
    kept = polyad.json("info", "zeros.tns", "--zeros", "keep")
    assert (kept["nnz"], kept["zeros_kept"], kept["zeros_dropped"]) == (4, 2, 0)
    assert kept["repeats_merged"] == 1 and kept["value_min"] == 0
    dropped = polyad.json("info", "zeros.tns")
    assert (dropped["nnz"], dropped["zeros_kept"], dropped["zeros_dropped"]) == (2, 0, 2)
    polyad.ok("convert", "zeros.tns", name, "--zeros", "keep")
    again = polyad.json("info", name, "--zeros", "keep")
    assert again["hash"] == kept["hash"] and again["zeros_kept"] == 2
    assert polyad.json("info", name)["hash"] == dropped["hash"]
    narrow = polyad.json("info", name, "--zeros", "keep", "--precision", "f32")
    assert (narrow["nnz"], narrow["zeros_kept"]) == (4, 3)  # 1e-60 is none in single precision
    assert "2 zeros among them" in polyad.ok("info", name, "--zeros", "keep").out.decode()
    for command in (("cpd", "-r", "1"), ("cpd", "-r", "1", "-a", "apr-mu"), ("tucker", "-r", "1")):
        runs = [polyad.json(command[0], name, *command[1:], "--zeros", zeros, "--max-iters", "3")
                for zeros in ("keep", "drop")]
        assert runs[0]["nnz"] == runs[1]["nnz"] == 2
        assert runs[0]["fit"] == runs[1]["fit"]


def test_ptn_without_zeros_is_version_1(polyad):
    """So that older readers take it."""
    polyad.ok("convert", "good.tns", "kept.ptn", "--zeros", "keep")
    polyad.ok("convert", "good.tns", "plain.ptn")
    assert polyad.path("kept.ptn").read_bytes() == polyad.path("plain.ptn").read_bytes()
    assert polyad.path("plain.ptn").read_bytes()[12] == 1
