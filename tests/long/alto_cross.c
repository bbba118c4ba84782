/* Format "alto" on another architecture: a program without libraries, so that a cross compiler and
 * qemu-user are enough. Round trips of keys in every order and number of bits, storages built and
 * expanded, MTTKRP and Phi of every variant (both editions) against loops over the nonzeros. */
#include "core/random.h"
#include "formats/alto/alto_build.h"
#include "formats/alto/alto_code.h"
#include "formats/tables.h"
#include "inputs.h"
#include <math.h>
#include <polyad/polyad.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const variants[] = {"fields-pull",   "keys-pull", "keys-atomic",
                                       "keys-adaptive", "coo-pull",  "coo-atomic"};
static const struct pd_device_functions memory = {.host_memory = true};
static const struct pd_device here = {.kind = "cpu", .name = "cpu", .functions = &memory};
enum { VARIANTS = sizeof variants / sizeof *variants, NONZEROS = 900 };

static void require(int holds, const char *what, const char *where) {
  if (holds) return;
  fprintf(stderr, "FAILED: %s (%s)\n", what, where);
  exit(1);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void key_round_trip(int order, int bits) {
  enum { COUNT = 64 };
  struct pd_alto alto = {.low_bytes = 8, .high_bytes = bits > 64 ? 8 : 0, .order = order};
  uint64_t dims[POLYAD_MAX_ORDER], low[COUNT] = {0}, high[COUNT] = {0}, back[COUNT];
  static uint64_t index[POLYAD_MAX_ORDER][COUNT];
  for (int n = 0; n < order; ++n) {
    int width = bits / order + (n < bits % order);
    dims[n] = width == 0 ? 1 : UINT64_C(1) << width;
  }
  require(pd_alto_interleave(order, dims, alto.mode) == bits, "number of bits", "keys");
  memcpy(alto.field, alto.mode, sizeof alto.field);
  alto.low = low;
  alto.high = high;
  const void *from[POLYAD_MAX_ORDER];
  int bytes[POLYAD_MAX_ORDER];
  for (int n = 0; n < order; ++n) {
    for (uint64_t p = 0; p < COUNT; ++p)
      index[n][p] = pd_random_u64((uint64_t)bits, (uint64_t)n, p) % dims[n];
    from[n] = index[n];
    bytes[n] = 8;
  }
  pd_alto_coder_current()->encode(order, alto.mode, from, bytes, COUNT, low,
                                  bits > 64 ? high : NULL);
  for (int n = 0; n < order; ++n) {
    pd_alto_coder_current()->decode(&alto, n, 0, COUNT, back);
    require(memcmp(back, index[n], sizeof back) == 0, "round trip of a key", "keys");
  }
}

/* ---- kernels --------------------------------------------------------------------------------- */

struct problem {
  int order;
  uint64_t dims[POLYAD_MAX_ORDER], index[POLYAD_MAX_ORDER][NONZEROS];
  double value[NONZEROS];
  uint64_t rank;
  struct pd_matrix factor[POLYAD_MAX_ORDER], out;
  double *exact;
};

static double at(const struct pd_matrix *matrix, uint64_t i, uint64_t r) {
  uint64_t k = i * matrix->stride + r;
  return matrix->type == POLYAD_F32 ? (double)((float *)matrix->data)[k]
                                    : ((double *)matrix->data)[k];
}

static struct pd_matrix new_matrix(polyad_type type, uint64_t rows, uint64_t rank, uint64_t seed) {
  struct pd_matrix matrix = {.type = type, .rows = rows, .columns = rank, .stride = rank};
  matrix.data = malloc(rows * rank * sizeof(double) + 1);
  require(matrix.data != NULL, "memory", "factors");
  for (uint64_t k = 0; k < rows * rank; ++k) {
    float x = (float)pd_random_uniform(3, seed, k) + 0.1F;
    if (type == POLYAD_F32)
      ((float *)matrix.data)[k] = x;
    else
      ((double *)matrix.data)[k] = (double)x;
  }
  return matrix;
}

static polyad_tensor *make_problem(polyad_context *context, struct problem *problem, int order,
                                   uint64_t rank, polyad_type type) {
  *problem = (struct problem){.order = order, .rank = rank};
  uint64_t longest = 1;
  for (int n = 0; n < order; ++n) {
    problem->dims[n] = n == 1 ? 1 : 3 + 37 * (uint64_t)(n % 3);
    if (problem->dims[n] > longest) longest = problem->dims[n];
    for (uint64_t p = 0; p < NONZEROS; ++p) /* distinct: p itself is spread over the modes */
      problem->index[n][p] = pd_random_u64(9, (uint64_t)n, p) % problem->dims[n];
    problem->factor[n] = new_matrix(type, problem->dims[n], rank, (uint64_t)n);
  }
  problem->out = new_matrix(type, longest, rank, 99);
  problem->exact = malloc(longest * rank * sizeof(double));
  for (uint64_t p = 0; p < NONZEROS; ++p)
    problem->value[p] = (double)(1 + p % 5);
  polyad_tensor_input input = input_of_columns(order, problem->dims, NONZEROS, POLYAD_U64,
                                               problem->index, NONZEROS, problem->value);
  input.type = type;
  polyad_tensor *tensor = NULL;
  require(polyad_tensor_create(context, &input, &tensor) == POLYAD_OK, "tensor", "create");
  /* Repeats are one nonzero: what the tensor has is what is summed below. */
  for (uint64_t p = 0; p < tensor->nnz; ++p) {
    problem->value[p] = pd_tensor_value(tensor, p);
    for (int n = 0; n < order; ++n)
      problem->index[n][p] = pd_tensor_index(tensor, n, p);
  }
  return tensor;
}

static void sum_exactly(struct problem *problem, uint64_t nnz, int mode, int phi) {
  memset(problem->exact, 0, problem->dims[mode] * problem->rank * sizeof(double));
  for (uint64_t p = 0; p < nnz; ++p) {
    double product[64], model = 0;
    uint64_t row = problem->index[mode][p];
    for (uint64_t r = 0; r < problem->rank; ++r) {
      product[r] = 1;
      for (int n = 0; n < problem->order; ++n)
        if (n != mode) product[r] *= at(&problem->factor[n], problem->index[n][p], r);
      model += product[r] * at(&problem->factor[mode], row, r);
    }
    for (uint64_t r = 0; r < problem->rank; ++r)
      problem->exact[row * problem->rank + r] += problem->value[p] * product[r] / (phi ? model : 1);
  }
}

static void run_mode(polyad_context *context, struct problem *problem, const void *storage,
                     void *scratch, uint64_t nnz, int mode, int what, const char *where) {
  const struct pd_matrix *factor[POLYAD_MAX_ORDER];
  const struct pd_walk *walk = pd_alto_kernels_cpu.walks[0];
  struct pd_matrix out = problem->out;
  out.rows = problem->dims[mode];
  for (int n = 0; n < problem->order; ++n)
    factor[n] = &problem->factor[n];
  polyad_status status = POLYAD_OK;
  const struct pd_call pi = {.op = PD_PI, .mode = mode, .factors = factor};
  const struct pd_call call = {
      .op = what == 0 ? PD_MTTKRP : PD_PHI(1e-10), .mode = mode, .factors = factor, .out = &out};
  if (what == 2) status = walk->run(context, storage, scratch, &pi);
  if (status == POLYAD_OK) status = walk->run(context, storage, scratch, &call);
  require(status == POLYAD_OK, polyad_last_error(context), where);
  sum_exactly(problem, nnz, mode, what > 0);
  double unit = out.type == POLYAD_F32 ? 0x1p-23 : 0x1p-52;
  double bound = unit * (2 * problem->order + (double)problem->rank + NONZEROS + 10);
  for (uint64_t i = 0; i < out.rows; ++i)
    for (uint64_t r = 0; r < problem->rank; ++r) {
      double exact = problem->exact[i * problem->rank + r];
      require(fabs(at(&out, i, r) - exact) <= bound * exact, "a sum is off", where);
    }
}

static void run_variant(polyad_context *context, struct problem *problem, polyad_tensor *tensor,
                        const char *variant) {
  struct pd_request request = {.variant = variant,
                               .rank = problem->rank,
                               .precision = tensor->type,
                               .threads = 3,
                               .device = &here};
  void *storage = NULL, *scratch = NULL;
  polyad_tensor *back = NULL;
  require(pd_storage_build(context, &pd_alto_format, tensor, false, &request, &storage) ==
              POLYAD_OK,
          polyad_last_error(context), variant);
  require(pd_alto_format.check(context, storage) == POLYAD_OK, polyad_last_error(context), variant);
  require(pd_storage_expand(context, &pd_alto_format, storage, tensor, &back) == POLYAD_OK,
          polyad_last_error(context), variant);
  require(back->nnz == tensor->nnz, "nonzeros are lost", variant);
  for (int n = 0; n < tensor->order; ++n)
    for (uint64_t p = 0; p < tensor->nnz; ++p)
      require(pd_tensor_index(back, n, p) == pd_tensor_index(tensor, n, p), "an index", variant);
  const struct pd_walk *walk = pd_alto_kernels_cpu.walks[0];
  require(pd_walk_open(context, walk, &here, storage, &problem->rank, &scratch) == POLYAD_OK,
          polyad_last_error(context), variant);
  for (int mode = 0; mode < problem->order; ++mode)
    for (int what = 0; what < 3; ++what) /* MTTKRP; Phi, Pi on the fly; Phi, Pi stored */
      run_mode(context, problem, storage, scratch, tensor->nnz, mode, what, variant);
  pd_walk_close(scratch);
  pd_storage_free(context, &pd_alto_format, storage);
  polyad_tensor_destroy(back);
}

int main(void) {
  for (int order = 1; order <= POLYAD_MAX_ORDER; ++order)
    for (int bits = 0; bits <= 128 && bits <= 63 * order; ++bits)
      key_round_trip(order, bits);
  polyad_context *context = NULL;
  static struct problem problem;
  require(polyad_context_create(&context) == POLYAD_OK, "context", "main");
  require(polyad_set_threads(context, 3) == POLYAD_OK, "threads", "main");
  int runs = 0;
  for (int order = 1; order <= 5; ++order)
    for (uint64_t rank = 1; rank <= 33; rank += 8)
      for (int type = POLYAD_F32; type <= POLYAD_F64; ++type) {
        polyad_tensor *tensor = make_problem(context, &problem, order, rank, (polyad_type)type);
        for (int v = 0; v < VARIANTS; ++v, ++runs)
          run_variant(context, &problem, tensor, variants[v]);
        polyad_tensor_destroy(tensor);
        for (int n = 0; n < order; ++n)
          free(problem.factor[n].data);
        free(problem.out.data);
        free(problem.exact);
      }
  polyad_context_destroy(context);
  printf("alto: %d storages, coded by %s: all sums within bounds\n", runs,
         pd_alto_coder_current()->name);
  return 0;
}
