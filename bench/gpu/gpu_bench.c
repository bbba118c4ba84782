/* Times MTTKRP of the GPU's formats in every mode of a tensor, checks the results, and prints one
 * JSON object. Run by bench/h200.sh.
 *
 * usage: gpu_bench TENSOR [SET…] [rank=R] [runs=K] [partitions=K] [device=D]
 *                  [structure=flat] [write=FILE]
 *   TENSOR: a file, or like:NAME[@SCALE] as `polyad generate --like` makes it (structure=flat: with
 *   that --structure)
 *   SET: default (both formats, float and double), paper (all variants of the papers, float),
 *   columns (flycoo/paper with P from 1 to 64), als (time of a CP-ALS iteration), field and field64
 *   (every format, float and double), phi (CP-APR's Phi, double) */
#include "core/core.h"
#include "device/device_registry.h"
#include "formats/flycoo/flycoo_layout.h"
#include "formats/modecopy/modecopy_layout.h"
#include "gpu_check.h"
#include "plan/plan.h"
#include <math.h>
#include <polyad/polyad.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct run {
  polyad_context *context;
  const struct pd_device *device;
  const char *source; /* the tensor as named */
  bool flat;          /* like:NAME without the real tensor's fibers */
  int order;
  const uint64_t *dims;
  polyad_tensor *tensor[2]; /* by type */
  struct pd_traits traits;
  uint64_t rank;
  int runs, partitions;
  int rows; /* printed so far */
};

static void die(struct run *run, const char *what) {
  fprintf(stderr, "gpu_bench: %s: %s\n", what, polyad_last_error(run->context));
  exit(1);
}

static void must(struct run *run, polyad_status status, const char *what) {
  if (status != POLYAD_OK) die(run, what);
}

/* Something to be timed. */
struct choice {
  const char *format, *variant;
  polyad_type type;
  int columns;
  bool phi; /* CP-APR's Phi instead of MTTKRP; the factors' signs do not matter for its time */
};

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void make_factors(struct run *run, polyad_type type, struct pd_matrix *factor,
                         struct bench_factors *host) {
  for (int n = 0; n < run->order; ++n) {
    uint64_t rows = run->dims[n];
    bench_factor_fill(host, n, rows, run->rank, type);
    must(run, pd_matrix_create(run->context, run->device, type, rows, run->rank, &factor[n]),
         "factors");
    must(run, pd_matrix_from_host(run->context, &factor[n], host->data[n]), "factors");
    bench_factor_drop(host, n);
  }
}

static void print_row(struct run *run, const struct choice *choice, int mode, double *seconds,
                      double worst, double build, uint64_t bytes, const char *about) {
  qsort(seconds, (size_t)run->runs, sizeof *seconds, by_value);
  double nnz = (double)run->traits.nnz, median = seconds[run->runs / 2];
  double flops = (double)run->order * (double)run->rank * nnz;
  char error[32] = "null"; /* Phi is checked by its tests alone */
  if (!choice->phi) snprintf(error, sizeof error, "%.3g", worst);
  printf("%s\n  {\"kernel\": \"%s\", \"format\": \"%s\", \"variant\": \"%s\", \"precision\": "
         "\"%s\", \"columns\": %d, "
         "\"mode\": %d, \"rank\": %llu, \"median_seconds\": %.9g, \"min_seconds\": %.9g, "
         "\"max_seconds\": %.9g, \"runs\": %d, \"flops\": %.0f, \"gflops\": %.6g, "
         "\"build_seconds\": %.4g, \"bytes_format\": %llu, \"max_relative_error\": %s, "
         "\"about\": \"%s\"}",
         run->rows++ > 0 ? "," : "", choice->phi ? "phi" : "mttkrp", choice->format,
         choice->variant, choice->type == POLYAD_F32 ? "f32" : "f64", choice->columns, mode + 1,
         (unsigned long long)run->rank, median, seconds[0], seconds[run->runs - 1], run->runs,
         flops, 1e-9 * flops / median, build, (unsigned long long)bytes, error, about);
}

static struct pd_op op_of(const struct choice *choice) {
  return choice->phi ? PD_PHI(1e-10) : PD_MTTKRP;
}

/* All modes in turn, `runs` times after two rounds that are not counted. */
static void time_modes(struct run *run, const struct choice *choice,
                       const struct polyad_kernels *kernels, const void *storage,
                       const void *on_device, double build, uint64_t bytes, const char *about) {
  enum { WARM_UP = 2 };
  int order = run->order;
  void *scratch = NULL;
  struct pd_matrix factor[POLYAD_MAX_ORDER], out[POLYAD_MAX_ORDER];
  const struct pd_matrix *list[POLYAD_MAX_ORDER];
  struct bench_factors host = {{NULL}};
  double *seconds = calloc((size_t)(order * run->runs), sizeof *seconds), total = 0;
  if (seconds == NULL) die(run, "no memory");
  (void)storage;
  make_factors(run, choice->type, factor, &host);
  for (int n = 0; n < order; ++n) {
    list[n] = &factor[n];
    must(
        run,
        pd_matrix_create(run->context, run->device, choice->type, run->dims[n], run->rank, &out[n]),
        "output");
  }
  const struct pd_op op = op_of(choice);
  const struct pd_walk *walk = pd_walk_of(kernels, pd_op_bit(&op));
  uint64_t ranks[POLYAD_MAX_ORDER];
  for (int n = 0; n < order; ++n)
    ranks[n] = run->rank;
  must(run, pd_walk_open(run->context, walk, run->device, on_device, ranks, &scratch), "workspace");
  const struct pd_device_functions *device = run->device->functions;
  for (int round = 0; round < WARM_UP + run->runs; ++round)
    for (int n = 0; n < order; ++n) {
      double once = pd_seconds();
      if (device->timer_start != NULL)
        must(run, device->timer_start(run->context, run->device), "timer");
      const struct pd_call call = {.op = op, .mode = n, .factors = list, .out = &out[n]};
      must(run, walk->run(run->context, on_device, scratch, &call), pd_op_name(&op));
      if (device->timer_stop != NULL)
        must(run, device->timer_stop(run->context, run->device, &once), "timer");
      else
        once = pd_seconds() - once;
      if (round >= WARM_UP) seconds[n * run->runs + round - WARM_UP] = once;
    }
  for (int n = 0; n < order; ++n) {
    double worst =
        choice->phi ? 0
                    : bench_check(run->context, run->tensor[choice->type], run->rank, n, &out[n]);
    print_row(run, choice, n, seconds + n * run->runs, worst, build, bytes, about);
    total += seconds[n * run->runs + run->runs / 2];
    if (worst > (choice->type == POLYAD_F32 ? 1e-4 : 1e-12))
      fprintf(stderr, "%s %s/%s mode %d: WRONG by %.3g\n", run->source, choice->format,
              choice->variant, n + 1, worst);
  }
  fprintf(stderr, "%-10s %-9s %-15s %s P=%-2d %sall modes %10.3f ms (", run->source, choice->format,
          choice->variant, choice->type == POLYAD_F32 ? "f32" : "f64", choice->columns,
          choice->phi ? "phi " : "", 1e3 * total);
  for (int n = 0; n < order; ++n)
    fprintf(stderr, "%s%.3f", n > 0 ? " " : "", 1e3 * seconds[n * run->runs + run->runs / 2]);
  fprintf(stderr, ")  build %.2f s, %.3f GB, %s\n", build, 1e-9 * (double)bytes, about);
  fflush(stdout);
  pd_walk_close(scratch);
  for (int n = 0; n < order; ++n) {
    pd_matrix_destroy(run->context, &factor[n]);
    pd_matrix_destroy(run->context, &out[n]);
  }
  free(seconds);
}

static polyad_tensor *tensor_of(struct run *run, polyad_type type) {
  if (run->tensor[type] == NULL)
    must(run,
         polyad_tensor_convert(run->context, run->tensor[POLYAD_F32], type, &run->tensor[type]),
         "conversion");
  return run->tensor[type];
}

/* Columns other than the first reuse the storage: they only change how blocks are shaped. */
static void time_choice(struct run *run, const struct choice *choice, const int *columns,
                        int column_count) {
  const struct polyad_format *format = pd_format_find(choice->format);
  const struct polyad_kernels *kernels = pd_kernels_find(choice->format, run->device->kind);
  if (format == NULL || kernels == NULL) die(run, "no such format");
  struct pd_request request = {.variant = choice->variant,
                               .rank = run->rank,
                               .precision = choice->type,
                               .threads = polyad_threads(run->context),
                               .device = run->device};
  if (format->parameters == pd_partition_parameters)
    request.parameter[PD_PARTITIONS] = run->partitions;
  void *storage = NULL, *on_device = NULL;
  char about[PD_REASON_BYTES];
  double begin = pd_seconds();
  must(run,
       pd_storage_build(run->context, format, tensor_of(run, choice->type), false, &request,
                        &storage),
       "build");
  double build = pd_seconds() - begin;
  format->describe(storage, 1, about);
  if (!run->device->functions->host_memory)
    must(run, pd_storage_put(run->context, format, run->device, storage, &on_device), "put");
  else
    on_device = storage;
  for (int k = 0; k < column_count; ++k) {
    struct choice now = *choice;
    now.columns = columns[k];
    if (strcmp(choice->format, "flycoo") == 0)
      ((struct pd_flycoo *)on_device)->columns = columns[k];
    if (strcmp(choice->format, "modecopy") == 0)
      ((struct pd_modecopy *)on_device)->columns = columns[k];
    time_modes(run, &now, kernels, storage, on_device, build, pd_storage_bytes(format, storage),
               about);
  }
  if (on_device != storage) pd_storage_release(run->context, format, run->device, on_device);
  pd_storage_free(run->context, format, storage);
}

static void time_one(struct run *run, const char *format, const char *variant, polyad_type type) {
  struct choice choice = {format, variant, type, 32, false};
  int columns = 32;
  time_choice(run, &choice, &columns, 1);
}

/* Phi in double precision, by the formats that have it on the device. */
static void time_phi(struct run *run) {
  static const char *const formats[] = {"modecopy", "coo", "alto"};
  int columns = 32;
  for (size_t k = 0; k < sizeof formats / sizeof *formats; ++k) {
    const struct polyad_kernels *kernels = pd_kernels_find(formats[k], run->device->kind);
    struct choice choice = {formats[k], "auto", POLYAD_F64, 32, true};
    if (kernels == NULL || pd_walk_of(kernels, PD_OPS_GRADIENT) == NULL) continue;
    time_choice(run, &choice, &columns, 1);
  }
}

static void time_als(struct run *run) {
  polyad_plan_options options;
  polyad_cp_als_options als;
  polyad_plan_options_init(&options);
  options.format = "modecopy";
  options.rank = run->rank;
  polyad_cp_als_options_init(&als);
  als.rank = run->rank;
  als.run.max_iterations = 50;
  als.run.tolerance = 0;
  for (int type = POLYAD_F32; type <= POLYAD_F64; ++type) {
    polyad_plan *plan = NULL;
    polyad_ktensor *model = NULL;
    polyad_run_info info = {0};
    options.precision = (polyad_type)type;
    must(run, polyad_plan_create(run->context, tensor_of(run, options.precision), &options, &plan),
         "plan");
    must(run, polyad_cp_als(run->context, plan, &als, &model, &info), "cp_als");
    double mttkrp = 0;
    for (int n = 0; n < run->order; ++n)
      mttkrp += info.seconds_mttkrp[n];
    printf("%s\n  {\"kernel\": \"als\", \"format\": \"modecopy\", \"precision\": \"%s\", \"rank\": "
           "%llu, \"seconds_per_iteration\": %.9g, \"seconds_mttkrp\": %.9g, \"iterations\": %d, "
           "\"fit\": %.12g}",
           run->rows++ > 0 ? "," : "", type == POLYAD_F32 ? "f32" : "f64",
           (unsigned long long)run->rank, info.seconds_per_iteration, mttkrp, info.iterations,
           info.fit);
    fprintf(stderr, "%-10s cp-als %s: %.3f ms per iteration, %.2f times its MTTKRP, fit %.6f\n",
            run->source, type == POLYAD_F32 ? "f32" : "f64", 1e3 * info.seconds_per_iteration,
            info.seconds_per_iteration / mttkrp, info.fit);
    polyad_run_info_clear(&info);
    polyad_ktensor_destroy(model);
    polyad_plan_destroy(plan);
  }
}

/* Every format with kernels for the device that can hold the tensor. */
static void time_field(struct run *run, polyad_type type) {
  for (int f = 0; f < pd_format_count(); ++f) {
    const struct polyad_format *format = pd_format_at(f);
    const struct polyad_kernels *kernels = pd_kernels_find(format->name, run->device->kind);
    struct pd_request request = {.variant = "auto",
                                 .rank = run->rank,
                                 .precision = type,
                                 .threads = polyad_threads(run->context),
                                 .device = run->device};
    char reason[PD_REASON_BYTES];
    if (kernels == NULL || pd_walk_of(kernels, PD_OPS_MTTKRP) == NULL ||
        run->traits.order < format->min_order || run->traits.order > format->max_order ||
        !format->supports(&run->traits, &request, reason))
      continue;
    time_one(run, format->name, "auto", type);
  }
}

static void run_set(struct run *run, const char *set) {
  static const int sweep[] = {1, 2, 4, 8, 16, 32, 64};
  static const char *const copies[] = {"paper", "paper-scheme1", "paper-scheme2"};
  static const char *const fly[] = {"cyclic", "no-remap", "paper", "paper-no-remap",
                                    "paper-cyclic"};
  if (strcmp(set, "default") == 0) {
    for (int type = POLYAD_F32; type <= POLYAD_F64; ++type) {
      time_one(run, "modecopy", "auto", (polyad_type)type);
      time_one(run, "flycoo", "auto", (polyad_type)type);
    }
  } else if (strcmp(set, "f32") == 0) {
    time_one(run, "modecopy", "auto", POLYAD_F32);
    time_one(run, "flycoo", "auto", POLYAD_F32);
  } else if (strcmp(set, "paper") == 0) {
    for (size_t k = 0; k < sizeof copies / sizeof *copies; ++k)
      time_one(run, "modecopy", copies[k], POLYAD_F32);
    for (size_t k = 0; k < sizeof fly / sizeof *fly; ++k)
      time_one(run, "flycoo", fly[k], POLYAD_F32);
  } else if (strcmp(set, "columns") == 0) {
    struct choice choice = {"flycoo", "paper", POLYAD_F32, 32, false};
    time_choice(run, &choice, sweep, (int)(sizeof sweep / sizeof *sweep));
  } else if (strcmp(set, "field") == 0) {
    time_field(run, POLYAD_F32);
  } else if (strcmp(set, "field64") == 0) {
    time_field(run, POLYAD_F64);
  } else if (strcmp(set, "phi") == 0) {
    time_phi(run);
  } else if (strcmp(set, "als") == 0) {
    time_als(run);
  } else {
    fprintf(stderr, "gpu_bench: unknown set %s\n", set);
    exit(2);
  }
}

/* Reads or makes the tensor, in float. */
static void load(struct run *run) {
  polyad_tensor **tensor = &run->tensor[POLYAD_F32];
  if (strncmp(run->source, "like:", 5) == 0) {
    char name[64];
    polyad_generate_options options;
    polyad_generate_options_init(&options);
    const char *scale = strchr(run->source, '@');
    if (scale != NULL) options.scale = atof(scale + 1);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(run->source + 5, "@"), run->source + 5);
    options.like = name;
    if (run->flat) options.structure = POLYAD_STRUCTURE_FLAT;
    options.type = POLYAD_F32;
    must(run, polyad_generate(run->context, &options, tensor, NULL), "tensor");
  } else {
    polyad_read_options options;
    polyad_read_options_init(&options);
    options.type = POLYAD_F32;
    must(run, polyad_tensor_read(run->context, run->source, &options, tensor), "tensor");
  }
  run->order = polyad_tensor_order(*tensor);
  run->dims = polyad_tensor_dims(*tensor);
}

int main(int count, char **arguments) {
  struct run run = {.rank = 32, .runs = 10};
  if (count < 2) {
    fprintf(stderr, "usage: gpu_bench TENSOR [SET...] [rank=R] [runs=K] [partitions=K]; "
                    "see the source\n");
    return 2;
  }
  run.source = arguments[1];
  if (polyad_context_create(&run.context) != POLYAD_OK) return 1;
  const char *device = "cuda";
  for (int k = 2; k < count; ++k)
    if (strncmp(arguments[k], "device=", 7) == 0) device = arguments[k] + 7;
  must(&run, polyad_set_device(run.context, device), "device");
  must(&run, polyad_set_memory_limit(run.context, UINT64_MAX), "limit");
  must(&run, pd_device_of(run.context, &run.device), "device");
  for (int k = 2; k < count; ++k) {
    if (strncmp(arguments[k], "rank=", 5) == 0) run.rank = strtoull(arguments[k] + 5, NULL, 10);
    if (strncmp(arguments[k], "runs=", 5) == 0) run.runs = atoi(arguments[k] + 5);
    if (strcmp(arguments[k], "structure=flat") == 0) run.flat = true;
    if (strncmp(arguments[k], "partitions=", 11) == 0) run.partitions = atoi(arguments[k] + 11);
  }
  double begin = pd_seconds();
  load(&run);
  for (int k = 2; k < count; ++k) /* for other programs */
    if (strncmp(arguments[k], "write=", 6) == 0)
      must(&run,
           polyad_tensor_write(run.context, run.tensor[POLYAD_F32], arguments[k] + 6,
                               POLYAD_FILE_AUTO),
           "writing");
  must(&run, pd_traits_compute(run.context, run.tensor[POLYAD_F32], &run.traits), "traits");
  fprintf(stderr, "%s: %llu nonzeros in %.1f s\n", run.source, (unsigned long long)run.traits.nnz,
          pd_seconds() - begin);
  polyad_device_description about;
  memset(&about, 0, sizeof about);
  for (int k = 0; k < polyad_device_count(run.context); ++k) {
    must(&run, polyad_device_describe(run.context, k, &about), "device");
    if (strcmp(about.name, run.device->name) == 0) break;
  }
  printf("{\"file\": \"%s\", \"structure\": \"%s\", \"order\": %d, \"dims\": [", run.source,
         run.flat ? "flat" : "auto", run.order);
  for (int n = 0; n < run.order; ++n)
    printf("%s%llu", n > 0 ? ", " : "", (unsigned long long)run.dims[n]);
  printf("], \"nnz\": %llu, \"kernel\": \"mttkrp\", \"device\": \"%s\", \"device_name\": \"%s\", "
         "\"version\": \"%s\", \"results\": [",
         (unsigned long long)run.traits.nnz, about.name, about.description, polyad_version());
  for (int k = 2; k < count; ++k)
    if (strchr(arguments[k], '=') == NULL) run_set(&run, arguments[k]);
  printf("\n]}\n");
  polyad_tensor_destroy(run.tensor[0]);
  polyad_tensor_destroy(run.tensor[1]);
  polyad_context_destroy(run.context);
  return 0;
}
