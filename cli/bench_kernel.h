/* Kernels that are measured per format and mode: their operands, plans, references and bounds. */
#ifndef CLI_BENCH_KERNEL_H
#define CLI_BENCH_KERNEL_H

#include "bench.h"
#include "bench_reference.h"

/** One kernel on one tensor. */
struct bench_job {
  struct bench *bench;
  polyad_kernel kernel;
  polyad_type type;
  void *factor[POLYAD_MAX_ORDER];
  void *out; /* room for the largest result so far */
  uint64_t out_bytes;
  struct bench_reference reference[POLYAD_MAX_ORDER]; /* made when first needed */
  bool wrong;                                         /* a result was out of bounds */
  struct bench_job *exact; /* whose references results are compared with; NULL: its own */
  const char *precision;   /* what this is computed in, where that is reported; else NULL */
};

/** 0, or an exit status; to be freed either way. */
int bench_job_make(struct bench *bench, polyad_kernel kernel, struct bench_job *job);
void bench_job_free(struct bench_job *job);

struct bench_operands bench_operands_of(const struct bench_job *job, int mode);
/** Factors on the device of a plan, and a workspace. 0, or an exit status. */
int bench_job_measurement(const struct bench_job *job, const polyad_plan *plan,
                          polyad_measurement **measurement);
/** The result of the last run on the host, in job->out. 0, or an exit status. */
int bench_job_result(struct bench_job *job, const polyad_measurement *measurement, int mode);
/** The rows of a mode that results are compared with. 0, or an exit status. */
int bench_job_reference(struct bench_job *job, int mode, const struct bench_reference **reference);

/** Measures every mode in one format; `user` is a job. 0, or an exit status. */
int bench_job_format(void *user, const char *format);
/** 1 after a message when a result was out of bounds, else 0. */
int bench_job_verdict(const struct bench_job *job);
/** Measures a kernel in every precision that formats have, against double. */
int bench_errors(struct bench *bench, polyad_kernel kernel);

/** Fills in the modelled flops, bytes, and the least time. */
void bench_model(const struct bench_job *job, int mode, struct bench_row *row);

/** The least divisor of Phi: CP-APR's default. */
#define BENCH_EPSILON 1e-10

#endif
