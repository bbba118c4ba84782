/* What the benchmarks share. */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "run_report.h"
#include <polyad/bench.h>

/** One row of results; numbers that do not apply are NaN or 0 (then null in JSON). */
struct bench_row {
  const char *format;
  const char *label; /* shown in place of the format; NULL: the format */
  char variant[256];
  int mode;   /* from 1; 0: all or none */
  bool tuned; /* the format's kernels are written for its storage, on this device */
  bool cold;  /* caches were emptied before every run */
  double median, least, most;
  int runs;
  double flops, bytes_moved;
  double bound_seconds, build_seconds;
  uint64_t bytes_format;
  double max_relative_error;
  const char *precision; /* with --error: what it was computed in; else NULL */
  double smape_percent, relative_error;
  int iterations; /* of a whole decomposition; 0: it is none */
  double fit, log_likelihood;
};

enum { BENCH_RATES = 2 * POLYAD_MAX_ORDER };

struct bench {
  struct cli_session session;
  const char *kernel, *file, *format, *variant;
  const char *structure; /* of like:NAME; NULL: auto */
  uint64_t rank, repeat, warmup, mode;
  polyad_kernel needs; /* what formats must have */
  double sweeps;       /* that building counts against; INFINITY: kernels alone are measured */
  polyad_tensor *tensor;
  const char *algorithm;   /* of end-to-end; NULL: als */
  uint64_t max_iterations; /* of end-to-end; 0: the algorithm's default */
  double tolerance;        /* of end-to-end; negative: the algorithm's default */
  double fit;              /* that end-to-end is timed to; 0: none */
  double log_likelihood;   /* the same with CP-APR; NaN: none */
  const char *cache;       /* warm, cold or both */
  bool warm, cold;         /* what it says */
  uint64_t elements;       /* of each of stream's arrays; 0: the default */
  bool portable;           /* tuned and portable kernels in turn */
  bool errors;             /* every precision against double */
  char *items;             /* of a --format that is a list: each with a zero behind it */
  int item_count;          /* 0: it is none */
  const char *item;        /* that is being measured; else NULL */
  struct bench_rate {
    double bytes, rate;
  } copy[BENCH_RATES], gather[BENCH_RATES], flops; /* measured so far; rate 0: not yet */
  bool rates_again; /* rates that were measured are measured once more, and the better one kept */
  cJSON *rows;
};

/** Fills median, least and most from `count` times (sorted in place). */
void bench_summarise(double *seconds, int count, struct bench_row *row);
/** Adds the row to the results and prints it. */
void bench_add(struct bench *bench, const struct bench_row *row);
/** Whether --mode asks for mode `n` (from 0), or for all. */
bool bench_wants_mode(const struct bench *bench, int n);
/** Whether a signal, or the end of whoever read the rows, asks to end with what is measured. */
bool bench_interrupted(void);
/** Marks the fastest row of each mode and prints a table of formats and modes. */
void bench_best(struct bench *bench);

/** Reads the file or generates "like:NAME[@SCALE]". 0, or an exit status. */
int bench_load(struct bench *bench);

/** Rates of the device, measured when first needed: bytes per second of copying so many bytes
 *  (read and written together), of gathering rows of `rank` numbers from a table of so many bytes;
 *  flops per second. Infinite where the device cannot tell. */
double bench_copy(struct bench *bench, double bytes);
double bench_gather(struct bench *bench, double bytes);
double bench_flops(struct bench *bench);

/** More than this share of what the machine can reach is an error of measurement: the rates were
 *  measured while the machine was busy, or the measurement was too short for the clock. Caches may
 *  give a little over 1. */
#define BENCH_SHARE_MOST 1.2
/** bound_seconds / median: how much of what the machine can reach was reached; NaN where there is
 * no bound, and where the share would pass BENCH_SHARE_MOST. */
double bench_share(double bound_seconds, double median);
/** The least seconds that the rates allow, as `bound(user)` finds them with bench_copy() and the
 *  like; the rates are measured again when `median` passes what they allow. */
double bench_bound(struct bench *bench, double median, double (*bound)(void *user), void *user);

/** Whether a format can hold the tensor as asked and has the kernel. */
bool bench_holds(const struct bench *bench, const char *format);
/** A plan in a format, and what is known of it. 0, or an exit status. */
int bench_make_plan(struct bench *bench, const char *format, const char *variant,
                    polyad_plan **plan, struct bench_row *row);
/** Whether --format is a list: several with commas, or one with a variant or keys. */
bool bench_is_list(const char *format);
/** Reads --format where it is a list; checks it. 0, or an exit status. */
int bench_read_items(struct bench *bench);
void bench_free_items(struct bench *bench);
/** Calls `each` with every item of the list. One that fails does not keep the others from being
 * measured. */
int bench_each_item(struct bench *bench, int (*each)(void *user, const char *format), void *user);
/** Calls `each` with the chosen format, those of a list, or with every one that can hold the
 *  tensor. */
int bench_each_format(struct bench *bench, int (*each)(void *user, const char *format), void *user);

int bench_mttkrp(struct bench *bench);
int bench_phi(struct bench *bench);
int bench_pi(struct bench *bench);
int bench_ttmc(struct bench *bench);
int bench_build(struct bench *bench);
int bench_read(struct bench *bench);
int bench_tile_threshold(struct bench *bench);
int bench_stream(struct bench *bench);
int bench_roof(struct bench *bench);
int bench_end_to_end(struct bench *bench);

#endif
