/* Leading left singular vectors on a GPU, by cuBLAS and cuSOLVER, in float64. A row-major matrix
 * with n rows of l numbers is, to these libraries, a column-major one of l x n: products below are
 * written so. Matrices of floats are converted in pieces. Nothing waits but sum_of_squares(). */
#include "device/cuda/cuda_dense_library.h"
#include "device/cuda/cuda_svd_launch.h"
#include "linalg/svd.h"

enum { PIECE_NUMBERS = 1 << 21, SIDE_MOST = 30000 };

struct pd_svd_work {
  const struct pd_device *device;
  const struct pd_cuda_dense *library;
  cublasHandle_t blas;
  cusolverDnHandle_t solver;
  enum pd_svd_method method;
  double *gram, *values, *scratch; /* Gram matrix, eigenvalues, cuSOLVER's memory */
  int scratch_numbers;
  double *basis[2]; /* vectors x rows of the largest size */
  double *image[2]; /* the same for columns; randomized only */
  double *piece;    /* of a matrix of floats, as doubles; NULL when all are doubles */
  double *core;     /* count x columns */
  double *sums;     /* parts and result of a sum */
  int *info;        /* of the last call, and whether any failed */
  uint64_t seed;
};

/* What the sizes need at most, in numbers. */
struct needs {
  uint64_t side, basis, image, core, piece;
};

static uint64_t more(uint64_t a, uint64_t b) { return a > b ? a : b; }

static struct needs cuda_svd_needs_of(int sizes, const struct pd_svd_size *size,
                                      enum pd_svd_method method) {
  struct needs needs = {1, 1, 1, 1, 1};
  for (int k = 0; k < sizes; ++k) {
    uint64_t count = pd_svd_vectors(&size[k], method);
    uint64_t least = size[k].rows < size[k].columns ? size[k].rows : size[k].columns;
    count = more(count, size[k].count); /* project() takes as many */
    needs.side = more(needs.side, method == PD_SVD_EXACT ? more(least, count) : count);
    needs.basis = more(needs.basis, pd_mul_saturated(size[k].rows, count));
    needs.image = more(needs.image, pd_mul_saturated(size[k].columns, count));
    needs.core = needs.image;
    needs.piece = more(needs.piece, more(PIECE_NUMBERS, more(size[k].rows, size[k].columns)));
  }
  if (method == PD_SVD_EXACT) needs.image = 1;
  return needs;
}

static uint64_t cuda_svd_bytes(int sizes, const struct pd_svd_size *size, enum pd_svd_method method,
                               int threads) {
  (void)threads;
  struct needs needs = cuda_svd_needs_of(sizes, size, method);
  uint64_t square = pd_mul_saturated(needs.side, needs.side);
  uint64_t numbers = pd_mul_saturated(5, square); /* cuSOLVER's share is about four of them */
  numbers = pd_add_saturated(numbers, pd_mul_saturated(2, needs.basis));
  numbers = pd_add_saturated(numbers, pd_mul_saturated(2, needs.image));
  numbers = pd_add_saturated(numbers, pd_add_saturated(needs.core, needs.piece));
  return pd_mul_saturated(numbers, sizeof(double));
}

#define TRY_BLAS(call)                                                                             \
  do {                                                                                             \
    cublasStatus_t blas_status_ = (call);                                                          \
    if (blas_status_ != CUBLAS_STATUS_SUCCESS)                                                     \
      return pd_cuda_services->fail(context, POLYAD_INTERNAL, "cuBLAS fails with status %d",       \
                                    (int)blas_status_);                                            \
  } while (0)
#define TRY_SOLVER(call)                                                                           \
  do {                                                                                             \
    cusolverStatus_t solver_status_ = (call);                                                      \
    if (solver_status_ != CUSOLVER_STATUS_SUCCESS)                                                 \
      return pd_cuda_services->fail(context, POLYAD_INTERNAL, "cuSOLVER fails with status %d",     \
                                    (int)solver_status_);                                          \
  } while (0)

static void cuda_svd_destroy(polyad_context *context, struct pd_svd_work *work) {
  if (work == NULL) return;
  const struct pd_device *device = work->device;
  if (work->blas != NULL) (void)work->library->destroy(work->blas);
  if (work->solver != NULL) (void)work->library->solver_destroy(work->solver);
  pd_cuda_release(context, device, work->gram);
  pd_cuda_release(context, device, work->values);
  pd_cuda_release(context, device, work->scratch);
  for (int k = 0; k < 2; ++k) {
    pd_cuda_release(context, device, work->basis[k]);
    pd_cuda_release(context, device, work->image[k]);
  }
  pd_cuda_release(context, device, work->piece);
  pd_cuda_release(context, device, work->core);
  pd_cuda_release(context, device, work->sums);
  pd_cuda_release(context, device, work->info);
  pd_cuda_services->free(context, work);
}

static polyad_status open_libraries(polyad_context *context, struct pd_svd_work *work) {
  cudaStream_t stream = pd_cuda_stream(pd_cuda_state_of(work->device));
  PD_TRY(pd_cuda_dense_load(context, &work->library));
  TRY_BLAS(work->library->create(&work->blas));
  TRY_BLAS(work->library->set_stream(work->blas, stream));
  TRY_SOLVER(work->library->solver_create(&work->solver));
  TRY_SOLVER(work->library->solver_set_stream(work->solver, stream));
  return POLYAD_OK;
}

static polyad_status new_numbers(polyad_context *context, struct pd_svd_work *work, uint64_t count,
                                 double **out) {
  return pd_cuda_allocate(context, work->device, count, sizeof(double), (void **)out);
}

/* cuSOLVER's memory for matrices of n rows. */
static polyad_status need_scratch(polyad_context *context, struct pd_svd_work *work, int n) {
  int eigen = 0, cholesky = 0;
  TRY_SOLVER(work->library->eigen_size(work->solver, CUSOLVER_EIG_MODE_VECTOR,
                                       CUBLAS_FILL_MODE_LOWER, n, work->gram, n, work->values,
                                       &eigen));
  TRY_SOLVER(work->library->cholesky_size(work->solver, CUBLAS_FILL_MODE_LOWER, n, work->gram, n,
                                          &cholesky));
  if (eigen > work->scratch_numbers) work->scratch_numbers = eigen;
  if (cholesky > work->scratch_numbers) work->scratch_numbers = cholesky;
  return POLYAD_OK;
}

static polyad_status cuda_svd_allocate(polyad_context *context, struct pd_svd_work *work, int sizes,
                                       const struct pd_svd_size *size, const struct needs *needs) {
  PD_TRY(new_numbers(context, work, needs->side * needs->side, &work->gram));
  PD_TRY(new_numbers(context, work, needs->side, &work->values));
  PD_TRY(need_scratch(context, work, (int)needs->side));
  for (int k = 0; k < sizes; ++k) {
    uint64_t least = size[k].rows < size[k].columns ? size[k].rows : size[k].columns;
    if (work->method == PD_SVD_EXACT) PD_TRY(need_scratch(context, work, (int)least));
    PD_TRY(need_scratch(context, work, (int)pd_svd_vectors(&size[k], work->method)));
    PD_TRY(need_scratch(context, work, (int)size[k].count));
  }
  PD_TRY(new_numbers(context, work, (uint64_t)work->scratch_numbers + 1, &work->scratch));
  for (int k = 0; k < 2; ++k) {
    PD_TRY(new_numbers(context, work, needs->basis, &work->basis[k]));
    PD_TRY(new_numbers(context, work, needs->image, &work->image[k]));
  }
  PD_TRY(new_numbers(context, work, needs->piece, &work->piece));
  PD_TRY(new_numbers(context, work, needs->core, &work->core));
  PD_TRY(new_numbers(context, work, PD_GPU_SQUARE_PARTS + 1, &work->sums));
  PD_TRY(pd_cuda_allocate(context, work->device, 2, sizeof(int), (void **)&work->info));
  return PD_CUDA(context, pd_cuda_state_of(work->device),
                 cudaMemsetAsync(work->info, 0, 2 * sizeof(int),
                                 pd_cuda_stream(pd_cuda_state_of(work->device))));
}

static polyad_status cuda_svd_create(polyad_context *context, const struct pd_device *device,
                                     int sizes, const struct pd_svd_size *size,
                                     enum pd_svd_method method, struct pd_svd_work **result) {
  struct needs needs = cuda_svd_needs_of(sizes, size, method);
  struct pd_svd_work *work = NULL;
  *result = NULL;
  for (int k = 0; k < sizes; ++k)
    if (size[k].rows > INT32_MAX || size[k].columns > INT32_MAX)
      return pd_cuda_services->fail(
          context, POLYAD_UNSUPPORTED, "a matrix of %llu x %llu found; cuBLAS takes up to 2^31",
          (unsigned long long)size[k].rows, (unsigned long long)size[k].columns);
  if (needs.side > SIDE_MOST)
    return pd_cuda_services->fail(
        context, POLYAD_UNSUPPORTED,
        "a Gram matrix of %llu rows found; cuSOLVER takes up to %d here; use the randomized way",
        (unsigned long long)needs.side, SIDE_MOST);
  PD_TRY(pd_cuda_enter(context, pd_cuda_state_of(device)));
  PD_TRY(pd_cuda_services->alloc(context, 1, sizeof *work, (void **)&work));
  *work = (struct pd_svd_work){.device = device, .method = method};
  polyad_status status = open_libraries(context, work);
  if (status == POLYAD_OK) status = cuda_svd_allocate(context, work, sizes, size, &needs);
  if (status == POLYAD_OK)
    *result = work;
  else
    cuda_svd_destroy(context, work);
  return status;
}

/* ---- products ---------------------------------------------------------------------------------
 */

static const double one = 1, zero = 0;

static polyad_status cuda_svd_convert(polyad_context *context, struct pd_svd_work *work,
                                      uint64_t rows, uint64_t columns, const void *from,
                                      bool from_wide, uint64_t from_stride, void *to, bool to_wide,
                                      uint64_t to_stride) {
  struct pd_cuda_state *state = pd_cuda_state_of(work->device);
  return PD_CUDA(context, state,
                 pd_gpu_convert(rows, columns, from, from_wide, from_stride, to, to_wide, to_stride,
                                pd_cuda_stream(state)));
}

/* Rows [first, first + *count) of y as doubles: in place, or as many as a piece holds. */
static polyad_status cuda_svd_take_rows(polyad_context *context, struct pd_svd_work *work,
                                        const struct pd_matrix *y, uint64_t first, uint64_t *count,
                                        const double **rows) {
  if (y->type == POLYAD_F64) {
    *count = y->rows - first;
    *rows = (const double *)y->data + first * y->columns;
    return POLYAD_OK;
  }
  uint64_t most = PIECE_NUMBERS / y->columns;
  if (most < 1) most = 1;
  *count = y->rows - first < most ? y->rows - first : most;
  *rows = work->piece;
  return cuda_svd_convert(context, work, *count, y->columns,
                          (const float *)y->data + first * y->columns, false, y->columns,
                          work->piece, true, y->columns);
}

/* gram = Y^T Y, lower triangle. */
static polyad_status gram_columns(polyad_context *context, struct pd_svd_work *work,
                                  const struct pd_matrix *y) {
  int n = (int)y->columns;
  uint64_t count;
  for (uint64_t first = 0; first < y->rows; first += count) {
    const double *rows;
    PD_TRY(cuda_svd_take_rows(context, work, y, first, &count, &rows));
    TRY_BLAS(work->library->syrk(work->blas, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, n, (int)count,
                                 &one, rows, n, first == 0 ? &zero : &one, work->gram, n));
  }
  return POLYAD_OK;
}

/* gram = Y Y^T. Floats are converted some columns at a time. */
static polyad_status gram_rows(polyad_context *context, struct pd_svd_work *work,
                               const struct pd_matrix *y) {
  int n = (int)y->rows;
  if (y->type == POLYAD_F64) {
    TRY_BLAS(work->library->syrk(work->blas, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T, n,
                                 (int)y->columns, &one, y->data, (int)y->columns, &zero, work->gram,
                                 n));
    return POLYAD_OK;
  }
  uint64_t most = PIECE_NUMBERS / y->rows, count;
  if (most < 1) most = 1;
  for (uint64_t first = 0; first < y->columns; first += count) {
    count = y->columns - first < most ? y->columns - first : most;
    PD_TRY(cuda_svd_convert(context, work, y->rows, count, (const float *)y->data + first, false,
                            y->columns, work->piece, true, count));
    TRY_BLAS(work->library->syrk(work->blas, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T, n, (int)count,
                                 &one, work->piece, (int)count, first == 0 ? &zero : &one,
                                 work->gram, n));
  }
  return POLYAD_OK;
}

/* basis (rows of `count` numbers) = Y b; b's vectors are columns of y->columns numbers, or with
 * `rows` it has rows of `count` numbers. */
static polyad_status times(polyad_context *context, struct pd_svd_work *work,
                           const struct pd_matrix *y, const double *b, bool rows, int count,
                           double *basis) {
  int inner = (int)y->columns;
  uint64_t some;
  for (uint64_t first = 0; first < y->rows; first += some) {
    const double *part;
    PD_TRY(cuda_svd_take_rows(context, work, y, first, &some, &part));
    TRY_BLAS(work->library->gemm(work->blas, rows ? CUBLAS_OP_N : CUBLAS_OP_T, CUBLAS_OP_N, count,
                                 (int)some, inner, &one, b, rows ? count : inner, part, inner,
                                 &zero, basis + first * (uint64_t)count, count));
  }
  return POLYAD_OK;
}

/* to = q^T Y with q's rows of `count` numbers: rows of `count` numbers, one for each of y's
 * columns, or with `lines` `count` lines of y->columns. */
static polyad_status project_onto(polyad_context *context, struct pd_svd_work *work,
                                  const struct pd_matrix *y, const double *q, int count, bool lines,
                                  double *to) {
  int n = (int)y->columns;
  uint64_t some;
  for (uint64_t first = 0; first < y->rows; first += some) {
    const double *part, *mine = q + first * (uint64_t)count, *beta = first == 0 ? &zero : &one;
    PD_TRY(cuda_svd_take_rows(context, work, y, first, &some, &part));
    if (lines)
      TRY_BLAS(work->library->gemm(work->blas, CUBLAS_OP_N, CUBLAS_OP_T, n, count, (int)some, &one,
                                   part, n, mine, count, beta, to, n));
    else
      TRY_BLAS(work->library->gemm(work->blas, CUBLAS_OP_N, CUBLAS_OP_T, count, n, (int)some, &one,
                                   mine, count, part, n, beta, to, count));
  }
  return POLYAD_OK;
}

/* ---- vectors ----------------------------------------------------------------------------------
 */

static polyad_status cuda_svd_note(polyad_context *context, struct pd_svd_work *work) {
  struct pd_cuda_state *state = pd_cuda_state_of(work->device);
  return PD_CUDA(context, state, pd_gpu_note(work->info, work->info + 1, pd_cuda_stream(state)));
}

/* The Gram matrix's columns become its eigenvectors, weakest first. */
static polyad_status cuda_svd_decompose(polyad_context *context, struct pd_svd_work *work, int n) {
  TRY_SOLVER(work->library->eigen(work->solver, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, n,
                                  work->gram, n, work->values, work->scratch, work->scratch_numbers,
                                  work->info));
  return cuda_svd_note(context, work);
}

/* x (rows of `count` numbers) = x L^-T with L L^T its Gram matrix. */
static polyad_status cholesky_step(polyad_context *context, struct pd_svd_work *work, uint64_t n,
                                   int count, double *x) {
  TRY_BLAS(work->library->syrk(work->blas, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, count, (int)n, &one,
                               x, count, &zero, work->gram, count));
  TRY_SOLVER(work->library->cholesky(work->solver, CUBLAS_FILL_MODE_LOWER, count, work->gram, count,
                                     work->scratch, work->scratch_numbers, work->info));
  PD_TRY(cuda_svd_note(context, work));
  TRY_BLAS(work->library->trsm(work->blas, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N,
                               CUBLAS_DIAG_NON_UNIT, count, (int)n, &one, work->gram, count, x,
                               count));
  return POLYAD_OK;
}

/* x[0] (n rows of `count` numbers) becomes its left singular vectors, strongest first; those that
 * are rounding error are replaced by random ones; two Cholesky steps make all orthonormal. */
static polyad_status cuda_svd_orthonormalize(polyad_context *context, struct pd_svd_work *work,
                                             uint64_t n, int count, double *x[2]) {
  struct pd_cuda_state *state = pd_cuda_state_of(work->device);
  TRY_BLAS(work->library->syrk(work->blas, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, count, (int)n, &one,
                               x[0], count, &zero, work->gram, count));
  PD_TRY(cuda_svd_decompose(context, work, count));
  double *rotation = work->core; /* count x count: no more than count x columns */
  PD_TRY(
      PD_CUDA(context, state,
              pd_gpu_rotation(count, work->gram, work->values, rotation, pd_cuda_stream(state))));
  TRY_BLAS(work->library->gemm(work->blas, CUBLAS_OP_N, CUBLAS_OP_N, count, (int)n, count, &one,
                               rotation, count, x[0], count, &zero, x[1], count));
  PD_TRY(
      PD_CUDA(context, state, pd_gpu_refill(n, count, work->values, x[1], pd_cuda_stream(state))));
  double *swap = x[0];
  x[0] = x[1];
  x[1] = swap;
  PD_TRY(cholesky_step(context, work, n, count, x[0]));
  return cholesky_step(context, work, n, count, x[0]);
}

static polyad_status cuda_svd_find_range(polyad_context *context, struct pd_svd_work *work,
                                         const struct pd_matrix *y, int count) {
  struct pd_cuda_state *state = pd_cuda_state_of(work->device);
  PD_TRY(PD_CUDA(
      context, state,
      pd_gpu_normals(y->columns * (uint64_t)count, 1, work->image[0], pd_cuda_stream(state))));
  for (int power = 0;; ++power) {
    PD_TRY(times(context, work, y, work->image[0], true, count, work->basis[0]));
    PD_TRY(cuda_svd_orthonormalize(context, work, y->rows, count, work->basis));
    if (power == PD_SVD_POWERS) return POLYAD_OK;
    PD_TRY(project_onto(context, work, y, work->basis[0], count, false, work->image[0]));
    PD_TRY(cuda_svd_orthonormalize(context, work, y->columns, count, work->image));
  }
}

/* The first columns of the basis, and random ones where it has too few, all orthonormal. */
static polyad_status cuda_svd_store(polyad_context *context, struct pd_svd_work *work, int count,
                                    struct pd_matrix *u) {
  struct pd_cuda_state *state = pd_cuda_state_of(work->device);
  bool wide = u->type == POLYAD_F64;
  int wanted = (int)u->columns;
  if (count >= wanted)
    return cuda_svd_convert(context, work, u->rows, u->columns, work->basis[0], true,
                            (uint64_t)count, u->data, wide, u->stride);
  PD_TRY(PD_CUDA(context, state,
                 pd_gpu_normals(u->rows * u->columns, 2, work->basis[1], pd_cuda_stream(state))));
  PD_TRY(cuda_svd_convert(context, work, u->rows, (uint64_t)count, work->basis[0], true,
                          (uint64_t)count, work->basis[1], true, u->columns));
  for (int again = 0; again < 2; ++again)
    PD_TRY(cholesky_step(context, work, u->rows, wanted, work->basis[1]));
  return cuda_svd_convert(context, work, u->rows, u->columns, work->basis[1], true, u->columns,
                          u->data, wide, u->stride);
}

static polyad_status cuda_svd_leading(polyad_context *context, struct pd_svd_work *work,
                                      const struct pd_matrix *y, struct pd_matrix *u) {
  struct pd_svd_size size = {y->rows, y->columns, u->columns};
  int count = (int)pd_svd_vectors(&size, work->method);
  PD_CUDA_ENTER(context, work->device);
  if (work->method == PD_SVD_RANDOMIZED) {
    PD_TRY(cuda_svd_find_range(context, work, y, count));
    return cuda_svd_store(context, work, count, u);
  }
  if (y->rows <= y->columns) {
    PD_TRY(gram_rows(context, work, y));
    PD_TRY(cuda_svd_decompose(context, work, (int)y->rows));
    return PD_CUDA(context, state,
                   pd_gpu_take_vectors(y->rows, u->columns, work->gram, u->data,
                                       u->type == POLYAD_F64, u->stride, pd_cuda_stream(state)));
  }
  PD_TRY(gram_columns(context, work, y));
  PD_TRY(cuda_svd_decompose(context, work, (int)y->columns));
  const double *strongest = work->gram + (y->columns - (uint64_t)count) * y->columns;
  PD_TRY(times(context, work, y, strongest, false, count, work->basis[0]));
  PD_TRY(cuda_svd_orthonormalize(context, work, y->rows, count, work->basis));
  return cuda_svd_store(context, work, count, u);
}

static polyad_status cuda_svd_project(polyad_context *context, struct pd_svd_work *work,
                                      const struct pd_matrix *u, const struct pd_matrix *y,
                                      struct pd_matrix *core) {
  PD_TRY(pd_cuda_enter(context, pd_cuda_state_of(work->device)));
  PD_TRY(cuda_svd_convert(context, work, u->rows, u->columns, u->data, u->type == POLYAD_F64,
                          u->stride, work->basis[1], true, u->columns));
  PD_TRY(project_onto(context, work, y, work->basis[1], (int)u->columns, true, work->core));
  return cuda_svd_convert(context, work, core->rows, core->columns, work->core, true, core->columns,
                          core->data, core->type == POLYAD_F64, core->stride);
}

static polyad_status cuda_svd_sum_of_squares(polyad_context *context, struct pd_svd_work *work,
                                             const struct pd_matrix *m, double *sum) {
  int failed;
  double *result = work->sums + PD_GPU_SQUARE_PARTS;
  PD_CUDA_ENTER(context, work->device);
  PD_TRY(PD_CUDA(context, state,
                 pd_gpu_squares(m->rows * m->columns, m->data, m->type == POLYAD_F64, work->sums,
                                result, pd_cuda_stream(state))));
  PD_TRY(work->device->functions->copy_out(context, work->device, sum, result, sizeof *sum));
  PD_TRY(work->device->functions->copy_out(context, work->device, &failed, work->info + 1,
                                           sizeof failed));
  if (failed != 0)
    return pd_cuda_services->fail(context, POLYAD_NUMERICAL,
                                  "singular vectors do not converge or are not finite");
  return POLYAD_OK;
}

const struct pd_svd pd_cuda_svd = {
    .bytes = cuda_svd_bytes,
    .create = cuda_svd_create,
    .destroy = cuda_svd_destroy,
    .leading = cuda_svd_leading,
    .project = cuda_svd_project,
    .sum_of_squares = cuda_svd_sum_of_squares,
};
