"""What papers A, B and D measured, as commands of polyad: one step per paper, figure and tensor.
Paper C is measured by bench/portability.sh.

A step has runs; a run is a label, the arguments of polyad that make its JSON, and which rows of it
are meant, where not all are: {"mode": 2}. Runs with the same arguments are the same measurement.
Nothing here computes: measure.py runs the steps, draw.py draws what came out.
"""
import json
import os
from collections import namedtuple

Run = namedtuple("Run", "label arguments pick", defaults=({},))
Step = namedtuple("Step", "paper figure tensor runs")
Figure = namedtuple("Figure", "paper figure title kind value unit published")
# Figures drawn from another figure's runs; names that begin with T are tables.
SOURCES = {("A", "7"): "6", ("A", "T4"): "9", ("D", "9"): "10", ("D", "TIV"): "10"}

# Nonzeros in millions decide what is quick.
MILLIONS = {"uber": 3.3, "nips": 3.1, "chicago": 5.3, "movies": 11.4, "vast": 26, "enron": 54.2,
            "nell-2": 76.9, "delicious": 140.1, "nell-1": 143.6, "music": 99.5, "amazon": 233.1,
            "twitch": 474.7, "art": 0.06, "book": 0.09, "g1": 10.7, "g2": 10.8, "g3": 10.6}
MODES = {"uber": 4, "nips": 4, "chicago": 4, "movies": 3, "vast": 5, "enron": 4, "nell-2": 3,
         "delicious": 4, "nell-1": 3, "music": 3, "amazon": 3, "twitch": 5, "art": 3, "book": 3,
         "g1": 3, "g2": 3, "g3": 3}
# What FIGURES=quick leaves out and how often it repeats.
QUICK_MILLIONS = 80
QUICK_REPEAT = ("--repeat", "3", "--warmup", "1")
QUICK_COLUMNS = 8  # fewer columns take seconds per round above SLOW_MILLIONS
SLOW_MILLIONS = 20
LEFT_OUT = "left out by FIGURES=quick"
# Paper A's, and three small ones that its claims are measured on too.
TENSORS = {"A": ["uber", "nips", "chicago", "vast", "music", "delicious", "nell-1", "amazon",
                 "twitch"],
           "B": ["uber", "nips", "chicago", "vast", "enron", "nell-1"],
           "D": ["art", "book", "g1", "g2", "g3", "movies"]}
BASELINES = ("blco", "mmcsf", "hicoo")

PUBLISHED = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "published.json")


def table_iv():
    """What paper D's table IV says of HLS, HLS-S and HLS-D."""
    with open(PUBLISHED, encoding="utf-8") as file:
        table = json.load(file)["table_iv_mib"]
    parts = "; ".join(f"{part.upper()} " + ", ".join(f"{value:.2f}" for value in table[part])
                      for part in ("hls", "hls-s", "hls-d"))
    return f"The paper ({', '.join(table['tensors'])}): {parts} ({table['source']})."


FIGURES = [
    Figure("A", "5", "Share of remapping in the time of all modes", "remap", "share", "",
           "The paper: 5% to 35% on an RTX 3090 (section 5.2)."),
    Figure("A", "6", "Throughput of the multiprocessors", "counter", "sm", "% of peak",
           "The paper: FLYCOO 1.2 to 1.4 times BLCO and 1.3 to 2.0 times MM-CSF (section 5.3)."),
    Figure("A", "7", "Throughput of the L1 caches", "counter", "l1", "% of peak",
           "The paper: FLYCOO 1.5 to 2.7 times BLCO and 1.7 to 3.0 times MM-CSF (section 5.4)."),
    Figure("A", "8", "Columns P of a thread block", "line", "throughput",
           "G nonzeros a second, all modes",
           "The paper: throughput of the multiprocessors grows linearly from P = 1 to 32 and falls at "
           "64 (section 5.5)."),
    Figure("A", "9", "MTTKRP in all modes", "bars", "total", "ms",
           "The paper, geometric means on an RTX 3090: FLYCOO 1.5 times as fast as BLCO, 2.0 as "
           "MM-CSF, 21.7 as ParTI-GPU (HiCOO) (table 4)."),
    Figure("A", "T4", "Geometric means of the speed-ups, and their mean", "speedup", "speedup",
           "times as fast",
           "The paper, on an RTX 3090: 1.5 (BLCO), 2.0 (MM-CSF), 21.7 (ParTI-GPU), overall 4.1 (table "
           "4, on its six tensors)."),
    Figure("A", "10", "Making the format on the host", "bars", "build", "s", ""),
    Figure("B", "3", "MTTKRP in all modes", "bars", "total", "ms",
           "The paper, geometric means on an RTX 3090: 2.4 times as fast as BLCO, 8.9 as MM-CSF, "
           "7.9 as ParTI-GPU (HiCOO) (section V-D)."),
    Figure("B", "4", "Load balancing: adaptive, scheme 1, scheme 2", "bars", "total", "ms",
           "The paper: adaptive is 2.2 times as fast as scheme 1 and 1.3 times as scheme 2 "
           "(geometric means, section V-B)."),
    Figure("B", "5", "Memory of all copies and factors", "bars", "bytes", "GB", ""),
    Figure("C", "2", "Where CP-APR (MU) spends its time", "portability", "figure2", "%",
           "The paper: the kernel for Phi is often the bottleneck (section 5.2)."),
    Figure("C", "3", "STREAM, portable: share of the best measured bandwidth", "portability",
           "figure3", "%", ""),
    Figure("C", "4", "STREAM: portable kernels over tuned ones", "portability", "figure4",
           "tuned / portable seconds",
           "The paper: 0.64 to 1.66 times the hand-tuned code on nine machines (section 6.3)."),
    Figure("C", "5", "MTTKRP, portable: modelled bytes a second over the best STREAM", "portability",
           "figure5", "%", "Caches make it more than 100%."),
    Figure("C", "6", "MTTKRP: portable kernels over the best tuned one", "portability", "figure6",
           "tuned / portable seconds",
           "Tuned is coo on the CPU and modecopy on CUDA. The paper: above 1 on CPUs, 0.76 to 0.91 on "
           "NVIDIA GPUs (section 6.3)."),
    Figure("C", "7", "The kernel for Phi, portable", "portability", "figure7", "s", ""),
    Figure("C", "8", "The kernel for Phi in ALTO's order, atomic edition", "portability", "figure8",
           "s", ""),
    Figure("C", "9", "The kernel for Phi in ALTO's order, pull-based edition", "portability",
           "figure9", "s", ""),
    Figure("C", "10", "Phi: the atomic edition over portable", "portability", "figure10",
           "portable / AE seconds",
           "The paper: portable is 0.47 to 0.96 times as fast as the atomic edition on CPUs (section "
           "6.3)."),
    Figure("C", "11", "Phi: the pull-based edition over portable", "portability", "figure11",
           "portable / PE seconds",
           "The paper: portable falls behind the pull-based edition on CPUs (section 6.3)."),
    Figure("D", "7", "Thresholds of the tiles", "line", "total", "ms",
           "The paper, on an A100: best at 78 (MTTKRP) and 82 (chain) nonzeros of 4096 (section "
           "VII-A.3, with the densities 1.9% and 2.0%)."),
    Figure("D", "8", "Dense and sparse part together, and in turn", "bars", "total", "ms",
           "The paper, on an A100, Art and Book: together 8.30 and 7.00 times as fast (MTTKRP), 5.00 "
           "and 1.38 (chain) (section VII-A.4)."),
    Figure("D", "9", "Bandwidth of the indices", "bars", "index_bandwidth", "GB/s",
           "The paper, on an A100: G1 to G3 reach 14 (HLS), 13 (HLS-S) and 16 GB/s (HLS-D) "
           "(section VII-B.2)."),
    Figure("D", "TIV", "Memory", "bars", "mebibytes", "MiB", table_iv()),
    Figure("D", "10", "The hybrid against its parts", "bars", "total", "ms",
           "The paper, on an A100: MTTKRP 1.35 to 3.98 times as fast as either on the large four, "
           "the chain 1.04 to 6.00 times on all (section VII-B.2)."),
    Figure("D", "11", "Error against float64 (equation 17)", "bars", "smape", "%",
           "The paper: below 0.17% (section VII-B.3)."),
    Figure("D", "12", "MTTKRP mode by mode", "modes", "mode", "ms",
           "The paper, on an A100: HLSTO 1.16 to 24.12 times as fast as the others (section VII-C.1)."),
    Figure("D", "13", "Tensor-times-matrix chain", "bars", "total", "ms",
           "The paper, on an A100: HLSTO 5.07 to 7.15 times as fast as HiCOO and MM-CSF "
           "(section VII-C.1)."),
    Figure("D", "14", "Making the format from coordinates", "bars", "build", "s", ""),
]


def mttkrp(source, format_name, *more):
    return ["bench", "mttkrp", source, "--format", format_name, *more]


def steps_a(tensor, source):
    flycoo = "flycoo:paper"
    whole = Run("flycoo", mttkrp(source, flycoo))
    yield Step("A", "5", tensor, [
        whole, Run("ordered copies", mttkrp(source, "flycoo:paper-no-remap"))])
    yield Step("A", "8", tensor, [  # 32 is what the whole has
        Run(str(p), mttkrp(source, flycoo + ("" if p == 32 else f":block-columns={p}")))
        for p in (1, 2, 4, 8, 16, 32, 64)])
    # BLCO as the paper ran it: ordered for each mode in turn, ordering not counted.
    ordered = [Run(f"blco:{mode}", mttkrp(source, f"blco:order-for-mode={mode}"), {"mode": mode})
               for mode in range(1, MODES[tensor] + 1)]
    yield Step("A", "9", tensor, [whole, Run("flycoo default", mttkrp(source, "flycoo")), *ordered,
                                  Run("blco as it is", mttkrp(source, "blco")),
                                  Run("mmcsf", mttkrp(source, "mmcsf")),
                                  Run("hicoo", mttkrp(source, "hicoo"))])
    yield Step("A", "10", tensor, [Run(name, mttkrp(source, name))
                                   for name in ("flycoo", *BASELINES)])
    yield Step("A", "6", tensor, [
        Run("counters " + name.partition(":")[0],
            mttkrp(source, name, "--repeat", "1", "--warmup", "0"))
        for name in (flycoo, "blco", "mmcsf")])


def steps_b(tensor, source):
    paper = Run("modecopy", mttkrp(source, "modecopy:paper"))
    yield Step("B", "3", tensor, [paper, Run("modecopy default", mttkrp(source, "modecopy")),
                                  *(Run(name, mttkrp(source, name)) for name in BASELINES)])
    yield Step("B", "4", tensor, [
        Run("adaptive", paper.arguments),
        Run("scheme 1", mttkrp(source, "modecopy:paper-scheme1")),
        Run("scheme 2", mttkrp(source, "modecopy:paper-scheme2"))])
    yield Step("B", "5", tensor, [paper])


def chain(source, format_name, *more):
    return ["bench", "ttmc", source, "--format", format_name, *more]


def steps_d(tensor, source):
    names = ("hicoo", "blco", "mmcsf", "fcoo", "fwc", "bcsf")
    half = ("--compute", "f16")
    yield Step("D", "7", tensor, [
        Run(f"{title} {threshold}", make(source, f"hls:tile-threshold={threshold}", *half))
        for title, make in (("MTTKRP", mttkrp), ("chain", chain))
        for threshold in range(8, 161, 8)])
    yield Step("D", "8", tensor, [
        Run(f"{title} {how}", make(source, "hls" + variant, *half))
        for title, make in (("MTTKRP", mttkrp), ("chain", chain))
        for how, variant in (("together", ""), ("in turn", ":sequential"))])
    yield Step("D", "10", tensor, [
        Run(f"{title} {part}", make(source, "hls" + threshold, *half))
        for title, make in (("MTTKRP", mttkrp), ("chain", chain))
        for part, threshold in (("HLS", ""), ("HLS-S", ":tile-threshold=4097"),
                                ("HLS-D", ":tile-threshold=1"))])
    yield Step("D", "11", tensor, [
        Run(f"{title} {compute}", make(source, "hls", "--error"), {"precision": compute})
        for title, make in (("MTTKRP", mttkrp), ("chain", chain))
        for compute in ("f16", "bf16", "tf32")])
    yield Step("D", "12", tensor, [Run("hls", mttkrp(source, "hls", *half)),
                                   *(Run(name, mttkrp(source, name)) for name in names)])
    yield Step("D", "13", tensor, [Run("hls", chain(source, "hls", *half)),
                                   *(Run(name, chain(source, name))
                                     for name in ("hicoo", "mmcsf"))])
    yield Step("D", "14", tensor, [Run(name, mttkrp(source, name, *more))
                                   for name, *more in (("hls", *half), *((name,) for name in names))])


def quickened(tensor, run):
    """Repeated less often; without arguments where it is left out."""
    columns = run.arguments[-1].partition(":block-columns=")[2]
    if MILLIONS.get(tensor, 0) > SLOW_MILLIONS and columns and int(columns) < QUICK_COLUMNS:
        return run._replace(arguments=[])
    if run.arguments[0] != "bench" or "--repeat" in run.arguments:
        return run
    return run._replace(arguments=[*run.arguments, *QUICK_REPEAT])


def order_of(step):
    """Smaller tensors first; what needs a profiler and shows least comes last."""
    return (step.paper, step.figure) == ("A", "6"), MILLIONS.get(step.tensor, 0)


def all_steps(source_of, quick):
    """Every step in the order in which to run them; `source_of` names a tensor's file or like:NAME.
    """
    makers = {"A": steps_a, "B": steps_b, "D": steps_d}
    steps = []
    for paper, make in makers.items():
        for tensor in TENSORS[paper]:
            if not quick or MILLIONS[tensor] <= QUICK_MILLIONS:
                steps += make(tensor, source_of(tensor))
    if quick:
        steps = [step._replace(runs=[quickened(step.tensor, run) for run in step.runs])
                 for step in steps]
    return sorted(steps, key=order_of)
