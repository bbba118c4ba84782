#!/usr/bin/env python3
"""Mutation gate: how many small faults in the sources do the tests notice?

Each mutant is a copy of the sources with one operator changed by rule: a comparison, a sum, a
conjunction, an integer constant or a call that is left out. It is built step by step (one object,
the static library, one test after the other) and counts as killed by the first test that fails,
crashes or takes much longer than usual. A mutant whose object code is that of the original is
none. Which mutants are made depends on the seed and on the text of the lines only: a change
elsewhere keeps them. Results go into the report after each mutant, and a later run goes on where
an earlier one stopped.

usage: tools/mutate.py [options]            make and test mutants
       tools/mutate.py --list [options]     say which ones there are
       tools/mutate.py --only ID            show one and test it again

The copy of the sources and its build lie in build-mutation/, so that the tree itself is never
touched. Survivors that change nothing a caller could see are listed with their reasons in
tests/mutation/equivalent.json; the gate passes when at least 90% of the others are killed.
"""

import argparse
import fnmatch
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EQUIVALENT = ROOT / "tests/mutation/equivalent.json"
REPORT = ROOT / "tests/mutation/report.json"
GATE = 0.90

# Mutants of each folder.
COUNTS = {"io": 40, "algorithms": 28, "linalg": 24, "core": 20, "formats": 28, "plan": 16,
          "tensor": 16}

# Files that this machine cannot test (other devices).
SKIPPED = ["*_cuda.c", "*_opencl.c"]

# Tests for a file: those of every pattern that matches, in this order, each once. Quick ones and
# those that know the file come first.
TESTS = [
    ("io/number.c", "io_text_number fuzz_number"),
    ("io/tns_*", "io_tns_lines io_text_cases io_text_stream fuzz_tns"),
    ("io/ptn_*", "io_ptn io_ptn_damage generate_file fuzz_ptn"),
    ("io/delimited_*", "io_delimited_block io_delimited fuzz_delimited fuzz_columns"),
    ("io/labels_*", "io_labels fuzz_labels"),
    ("io/toolbox*", "io_text_toolbox ttensor fuzz_toolbox fuzz_ttensor"),
    ("io/scanner.c", "io_text_toolbox fuzz_toolbox"),
    ("io/checkpoint_*", "checkpoint fuzz_checkpoint"),
    ("io/*directory.c", "io_directory fuzz_directory"),
    ("io/decoder*", "io_text_stream fuzz_stream io_text_calls"),
    ("io/input.c", "io_text_stream fuzz_stream io_text_calls"),
    ("io/compressor.c", "io_text_stream"),
    ("io/generate_file.c", "generate_file"),
    ("io/coordinates.c", "io_text_cases io_delimited"),
    ("io/*", "io_atomic_file io_limits io_text_stream io_text_number io_tns_lines io_text_cases io_text_toolbox "
             "io_labels io_directory io_arguments io_delimited io_ptn io_text_calls generate_file "
             "checkpoint fault"),
    ("core/*sort*", "radix_sort"),
    ("core/*", "core_error refused_calls radix_sort stream tensor generate expand device io_text_stream "
               "io_text_calls io_text_cases cp_als measurement fault"),
    ("linalg/*apr.c", "linalg_apr cp_apr"),
    ("linalg/*", "linalg ktensor tucker cp_als cp_als_compute cp_als_start cp_als_hostile cp_apr"),
    ("algorithms/als_revive.c", "als_revive"),
    ("algorithms/archive.c", "method als_resume_count checkpoint fuzz_checkpoint"),
    ("algorithms/method.c", "method cp_als tucker checkpoint"),
    ("algorithms/run_*", "method cp_als cp_als_start checkpoint"),
    ("plan/rows.c", "plan_rows cp_apr"),
    ("algorithms/apr_*", "apr_search cp_apr fuzz_checkpoint"),
    ("algorithms/tucker*", "tucker_limits tucker"),
    ("algorithms/hosvd.c", "tucker cp_als_start"),
    ("algorithms/*", "als_revive als_resume_count cp_als_start cp_als cp_als_compute checkpoint "
                     "cp_apr tucker cp_als_hostile pair fault"),
    ("formats/alto/*", "alto"),
    ("formats/flycoo/*", "flycoo"),
    ("formats/hls/*", "hls_fragment hls"),
    ("formats/modecopy/*", "modecopy"),
    ("formats/portable/*", "portable_property"),
    ("formats/csf/*", "baseline_formats tucker ttmc_property"),
    ("formats/*ttmc*", "tucker ttmc_property"),
    ("formats/*", "baseline_formats cp_als plan phi_property mttkrp_property"),
    ("plan/tune_cache.c", "tune_cache fuzz_tune_cache"),
    ("plan/pair*", "pair"),
    ("plan/*", "plan tune_cache measurement stream pair cp_als cp_apr tucker"),
    ("tensor/ktensor*", "ktensor ktensor_fit io_directory"),
    ("tensor/generate*", "generate generate_file"),
    ("tensor/*", "tensor tensor_use expand statistics ktensor ktensor_fit ttensor generate "
                 "io_text_cases io_ptn io_delimited cp_als tucker baseline_formats fault"),
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
            less = int(hashlib.sha1(f"{begin}{word}".encode()).hexdigest(), 16) % 2
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
        self.file, self.begin, self.end, self.old = file, begin, end, text[begin:end]
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


def tests_of(file, known):
    """Names of the tests for a file, in their order."""
    inside, names = file.removeprefix("src/"), []
    for pattern, tests in TESTS:
        if fnmatch.fnmatch(inside, pattern):
            names += [name for name in tests.split() if name in known and name not in names]
    if "refused_calls" not in names:  # it knows every public function
        names.insert(1, "refused_calls")
    return [name for name in names if name in known]


# ---- building and running ---------------------------------------------------------------------------


class Bench:
    """The copy of the sources, its build, and the tests."""

    def __init__(self, place):
        self.place, self.build = place, place / "build"
        self.scratch = place / "scratch"
        self.usual = {}  # processor seconds of the tests on the original

    def prepare(self):
        self.copy_tree()
        self.scratch.mkdir(exist_ok=True)
        environment = dict(os.environ, CMAKE_BUILD_PARALLEL_LEVEL="2")
        subprocess.run(["cmake", "-S", ".", "-B", "build", "-G", "Ninja", "-DPOLYAD_CUDA=off",
                        "-DPOLYAD_OPENCL=off", "-DPOLYAD_BUILD_PYTHON=OFF",
                        "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
                        "-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O1",
                        *(["-DCMAKE_C_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else [])],
                       cwd=self.place, check=True, stdout=subprocess.DEVNULL, env=environment)
        if self.ninja("all") != 0:  # ctest knows the commands of programs that are there
            sys.exit("mutate: the sources cannot be built")
        listing = subprocess.run(["ctest", "--show-only=json-v1"], cwd=self.build, check=True,
                                 capture_output=True, text=True).stdout
        self.tests = {test["name"]: test for test in json.loads(listing)["tests"]
                      if "command" in test}
        measured = load(self.place / "usual.json", {})
        if measured.get("sources") == self.sources:
            self.usual = measured["seconds"]

    def copy_tree(self):
        """Copies the tracked and new files whose bytes differ; others keep their times."""
        listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT,
                                check=True, capture_output=True, text=True).stdout
        digest = hashlib.sha1()
        for name in sorted(listed.split("\0")):
            if not name or not (ROOT / name).is_file():
                continue
            target, data = self.place / name, (ROOT / name).read_bytes()
            if name.split("/")[0] in ("src", "include", "tests") and "mutation" not in name:
                digest.update(name.encode() + data)
            if target.is_file() and target.read_bytes() == data:
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
            shutil.copymode(ROOT / name, target)
        self.sources = digest.hexdigest()

    def ninja(self, *targets):
        return subprocess.run(["ninja", "-C", "build", "-j2", *targets], cwd=self.place,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              check=False).returncode

    def program_of(self, test):
        """The targets that a test needs."""
        command = test["command"]
        name = Path(command[0]).name
        return [name] if name.startswith(("test_", "replay_")) else ["all"]

    def object_of(self, file):
        return self.build / "CMakeFiles/polyad_objects.dir" / (file + ".o")

    def run(self, name):
        """(verdict, processor seconds): "passed", "failed", "crashed" or "slow"."""
        test = self.tests[name]
        environment = dict(os.environ)
        for item in test.get("properties", []):
            if item["name"] == "ENVIRONMENT":
                environment.update(pair.split("=", 1) for pair in item["value"])
        usual = self.usual.get(name)
        seconds = 100 if usual is None else int(4 + 6 * usual)

        def limit():
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 2))
            resource.setrlimit(resource.RLIMIT_DATA, (8 << 30, 8 << 30))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        process = subprocess.Popen(test["command"], cwd=self.scratch, env=environment,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   preexec_fn=limit)
        try:
            status = process.wait(timeout=60 + 20 * seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            status = -signal.SIGXCPU
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if status == 0 or status == 77:
            return "passed", spent
        if status in (-signal.SIGXCPU, -signal.SIGKILL):
            return "slow", spent
        return ("crashed" if status < 0 else "failed"), spent

    def note(self, name, spent):
        """Remembers how long a test takes where nothing is wrong."""
        self.usual[name] = spent
        keep(self.place / "usual.json", {"sources": self.sources, "seconds": self.usual})

    def confirm(self, name):
        """A test that fails on a mutant must pass on the original."""
        if name in self.usual:
            return
        if self.ninja(*self.program_of(self.tests[name])) != 0:
            sys.exit(f"mutate: test {name} cannot be built")
        verdict, spent = self.run(name)
        if verdict != "passed":
            sys.exit(f"mutate: test {name} {verdict} on the sources as they are")
        self.note(name, spent)

    def try_mutant(self, mutant):
        """The result of one mutant, as the report keeps it."""
        target = self.place / mutant.file
        text = target.read_text()
        if self.ninja("polyad_static") != 0:
            sys.exit("mutate: the sources cannot be built")
        code = self.object_of(mutant.file).read_bytes()
        target.write_text(text[:mutant.begin] + mutant.new + text[mutant.end:])
        try:
            result = self.judge(mutant, tests_of(mutant.file, self.tests), code)
        finally:
            target.write_text(text)
        if result["result"] == "killed":
            self.confirm(result["by"])
        return result

    def judge(self, mutant, names, code):
        if self.ninja("polyad_static") != 0:
            return {"result": "not compiled"}
        if self.object_of(mutant.file).read_bytes() == code:
            return {"result": "same code"}
        for name in names:
            if self.ninja(*self.program_of(self.tests[name])) != 0:
                return {"result": "not compiled"}
            verdict, spent = self.run(name)
            if verdict != "passed":
                return {"result": "killed", "by": name, "how": verdict}
            if name not in self.usual:
                self.note(name, spent)
        return {"result": "survived", "tests": names}


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
                   if done.get(m.id, {}).get("result") in ("killed", "survived"))
        for mutant in every[folder]:
            if have >= COUNTS[folder]:
                return
            if mutant.id not in done:
                have += 1
                yield mutant
    return in_turn(still(folder) for folder in every)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seed", type=int, default=1, help="which mutants are taken (default 1)")
    parser.add_argument("--minutes", type=float, help="stop after so long; a later run goes on")
    parser.add_argument("--limit", type=int, help="most mutants to test in this run")
    parser.add_argument("--again", action="store_true", help="test survivors of the report again")
    parser.add_argument("--only", help="test the mutant of this id")
    parser.add_argument("--list", action="store_true", help="list the mutants and stop")
    parser.add_argument("--report", type=Path, default=REPORT, help="JSON file of results")
    parser.add_argument("--build", type=Path, default=ROOT / "build-mutation")
    parser.add_argument("folders", nargs="*", help=f"of {', '.join(COUNTS)} (default: all)")
    arguments = parser.parse_args()
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
    bench, begin = Bench(arguments.build), time.monotonic()
    if todo:
        bench.prepare()
    tried = 0
    for mutant in todo:
        if (arguments.limit is not None and tried >= arguments.limit) or (
                arguments.minutes and time.monotonic() - begin > 60 * arguments.minutes):
            break
        result = bench.try_mutant(mutant)
        tried += 1
        done[mutant.id] = {**mutant.about(), **result}
        print(f"{mutant.file}:{mutant.line}: {mutant.old.split('(')[0]} -> {mutant.new}: "
              f"{result['result']} {result.get('by', '')}", flush=True)
        if not arguments.only:
            results = sorted(done.values(), key=lambda m: (m["file"], m["line"], m["id"]))
            keep(arguments.report, {"seed": arguments.seed,
                                    "summary": summarise(results, equivalent),
                                    "mutants": results})
    if arguments.only:
        return 0
    results = list(done.values())
    print_summary(results, equivalent)
    summary, left = summarise(results, equivalent), sum(1 for _ in wanted(every, done))
    print(f"mutate: {summary['killed']} of {summary['killed'] + summary['survived']} killed "
          f"({summary['equivalent']} equivalent ones set aside), {left} not tried yet; "
          f"expected at least {GATE:.0%}")
    return 0 if summary["score"] is not None and summary["score"] >= GATE else 1


if __name__ == "__main__":
    sys.exit(main())
