/* bench mttkrp, ttmc, phi and pi: every mode of every format; with --portable, kernels tuned by
 * hand and those written once for all devices, in turn. The device's clock counts. */
#include "bench_kernel.h"
#include "text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is measured in turn: one plan, or a tuned one and the portable ones. */
struct subject {
  const char *format, *variant, *label; /* label NULL: the plan's own words */
  polyad_plan *plan;
  polyad_measurement *measurement;
  struct bench_row row;
  double *seconds, total;
  int runs;
};
enum { SUBJECTS = 3 };

static int run_once(struct bench_job *job, struct subject *subject, int mode, bool counts) {
  double seconds;
  if (polyad_measurement_run(subject->measurement, job->kernel, mode, BENCH_EPSILON, &seconds) !=
      POLYAD_OK)
    return cli_library_failure(job->bench->session.context);
  if (counts) subject->seconds[subject->runs++] = seconds;
  return 0;
}

/* Compares the result with rows that all formats share. */
static int check_result(struct bench_job *job, const struct subject *subject, int mode,
                        struct bench_row *row) {
  const struct bench_reference *reference;
  struct bench_operands operands = bench_operands_of(job, mode);
  int status = bench_job_result(job, subject->measurement, mode);
  if (status == 0)
    status = bench_job_reference(job->exact != NULL ? job->exact : job, mode, &reference);
  if (status != 0) return status;
  double bound = bench_reference_bound(reference, &operands, cli_compute(&job->bench->session));
  row->max_relative_error = bench_reference_error(reference, job->type, job->out);
  row->precision = job->precision;
  if (job->exact != NULL)
    bench_reference_means(reference, job->type, job->out, &row->smape_percent,
                          &row->relative_error);
  if (row->max_relative_error <= bound) return 0;
  job->wrong = true;
  cli_talk(&job->bench->session, "%s, mode %d: error %.2g; expected at most %.2g\n", row->format,
           mode + 1, row->max_relative_error, bound);
  return 0;
}

static int finish_mode(struct bench_job *job, struct subject *subject, int mode, bool cold) {
  struct bench_row *row = &subject->row;
  int status = 0;
  bench_summarise(subject->seconds, subject->runs, row);
  row->mode = mode + 1;
  row->cold = cold;
  row->max_relative_error = NAN;
  bench_model(job, mode, row);
  if (job->kernel != POLYAD_KERNEL_PI) status = check_result(job, subject, mode, row);
  if (status == 0) bench_add(job->bench, row);
  if (!cold || !job->bench->warm) subject->total += row->median;
  return status;
}

static int set_cold(const struct bench *bench, const struct subject *subject, bool cold) {
  if (polyad_measurement_set_cold(subject->measurement, cold) == POLYAD_OK) return 0;
  return cli_library_failure(bench->session.context);
}

/* Formats whose run of a mode rests on the runs before: flycoo's leaves the nonzeros in the order
 * of the next mode, and of twotree's and dense's modes the first of a group makes what serves the
 * others. */
static bool runs_in_turn(const char *format) {
  return strcmp(format, "flycoo") == 0 || strcmp(format, "twotree") == 0 ||
         strcmp(format, "dense") == 0;
}

/* All modes in turn, round by round, as an algorithm calls them. */
static int time_rounds(struct bench_job *job, struct subject *subject, bool cold) {
  struct bench *bench = job->bench;
  uint64_t repeat = bench->repeat;
  int order = polyad_tensor_order(bench->tensor), status = set_cold(bench, subject, cold);
  double *own = subject->seconds, *all = malloc((uint64_t)order * repeat * sizeof *all);
  if (all == NULL) return cli_failure("out of memory");
  bool last = false;
  for (uint64_t k = 0; !last && status == 0; ++k) {
    bool counts = k >= bench->warmup;
    last = k + 1 == bench->warmup + repeat || (counts && bench_interrupted());
    for (int n = 0; n < order && status == 0; ++n) {
      subject->seconds = all + (uint64_t)n * repeat;
      subject->runs = counts ? (int)(k - bench->warmup) : 0;
      status = run_once(job, subject, n, counts);
      if (last && status == 0 && bench_wants_mode(bench, n))
        status = finish_mode(job, subject, n, cold);
    }
  }
  subject->seconds = own;
  free(all);
  return status;
}

/* All subjects in turn, run by run. */
static int time_mode(struct bench_job *job, struct subject *subjects, int count, int mode,
                     bool cold) {
  struct bench *bench = job->bench;
  int status = 0;
  for (int s = 0; s < count; ++s) {
    subjects[s].runs = 0;
    status = set_cold(bench, &subjects[s], cold);
    if (status != 0) return status;
  }
  for (uint64_t k = 0; k < bench->warmup + bench->repeat && status == 0; ++k) {
    for (int s = 0; s < count && status == 0; ++s)
      status = run_once(job, &subjects[s], mode, k >= bench->warmup);
    if (bench_interrupted() && k >= bench->warmup) break;
  }
  for (int s = 0; s < count && status == 0; ++s)
    status = finish_mode(job, &subjects[s], mode, cold);
  return status;
}

static void close_subject(struct subject *subject) {
  polyad_measurement_destroy(subject->measurement);
  polyad_plan_destroy(subject->plan);
  free(subject->seconds);
}

static int open_subject(struct bench_job *job, struct subject *subject) {
  struct bench *bench = job->bench;
  int status =
      bench_make_plan(bench, subject->format, subject->variant, &subject->plan, &subject->row);
  if (status != 0) return status;
  subject->row.label = subject->label;
  if (subject->label != NULL)
    snprintf(subject->row.variant, sizeof subject->row.variant, "%s", subject->label);
  subject->seconds = malloc(bench->repeat * sizeof *subject->seconds);
  if (subject->seconds == NULL) return cli_failure("out of memory");
  return bench_job_measurement(job, subject->plan, &subject->measurement);
}

/* Whether the subject's format has the kernel on this device: runs it once. */
static int has_kernel(struct bench_job *job, const struct subject *like, bool *has) {
  struct subject subject = *like;
  polyad_context *context = job->bench->session.context;
  double seconds;
  int status = open_subject(job, &subject);
  *has = false;
  if (status == 0) {
    polyad_status run =
        polyad_measurement_run(subject.measurement, job->kernel, 0, BENCH_EPSILON, &seconds);
    *has = run == POLYAD_OK;
    if (run != POLYAD_OK && run != POLYAD_UNSUPPORTED)
      status = cli_library_failure(context);
    else if (!*has)
      cli_talk(&job->bench->session, "nothing tuned to compare with: %s\n",
               polyad_last_error(context));
  }
  close_subject(&subject);
  return status;
}

/* Says what all modes took (the table of all formats does too), and how the later subjects compare
 * with the first. */
static void sum_up(const struct bench *bench, const struct subject *subjects, int count) {
  bool table = strcmp(bench->format, "all") == 0 && !bench->errors && !bench->portable;
  for (int s = 0; s < count && (!table || bench->session.verbose); ++s) {
    const struct bench_row *row = &subjects[s].row;
    cli_talk(&bench->session, "%s%s%s: %s %.3f ms; built in %.3g s, %.4g MB (%s)\n", row->format,
             row->precision != NULL ? " " : "", row->precision != NULL ? row->precision : "",
             bench->mode == 0 ? "all modes" : "the mode", 1e3 * subjects[s].total,
             row->build_seconds, 1e-6 * (double)row->bytes_format, row->variant);
  }
  for (int s = 1; s < count; ++s)
    cli_talk(&bench->session, "%s runs at %.3f of %s\n", subjects[s].label,
             subjects[0].total / subjects[s].total, subjects[0].label);
}

static int bench_subjects(struct bench_job *job, struct subject *subjects, int count) {
  struct bench *bench = job->bench;
  int status = 0;
  for (int s = 0; s < count && status == 0; ++s)
    status = open_subject(job, &subjects[s]);
  bool rounds = status == 0 && count == 1 && runs_in_turn(subjects[0].row.format);
  if (rounds && bench->warm) status = time_rounds(job, subjects, false);
  if (rounds && bench->cold && status == 0) status = time_rounds(job, subjects, true);
  for (int n = 0; !rounds && n < polyad_tensor_order(bench->tensor) && !bench_interrupted(); ++n) {
    if (!bench_wants_mode(bench, n)) continue;
    if (status == 0 && bench->warm) status = time_mode(job, subjects, count, n, false);
    if (status == 0 && bench->cold) status = time_mode(job, subjects, count, n, true);
  }
  if (status == 0 && !bench_interrupted()) sum_up(bench, subjects, count);
  for (int s = 0; s < count; ++s)
    close_subject(&subjects[s]);
  return status;
}

/* Pi is measured in the variant that stores it, where a format has one. */
static const char *variant_for(const struct bench_job *job, const char *format) {
  polyad_format_description about;
  const char *variant = job->bench->variant;
  if (job->kernel != POLYAD_KERNEL_PI || strcmp(variant, "auto") != 0) return variant;
  for (int k = 0; polyad_format_describe(k, &about) == POLYAD_OK; ++k)
    if (strcmp(about.name, format) == 0 && strstr(about.variants, "stored") != NULL)
      return "stored";
  return variant;
}

int bench_job_format(void *user, const char *format) {
  struct bench_job *job = user;
  struct subject subject = {.format = format, .variant = variant_for(job, format)};
  return bench_subjects(job, &subject, 1);
}

/* The kernel tuned by hand that does the same: coordinates in the order of each mode. */
static bool tuned_subject(struct bench *bench, struct subject *subject) {
  const char *device = polyad_device(bench->session.context);
  *subject = (struct subject){.format = bench->format, .variant = bench->variant, .label = "tuned"};
  if (strcmp(bench->format, "auto") != 0) return true;
  subject->format = strcmp(device, "cpu") == 0 ? "coo" : "modecopy";
  if (strcmp(device, "cpu") == 0) subject->variant = "plain";
  return strncmp(device, "opencl", 6) != 0; /* nothing is tuned for OpenCL */
}

static int in_turn(struct bench_job *job) {
  struct subject subjects[SUBJECTS];
  bool stores = job->kernel == POLYAD_KERNEL_PI, has_tuned = false;
  if (tuned_subject(job->bench, &subjects[0])) {
    int status = has_kernel(job, &subjects[0], &has_tuned);
    if (status != 0) return status;
  }
  int count = has_tuned;
  subjects[count++] = (struct subject){
      .format = "portable", .variant = stores ? "stored" : "auto", .label = "portable"};
  if (!stores)
    subjects[count++] =
        (struct subject){.format = "portable", .variant = "atomic", .label = "portable-atomic"};
  return bench_subjects(job, subjects, count);
}

int bench_job_verdict(const struct bench_job *job) {
  return job->wrong ? cli_failure("a result is wrong by more than rounding") : 0;
}

static int bench_kernel(struct bench *bench, polyad_kernel kernel) {
  struct bench_job job;
  bool portable = bench->portable && kernel != POLYAD_KERNEL_TTMC;
  if (!portable) bench->needs = kernel;
  int status = bench_job_make(bench, kernel, &job);
  if (status == 0)
    status = portable ? in_turn(&job) : bench_each_format(bench, bench_job_format, &job);
  if (status == 0 && !portable) bench_best(bench);
  if (status == 0) status = bench_job_verdict(&job);
  bench_job_free(&job);
  return status;
}

int bench_mttkrp(struct bench *bench) {
  return (bench->errors ? bench_errors : bench_kernel)(bench, POLYAD_KERNEL_MTTKRP);
}

int bench_ttmc(struct bench *bench) {
  return (bench->errors ? bench_errors : bench_kernel)(bench, POLYAD_KERNEL_TTMC);
}

int bench_phi(struct bench *bench) { return bench_kernel(bench, POLYAD_KERNEL_PHI); }

int bench_pi(struct bench *bench) { return bench_kernel(bench, POLYAD_KERNEL_PI); }
