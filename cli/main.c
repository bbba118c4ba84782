/* polyad: the command. */
#include "command.h"
#include "events.h"
#include "phases.h"
#include "self.h"
#include "session.h"
#include "text.h"
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <polyad/polyad.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const struct {
  const char *name;
  int (*run)(int argc, char **argv);
  const char *summary;
  bool computes; /* with threads */
} commands[] = {
    {"cpd", cli_cpd, "find the latent components of a tensor (CP decomposition)", true},
    {"rank", cli_rank, "say how many components a tensor supports", true},
    {"tucker", cli_tucker, "find a core tensor and directions of every mode (Tucker decomposition)",
     true},
    {"info", cli_info, "say what a tensor is like, and its size in every storage format", true},
    {"convert", cli_convert, "convert between file formats", true},
    {"generate", cli_generate, "make a synthetic tensor", true},
    {"bench", cli_bench, "measure kernels, reading and building on this machine", true},
    {"report", cli_report, "make an HTML page of a model", true},
    {"score", cli_score, "compare models", false},
    {"core-consistency", cli_core_consistency, "tell whether a model has too many components",
     true},
    {"project", cli_project, "give new data their rows in a model", true},
    {"update", cli_update, "let a model go on with new slices", true},
    {"anomalies", cli_anomalies, "find what a model does not explain", true},
    {"split", cli_split, "deal the entries of a tensor out, for fitting and testing", false},
    {"predict", cli_predict, "values of a model at the cells of a file, and their errors", true},
    {"plan", cli_plan, "say what several processes would make of a tensor", true},
    {"replay", cli_replay, "do a run again, and say whether the same came out", false},
    {"formats", cli_formats, "list the storage formats of this build", false},
    {"devices", cli_devices, "list the devices of this machine", false},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_usage(FILE *to) {
  fputs("usage: polyad SUBCOMMAND [options] FILE...\n\n"
        "polyad finds the latent factors of sparse tensors.\n\nsubcommands:\n",
        to);
  for (int k = 0; k < COMMANDS; ++k)
    fprintf(to, "  %-17s %s\n", commands[k].name, commands[k].summary);
  fputs("\npolyad help SUBCOMMAND explains each, polyad help files the file formats;\n"
        "polyad --version says what is installed.\n\n"
        "example:\n  polyad cpd rides.csv --rank 8 --nonnegative\n",
        to);
}

/* The instruction set of the CPU's kernels: the processor's best, or the one that POLYAD_ISA names.
 */
static int print_instruction_set(void) {
  polyad_context *context = NULL;
  polyad_device_description cpu;
  int status = 0;
  if (polyad_context_create(&context) != POLYAD_OK) return cli_failure("out of memory");
  if (polyad_device_describe_named(context, "cpu", &cpu) == POLYAD_OK)
    printf("instruction set: %s\n", cpu.capability);
  else
    status = cli_library_failure(context);
  polyad_context_destroy(context);
  return status;
}

static int print_version(void) {
  printf("polyad %s\n", polyad_version());
  fputs("formats:", stdout);
  for (int k = 0; k < polyad_format_count(); ++k) {
    polyad_format_description about;
    if (polyad_format_describe(k, &about) == POLYAD_OK) printf(" %s", about.name);
  }
  fputs("\n", stdout);
  int status = print_instruction_set();
  return status == 0 ? cli_finish_output() : status;
}

static int unknown_command(const char *name) {
  static const char *const others[] = {"help", "--help", "--version"};
  enum { OTHERS = sizeof others / sizeof *others };
  char quoted[CLI_QUOTE_BYTES];
  const char *best = NULL;
  int least = 100;
  for (int k = 0; k < COMMANDS + OTHERS; ++k) {
    const char *known = k < COMMANDS ? commands[k].name : others[k - COMMANDS];
    int far = cli_distance(name, known);
    if (far < least) {
      least = far;
      best = known;
    }
  }
  cli_quote(quoted, name);
  if (least <= 2) return cli_usage_error("%s is no subcommand; did you mean %s?", quoted, best);
  return cli_usage_error("%s is no subcommand; see polyad --help", quoted);
}

static int run_command(int argc, char **argv) {
  for (int k = 0; k < COMMANDS; ++k)
    if (strcmp(argv[0], commands[k].name) == 0) {
      int status = commands[k].run(argc, argv);
      return status == 0 ? cli_signal_status() : status; /* what there was to keep is kept */
    }
  return unknown_command(argv[0]);
}

/* polyad help [SUBCOMMAND]: what polyad --help and polyad SUBCOMMAND --help print; help files lists
 * the file formats. */
static int help(int argc, char **argv) {
  static char option[] = "--help";
  if (argc > 2)
    return cli_usage_error("one subcommand found after another; expected help [SUBCOMMAND]");
  if (argc == 2 && strcmp(argv[1], "files") == 0) return cli_help_files();
  if (argc == 2 && argv[1][0] != '-') return run_command(2, (char *[]){argv[1], option, NULL});
  print_usage(stdout);
  return cli_finish_output();
}

/* A closed standard stream would let a data file get its number and receive our text. Opened the
 * other way round, writing to it is an error, as it should be. */
static bool open_standard_streams(void) {
  for (int file = 0; file < 3; ++file)
    if (fcntl(file, F_GETFD) == -1 && errno == EBADF &&
        open("/dev/null", file == 0 ? O_WRONLY : O_RDONLY) != file)
      return false;
  return true;
}

static int run(int argc, char **argv) {
  if (!open_standard_streams()) return 1;
  cli_signals_install();
  if (argc < 2) {
    print_usage(stderr);
    return 2;
  }
  const char *name = argv[1];
  if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
    print_usage(stdout);
    return cli_finish_output();
  }
  if (strcmp(name, "help") == 0) return help(argc - 1, argv + 1);
  if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) return print_version();
  for (int k = 0; k < COMMANDS; ++k)
    if (strcmp(name, commands[k].name) == 0 && commands[k].computes) cli_self_keep(argc, argv);
  char quoted[CLI_QUOTE_BYTES];
  if (name[0] == '-')
    return cli_usage_error("unknown option %s; see polyad --help", cli_quote(quoted, name));
  cli_events_begin(argc, argv);
  return cli_events_end(run_command(argc - 1, argv + 1));
}

int main(int argc, char **argv) {
  struct rlimit limit;
  cli_phases_begin();
  bool limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  if (limited) {
    mallopt(M_ARENA_MAX, 1);                /* others would map 64 MiB for each thread */
    setenv("OPENBLAS_NUM_THREADS", "1", 0); /* it maps 128 MiB for each of its threads */
  }
  int status = run(argc, argv);
  /* Where address space was refused, a library's own threads may not have started, and its clean-up
   * would wait for them for ever. */
  if (limited && fflush(NULL) == 0) _exit(status);
  return status;
}
