/* The options of polyad cpd. */
#include "cpd_options.h"
#include "parsed.h"

static const struct cli_option option_table[] = {
    CLI_HEADING("model"),
    CLI_OPTION(struct cpd, COUNT, rank, "rank", "R", "number of components (required)",
               .letter = 'r', .least = 1),
    CLI_OPTION(struct cpd, CHOICE, algorithm, "algorithm", "NAME",
               "als (default): alternating least squares; for counts,\napr-mu, apr-pdnr, apr-pqnr: "
               "alternating Poisson regression;\nwith --absent unknown, als, ccd or sgd",
               .letter = 'a', .choices = "als apr-mu apr-pdnr apr-pqnr ccd sgd"),
    CLI_OPTION(struct cpd, MODES, nonnegative, "nonnegative", "MODES",
               "keep factors nonnegative: of all modes, or of a list such as\n1,3 or origin,date; "
               "other factors have any sign"),
    CLI_OPTION(struct cpd, REAL, ridge, "ridge", "X",
               "regularisation: added to the diagonal of the normal equations\n(default 0; with "
               "--absent unknown 0.2)"),
    CLI_OPTION(
        struct cpd, FLAG, half_rows, "half-rows", NULL,
        "als on a GPU in f32: factors in bfloat16 while the fit grows\nby ten times --tol or "
        "more, then in f32"),
    CLI_HEADING("run"),
    CLI_OPTION(struct cpd, COUNT, run.max_iterations, "max-iters", "N",
               "most iterations (default 50; 1000 with apr-...; 500 with\n--absent unknown)",
               .letter = 'i', .most = 999999999),
    CLI_OPTION(
        struct cpd, REAL, run.tolerance, "tol", "X",
        "als: stop when the fit grows by less; apr-...: when the\nKKT violation is below; --absent "
        "unknown: when the error\nfalls by a smaller share (default 1e-4; 0: never)"),
    CLI_OPTION(struct cpd, REAL, run.max_seconds, "max-seconds", "S",
               "stop after the iteration in which S seconds have passed\n(default 0: no limit)"),
    CLI_OPTION(struct cpd, TEXT, init, "init", "HOW",
               "random (default), hosvd (als), or a ktensor file"),
    CLI_OPTION(struct cpd, COUNT, run.restarts, "restarts", "N",
               "starts; the best one is kept (default 1)", .least = 1, .most = 1000000),
    CLI_OPTION(struct cpd, OUTPUT, run.checkpoint, "checkpoint", "FILE",
               "keep the state in FILE (and the one before in FILE.prev)"),
    CLI_OPTION(struct cpd, COUNT, run.checkpoint_every, "checkpoint-every", "K",
               "iterations between checkpoints (default 10)", .least = 1, .most = 999999999),
    CLI_OPTION(struct cpd, TEXT, run.resume, "resume", "FILE", "go on from a checkpoint"),
    CLI_COMPLETE_OPTIONS(struct cpd),
    CLI_APR_OPTIONS(struct cpd),
    CLI_STORAGE_OPTIONS(struct cpd, CLI_FORMAT_HELP),
    CLI_TUNE_OPTIONS(struct cpd),
    CLI_STREAM_OPTIONS(struct cpd),
    CLI_HEADING("output"),
    CLI_OPTION(
        struct cpd, OUTPUT, output, "output", "PATH",
        "write the model, by its extension: .ptm (binary, keeps the\nlabels that project, "
        "update, anomalies and predict need),\n"
        ".ktensor (text, its labels in PATH.labels), .npz, .csv, .json,\n.parquet (by "
        "polyad-table), .html (a page), DIR/ for one\nfile per factor (see polyad help files)",
        .letter = 'o'),
    CLI_OPTION(
        struct cpd, OUTPUT, report, "report", "FILE.html",
        "write a page about the model, as polyad report does;\nkeeps the tensor in memory for it"),
    CLI_OPTION(struct cpd, COUNT, top, "top", "K",
               "entries shown per mode and component (default 5)", .most = 100),
    CLI_READ_OPTIONS(struct cpd),
    CLI_TRANSFORM_OPTIONS(struct cpd),
    CLI_COMMON_OPTIONS(struct cpd)};

const struct cli_usage cli_cpd_usage = {
    .command = "cpd",
    .synopsis = "FILE -r RANK [options]",
    .summary = "Finds the RANK strongest patterns (components) of the tensor in FILE: for each a\n"
               "weight and, per mode, the strength of every index. FILE is .tns, .txt (Tensor\n"
               "Toolbox), .ptn, .csv or .tsv, also .gz or .zst; - is standard input.",
    .example = "  polyad cpd uber.tns.gz --rank 6 --nonnegative --output uber.ptm",
    CLI_OPTIONS(option_table),
    .least_arguments = 1,
    .most_arguments = 1};

int cli_cpd_check_algorithm_options(const struct cpd *cpd) {
  static const struct {
    const char *option, *algorithms;
  } owned[] = {{"inner-iters", "apr-mu apr-pdnr apr-pqnr"},
               {"epsilon", "apr-mu apr-pdnr apr-pqnr"},
               {"store-pi", "apr-mu"},
               {"zero-shift", "apr-mu"},
               {"zero-tol", "apr-mu"},
               {"active-tol", "apr-pdnr apr-pqnr"},
               {"damping", "apr-pdnr"},
               {"exact", "apr-pdnr"},
               {"lbfgs-pairs", "apr-pqnr"},
               {"learn-rate", "sgd"}};
  for (size_t k = 0; k < sizeof owned / sizeof *owned; ++k)
    if (cli_parsed_has(owned[k].option) && cli_choice(owned[k].algorithms, cpd->algorithm) < 0)
      return cli_usage_error("--%s found with --algorithm %s; expected one of: %s", owned[k].option,
                             cpd->algorithm, owned[k].algorithms);
  return 0;
}
