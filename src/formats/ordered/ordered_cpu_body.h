/* What the CPU's kernels over one order have in common, for one value type. The includer defines
 * VAL, NAME(x), INDEX(sweep, k, p) and VALUE(sweep, p): index in input k and value of nonzero p;
 * its struct sweep has rank, inputs, factor[], stride[], out and, where the model is needed, the
 * output mode's factor `own` and the loss. */

/* product = value times the rows of the other factors at nonzero p. */
static inline void NAME(multiply_by)(const struct sweep *sweep, uint64_t p, VAL value,
                                     VAL *product) {
  uint64_t rank = sweep->rank;
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

/* <row of B, row of Pi>, the model at a nonzero of output row `row`. */
static inline VAL NAME(model)(const struct sweep *sweep, uint64_t row, const VAL *pi) {
  const VAL *b = (const VAL *)sweep->own->data + row * sweep->own->stride;
  VAL sum = 0;
#pragma omp simd reduction(+ : sum)
  for (uint64_t r = 0; r < sweep->rank; ++r)
    sum += b[r] * pi[r];
  return sum;
}

/* product = value times the rows of the other factors; where the model is needed, the slope of the
 * loss's gain in place of the value. */
static inline void NAME(multiply_weighed)(const struct sweep *sweep, uint64_t p, uint64_t row,
                                          VAL *product) {
  VAL value = VALUE(sweep, p);
  NAME(multiply_by)(sweep, p, sweep->own == NULL ? value : 1, product);
  if (sweep->own == NULL) return;
  VAL model = NAME(model)(sweep, row, product), least = (VAL)sweep->loss.least;
  VAL weight = PD_LOSS_SLOPE(sweep->loss.kind, value, model, least);
#pragma omp simd
  for (uint64_t r = 0; r < sweep->rank; ++r)
    product[r] *= weight;
}

/* The sum of the gains of one row's nonzeros. */
static double NAME(gain_row)(const struct sweep *sweep, uint64_t begin, uint64_t end, uint64_t row,
                             void *buffer) {
  double sum = 0;
  for (uint64_t p = begin; p < end; ++p) {
    NAME(multiply_by)(sweep, p, 1, buffer);
    double model = (double)NAME(model)(sweep, row, buffer);
    sum += PD_LOSS_GAIN(sweep->loss.kind, (double)VALUE(sweep, p), model);
  }
  return sum;
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
