"""Runs polyad for the steps: tensors are made once, equal runs run once, formats share a process.

A process with many formats reads the tensor, starts the device and adds up the exact sums once;
what it could not measure runs again alone, so that its own message is kept.
"""
import csv
import io
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

from experiments import LEFT_OUT, MILLIONS, QUICK_MILLIONS

LIMIT = 480  # seconds of a step
COUNTER_LIMIT = 60  # of a run under Nsight Compute
LAST_BEGIN = 30  # seconds before the end in which no step begins
COUNTERS = {"sm": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
            "l1": "l1tex__throughput.avg.pct_of_peak_sustained_elapsed"}
DURATION = "gpu__time_duration.sum"
# The kernels that sum, of flycoo's variant paper, blco and mmcsf: a few launches in all modes.
COUNTED = "regex:fly_paper|blco_tiles|fibers_sum|nz_scatter"
LAUNCHES = "16"


class OutOfTime(Exception):
    """All minutes have passed: what was being measured is not kept."""


class Clock:
    """The time of all steps and that of one."""

    def __init__(self, minutes):
        self.begin = time.monotonic()
        self.end = self.step_end = self.begin + 60 * minutes

    def begins_step(self):
        """Whether there is time for another step, whose time then begins."""
        now = time.monotonic()
        self.step_end = min(self.end, now + LIMIT)
        return now < self.end - LAST_BEGIN

    def left(self):
        now = time.monotonic()
        if now >= self.end:
            raise OutOfTime
        return max(self.step_end - now, 0)

    def passed(self):
        return time.monotonic() - self.begin


def reason(out, err):
    """Why a command failed, in one line: what Nsight Compute or polyad say last."""
    errors = [line for line in out.splitlines() if line.startswith("==ERROR==")]
    return (errors or err.strip().splitlines() or ["failed"])[-1]


def execute(command, folder, clock, most=LIMIT):
    """What a command prints, or None and why. It and what it started end with its time."""
    seconds = min(most, clock.left())
    if seconds == 0:
        return None, f"the step's {LIMIT} s were over"
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, cwd=folder, start_new_session=True)
    except OSError as error:
        return None, f"{os.path.basename(command[0])}: {error.strerror}"
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        clock.left()
        return None, f"took longer than {seconds:.3g} s"
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    return (out, None) if process.returncode == 0 else (None, reason(out, err))


def run_polyad(command, folder, clock):
    """The JSON object of a command, or None and why."""
    out, message = execute([*command, "--json", "-", "--quiet"], folder, clock)
    return (json.loads(out), None) if message is None else (None, message)


def run_counters(command, folder, clock):
    """Throughputs of the kernels that sum, weighted by their time, from Nsight Compute."""
    if shutil.which("ncu") is None:
        return None, "Nsight Compute (ncu) is not installed"
    metrics = ",".join([*COUNTERS.values(), DURATION])
    out, message = execute(
        ["ncu", "--csv", "--clock-control", "none", "--metrics", metrics, "--kernel-name", COUNTED,
         "--launch-count", LAUNCHES, *command, "--quiet"], folder, clock, COUNTER_LIMIT)
    if message is not None:
        return None, message
    kernels = {}
    lines = [line for line in out.splitlines() if line.startswith('"')]
    for row in csv.DictReader(io.StringIO("\n".join(lines))):
        try:
            value = float(row["Metric Value"].replace(",", ""))
        except (KeyError, ValueError, AttributeError):
            continue
        kernels.setdefault(row["ID"], {})[row["Metric Name"]] = value
    times = [k.get(DURATION, 0) for k in kernels.values()]
    if sum(times) == 0:
        return None, "no kernel was profiled"
    return {name: sum(k.get(metric, 0) * t for k, t in zip(kernels.values(), times)) / sum(times)
            for name, metric in COUNTERS.items()}, None


class Tensors:
    """The files of tensors, in one folder: real ones, or such as are made when a run needs them."""

    def __init__(self, options, clock):
        self.options, self.clock = options, clock
        self.real = options.data == "real"
        self.passing = not self.real and options.tensors is None
        self.folder = (tempfile.mkdtemp(prefix="polyad-figures-") if self.passing else
                       os.path.abspath(options.tensors or "bench/data/tensors"))
        os.makedirs(self.folder, exist_ok=True)
        self.made = {}  # by name of the file: how, and in how many seconds
        self.failed = {}

    def source(self, tensor):
        """What commands call it."""
        if not self.real:
            scale = self.options.scale
            return "like:" + tensor + ("" if scale == 1 else f"@{scale:g}")
        names = [tensor + extension for extension in (".ptn", ".tns.gz", ".tns")]
        return next((n for n in names if os.path.exists(os.path.join(self.folder, n))), names[0])

    def file_of(self, tensor, precision):
        """The name of its file, or None and why there is none."""
        source = self.source(tensor)
        if self.real:
            return source, None
        name = source.partition(":")[2] + ("" if precision == "f32" else "-f64") + ".ptn"
        if name not in self.failed and not os.path.exists(os.path.join(self.folder, name)):
            self.make(tensor, precision, name)
        return (None, self.failed[name]) if name in self.failed else (name, None)

    def make(self, tensor, precision, name):
        """As like:NAME makes it in memory; kept under its name when it is whole."""
        scale = () if self.options.scale == 1 else ("--scale", f"{self.options.scale:g}")
        command = ["generate", "--like", tensor, *scale, "--precision", precision]
        begin = time.monotonic()
        _, message = execute([self.options.polyad, *command, "new-" + name, "--quiet"], self.folder,
                             self.clock)
        if message is not None:
            self.failed[name] = "could not be generated: " + message
            return
        os.replace(os.path.join(self.folder, "new-" + name), os.path.join(self.folder, name))
        self.made[name] = {"command": " ".join(["polyad", *command, name]),
                           "seconds": round(time.monotonic() - begin, 3)}

    def forget(self, tensor):
        """Where files do not stay, removes those of a tensor that no step needs any more."""
        for precision in ("", "-f64") if self.passing else ():
            path = os.path.join(self.folder, self.source(tensor).partition(":")[2] + precision)
            if os.path.exists(path + ".ptn"):
                os.remove(path + ".ptn")

    def close(self):
        if self.passing:
            shutil.rmtree(self.folder, ignore_errors=True)


def precision_of(arguments):
    """Errors are measured in every precision, from numbers in double."""
    return "f64" if "--error" in arguments else "f32"


def settings(arguments, device):
    """What every run is given besides its own arguments."""
    if arguments[:2] == ["bench", "stream"]:
        return ["--device", device]
    precision = [] if "--error" in arguments else ["--precision", "f32"]
    return ["--device", device, "-r", "32", *precision]


def split(arguments):
    """The arguments that formats of one process share, and the item of --format's list; None where
    there is no list."""
    if arguments[0] != "bench" or "--format" not in arguments or "--portable" in arguments:
        return None, None
    at = arguments.index("--format")
    return (*arguments[:at], *arguments[at + 2:]), arguments[at + 1]


def of_item(output, item):
    """The object as if the item had been the only one; None where the item was not measured."""
    rows = [{key: value for key, value in row.items() if key not in ("item", "best")}
            for row in output["results"] if row.get("item") == item]
    about = {key: value for key, value in output.items() if key != "command"}
    return {**about, "results": rows} if rows else None


def pick(result, wanted):
    """A result with the wanted rows alone."""
    if result["output"] is None or not wanted:
        return result
    rows = [row for row in result["output"]["results"]
            if all(row.get(key) == value for key, value in wanted.items())]
    if rows:
        return {**result, "output": {**result["output"], "results": rows}}
    names = ", ".join(f"{key} {value}" for key, value in wanted.items())
    return {**result, "output": None, "message": f"not among the results: {names}"}


def missing(message):
    return {"command": "", "output": None, "message": message, "seconds": 0, "when": ""}


class Runner:
    """Results by arguments, so that figures share them."""

    def __init__(self, options, tensors, clock):
        self.options, self.tensors, self.clock = options, tensors, clock
        self.results = {}
        self.tried = set()  # lists of formats that have run

    def record(self, step, run, pending):
        """The archive's entry for a run; `pending`: steps whose runs may share its process."""
        if not run.arguments:
            return missing(LEFT_OUT)
        counters = run.label.startswith("counters ")
        key = (counters, *run.arguments)
        if key not in self.results and not counters:
            self.run_list(step.tensor, run.arguments, pending)
        if key not in self.results:
            self.results[key] = self.run_alone(step.tensor, run.arguments, counters)
        return {"command": self.command_text(step.tensor, run.arguments),
                **pick(self.results[key], run.pick)}

    def command_text(self, tensor, arguments):
        """A command that measures the same alone; cpd reads files only."""
        words = [*arguments, *settings(arguments, self.options.device)]
        if arguments[0] != "bench" and not self.tensors.real:
            name = self.tensors.source(tensor)
            words = [name.partition(":")[2] + ".ptn" if word == name else word for word in words]
        return " ".join(["polyad", *words])

    def run_alone(self, tensor, arguments, counters):
        output, message, process, seconds = self.run(tensor, arguments, counters)
        return {"process": process, "output": output, "message": message, "seconds": seconds,
                "when": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())}

    def run(self, tensor, arguments, counters=False):
        """Runs polyad on the tensor's file: the object, or why there is none; the command; seconds.
        """
        name, message = (None, None) if tensor == "" else self.tensors.file_of(
            tensor, precision_of(arguments))
        if message is not None:
            return None, message, "", 0
        source = self.tensors.source(tensor)
        words = [name if word == source else word for word in arguments]
        words += settings(arguments, self.options.device)
        begin = time.monotonic()
        output, message = (run_counters if counters else run_polyad)(
            [self.options.polyad, *words], self.tensors.folder, self.clock)
        return (output, message, " ".join(["ncu polyad" if counters else "polyad", *words]),
                round(time.monotonic() - begin, 3))

    def run_list(self, tensor, arguments, pending):
        """Measures a run's format together with those of other runs that differ in nothing else."""
        shared, _ = split(arguments)
        if shared is None or shared in self.tried or MILLIONS[tensor] > QUICK_MILLIONS:
            return
        self.tried.add(shared)
        items = {}
        for run in (run for step in pending for run in step.runs):
            if run.arguments and not run.label.startswith("counters "):
                share, item = split(run.arguments)
                if share == shared and (False, *run.arguments) not in self.results:
                    items[item] = run.arguments
        if len(items) > 1:
            self.keep_list(tensor, shared, items)

    def keep_list(self, tensor, shared, items):
        output, message, process, seconds = self.run(
            tensor, [*shared, "--format", ",".join(items)])
        if message is not None:
            return
        when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
        for item, arguments in items.items():
            found = of_item(output, item)
            if found is not None:
                self.results[(False, *arguments)] = {
                    "process": process, "output": found, "message": None,
                    "seconds": round(seconds / len(items), 3), "when": when}
