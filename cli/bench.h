/* What the benchmarks share. */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "json.h"

/** One row of results; numbers that do not apply are NaN or 0 (then null in JSON). */
struct bench_row {
  const char *format;
  char variant[256];
  int mode; /* from 1; 0: all or none */
  double median, least, most;
  int runs;
  double flops, bytes_moved;
  double bound_seconds, build_seconds;
  uint64_t bytes_format;
  double max_relative_error;
};

struct bench {
  struct cli_session session;
  const char *kernel, *file, *format, *variant;
  uint64_t rank, repeat, warmup, mode;
  polyad_kernel needs; /* what formats must have */
  polyad_tensor *tensor;
  uint64_t elements; /* of each of stream's arrays; 0: the default */
  bool portable;     /* tuned and portable kernels in turn */
  double triad;      /* bytes per second, measured once; 0: not yet */
  cJSON *rows;
};

double bench_now(void);
/** Fills median, least and most from `count` times (sorted in place). */
void bench_summarise(double *seconds, int count, struct bench_row *row);
/** Adds the row to the results and prints it. */
void bench_add(struct bench *bench, const struct bench_row *row);
/** Whether a signal asks to end with what is measured so far. */
bool bench_interrupted(void);
/** Sustained bandwidth of a = b + s * c on the device, bytes per second. */
double bench_triad(struct bench *bench);
/** The largest relative error of `out` (MTTKRP of `mode`) over sampled rows that are computed
 *  again in long double: |computed - exact| over the sum of magnitudes of the row's terms. */
double bench_check_mttkrp(const polyad_tensor *tensor, int mode, uint64_t rank,
                          const void *const *factors, polyad_type type, const void *out);

/** Numbers in [0.5, 1) that look random: no zeros, so that every error shows. */
void bench_fill(void *matrix, uint64_t count, polyad_type type, uint64_t seed);
double bench_entry(const void *matrix, uint64_t k, polyad_type type);
size_t bench_width(polyad_type type);
uint64_t bench_index(const polyad_tensor *tensor, int mode, uint64_t p);
/** A plan in a format, and what is known of it. 0, or an exit status. */
int bench_make_plan(struct bench *bench, const char *format, polyad_plan **plan,
                    struct bench_row *row);
/** Calls `each` with the chosen format, or with every one that can hold the tensor. */
int bench_each_format(struct bench *bench, int (*each)(void *user, const char *format), void *user);

int bench_mttkrp(struct bench *bench);
int bench_mttkrp_portable(struct bench *bench);
int bench_phi(struct bench *bench);
int bench_pi(struct bench *bench);
int bench_ttmc(struct bench *bench);
int bench_build(struct bench *bench);
int bench_read(struct bench *bench);
int bench_tile_threshold(struct bench *bench);
int bench_stream(struct bench *bench);
int bench_end_to_end(struct bench *bench);

#endif
