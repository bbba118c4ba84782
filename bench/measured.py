"""What is committed under bench/results, looked up by tensor, kernel, format and variant.

A measurement is the time of all modes of a generated tensor on the H200, in one precision, at the rank
its file says. Where two files have it, the one of the later kernels counts: FILES is in that order. The
figures' archive (figures.json) names a run by its command, the files of bench/h200.sh by its rows.
"""
import collections
import glob
import json
import os

from tensors import name_of

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results")
FILES = ("field.jsonl", "field-large.jsonl", "huge.jsonl", "figures.json", "large.jsonl",
         "small.jsonl", "hls.jsonl")
PEER_FILES = ("peers_run.json", "peers.json")
# Times of tensors with the fibers of the real ones; the files above have flat tensors.
FIBER_FILES, FIBER_PEER_FILES = ("field_fibers.jsonl",), ("peers_fibers.json",)
# The programs that formats are compared with: those of their authors.
PROGRAMS = {"blco": "BLCO", "mmcsf": "MM-CSF", "bcsf": "B-CSF", "hicoo": "HiCOO (ParTI-GPU)",
            "genten": "GenTen", "coo atomics": "COO with atomics", "hiparti-coo": "HiParTI's COO"}

Time = collections.namedtuple("Time", "ms modes file rows output")


def lines_of(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def time_of(rows, path, output):
    modes = {row["mode"]: 1e3 * row["median_seconds"] for row in rows}
    return Time(sum(modes.values()), modes, os.path.basename(path), rows, output)


class Measured:
    """Times by (tensor, kernel, format, variant, threshold); counters and peers' times."""

    def __init__(self, folder=FOLDER, precision="f32", fibers=False):
        self.precision = precision
        self.folder = os.path.join(folder, "h200")
        self.portability = os.path.join(folder, "portability", "measured")
        self.times, self.counters, self.dims = {}, {}, {}
        for name in FIBER_FILES if fibers else FILES:
            path = os.path.join(self.folder, name)
            if not os.path.exists(path):
                continue
            if name == "figures.json":
                self.read_archive(path)
            else:
                self.read_lines(path)
        self.peers = self.read_peers(FIBER_PEER_FILES if fibers else PEER_FILES)

    def read_lines(self, path):
        for output in lines_of(path):
            tensor = name_of(output["file"])
            self.dims.setdefault(tensor, output["dims"])
            found = collections.defaultdict(dict)
            for row in output["results"]:
                if row.get("kernel") == "als" or row.get("precision", "f32") != self.precision:
                    continue
                if row["format"] == "flycoo" and row.get("columns", 32) != 32:
                    continue
                if row["format"] == "hls" and row.get("compute", "native") != "f16":
                    continue
                threshold = row.get("threshold") if row["format"] == "hls" else None
                key = (tensor, row.get("kernel") or "mttkrp", row["format"], row["variant"],
                       threshold)
                found[key].setdefault(row["mode"], row)
            for key, rows in found.items():
                self.keep(key, list(rows.values()), path, output)

    def read_archive(self, path):
        with open(path, encoding="utf-8") as file:
            archive = json.load(file)
        for record in archive["records"]:
            for label, run in record["runs"].items():
                output, words = run["output"], run["command"].split()
                if output and label.startswith("counters "):
                    self.counters[record["tensor"], label.split()[1]] = output
                elif output and words[:2] == ["polyad", "bench"] and self.precision == "f32":
                    self.keep_run(record["tensor"], words, output, path)

    def keep_run(self, tensor, words, output, path):
        """A run of the archive by its command. Commands of before parameters were part of a format's
        text have them as options."""
        options = dict(zip(words[4::2], words[5::2]))
        if "--error" in words or "--portable" in words or "--format" not in options:
            return
        name, *more = options["--format"].split(":")
        given = {word[2:]: value for word, value in options.items()}
        given |= dict(word.split("=") for word in more if "=" in word)
        variant = next((word for word in more if "=" not in word), given.get("variant", "auto"))
        if "order-for-mode" in given or int(given.get("block-columns", 32)) != 32:
            return
        threshold = None
        if name == "hls":
            threshold = int(given.get("tile-threshold", 78 if words[2] == "mttkrp" else 82))
        self.keep((tensor, words[2], name, variant, threshold), output["results"], path, output)

    def keep(self, key, rows, path, output):
        if len(rows) == len(output.get("dims", rows)):  # all modes are there
            self.times.setdefault(key, time_of(rows, path, output))

    def read_peers(self, names):
        """Milliseconds by (tensor, program): what ran beside polyad comes before the rest."""
        times = {}
        for name in names:
            path = os.path.join(self.folder, name)
            if not os.path.exists(path):
                continue
            with open(path, encoding="utf-8") as file:
                record = json.load(file)
            for tensor, programs in record.get(self.precision, {}).items():
                for program, value in programs.items():
                    if value:
                        times.setdefault((tensor, program), (value, name))
        return times

    def time(self, tensor, name, variant="auto", kernel="mttkrp", threshold=None):
        return self.times.get((tensor, kernel, name, variant, threshold))

    def archive_runs(self, paper, figure):
        """Outputs by tensor and label of one figure of the archive."""
        with open(os.path.join(self.folder, "figures.json"), encoding="utf-8") as file:
            archive = json.load(file)
        return {record["tensor"]: {label: run["output"] for label, run in record["runs"].items()
                                   if run["output"]}
                for record in archive["records"]
                if (record["paper"], record["figure"]) == (paper, figure)}

    def portable(self, kind):
        """Outputs of bench/portability.sh whose file begins with `kind`, by the file's name."""
        outputs = {}
        for path in sorted(glob.glob(os.path.join(self.portability, kind + "-*.json"))):
            with open(path, encoding="utf-8") as file:
                outputs[os.path.basename(path).removesuffix(".json")] = json.load(file)
        return outputs
