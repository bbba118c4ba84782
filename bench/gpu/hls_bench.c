/* Times MTTKRP and the tensor-times-matrix chain of "hls" beside other formats on a GPU, compares
 * every result with double precision on the CPU, and prints one JSON object. Run by bench/h200.sh.
 *
 * usage: hls_bench TENSOR [rank=R] [chain=R] [runs=K] [only=LABEL,…] [thresholds] [device=D]
 *   rank: columns of MTTKRP's factors (32), chain: of the chain's (16); 0: leave the kernel out
 *   only: of what is timed, the labels listed here
 *   thresholds: every threshold from 8 to 160 as well (figure 7) */
#include "core/random.h"
#include "formats/hls/hls_layout.h"
#include "formats/storage.h"
#include "formats/tables.h"
#include "plan/plan.h"
#include <math.h>
#include <polyad/polyad.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARM_UP = 3, THREE = 3 };

struct run {
  polyad_context *context, *host;
  const struct pd_device *device, *cpu;
  const char *name, *only;
  polyad_tensor *tensor;
  uint64_t rank;
  bool chain;
  int runs, rows;
  double *exact[THREE]; /* of the kernel and mode at hand */
};

static void must(const struct run *run, polyad_status status, const char *what) {
  if (status == POLYAD_OK) return;
  fprintf(stderr, "hls_bench: %s: %s%s\n", what, polyad_last_error(run->context),
          polyad_last_error(run->host));
  exit(1);
}

/* What is timed. */
struct choice {
  const char *format, *variant, *label;
  polyad_compute compute;
  int threshold;
};

static double entry(int mode, uint64_t k) {
  return (double)(float)pd_random_uniform(17, (uint64_t)mode, k);
}

static void make_factors(const struct run *run, polyad_context *context,
                         const struct pd_device *device, polyad_type type,
                         struct pd_matrix *factor) {
  for (int n = 0; n < THREE; ++n) {
    uint64_t count = run->tensor->dims[n] * run->rank;
    void *data = malloc(count * pd_type_bytes(type));
    if (data == NULL) exit(1);
    for (uint64_t k = 0; k < count; ++k)
      if (type == POLYAD_F32)
        ((float *)data)[k] = (float)entry(n, k);
      else
        ((double *)data)[k] = entry(n, k);
    must(run, pd_matrix_create(context, device, type, run->tensor->dims[n], run->rank, &factor[n]),
         "factor");
    must(run, pd_matrix_from_host(context, &factor[n], data), "factor");
    free(data);
  }
}

static uint64_t columns_of(const struct run *run) {
  return run->chain ? run->rank * run->rank : run->rank;
}

static struct pd_op op_of(const struct run *run) { return run->chain ? PD_TTMC : PD_MTTKRP; }

static const struct pd_walk *walk_of(const struct run *run, const struct polyad_kernels *kernels) {
  const struct pd_op op = op_of(run);
  return pd_walk_of(kernels, pd_op_bit(&op));
}

static polyad_status make_scratch(const struct run *run, polyad_context *context,
                                  const struct pd_walk *walk, const struct pd_device *device,
                                  const void *storage, void **scratch) {
  uint64_t ranks[POLYAD_MAX_ORDER];
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    ranks[n] = run->rank;
  return pd_walk_open(context, walk, device, storage, ranks, scratch);
}

/* Every mode in double precision, by the CPU's kernels on a storage that rounds nothing. */
static void compute_exact(struct run *run) {
  struct pd_request request = {.variant = "auto",
                               .rank = run->rank,
                               .precision = POLYAD_F64,
                               .threads = polyad_threads(run->host),
                               .device = run->cpu};
  struct pd_matrix factor[THREE];
  const struct pd_matrix *list[THREE];
  polyad_tensor *wide = NULL;
  void *storage = NULL, *scratch = NULL;
  const struct pd_walk *walk = walk_of(run, &pd_hls_kernels_cpu);
  must(run, polyad_tensor_convert(run->host, run->tensor, POLYAD_F64, &wide), "conversion");
  must(run, pd_storage_build(run->host, &pd_hls_format, wide, false, &request, &storage), "build");
  make_factors(run, run->host, run->cpu, POLYAD_F64, factor);
  must(run, make_scratch(run, run->host, walk, run->cpu, storage, &scratch), "workspace");
  for (int n = 0; n < THREE; ++n)
    list[n] = &factor[n];
  for (int n = 0; n < THREE; ++n) {
    struct pd_matrix out;
    uint64_t rows = run->tensor->dims[n], count = rows * columns_of(run);
    must(run, pd_matrix_create(run->host, run->cpu, POLYAD_F64, rows, columns_of(run), &out),
         "output");
    const struct pd_call call = {.op = op_of(run), .mode = n, .factors = list, .out = &out};
    must(run, walk->run(run->host, storage, scratch, &call), "kernel");
    free(run->exact[n]);
    run->exact[n] = malloc(count * sizeof(double));
    if (run->exact[n] == NULL) exit(1);
    memcpy(run->exact[n], out.data, count * sizeof(double));
    pd_matrix_destroy(run->host, &out);
  }
  for (int n = 0; n < THREE; ++n)
    pd_matrix_destroy(run->host, &factor[n]);
  pd_walk_close(scratch);
  pd_storage_free(run->host, &pd_hls_format, storage);
  polyad_tensor_destroy(wide);
}

/* Equation 17 in percent, and the relative error in the Frobenius norm. */
static void errors_of(const struct run *run, int mode, const struct pd_matrix *out, double *smape,
                      double *relative) {
  uint64_t count = out->rows * out->columns;
  float *found = malloc(count * sizeof *found);
  double sum = 0, difference = 0, square = 0;
  if (found == NULL) exit(1);
  must(run, pd_matrix_to_host(run->context, out, found), "result");
  for (uint64_t k = 0; k < count; ++k) {
    double x = run->exact[mode][k], y = (double)found[k], size = fabs(x) + fabs(y);
    if (size > 0) sum += fabs(x - y) / size;
    difference += (x - y) * (x - y);
    square += x * x;
  }
  *smape = 100 * sum / (double)count;
  *relative = sqrt(difference / square);
  free(found);
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

struct times {
  double median[THREE], least[THREE], most[THREE], smape[THREE], relative[THREE], all;
};

static void time_modes(struct run *run, const struct polyad_kernels *kernels, const void *on_device,
                       struct times *times) {
  struct pd_matrix factor[THREE], out[THREE];
  const struct pd_matrix *list[THREE];
  const struct pd_device_functions *functions = run->device->functions;
  const struct pd_walk *walk = walk_of(run, kernels);
  double *seconds = calloc((size_t)(THREE * run->runs), sizeof *seconds);
  void *scratch = NULL;
  if (seconds == NULL) exit(1);
  make_factors(run, run->context, run->device, POLYAD_F32, factor);
  for (int n = 0; n < THREE; ++n) {
    list[n] = &factor[n];
    must(run,
         pd_matrix_create(run->context, run->device, POLYAD_F32, run->tensor->dims[n],
                          columns_of(run), &out[n]),
         "output");
  }
  must(run, make_scratch(run, run->context, walk, run->device, on_device, &scratch), "workspace");
  for (int round = 0; round < WARM_UP + run->runs; ++round)
    for (int n = 0; n < THREE; ++n) {
      double once = pd_seconds();
      if (functions->timer_start != NULL)
        must(run, functions->timer_start(run->context, run->device), "timer");
      const struct pd_call call = {.op = op_of(run), .mode = n, .factors = list, .out = &out[n]};
      must(run, walk->run(run->context, on_device, scratch, &call), "kernel");
      if (functions->timer_stop != NULL)
        must(run, functions->timer_stop(run->context, run->device, &once), "timer");
      else
        once = pd_seconds() - once;
      if (round >= WARM_UP) seconds[n * run->runs + round - WARM_UP] = once;
    }
  times->all = 0;
  for (int n = 0; n < THREE; ++n) {
    double *of_mode = seconds + n * run->runs;
    qsort(of_mode, (size_t)run->runs, sizeof *of_mode, by_value);
    times->median[n] = of_mode[run->runs / 2];
    times->least[n] = of_mode[0];
    times->most[n] = of_mode[run->runs - 1];
    times->all += times->median[n];
    errors_of(run, n, &out[n], &times->smape[n], &times->relative[n]);
    pd_matrix_destroy(run->context, &out[n]);
    pd_matrix_destroy(run->context, &factor[n]);
  }
  pd_walk_close(scratch);
  free(seconds);
}

static void print_rows(struct run *run, const struct choice *choice, const struct times *times,
                       double build, uint64_t bytes, double formula, const char *about) {
  static const char *const computes[] = {"native", "f16", "bf16", "tf32"};
  for (int n = 0; n < THREE; ++n)
    printf("%s\n {\"kernel\": \"%s\", \"label\": \"%s\", \"format\": \"%s\", \"variant\": \"%s\", "
           "\"compute\": \"%s\", \"threshold\": %d, \"rank\": %llu, \"mode\": %d, "
           "\"median_seconds\": %.9g, \"min_seconds\": %.9g, \"max_seconds\": %.9g, \"runs\": %d, "
           "\"smape_percent\": %.6g, \"relative_error\": %.6g, \"build_seconds\": %.4g, "
           "\"bytes_format\": %llu, \"bytes_equation_16\": %.0f, \"about\": \"%s\"}",
           run->rows++ > 0 ? "," : "", run->chain ? "ttmc" : "mttkrp", choice->label,
           choice->format, choice->variant, computes[choice->compute], choice->threshold,
           (unsigned long long)run->rank, n + 1, times->median[n], times->least[n], times->most[n],
           run->runs, times->smape[n], times->relative[n], build, (unsigned long long)bytes,
           formula, about);
  fprintf(stderr,
          "%-7s %-6s R=%-3llu %-20s %-6s T=%-4d %9.3f us (%.1f %.1f %.1f) smape %.4f%% rel %.1e "
          "%.2f MB\n",
          run->name, run->chain ? "ttmc" : "mttkrp", (unsigned long long)run->rank, choice->label,
          computes[choice->compute], choice->threshold, 1e6 * times->all, 1e6 * times->median[0],
          1e6 * times->median[1], 1e6 * times->median[2],
          fmax(times->smape[0], fmax(times->smape[1], times->smape[2])),
          fmax(times->relative[0], fmax(times->relative[1], times->relative[2])),
          1e-6 * (double)bytes);
  fflush(stdout);
}

/* Whether a label is in the list of those asked for. */
static bool is_asked(const char *only, const char *label) {
  size_t length = strlen(label);
  for (const char *at = only; at != NULL; at = strchr(at, ',')) {
    at += *at == ',';
    if (strncmp(at, label, length) == 0 && (at[length] == ',' || at[length] == '\0')) return true;
  }
  return only == NULL;
}

static void time_choice(struct run *run, const struct choice *choice) {
  if (!is_asked(run->only, choice->label)) return;
  const struct polyad_format *format = pd_format_find(choice->format);
  const struct polyad_kernels *kernels = pd_kernels_find(choice->format, run->device->kind);
  struct pd_request request = {.variant = choice->variant,
                               .rank = run->rank,
                               .precision = POLYAD_F32,
                               .threads = polyad_threads(run->context),
                               .device = run->device,
                               .compute = choice->compute,
                               .parameter = {[PD_HLS_TILE_THRESHOLD] = choice->threshold}};
  if (format == NULL || kernels == NULL || walk_of(run, kernels) == NULL) {
    fprintf(stderr, "%-7s %-6s %s: not in this build\n", run->name, run->chain ? "ttmc" : "mttkrp",
            choice->label);
    return;
  }
  void *storage = NULL, *on_device = NULL;
  char about[PD_REASON_BYTES];
  struct times times;
  double begin = pd_seconds();
  must(run, pd_storage_build(run->context, format, run->tensor, false, &request, &storage),
       "build");
  double build = pd_seconds() - begin;
  format->describe(storage, 1, about);
  if (!run->device->functions->host_memory)
    must(run, pd_storage_put(run->context, format, run->device, storage, &on_device), "put");
  else
    on_device = storage;
  time_modes(run, kernels, on_device, &times);
  print_rows(run, choice, &times, build, pd_storage_bytes(format, storage),
             strcmp(choice->format, "hls") == 0 ? pd_hls_formula_bytes(storage) : 0, about);
  if (on_device != storage) pd_storage_release(run->context, format, run->device, on_device);
  pd_storage_free(run->context, format, storage);
}

static void time_kernel(struct run *run, bool chain, uint64_t rank, bool thresholds) {
  int paper = chain ? PD_HLS_THRESHOLD_TTMC : PD_HLS_THRESHOLD_MTTKRP;
  const struct choice choices[] = {
      {"hls", "auto", "hls", POLYAD_COMPUTE_F16, paper},
      {"hls", "sequential", "hls-sequential", POLYAD_COMPUTE_F16, paper},
      {"hls", "auto", "hls-s", POLYAD_COMPUTE_F16, PD_HLS_ALL_SPARSE},
      {"hls", "auto", "hls-d", POLYAD_COMPUTE_F16, 1},
      {"hls", "auto", "hls", POLYAD_COMPUTE_BF16, paper},
      {"hls", "auto", "hls", POLYAD_COMPUTE_TF32, paper},
      {"hls", "auto", "hls-t40", POLYAD_COMPUTE_F16, 40},
      {"hls", "auto", "hls-t20", POLYAD_COMPUTE_F16, 20},
      {"hls", "paper", "paper", POLYAD_COMPUTE_F16, paper},
      {"hls", "paper-sequential", "paper-sequential", POLYAD_COMPUTE_F16, paper},
      {"hls", "paper", "paper-hls-s", POLYAD_COMPUTE_F16, PD_HLS_ALL_SPARSE},
      {"hls", "paper", "paper-hls-d", POLYAD_COMPUTE_F16, 1},
      {"hls", "auto", "hls-s-native", POLYAD_COMPUTE_NATIVE, PD_HLS_ALL_SPARSE},
      {"coo", "paper", "coo-atomic", POLYAD_COMPUTE_NATIVE, 0},
      {"modecopy", "auto", "modecopy", POLYAD_COMPUTE_NATIVE, 0},
      {"hicoo", "auto", "hicoo", POLYAD_COMPUTE_NATIVE, 0},
      {"mmcsf", "auto", "mmcsf", POLYAD_COMPUTE_NATIVE, 0},
  };
  run->chain = chain;
  run->rank = rank;
  if (rank == 0) return;
  compute_exact(run);
  if (!chain) {
    const struct choice diagonal = {"hls", "diagonal", "hls-diagonal", POLYAD_COMPUTE_F16, paper};
    time_choice(run, &diagonal);
  }
  for (size_t k = 0; k < sizeof choices / sizeof *choices; ++k)
    time_choice(run, &choices[k]);
  for (int threshold = 8; thresholds && threshold <= 160; threshold += 8) {
    const struct choice one = {"hls", "auto", "hls-threshold", POLYAD_COMPUTE_F16, threshold};
    time_choice(run, &one);
  }
}

int main(int count, char **arguments) {
  struct run run = {.runs = 20};
  uint64_t rank = 32, chain = 16;
  bool thresholds = false;
  const char *device = "cuda";
  polyad_generate_options options;
  if (count < 2) {
    fprintf(stderr, "usage: hls_bench TENSOR [rank=R] [chain=R] [runs=K] [only=LABEL,…] "
                    "[thresholds] [device=D]; "
                    "see the source\n");
    return 2;
  }
  for (int k = 2; k < count; ++k) {
    if (strncmp(arguments[k], "rank=", 5) == 0) rank = strtoull(arguments[k] + 5, NULL, 10);
    if (strncmp(arguments[k], "chain=", 6) == 0) chain = strtoull(arguments[k] + 6, NULL, 10);
    if (strncmp(arguments[k], "runs=", 5) == 0) run.runs = atoi(arguments[k] + 5);
    if (strncmp(arguments[k], "only=", 5) == 0) run.only = arguments[k] + 5;
    if (strncmp(arguments[k], "device=", 7) == 0) device = arguments[k] + 7;
    if (strcmp(arguments[k], "thresholds") == 0) thresholds = true;
  }
  run.name = arguments[1];
  if (polyad_context_create(&run.context) != POLYAD_OK ||
      polyad_context_create(&run.host) != POLYAD_OK)
    return 1;
  must(&run, polyad_set_device(run.context, device), "device");
  must(&run, polyad_set_device(run.host, "cpu"), "device");
  must(&run, polyad_set_memory_limit(run.context, UINT64_MAX), "limit");
  must(&run, pd_device_of(run.context, &run.device), "device");
  must(&run, pd_device_of(run.host, &run.cpu), "device");
  polyad_generate_options_init(&options);
  options.like = run.name;
  options.type = POLYAD_F32;
  must(&run, polyad_generate(run.host, &options, &run.tensor, NULL), "tensor");
  if (polyad_tensor_order(run.tensor) != THREE) return 2;
  printf("{\"file\": \"like:%s\", \"dims\": [%llu, %llu, %llu], \"nnz\": %llu, \"device\": \"%s\", "
         "\"version\": \"%s\", \"results\": [",
         run.name, (unsigned long long)run.tensor->dims[0], (unsigned long long)run.tensor->dims[1],
         (unsigned long long)run.tensor->dims[2], (unsigned long long)run.tensor->nnz,
         run.device->name, polyad_version());
  time_kernel(&run, false, rank, thresholds);
  time_kernel(&run, true, chain, thresholds);
  printf("\n]}\n");
  for (int n = 0; n < THREE; ++n)
    free(run.exact[n]);
  polyad_tensor_destroy(run.tensor);
  polyad_context_destroy(run.host);
  polyad_context_destroy(run.context);
  return 0;
}
