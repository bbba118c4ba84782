/* What a kernel has to move and compute, and the least time that takes: see the help text. */
#include "bench_kernel.h"
#include <math.h>

/* Numbers of each kernel that the model rests on. */
struct shape {
  double rows_read;   /* factor rows of each nonzero */
  double flops;       /* when nothing is shared between nonzeros */
  double least_flops; /* when all is shared that may be */
  double written;     /* numbers of the output */
};

static struct shape shape_of(const struct bench_job *job, int mode) {
  const polyad_tensor *tensor = job->bench->tensor;
  struct bench_operands operands = bench_operands_of(job, mode);
  int order = polyad_tensor_order(tensor);
  double nnz = (double)polyad_tensor_nnz(tensor), rank = (double)job->bench->rank;
  double columns = (double)bench_columns(&operands), products = rank * nnz;
  double out = (double)polyad_tensor_dims(tensor)[mode] * columns;
  switch (job->kernel) {
  case POLYAD_KERNEL_PHI:
    return (struct shape){order, (order + 2) * products, 4 * products, out};
  case POLYAD_KERNEL_PI:
    return (struct shape){order - 1, (order - 2) * products, 0, products};
  case POLYAD_KERNEL_TTMC:
    return (struct shape){order - 1, 2 * nnz * columns, 2 * products, out};
  case POLYAD_KERNEL_MTTKRP:
    break;
  }
  return (struct shape){order - 1, order * products, 2 * products, out};
}

/* Of a stored value, which half precision makes shorter. */
static double value_bytes(const struct bench_job *job) {
  polyad_compute compute = cli_compute(&job->bench->session);
  bool half = compute == POLYAD_COMPUTE_F16 || compute == POLYAD_COMPUTE_BF16;
  return half ? 2 : (double)bench_width(job->type);
}

/* What the bound of a kernel's time rests on. */
struct needs {
  const struct bench_job *job;
  int mode;
  double once, flops; /* bytes moved and operations at the least */
};

/* Everything is moved once, computed once, and rows of some factor are gathered for every nonzero:
 * of the one that takes the least time. */
static double bound_of(void *user) {
  const struct needs *needs = user;
  struct bench *bench = needs->job->bench;
  const polyad_tensor *tensor = bench->tensor;
  double row = (double)bench->rank * (double)bench_width(needs->job->type), gather = 0;
  for (int n = 0; n < polyad_tensor_order(tensor); ++n) {
    if (n == needs->mode) continue;
    double table = (double)polyad_tensor_dims(tensor)[n] * row;
    double seconds = (double)polyad_tensor_nnz(tensor) * row / bench_gather(bench, table);
    if (gather == 0 || seconds < gather) gather = seconds;
  }
  return fmax(needs->once / bench_copy(bench, needs->once),
              fmax(needs->flops / bench_flops(bench), gather));
}

void bench_model(const struct bench_job *job, int mode, struct bench_row *row) {
  const polyad_tensor *tensor = job->bench->tensor;
  struct shape shape = shape_of(job, mode);
  int order = polyad_tensor_order(tensor);
  double nnz = (double)polyad_tensor_nnz(tensor), rank = (double)job->bench->rank;
  double w = (double)bench_width(job->type), factors = 0;
  bool valued = job->kernel != POLYAD_KERNEL_PI; /* Pi does not depend on the values */
  double least = valued ? 8 * value_bytes(job) : 0, stream = valued ? w : 0;
  for (int n = 0; n < order; ++n) {
    double dim = (double)polyad_tensor_dims(tensor)[n];
    stream += polyad_tensor_index_bytes(tensor, n);
    least += dim > 1 ? ceil(log2(dim)) : 0;
    if (n == mode && job->kernel != POLYAD_KERNEL_PHI) continue;
    factors += rank * w * fmin(dim, nnz); /* rows that no nonzero needs are not read */
  }
  double once = nnz * least / 8 + factors + shape.written * w;
  row->flops = shape.flops;
  row->bytes_moved = nnz * (stream + shape.rows_read * rank * w) + shape.written * w;
  struct needs needs = {job, mode, once, shape.least_flops};
  row->bound_seconds = bench_bound(job->bench, row->median, bound_of, &needs);
}
