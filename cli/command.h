/* The subcommands: each gets its arguments with argv[0] its own name, and returns the exit
 * status. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "options.h"

int cli_cpd(int argc, char **argv);
int cli_predict(int argc, char **argv);
int cli_plan(int argc, char **argv);
int cli_rank(int argc, char **argv);
int cli_split(int argc, char **argv);
int cli_tucker(int argc, char **argv);
int cli_info(int argc, char **argv);
int cli_convert(int argc, char **argv);
int cli_generate(int argc, char **argv);
int cli_bench(int argc, char **argv);
int cli_project(int argc, char **argv);
int cli_update(int argc, char **argv);
int cli_anomalies(int argc, char **argv);
int cli_replay(int argc, char **argv);
int cli_report(int argc, char **argv);
int cli_score(int argc, char **argv);
int cli_core_consistency(int argc, char **argv);
int cli_formats(int argc, char **argv);
int cli_devices(int argc, char **argv);

/** What those say of themselves that polyad replay does again. */
extern const struct cli_usage cli_anomalies_usage, cli_bench_usage, cli_convert_usage,
    cli_core_consistency_usage, cli_generate_usage, cli_info_usage, cli_plan_usage,
    cli_predict_usage, cli_project_usage, cli_rank_usage, cli_report_usage, cli_score_usage,
    cli_split_usage, cli_update_usage;

/** polyad help files: lists the file formats. */
int cli_help_files(void);

#endif
