/* The options of polyad tucker. */
#include "tucker_options.h"

static const struct cli_option option_table[] = {
    CLI_HEADING("model"),
    CLI_OPTION(struct tucker, TEXT, ranks_text, "ranks", "R1,R2,...",
               "columns of each mode's factor (required); one R for\nall modes; auto:X chooses "
               "them jointly: the\nsmallest core found that keeps the share X of the\nsquared norm "
               "within --memory-limit",
               .letter = 'r'),
    CLI_OPTION(struct tucker, CHOICE, svd, "svd", "HOW",
               "singular vectors: exact (default) or randomized", .choices = "exact randomized"),
    CLI_HEADING("run"),
    CLI_OPTION(struct tucker, COUNT, run.max_iterations, "max-iters", "N",
               "most iterations (default 50; 0: the HOSVD alone)", .letter = 'i',
               .most = 999999999),
    CLI_OPTION(struct tucker, REAL, run.tolerance, "tol", "X",
               "stop when the fit grows by less (default 1e-4; 0: never)"),
    CLI_OPTION(struct tucker, REAL, run.max_seconds, "max-seconds", "S",
               "stop after the iteration in which S seconds have passed\n(default 0: no limit)"),
    CLI_OPTION(struct tucker, TEXT, init, "init", "HOW",
               "hosvd (default), random, or a ttensor file (its core\nis ignored)"),
    CLI_STORAGE_OPTIONS(struct tucker, CLI_FORMAT_HELP),
    CLI_HEADING("output"),
    CLI_OPTION(
        struct tucker, OUTPUT, output, "output", "PATH",
        "write the model, by its extension: .ptm (binary, keeps\nlabels), .ttensor (text, without "
        "labels), .npz, .json,\n.parquet (by polyad-table), .html (a page), DIR/ for one file\nper "
        "part",
        .letter = 'o'),
    CLI_OPTION(
        struct tucker, OUTPUT, report, "report", "FILE.html",
        "write a page about the model, as polyad report does;\nkeeps the tensor in memory for it"),
    CLI_OPTION(struct tucker, COUNT, top, "top", "K",
               "entries of the core that are shown (default 5)", .most = 100),
    CLI_READ_OPTIONS(struct tucker),
    CLI_TRANSFORM_OPTIONS(struct tucker),
    CLI_COMMON_OPTIONS(struct tucker)};

const struct cli_usage cli_tucker_usage = {
    .command = "tucker",
    .synopsis = "FILE -r R1,R2,... [options]",
    .summary = "Finds, for every mode of the tensor in FILE, the directions that keep most of it,\n"
               "and a small core tensor that says how they combine (Tucker decomposition by\n"
               "higher-order orthogonal iteration). FILE is .tns, .txt (Tensor Toolbox), .ptn,\n"
               ".csv or .tsv, also .gz or .zst; - is standard input.",
    .example = "  polyad tucker uber.tns.gz --ranks 6,4,8,8 --output uber.ttensor",
    CLI_OPTIONS(option_table),
    .least_arguments = 1,
    .most_arguments = 1};
