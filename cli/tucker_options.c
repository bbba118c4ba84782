/* The options of polyad tucker. */
#include "tucker_options.h"

static const struct cli_option option_table[] = {
    {.kind = CLI_GROUP, .help = "model"},
    {.name = "ranks",
     .letter = 'r',
     .kind = CLI_TEXT,
     .offset = offsetof(struct tucker, ranks_text),
     .argument = "R1,R2,...",
     .help = "columns of each mode's factor (required); one R for\n"
             "all modes; auto:X chooses them jointly: the\n"
             "smallest core found that keeps the share X of the\n"
             "squared norm within --memory-limit"},
    {.name = "svd",
     .kind = CLI_CHOICE,
     .offset = offsetof(struct tucker, svd),
     .argument = "HOW",
     .help = "singular vectors: exact (default) or randomized",
     .choices = "exact randomized"},
    {.kind = CLI_GROUP, .help = "run"},
    {.name = "max-iters",
     .letter = 'i',
     .kind = CLI_COUNT,
     .offset = offsetof(struct tucker, run.max_iterations),
     .argument = "N",
     .help = "most iterations (default 50)",
     .least = 1,
     .most = 999999999},
    {.name = "tol",
     .kind = CLI_REAL,
     .offset = offsetof(struct tucker, run.tolerance),
     .argument = "X",
     .help = "stop when the fit grows by less (default 1e-4; 0: never)"},
    {.name = "max-seconds",
     .kind = CLI_REAL,
     .offset = offsetof(struct tucker, run.max_seconds),
     .argument = "S",
     .help = "stop after the iteration in which S seconds have passed"},
    {.name = "init",
     .kind = CLI_TEXT,
     .offset = offsetof(struct tucker, init),
     .argument = "HOW",
     .help = "hosvd (default), random, or a ttensor file (its core\nis ignored)"},
    CLI_STORAGE_OPTIONS(struct tucker, CLI_FORMAT_HELP),
    {.kind = CLI_GROUP, .help = "output"},
    {.name = "output",
     .letter = 'o',
     .kind = CLI_OUTPUT,
     .offset = offsetof(struct tucker, output),
     .argument = "PATH",
     .help = "write the model: a file (ttensor text), or DIR/ for\none file per part"},
    {.name = "report",
     .kind = CLI_OUTPUT,
     .offset = offsetof(struct tucker, report),
     .argument = "FILE.html",
     .help =
         "write a page about the model, as polyad report does;\nkeeps the tensor in memory for it"},
    {.name = "top",
     .kind = CLI_COUNT,
     .offset = offsetof(struct tucker, top),
     .argument = "K",
     .help = "entries of the core that are shown (default 5)",
     .most = 100},
    CLI_READ_OPTIONS(struct tucker),
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
