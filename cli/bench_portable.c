/* bench phi, bench pi, and with --portable bench mttkrp too: kernels tuned by hand and those
 * written once for all devices, in turn, timed by the device's clock. */
#include "bench.h"
#include "text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLED = 256 };
static const double EPSILON = 1e-10; /* least divisor of Phi: CP-APR's default */

/* Every term of a row in long double: of MTTKRP the nonzero times the others' rows, of Phi that
 * over the model's value. */
struct checked {
  const polyad_tensor *tensor;
  polyad_kernel kernel;
  int mode;
  uint64_t rank;
  const void *const *factors;
  polyad_type type;
  long double *product; /* rank */
};

static double entry_of(const struct checked *c, int n, uint64_t p, uint64_t r) {
  return bench_entry(c->factors[n], bench_index(c->tensor, n, p) * c->rank + r, c->type);
}

static void terms_of(const struct checked *c, uint64_t p) {
  long double weight =
                  bench_entry(polyad_tensor_values(c->tensor), p, polyad_tensor_type(c->tensor)),
              model = 0;
  for (uint64_t r = 0; r < c->rank; ++r) {
    c->product[r] = 1;
    for (int n = 0; n < polyad_tensor_order(c->tensor); ++n)
      if (n != c->mode) c->product[r] *= entry_of(c, n, p, r);
    if (c->kernel == POLYAD_KERNEL_PHI) model += c->product[r] * entry_of(c, c->mode, p, r);
  }
  if (c->kernel == POLYAD_KERNEL_PHI) weight /= model > EPSILON ? model : EPSILON;
  for (uint64_t r = 0; r < c->rank; ++r)
    c->product[r] *= weight;
}

static double check(const struct checked *c, const void *out) {
  uint64_t rows = polyad_tensor_dims(c->tensor)[c->mode], nnz = polyad_tensor_nnz(c->tensor);
  uint64_t rank = c->rank, step = rows <= SAMPLED ? 1 : rows / SAMPLED;
  uint64_t slots = (rows + step - 1) / step;
  long double *sum = calloc(slots * rank, sizeof *sum), *size = calloc(slots * rank, sizeof *size);
  double worst = sum == NULL || size == NULL ? NAN : 0;
  for (uint64_t p = 0; isfinite(worst) && p < nnz; ++p) {
    uint64_t row = bench_index(c->tensor, c->mode, p);
    if (row % step != 0) continue;
    terms_of(c, p);
    for (uint64_t r = 0; r < rank; ++r) {
      sum[row / step * rank + r] += c->product[r];
      size[row / step * rank + r] += fabsl(c->product[r]);
    }
  }
  for (uint64_t k = 0; isfinite(worst) && k < slots * rank; ++k) {
    long double found = bench_entry(out, k / rank * step * rank + k % rank, c->type);
    double error = size[k] > 0 ? (double)(fabsl(found - sum[k]) / size[k]) : found != 0;
    if (error > worst || isnan(error)) worst = error;
  }
  free(sum);
  free(size);
  return worst;
}

/* What is measured in turn: one plan, or a tuned one and the portable ones. */
struct subject {
  const char *format, *variant, *label; /* label NULL: the plan's own words */
  polyad_plan *plan;
  polyad_measurement *measurement;
  struct bench_row row;
  double *seconds;
  int runs;
};
enum { SUBJECTS = 3 };

/* Bytes per second of a = b + s c on the device; not a number where it cannot tell. */
static double triad(struct bench *bench) {
  enum { ELEMENTS = 16 << 20, RUNS = 5 };
  polyad_stream *stream = NULL;
  double best = INFINITY, seconds;
  if (polyad_stream_create(bench->session.context, ELEMENTS, POLYAD_F64, &stream) != POLYAD_OK)
    return NAN;
  for (int k = 0; k < RUNS; ++k)
    if (polyad_stream_run(stream, POLYAD_STREAM_TRIAD, !polyad_stream_has(stream, 0), &seconds) ==
        POLYAD_OK)
      best = fmin(best, seconds);
  double bytes = polyad_stream_bytes(stream, POLYAD_STREAM_TRIAD);
  polyad_stream_destroy(stream);
  return bytes / best;
}

struct job {
  struct bench *bench;
  polyad_kernel kernel;
  polyad_type type;
  void *factor[POLYAD_MAX_ORDER];
  void *out;
  long double *product;
  double triad; /* bytes per second */
};

static int make_job(struct bench *bench, polyad_kernel kernel, struct job *job) {
  *job = (struct job){.bench = bench, .kernel = kernel, .type = cli_precision(&bench->session)};
  const uint64_t *dims = polyad_tensor_dims(bench->tensor);
  uint64_t longest = 0;
  for (int n = 0; n < polyad_tensor_order(bench->tensor); ++n) {
    uint64_t bytes;
    if (__builtin_mul_overflow(dims[n], bench->rank * bench_width(job->type), &bytes) ||
        bytes > polyad_memory_limit(bench->session.context))
      return cli_failure("mode %d has length %llu: its factor of rank %llu is larger than memory",
                         n + 1, (unsigned long long)dims[n], (unsigned long long)bench->rank);
    job->factor[n] = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (job->factor[n] == NULL) return cli_failure("out of memory");
    bench_fill(job->factor[n], dims[n] * bench->rank, job->type, (uint64_t)n << 40);
    if (bytes > longest) longest = bytes;
  }
  job->out = aligned_alloc(64, (longest + 63) / 64 * 64);
  job->triad = triad(bench);
  job->product = malloc(bench->rank * sizeof *job->product);
  return job->out == NULL || job->product == NULL ? cli_failure("out of memory") : 0;
}

static void free_job(struct job *job) {
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    free(job->factor[n]);
  free(job->out);
  free(job->product);
}

/* Modelled traffic: every nonzero's indices and value, its factor rows (of Phi, that of B too), the
 * output once. Bound: nonzeros, factors and output once at triad bandwidth. */
static void model(const struct job *job, int mode, struct bench_row *row) {
  const polyad_tensor *tensor = job->bench->tensor;
  int order = polyad_tensor_order(tensor);
  double nnz = (double)polyad_tensor_nnz(tensor), rank = (double)job->bench->rank;
  double w = (double)bench_width(job->type), stream = w, factors = 0;
  for (int n = 0; n < order; ++n) {
    stream += polyad_tensor_index_bytes(tensor, n);
    double bytes = (double)polyad_tensor_dims(tensor)[n] * rank * w;
    double touched = nnz * rank * w; /* a factor's rows that no nonzero needs are not read */
    factors += bytes < touched ? bytes : touched;
  }
  double out = (double)polyad_tensor_dims(tensor)[mode] * rank * w;
  double rows_read = order - 1, products = order;
  if (job->kernel == POLYAD_KERNEL_PHI) rows_read = order, products = order + 2;
  if (job->kernel == POLYAD_KERNEL_PI)
    rows_read = order, products = order - 2, stream -= w, out = 0;
  row->flops = products * rank * nnz;
  row->bytes_moved = nnz * stream + nnz * rows_read * rank * w + out;
  double least = nnz * stream + factors;
  if (job->kernel == POLYAD_KERNEL_PI) least += nnz * rank * w;
  row->bound_seconds = least / job->triad;
}

static int run_once(struct job *job, struct subject *subject, int mode, bool counts) {
  double seconds;
  if (polyad_measurement_run(subject->measurement, job->kernel, mode, EPSILON, &seconds) !=
      POLYAD_OK)
    return cli_library_failure(job->bench->session.context);
  if (counts) subject->seconds[subject->runs++] = seconds;
  return 0;
}

static int finish_mode(struct job *job, struct subject *subject, int mode) {
  struct bench *bench = job->bench;
  struct bench_row *row = &subject->row;
  struct checked checked = {
      bench->tensor, job->kernel, mode, bench->rank, (const void *const *)job->factor,
      job->type,     job->product};
  bench_summarise(subject->seconds, subject->runs, row);
  row->mode = mode + 1;
  row->max_relative_error = NAN;
  model(job, mode, row);
  if (job->kernel == POLYAD_KERNEL_PI) return 0;
  if (polyad_measurement_result(subject->measurement, mode, job->out) != POLYAD_OK)
    return cli_library_failure(bench->session.context);
  row->max_relative_error = check(&checked, job->out);
  return 0;
}

/* All subjects in turn, run by run. */
static int time_mode(struct job *job, struct subject *subjects, int count, int mode) {
  struct bench *bench = job->bench;
  int status = 0;
  for (int s = 0; s < count; ++s)
    subjects[s].runs = 0;
  for (uint64_t k = 0; k < bench->warmup + bench->repeat && status == 0; ++k) {
    for (int s = 0; s < count && status == 0; ++s)
      status = run_once(job, &subjects[s], mode, k >= bench->warmup);
    if (bench_interrupted() && k >= bench->warmup) break;
  }
  for (int s = 0; s < count && status == 0; ++s)
    status = finish_mode(job, &subjects[s], mode);
  return status;
}

static int make_plan(struct bench *bench, const struct subject *subject, polyad_plan **plan,
                     struct bench_row *row) {
  const char *variant = bench->variant;
  bench->variant = subject->variant;
  int status = bench_make_plan(bench, subject->format, plan, row);
  bench->variant = variant;
  return status;
}

static void close_subject(struct subject *subject) {
  polyad_measurement_destroy(subject->measurement);
  polyad_plan_destroy(subject->plan);
  free(subject->seconds);
}

static int open_subject(struct job *job, struct subject *subject) {
  struct bench *bench = job->bench;
  polyad_context *context = bench->session.context;
  int status = make_plan(bench, subject, &subject->plan, &subject->row);
  if (status != 0) return status;
  if (subject->label != NULL)
    snprintf(subject->row.variant, sizeof subject->row.variant, "%s", subject->label);
  subject->seconds = malloc(bench->repeat * sizeof *subject->seconds);
  if (subject->seconds == NULL) return cli_failure("out of memory");
  if (polyad_measurement_create(context, subject->plan, bench->rank,
                                (const void *const *)job->factor,
                                &subject->measurement) != POLYAD_OK)
    return cli_library_failure(context);
  return 0;
}

/* Whether the subject's format has the kernel on this device: runs it once. */
static int has_kernel(struct job *job, const struct subject *like, bool *has) {
  struct subject subject = *like;
  double seconds;
  int status = open_subject(job, &subject);
  *has = false;
  if (status == 0) {
    polyad_status run =
        polyad_measurement_run(subject.measurement, job->kernel, 0, EPSILON, &seconds);
    *has = run == POLYAD_OK;
    if (run != POLYAD_OK && run != POLYAD_UNSUPPORTED)
      status = cli_library_failure(job->bench->session.context);
    else if (!*has)
      cli_talk(&job->bench->session, "nothing tuned to compare with: %s\n",
               polyad_last_error(job->bench->session.context));
  }
  close_subject(&subject);
  return status;
}

/* Measures subjects mode by mode; says how the later ones compare with the first. */
static int bench_subjects(struct job *job, struct subject *subjects, int count) {
  struct bench *bench = job->bench;
  double total[SUBJECTS] = {0};
  int status = 0;
  for (int s = 0; s < count && status == 0; ++s)
    status = open_subject(job, &subjects[s]);
  for (int n = 0; n < polyad_tensor_order(bench->tensor) && status == 0 && !bench_interrupted();
       ++n) {
    if (bench->mode > 0 && (int)bench->mode != n + 1) continue;
    status = time_mode(job, subjects, count, n);
    for (int s = 0; s < count && status == 0; ++s) {
      bench_add(bench, &subjects[s].row);
      total[s] += subjects[s].row.median;
    }
  }
  for (int s = 0; s < count && status == 0 && bench->mode == 0; ++s)
    cli_talk(&bench->session, "%s%s%s: all modes %.3f ms\n", subjects[s].row.format,
             subjects[s].label != NULL ? " " : "",
             subjects[s].label != NULL ? subjects[s].label : "", 1e3 * total[s]);
  for (int s = 1; s < count && status == 0; ++s)
    cli_talk(&bench->session, "%s runs at %.3f of %s\n", subjects[s].label, total[0] / total[s],
             subjects[0].label);
  for (int s = 0; s < count; ++s)
    close_subject(&subjects[s]);
  return status;
}

static int bench_format(void *user, const char *format) {
  struct job *job = user;
  struct subject subject = {.format = format, .variant = job->bench->variant};
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

static int in_turn(struct job *job) {
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

static int bench_kernel(struct bench *bench, polyad_kernel kernel) {
  if ((int)bench->mode > polyad_tensor_order(bench->tensor))
    return cli_failure("mode %llu does not exist; the tensor has %d modes",
                       (unsigned long long)bench->mode, polyad_tensor_order(bench->tensor));
  struct job job;
  if (!bench->portable) bench->needs = kernel;
  int status = make_job(bench, kernel, &job);
  if (status == 0)
    status = bench->portable ? in_turn(&job) : bench_each_format(bench, bench_format, &job);
  free_job(&job);
  return status;
}

int bench_mttkrp_portable(struct bench *bench) { return bench_kernel(bench, POLYAD_KERNEL_MTTKRP); }

int bench_phi(struct bench *bench) { return bench_kernel(bench, POLYAD_KERNEL_PHI); }

int bench_pi(struct bench *bench) { return bench_kernel(bench, POLYAD_KERNEL_PI); }
