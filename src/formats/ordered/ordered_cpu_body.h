/* What the CPU's kernels over one order have in common, for one value type. The includer defines
 * VAL, NAME(x), INDEX(sweep, k, p) and VALUE(sweep, p): index in input k and value of nonzero p;
 * its struct sweep has rank, inputs, factor[], stride[] and out. */

/* product = value times the rows of the other factors. */
static inline void NAME(multiply)(const struct sweep *sweep, uint64_t p, VAL *product) {
  uint64_t rank = sweep->rank;
  VAL value = VALUE(sweep, p);
  if (sweep->inputs == 0) {
    for (uint64_t r = 0; r < rank; ++r)
      product[r] = value;
    return;
  }
  const VAL *row = sweep->factor[0];
  row += INDEX(sweep, 0, p) * sweep->stride[0];
#pragma omp simd
  for (uint64_t r = 0; r < rank; ++r)
    product[r] = value * row[r];
  for (int k = 1; k < sweep->inputs; ++k) {
    row = sweep->factor[k];
    row += INDEX(sweep, k, p) * sweep->stride[k];
#pragma omp simd
    for (uint64_t r = 0; r < rank; ++r)
      product[r] *= row[r];
  }
}

static inline void NAME(add_to_sums)(const struct sweep *sweep, const VAL *product, double *sums) {
#pragma omp simd
  for (uint64_t r = 0; r < sweep->rank; ++r)
    sums[r] += (double)product[r];
}

static void NAME(store)(const struct sweep *sweep, uint64_t row, const double *sums) {
  VAL *out = (VAL *)sweep->out->data + row * sweep->out->stride;
  for (uint64_t r = 0; r < sweep->rank; ++r)
    out[r] = (VAL)sums[r];
}

static inline void NAME(add_row)(const struct sweep *sweep, uint64_t row, const VAL *product) {
  VAL *out = (VAL *)sweep->out->data + row * sweep->out->stride;
#pragma omp simd
  for (uint64_t r = 0; r < sweep->rank; ++r)
    out[r] += product[r];
}
