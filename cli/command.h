/* The subcommands: each gets its arguments with argv[0] its own name, and returns the exit
 * status. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

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

/** polyad help files: lists the file formats. */
int cli_help_files(void);

#endif
