/* Loops of the CPU's kernel for one value type: the includer defines VAL and NAME(x). */

/* <row of B, row of Pi>, the model at a nonzero of output row `row`. */
static inline VAL NAME(model)(const struct sweep *sweep, uint64_t row, const VAL *pi) {
  const VAL *b = (const VAL *)sweep->b + row * sweep->b_stride;
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
  NAME(multiply_by)(sweep, p, sweep->b == NULL ? value : 1, product);
  if (sweep->b == NULL) return;
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

/* sums = the nonzeros [begin, end) of one output row. */
static void NAME(sum_row)(const struct sweep *sweep, uint64_t begin, uint64_t end, uint64_t row,
                          void *buffer, double *sums) {
  VAL *product = buffer;
  uint64_t rank = sweep->rank;
  for (uint64_t r = 0; r < rank; ++r)
    sums[r] = 0;
  for (uint64_t p = begin; p < end; ++p) {
    NAME(multiply_weighed)(sweep, p, row, product);
    NAME(add_to_sums)(sweep, product, sums);
  }
}

/* The paper's elementwise computation of one partition. In scheme 2 the first and the last row may
 * belong to other partitions too: they are summed apart, into first and last. */
static void NAME(run_partition)(const struct sweep *sweep, uint64_t begin, uint64_t end,
                                void *buffer, double *first, double *last) {
  const struct pd_modecopy_copy *copy = sweep->copy;
  bool shared = copy->scheme == 2;
  VAL *product = buffer;
  if (begin == end) return;
  uint32_t low = pd_modecopy_index(copy, copy->inputs, begin);
  uint32_t high = pd_modecopy_index(copy, copy->inputs, end - 1);
  for (uint64_t p = begin; p < end; ++p) {
    uint32_t row = pd_modecopy_index(copy, copy->inputs, p);
    NAME(multiply_weighed)(sweep, p, row, product);
    if (!shared || (row != low && row != high)) {
      NAME(add_row)(sweep, row, product);
      continue;
    }
    NAME(add_to_sums)(sweep, product, row == low ? first : last);
  }
}

/* Adds a row that was summed apart. */
static void NAME(add_sums)(const struct sweep *sweep, uint64_t row, const double *sums) {
  VAL *out = (VAL *)sweep->out->data + row * sweep->out->stride;
  for (uint64_t r = 0; r < sweep->rank; ++r)
    out[r] = (VAL)((double)out[r] + sums[r]);
}
