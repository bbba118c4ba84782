/* bench mttkrp|ttmc --error: what every precision costs in accuracy (figure 11 of the paper that
 * hls comes from), beside the time that it takes. */
#include "bench_kernel.h"
#include <stddef.h>

/* Reduced types are for values and factors; sums are of floats. */
static const struct precision {
  const char *name, *type, *compute;
} precisions[] = {{"f64", "f64", NULL},
                  {"f32", "f32", NULL},
                  {"tf32", "f32", "tf32"},
                  {"bf16", "f32", "bf16"},
                  {"f16", "f32", "f16"}};
enum { PRECISIONS = sizeof precisions / sizeof *precisions };

static void set_precision(struct bench *bench, const struct precision *precision) {
  bench->session.precision = precision->type;
  bench->session.compute = precision->compute;
}

static int measure(struct bench_job *exact, const struct precision *precision, const char *format) {
  struct bench_job job;
  int status = bench_job_make(exact->bench, exact->kernel, &job);
  job.exact = exact;
  job.precision = precision->name;
  if (status == 0) status = bench_job_format(&job, format);
  exact->wrong |= job.wrong;
  bench_job_free(&job);
  return status;
}

static int each_precision(void *user, const char *format) {
  struct bench_job *exact = user;
  struct bench *bench = exact->bench;
  int status = 0;
  for (int k = 0; k < PRECISIONS && status == 0 && !bench_interrupted(); ++k) {
    set_precision(bench, &precisions[k]);
    /* A format that computes in its own precision only is measured in that. */
    if (precisions[k].compute == NULL || bench_holds(bench, format))
      status = measure(exact, &precisions[k], format);
  }
  set_precision(bench, &precisions[0]);
  return status;
}

int bench_errors(struct bench *bench, polyad_kernel kernel) {
  struct bench_job exact;
  bench->needs = kernel;
  set_precision(bench, &precisions[0]);
  int status = bench_job_make(bench, kernel, &exact);
  if (status == 0) status = bench_each_format(bench, each_precision, &exact);
  if (status == 0) status = bench_job_verdict(&exact);
  bench_job_free(&exact);
  return status;
}
