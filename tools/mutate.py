#!/usr/bin/env python3
"""Mutation gate: how many small faults in the sources do the tests notice?

Each mutant is a source file with one operator changed by rule: a comparison, a sum, a conjunction,
an integer constant or a call that is left out. The file is compiled aside, and each test program is
linked once more with this object before the library, so that one build of the whole serves every
mutant and several are tested at a time. A mutant counts as killed by the first test that fails,
crashes or takes much longer than usual; tests that know the file come first, then all others, the
quickest first. A mutant whose object code is that of the original is none. Which mutants are made
depends on the seed and on the text of the lines only: a change elsewhere keeps them. Results go
into the report after each mutant, and a later run goes on where an earlier one stopped, with a
mutant's next test: --seconds bounds a run, its build included, and a copy of the report is all that
another machine needs.

usage: tools/mutate.py [options]            make and test mutants
       tools/mutate.py --list [options]     say which ones there are
       tools/mutate.py --only ID            show one and test it again

The tree itself is never touched, but must rest while the gate runs. Survivors that change nothing
a caller could see are listed with their reasons in tests/mutation/equivalent.json; the gate passes
when at least 90% of the others are killed.
"""

import argparse
import fnmatch
import hashlib
import json
import math
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EQUIVALENT = ROOT / "tests/mutation/equivalent.json"
REPORT = ROOT / "tests/mutation/report.json"
GATE = 0.90

# Mutants of each folder.
COUNTS = {"io": 40, "algorithms": 28, "linalg": 24, "core": 20, "formats": 28, "plan": 16,
          "tensor": 16, "build": 8}

# Files that this machine cannot test (other devices).
SKIPPED = ["*_cuda.c", "*_opencl.c"]

# The tests that know a file, which are tried first; then follow all others, the quickest first.
TESTS = [
    ("io/number.c", "io_text_number fuzz_number"),
    ("io/tns_*", "io_tns_lines io_text_cases io_text_stream fuzz_tns"),
    ("io/ptn_*", "io_ptn io_ptn_damage generate_file fuzz_ptn"),
    ("io/ptm_*", "io_ptm io_directory fuzz_ptm"),
    ("io/delimited_*", "io_written io_delimited_block io_delimited fuzz_delimited fuzz_columns"),
    ("io/time_zone.c", "io_written fuzz_delimited"),
    ("io/npz*", "io_npz fuzz_npz"),
    ("io/labels_*", "io_labels fuzz_labels"),
    ("io/toolbox*", "io_text_toolbox ttensor fuzz_toolbox fuzz_ttensor"),
    ("io/checkpoint_*", "checkpoint fuzz_checkpoint"),
    ("io/*directory.c", "io_directory fuzz_directory"),
    ("io/*", "io_atomic_file io_limits io_arguments io_text_stream io_text_calls"),
    ("core/*sort*", "radix_sort"),
    ("core/arena.c", "arena"),
    ("core/memory.c", "arena core_error"),
    ("core/*", "machine core_error device tensor"),
    ("linalg/*apr.c", "linalg_apr"),
    ("linalg/cpu_linalg.c", "linalg team"),
    ("linalg/*", "linalg ktensor"),
    ("algorithms/archive.c", "method als_resume_count checkpoint"),
    ("algorithms/run_*", "method"),
    ("algorithms/apr_*", "apr_search cp_apr"),
    ("algorithms/tucker*", "tucker_limits tucker"),
    ("algorithms/hosvd.c", "tucker"),
    ("algorithms/complet*", "completion"),
    ("algorithms/observations.c", "completion"),
    ("algorithms/poisson_row.c", "newdata"),
    ("algorithms/predict.c", "newdata methods_device"),
    ("algorithms/*", "als_revive method cp_als_start cp_als"),
    ("formats/alto/*", "alto"),
    ("formats/flycoo/*", "flycoo"),
    ("formats/hls/*", "hls_fragment hls"),
    ("formats/modecopy/*", "modecopy"),
    ("formats/twotree/*", "twotree"),
    ("formats/dense/*", "mttkrp_property storage expand"),
    ("formats/portable/*", "portable_property"),
    ("formats/*ttmc*", "tucker ttmc_property"),
    ("formats/*", "baseline_formats mttkrp_property mttkrp_property_cases"),
    ("plan/rows.c", "plan_rows"),
    ("plan/tune_*", "tune_cache"),
    ("plan/shares.c", "team_shares"),
    ("plan/members.c", "members"),
    ("plan/*", "plan"),
    ("build/*", "build_steps records"),
    ("tensor/ktensor*", "ktensor ktensor_fit"),
    ("tensor/generate*", "generate generate_children generate_fibers"),
    ("tensor/*", "tensor tensor_use expand statistics ttensor"),
]

# ---- reading C ------------------------------------------------------------------------------------

TOKEN = re.compile(r"""
    (?P<comment>/\*.*?\*/|//[^\n]*)
  | (?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
  | (?P<directive>(?<![^\n])[ \t]*\#(?:\\\n|/\*.*?\*/|[^\n])*)
  | (?P<number>\.?[0-9](?:[eEpP][+-]|[0-9A-Za-z_.])*)
  | (?P<name>[A-Za-z_][A-Za-z_0-9]*)
  | (?P<mark><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[-+*/%&|^~!<>=?:;,.(){}\[\]])
""", re.X | re.S)

COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
KEYWORDS = {"if", "for", "while", "switch", "return", "sizeof", "case", "do", "else", "goto"}
# What these hold is no behaviour: words for people, conditions that hold.
NOT_TESTED = {"assert", "static_assert", "_Static_assert", "pd_log", "pd_log_wanted"}


def tokens_of(text):
    """(kind, text, begin) of every token but comments and directives."""
    found = []
    for match in TOKEN.finditer(text):
        if match.lastgroup not in ("comment", "directive"):
            found.append((match.lastgroup, match.group(), match.start()))
    return found


def closing(tokens, at):
    """The token that closes the bracket at `at`."""
    depth = 0
    for k in range(at, len(tokens)):
        if tokens[k][1] in "([{":
            depth += 1
        elif tokens[k][1] in ")]}":
            depth -= 1
            if depth == 0:
                return k
    return len(tokens) - 1


def untested(tokens):
    """Indices of tokens inside assertions, logs, enumerations and tables."""
    skipped = set()
    for k, (kind, text, _) in enumerate(tokens[:-1]):
        following = tokens[k + 1][1]
        if kind == "name" and text in NOT_TESTED and following == "(":
            skipped.update(range(k, closing(tokens, k + 1) + 1))
        if text == "enum":
            brace = k + 1 if following == "{" else k + 2
            if tokens[min(brace, len(tokens) - 1)][1] == "{":
                skipped.update(range(k, closing(tokens, brace) + 1))
        if text == "]" and following == "=" and tokens[min(k + 2, len(tokens) - 1)][1] == "{":
            skipped.update(range(k, closing(tokens, k + 2) + 1))
    return skipped


def is_operand(token):
    return token[0] == "number" or token[1] in (")", "]") or (
        token[0] == "name" and token[1] not in KEYWORDS)


def changes_of(text):
    """(begin, end, new text, rule) of every mutation of a file."""
    tokens = tokens_of(text)
    skipped = untested(tokens)
    for k, (kind, word, begin) in enumerate(tokens):
        if k in skipped or k == 0 or k + 2 >= len(tokens):
            continue
        end, before = begin + len(word), tokens[k - 1]
        if word in COMPARISONS:
            yield begin, end, COMPARISONS[word], "comparison"
        elif word in ("+", "-") and is_operand(before):
            yield begin, end, "-" if word == "+" else "+", "sum"
        elif word in ("+=", "-="):
            yield begin, end, "-=" if word == "+=" else "+=", "sum"
        elif word in ("&&", "||"):
            yield begin, end, "||" if word == "&&" else "&&", "conjunction"
        elif kind == "number" and re.fullmatch(r"\d{1,5}", word) and not is_length(tokens, k):
            line = text[text.rfind("\n", 0, begin) + 1:end]
            less = int(hashlib.sha1(line.strip().encode()).hexdigest(), 16) % 2
            yield begin, end, str(int(word) - 1 if less and int(word) > 0 else int(word) + 1), "constant"
        elif kind == "name" and word not in KEYWORDS and tokens[k + 1][1] == "(" and (
                before[1] in (";", "{", "}", ")", ":", "else")):
            last = closing(tokens, k + 1)
            if tokens[min(last + 1, len(tokens) - 1)][1] == ";" and starts_statement(tokens, k):
                yield begin, tokens[last][2] + 1, "(void)0", "call"


def is_length(tokens, k):
    """Whether a number is the length of an array in its declaration."""
    return (tokens[k - 1][1] == "[" and tokens[k + 1][1] == "]" and k >= 3 and
            (tokens[k - 3][0] == "name" or tokens[k - 3][1] in ("*", ",")) and
            tokens[k - 3][1] not in KEYWORDS)


def starts_statement(tokens, k):
    """A call, not the declaration of a function with a macro's name before it."""
    return not (tokens[k - 1][1] == ")" and tokens[k - 2][0] == "name" and
                tokens[k - 3][1] == "(" and tokens[k - 2][1] != "void" and
                tokens[k - 4][1] not in ("if", "while", "for"))


# ---- mutants --------------------------------------------------------------------------------------


class Mutant:
    def __init__(self, file, text, change, copy, seed):
        begin, end, self.new, self.rule = change
        self.file, self.text, self.begin, self.end = file, text, begin, end
        self.old = text[begin:end]
        self.line = text.count("\n", 0, begin) + 1
        start = text.rfind("\n", 0, begin) + 1
        stop = text.find("\n", begin)
        words = " ".join(text[start:stop].split())
        key = f"{file}\n{words}\n{text[start:begin].strip()}\n{self.new}\n{copy}"
        self.id = hashlib.sha1(key.encode()).hexdigest()[:12]
        self.rank = hashlib.sha1(f"{seed} {self.id}".encode()).hexdigest()
        self.before = words
        self.after = " ".join((text[start:begin] + self.new + text[end:max(stop, end)]).split())

    def about(self):
        return {"id": self.id, "file": self.file, "line": self.line, "rule": self.rule,
                "before": self.before, "after": self.after}


def mutants_of(folder, seed):
    """All mutants of a folder of src/, in the order in which they are taken."""
    found = {}
    for path in sorted((ROOT / "src" / folder).rglob("*.c")):
        if any(fnmatch.fnmatch(path.name, pattern) for pattern in SKIPPED):
            continue
        text = path.read_text()
        file = str(path.relative_to(ROOT))
        for change in changes_of(text):
            copy = 0
            while (mutant := Mutant(file, text, change, copy, seed)).id in found:
                copy += 1
            found[mutant.id] = mutant
    return sorted(found.values(), key=lambda mutant: mutant.rank)


# ---- building and running ---------------------------------------------------------------------------


class Stopped(Exception):
    """The time is over."""


class Bench:
    """The build of the original, its tests, and how their programs are compiled and linked."""

    def __init__(self, build, jobs, deadline):
        self.build, self.jobs, self.deadline = build, jobs, deadline
        self.measured = load(build / "usual.json", {})
        self.usual, self.left_out = {}, []

    def prepare(self):
        if not (self.build / "build.ninja").exists():
            launcher = ["-DCMAKE_C_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
            subprocess.run(["cmake", "-S", ROOT, "-B", self.build, "-G", "Ninja",
                            "-DPOLYAD_CUDA=off", "-DPOLYAD_OPENCL=off", "-DPOLYAD_BUILD_CLI=OFF",
                            "-DPOLYAD_BUILD_PYTHON=OFF", "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
                            "-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O1", *launcher],
                           check=True, stdout=subprocess.DEVNULL)
        left = None if self.deadline == math.inf else max(0, self.deadline - time.monotonic())
        try:
            subprocess.run(["cmake", "--build", self.build, "-j", str(self.jobs)], check=True,
                           stdout=subprocess.DEVNULL, timeout=left)
        except subprocess.TimeoutExpired as late:
            raise Stopped from late
        commands = json.loads((self.build / "compile_commands.json").read_text())
        self.compiling = {entry["file"]: entry for entry in commands
                          if "polyad_objects.dir" in entry["command"]}
        listing = subprocess.run(["ctest", "--show-only=json-v1"], cwd=self.build, check=True,
                                 capture_output=True, text=True).stdout
        self.tests = {test["name"]: test for test in json.loads(listing)["tests"] if is_quick(test)}
        self.linking = {program: self.link_command(program)
                        for program in {Path(test["command"][0]).name for test in self.tests.values()}}

    def link_command(self, program):
        """The words that link a program, as ninja runs them in the build folder."""
        printed = subprocess.run(["ninja", "-t", "commands", program], cwd=self.build, check=True,
                                 capture_output=True, text=True).stdout
        last = printed.rstrip().splitlines()[-1]
        return shlex.split(last.removeprefix(": && ").split(" && ")[0])

    def order(self, file):
        """Names of all tests: those that know the file, then the others, the quickest first."""
        inside, names = file.removeprefix("src/"), []
        for pattern, tests in TESTS:
            if fnmatch.fnmatch(inside, pattern):
                names += [name for name in tests.split() if name in self.usual and name not in names]
        return names + sorted((name for name in self.usual if name not in names),
                              key=lambda name: self.usual[name][0])


def is_quick(test):
    """Whether a test is a C program that `make check` runs on a machine without a GPU."""
    labels = [label for item in test.get("properties", []) if item["name"] == "LABELS"
              for label in item["value"]]
    name = Path(test.get("command", [""])[0]).name
    return name.startswith(("test_", "replay_")) and not {"long", "gpu"} & set(labels) and (
        not test["name"].startswith("portable_opencl"))


def end_group(leader):
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        pass


def end_after(leader, seconds, done):
    """Ends a test that hangs. Seconds are counted one by one: while all of this is suspended, as a
    busy machine does with jobs, none pass, and no mutant is killed by the machine."""
    for _ in range(math.ceil(seconds)):
        if done.wait(1):
            return
    end_group(leader)


class Worker:
    """One of those that test mutants at the same time, in a folder of its own."""

    def __init__(self, bench, number):
        self.bench, self.number = bench, number
        self.place = bench.build / "workers" / str(number)
        (self.place / "scratch").mkdir(parents=True, exist_ok=True)

    def stay(self):
        """Tests take as many threads as there are processors: this thread's children have two."""
        processors = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {processors[(self.number + k) % len(processors)] for k in (0, 1)})

    def compile(self, mutant):
        """The object of the changed file, with all that the compiler says of it as in the original."""
        original = ROOT / mutant.file
        entry = self.bench.compiling.get(str(original))
        if entry is None:
            return None
        source = self.place / original.name
        source.write_text(f'#line 1 "{original}"\n' + mutant.text[:mutant.begin] + mutant.new +
                          mutant.text[mutant.end:])
        words = shlex.split(entry["command"])
        at = words.index("-o")
        target, words[at + 1] = Path(entry["directory"]) / words[at + 1], str(source) + ".o"
        words[words.index("-c") + 1] = str(source)
        done = subprocess.run([*words, "-iquote", original.parent], cwd=entry["directory"],
                              capture_output=True, check=False)
        if done.returncode != 0:
            return None
        same = Path(str(source) + ".o").read_bytes() == target.read_bytes()
        return "same" if same else str(source) + ".o"

    def link(self, program, code):
        """Links a program of the build with an object before the library, whose own is then left out."""
        words = list(self.bench.linking[program])
        words[words.index("-o") + 1] = str(self.place / program)
        if code:
            words.insert(words.index("lib/libpolyad.a"), code)
        return subprocess.run(words, cwd=self.bench.build, capture_output=True,
                              check=False).returncode == 0

    def run(self, name, program):
        """(verdict, processor seconds, seconds): "passed", "failed", "crashed" or "slow"."""
        test, usual = self.bench.tests[name], self.bench.usual.get(name)
        environment = dict(os.environ)
        for item in test.get("properties", []):
            if item["name"] == "ENVIRONMENT":
                environment.update(pair.split("=", 1) for pair in item["value"])
        most, wall = (int(4 + 6 * usual[0]), 30 + 10 * usual[1]) if usual else (100, 600)
        left = self.bench.deadline - time.monotonic()
        if left <= 0:
            raise Stopped
        begin = time.monotonic()
        process = subprocess.Popen(
            ["/bin/sh", "-c", f'ulimit -t {most}; ulimit -d {8 << 20}; ulimit -c 0; exec "$@"', "sh",
             program, *test["command"][1:]],
            cwd=self.place / "scratch", env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        done = threading.Event()
        timer = threading.Thread(target=end_after, args=(process.pid, min(left, wall), done))
        timer.start()
        _, status, spent = os.wait4(process.pid, 0)
        done.set()
        timer.join()
        end_group(process.pid)  # children that it left
        status = process.returncode = os.waitstatus_to_exitcode(status)
        if time.monotonic() > self.bench.deadline:
            raise Stopped
        figures = (spent.ru_utime + spent.ru_stime, time.monotonic() - begin)
        if status in (0, 77):
            return "passed", *figures
        if status in (-signal.SIGXCPU, -signal.SIGKILL):
            return "slow", *figures
        return "crashed" if status < 0 else "failed", *figures

    def measure(self, name):
        """What a test takes on the original; one that fails there can judge no mutant."""
        program = self.bench.tests[name]["command"][0]
        built = os.stat(program).st_mtime_ns
        known = self.bench.measured.get(name)
        if known and known[2] == built:
            self.bench.usual[name] = known
            return
        verdict, spent, seconds = self.run(name, program)
        if verdict == "passed":
            self.bench.usual[name] = spent, seconds, built
        else:
            self.bench.left_out.append(name)

    def judge(self, mutant, passed=()):
        """The result of one mutant, as the report keeps it; `passed` it has before, and need not again."""
        code = self.compile(mutant)
        if code in (None, "same"):
            return {"result": "same code" if code else "not compiled"}
        linked, names, passed = set(), self.bench.order(mutant.file), list(passed)
        try:
            for name in names:
                if name in passed:
                    continue
                program = Path(self.bench.tests[name]["command"][0]).name
                if program not in linked and not self.link(program, code):
                    return {"result": "not compiled"}
                linked.add(program)
                verdict, _, _ = self.run(name, self.place / program)
                if verdict != "passed":
                    return {"result": "killed", "by": name, "how": verdict}
                passed.append(name)
        except Stopped:
            return {"result": "stopped", "passed": passed}
        finally:
            for program in linked:
                (self.place / program).unlink()
        return {"result": "survived", "tests": len(names)}


# ---- the gate -------------------------------------------------------------------------------------


def load(path, empty):
    return json.loads(path.read_text()) if path.exists() else empty


def keep(path, report):
    new = path.with_suffix(".new")
    new.write_text(json.dumps(report, indent=1) + "\n")
    new.rename(path)


def in_turn(lists):
    """One of each list, again and again."""
    lists = [list(items) for items in lists]
    while any(lists):
        for items in lists:
            if items:
                yield items.pop(0)


def summarise(results, equivalent):
    killed = [m for m in results if m["result"] == "killed"]
    survived = [m for m in results if m["result"] == "survived"]
    real = [m for m in survived if m["id"] not in equivalent]
    judged = len(killed) + len(real)
    return {"mutants": len(killed) + len(survived), "killed": len(killed),
            "equivalent": len(survived) - len(real), "survived": len(real),
            "score": round(len(killed) / judged, 4) if judged else None}


def print_summary(results, equivalent):
    for folder in COUNTS:
        part = summarise([m for m in results if m["file"].startswith(f"src/{folder}/")], equivalent)
        if part["mutants"]:
            print(f"{folder:12} {part['mutants']:4} mutants, {part['killed']:4} killed, "
                  f"{part['equivalent']:3} equivalent, {part['survived']:3} survived")
    for mutant in results:
        if mutant["result"] == "survived" and mutant["id"] not in equivalent:
            print(f"survived: {mutant['file']}:{mutant['line']} {mutant['id']}\n"
                  f"  - {mutant['before']}\n  + {mutant['after']}")


def choose(arguments):
    """The mutants of the gate: more than are needed, since some cannot be compiled."""
    folders = arguments.folders or list(COUNTS)
    for folder in folders:
        if folder not in COUNTS:
            sys.exit(f"mutate: {folder} found; expected some of {', '.join(COUNTS)}")
    return {folder: mutants_of(folder, arguments.seed) for folder in folders}


def wanted(every, done):
    """Those of a folder still to be tried: until enough of the tried ones are mutants."""
    def still(folder):
        have = sum(1 for m in every[folder]
                   if done.get(m.id, {}).get("result") in ("killed", "survived", "begun"))
        for mutant in every[folder]:
            if have >= COUNTS[folder]:
                return
            if done.get(mutant.id, {"result": "stopped"})["result"] == "stopped":
                have += 1
                yield mutant
    return in_turn(still(folder) for folder in every)


class Gate:
    """What is known of the mutants, shared by the workers."""

    def __init__(self, arguments, deadline, every, done, equivalent):
        self.arguments, self.every, self.done, self.equivalent = arguments, every, done, equivalent
        self.deadline = deadline
        self.changed, self.tried, self.failure = threading.Condition(), 0, None

    def take(self):
        """The next mutant to be tried, or none; waits while one that is being tried may be none."""
        with self.changed:
            while self.failure is None:
                if self.arguments.limit is not None and self.tried >= self.arguments.limit:
                    return None
                if time.monotonic() > self.deadline:
                    return None
                if mutant := next(wanted(self.every, self.done), None):
                    mutant.passed = self.done.get(mutant.id, {}).get("passed", ())
                    self.done[mutant.id] = {"result": "begun"}
                    self.tried += 1
                    return mutant
                if not any(m["result"] == "begun" for m in self.done.values()):
                    return None
                self.changed.wait()
        return None

    def put(self, mutant, result):
        with self.changed:
            if result is None:
                del self.done[mutant.id]
            else:
                self.done[mutant.id] = {**mutant.about(), **result}
                left = sum(1 for _ in wanted(self.every, self.done))
                say_result(mutant, result, f"[{left} to come] ")
                keep(self.arguments.report, self.report())
            self.changed.notify_all()

    def report(self):
        results = sorted((m for m in self.done.values() if m["result"] != "begun"),
                         key=lambda m: (m["file"], m["line"], m["id"]))
        return {"seed": self.arguments.seed, "summary": summarise(results, self.equivalent),
                "mutants": results}

    def work(self, worker):
        """Tests mutants until there are none, the time is over, or something is wrong with the bench."""
        worker.stay()
        try:
            while mutant := self.take():
                result = None
                try:
                    result = worker.judge(mutant, mutant.passed)
                finally:
                    self.put(mutant, result)
        except Exception as error:
            self.failure = error
            raise


def say_result(mutant, result, before=""):
    print(f"{before}{mutant.file}:{mutant.line}: {mutant.old.split('(')[0]} -> {mutant.new}: "
          f"{result['result']} {result.get('by', '')}", flush=True)


def in_threads(workers, work):
    threads = [threading.Thread(target=work, args=(worker,)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def set_up(arguments, deadline):
    """The workers, over a bench that knows how long the tests take."""
    bench = Bench(arguments.build.resolve(), arguments.jobs, deadline)
    bench.prepare()
    workers = [Worker(bench, number) for number in range(arguments.jobs)]
    names, lock = sorted(bench.tests), threading.Lock()

    def measure(worker):
        worker.stay()
        try:
            while True:
                with lock:
                    name = names.pop() if names else None
                if name is None:
                    return
                worker.measure(name)
        except Stopped:
            pass

    in_threads(workers, measure)
    keep(bench.build / "usual.json", bench.usual)
    print(f"mutate: {len(bench.usual)} tests take {sum(one[0] for one in bench.usual.values()):.0f} s "
          f"of processor time" + "".join(f"; {name} fails as things are and is left out"
                                         for name in bench.left_out), flush=True)
    return workers


def arguments_of():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seed", type=int, default=1, help="which mutants are taken (default 1)")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)),
                        help="mutants at a time (default: one for each processor)")
    parser.add_argument("--seconds", type=float, default=float("inf"),
                        help="stop after so long; a later run goes on")
    parser.add_argument("--limit", type=int, help="most mutants to test in this run")
    parser.add_argument("--again", action="store_true", help="test survivors of the report again")
    parser.add_argument("--only", help="test the mutant of this id")
    parser.add_argument("--list", action="store_true", help="list the mutants and stop")
    parser.add_argument("--report", type=Path, default=REPORT, help="JSON file of results")
    parser.add_argument("--build", type=Path, default=ROOT / "build-mutation")
    parser.add_argument("folders", nargs="*", help=f"of {', '.join(COUNTS)} (default: all)")
    return parser.parse_args()


def main():
    arguments = arguments_of()
    deadline = time.monotonic() + arguments.seconds
    every = choose(arguments)
    known = {m.id: m for folder in every.values() for m in folder}
    equivalent = {m["id"] for m in load(EQUIVALENT, [])}
    report = load(arguments.report, {"seed": arguments.seed, "mutants": []})
    if report["seed"] != arguments.seed:
        sys.exit(f"mutate: {arguments.report} is of seed {report['seed']}")
    # Mutants of lines that have changed since are gone.
    done = {m["id"]: {**m, "line": known[m["id"]].line} for m in report["mutants"]
            if m["id"] in known}
    if arguments.again:
        done = {key: m for key, m in done.items()
                if m["result"] != "survived" or key in equivalent}
    todo = [known[arguments.only]] if arguments.only else list(wanted(every, done))
    if arguments.list:
        for mutant in todo:
            print(f"{mutant.id} {mutant.file}:{mutant.line}\n  - {mutant.before}\n  + {mutant.after}")
        return 0
    try:
        workers = set_up(arguments, deadline) if todo else []
    except Stopped:
        print("mutate: the time was over before all was built; expected more --seconds")
        return 1
    if arguments.only:
        say_result(todo[0], workers[0].judge(todo[0]))
        return 0
    gate = Gate(arguments, deadline, every, done, equivalent)
    in_threads(workers, gate.work)
    report = gate.report()
    print_summary(report["mutants"], equivalent)
    summary, left = report["summary"], sum(1 for _ in wanted(every, done))
    print(f"mutate: {summary['killed']} of {summary['killed'] + summary['survived']} killed "
          f"({summary['equivalent']} equivalent ones set aside), {left} not tried yet; "
          f"expected at least {GATE:.0%}")
    return 0 if gate.failure is None and not left and (summary["score"] or 0) >= GATE else 1


if __name__ == "__main__":
    sys.exit(main())
