/* Times MTTKRP in every mode of a tensor: mttkrp_bench FILE [options]; see usage(). */
#include <getopt.h>
#include <polyad/polyad.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static void die(const char *what) {
  fprintf(stderr, "mttkrp_bench: %s\n", what);
  exit(1);
}

static clockid_t which_clock = CLOCK_MONOTONIC;

static double now(void) {
  struct timespec t;
  clock_gettime(which_clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *allocate(size_t bytes) {
  void *p = NULL;
  if (posix_memalign(&p, 2 << 20, bytes + 64) != 0) die("no memory");
  madvise(p, bytes, MADV_HUGEPAGE);
  return p;
}

/* Reads the binary that tgen writes: "TGEN" order nnz dims, indices by mode, float values. */
static polyad_tensor *read_tgen(polyad_context *context, FILE *file, polyad_type type) {
  uint32_t order, dim;
  uint64_t nnz, dims[POLYAD_MAX_ORDER];
  polyad_tensor_input input;
  polyad_tensor_input_init(&input);
  if (fread(&order, 4, 1, file) != 1 || order > POLYAD_MAX_ORDER || fread(&nnz, 8, 1, file) != 1)
    die("bad header");
  for (uint32_t n = 0; n < order; ++n) {
    if (fread(&dim, 4, 1, file) != 1) die("bad header");
    dims[n] = dim;
  }
  input.order = (int)order;
  input.dims = dims;
  input.nnz = nnz;
  input.index_type = POLYAD_U32;
  for (uint32_t n = 0; n <= order; ++n) {
    void *array = allocate(4 * nnz);
    if (fread(array, 4, nnz, file) != nnz) die("file too short");
    if (n < order) {
      input.index[n] = array;
      input.index_stride[n] = 4;
    } else {
      input.values = array;
    }
  }
  input.value_type = POLYAD_F32;
  input.value_stride = 4;
  input.type = type;
  polyad_tensor *tensor;
  if (polyad_tensor_create(context, &input, &tensor) != POLYAD_OK) die(polyad_last_error(context));
  for (uint32_t n = 0; n < order; ++n)
    free((void *)input.index[n]);
  free((void *)input.values);
  return tensor;
}

static polyad_tensor *read_tensor(polyad_context *context, const char *path, polyad_type type) {
  char magic[4];
  FILE *file = fopen(path, "rb");
  if (file == NULL || fread(magic, 1, 4, file) != 4) die("cannot read the file");
  if (memcmp(magic, "TGEN", 4) != 0) die("no TGEN file");
  polyad_tensor *tensor = read_tgen(context, file, type);
  fclose(file);
  return tensor;
}

static void *random_factor(uint64_t count, polyad_type type, uint64_t seed) {
  void *factor = allocate(count * (type == POLYAD_F32 ? 4 : 8));
  for (uint64_t k = 0; k < count; ++k) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    double x = (double)(seed >> 40) / (double)(1 << 24) + 0.5;
    if (type == POLYAD_F32)
      ((float *)factor)[k] = (float)x;
    else
      ((double *)factor)[k] = x;
  }
  return factor;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *x, int count) {
  qsort(x, (size_t)count, sizeof *x, by_size);
  return x[count / 2];
}

enum { RUNS_MAX = 1000 };

static void bench(polyad_context *context, const polyad_plan *plan, uint64_t rank, int runs) {
  int order = polyad_plan_order(plan);
  const uint64_t *dims = polyad_plan_dims(plan);
  void *factor[POLYAD_MAX_ORDER], *out[POLYAD_MAX_ORDER];
  static double seconds[POLYAD_MAX_ORDER][RUNS_MAX], total[RUNS_MAX];
  polyad_workspace *workspace;
  if (polyad_workspace_create(context, plan, rank, &workspace)) die(polyad_last_error(context));
  uint64_t longest = 0;
  for (int n = 0; n < order; ++n) {
    factor[n] = random_factor(dims[n] * rank, polyad_plan_type(plan), (uint64_t)n + 1);
    longest = dims[n] > longest ? dims[n] : longest;
  }
  for (int n = 0; n < order; ++n)
    out[n] = n == 0 ? allocate(longest * rank * 8) : out[0];
  for (int run = -1; run < runs; ++run)
    for (int n = 0; n < order; ++n) {
      double start = now();
      if (polyad_mttkrp(context, plan, workspace, n, (const void *const *)factor, out[n]))
        die(polyad_last_error(context));
      double took = now() - start;
      if (run < 0) continue;
      seconds[n][run] = took;
      total[run] = (n == 0 ? 0 : total[run]) + took;
    }
  double middle = median(total, runs); /* sorts */
  printf("rank %llu %s: %.4f s (min %.4f), modes", (unsigned long long)rank,
         polyad_plan_type(plan) == POLYAD_F32 ? "f32" : "f64", middle, total[0]);
  for (int n = 0; n < order; ++n)
    printf(" %.4f", median(seconds[n], runs));
  printf("\n");
  polyad_workspace_destroy(workspace);
  for (int n = 0; n < order; ++n)
    free(factor[n]);
  free(out[0]);
}

static void usage(void) {
  die("usage: mttkrp_bench FILE [-r RANK] [-f FORMAT] [-V VARIANT] [-t THREADS] [-n RUNS] [-s] "
      "[-c]\n"
      "-s: single precision; -c: processor time instead of wall-clock time");
}

int main(int argc, char **argv) {
  polyad_context *context;
  polyad_plan_options options;
  polyad_plan_options_init(&options);
  int threads = 2, runs = 5, letter;
  while ((letter = getopt(argc, argv, "r:f:V:t:n:sc")) != -1)
    switch (letter) {
    case 'r':
      options.rank = strtoull(optarg, NULL, 10);
      break;
    case 'f':
      options.format = optarg;
      break;
    case 'V':
      options.variant = optarg;
      break;
    case 't':
      threads = atoi(optarg);
      break;
    case 'n':
      runs = atoi(optarg);
      break;
    case 'c':
      which_clock = CLOCK_PROCESS_CPUTIME_ID;
      break;
    case 's':
      options.precision = POLYAD_F32;
      break;
    default:
      usage();
    }
  if (optind >= argc || runs < 1 || runs > RUNS_MAX) usage();
  if (polyad_context_create(&context)) die("no context");
  if (polyad_set_threads(context, threads)) die(polyad_last_error(context));
  polyad_tensor *tensor = read_tensor(context, argv[optind], options.precision);
  polyad_plan *plan;
  double start = now();
  if (polyad_plan_create_take(context, &tensor, &options, &plan)) die(polyad_last_error(context));
  printf("build %.2f s, %s, %.1f MB, peak %.1f MB: ", now() - start, polyad_plan_variant(plan),
         1e-6 * (double)polyad_plan_bytes(plan), 1e-6 * (double)polyad_memory_peak(context));
  bench(context, plan, options.rank, runs);
  polyad_plan_destroy(plan);
  polyad_context_destroy(context);
  return 0;
}
