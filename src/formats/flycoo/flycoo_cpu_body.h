/* Loops of the CPU's kernel for one value type: the includer defines VAL and NAME(x). */

static void NAME(store)(const struct sweep *sweep, uint64_t row, const double *sums) {
  VAL *out = (VAL *)sweep->out->data + row * sweep->out->stride;
  for (uint64_t r = 0; r < sweep->rank; ++r)
    out[r] = (VAL)sums[r];
}

/* product = value times the rows of the other factors. */
static inline void NAME(multiply)(const struct sweep *sweep, const uint32_t *element,
                                  VAL *product) {
  VAL value;
  memcpy(&value, element, sizeof value);
  for (uint64_t r = 0; r < sweep->rank; ++r)
    product[r] = value;
  for (int k = 0; k < sweep->inputs; ++k) {
    const VAL *row = sweep->factor[k];
    row += pd_flycoo_get(element, sweep->input[k]) * sweep->stride[k];
#pragma omp simd
    for (uint64_t r = 0; r < sweep->rank; ++r)
      product[r] *= row[r];
  }
}

/* One partition: Algorithm 4 with a thread in the place of a thread block. Rows of sorted
 * partitions are summed in double and stored once. */
static void NAME(run_partition)(const struct sweep *sweep, uint64_t begin, uint64_t end,
                                void *buffer, double *sums) {
  VAL *product = buffer;
  size_t words = (size_t)sweep->words;
  uint64_t row = 0;
  for (uint64_t p = begin; p < end; ++p) {
    const uint32_t *element = sweep->in + p * words;
    uint64_t output = pd_flycoo_get(element, sweep->output);
    NAME(multiply)(sweep, element, product);
    if (!sweep->sorted) {
      VAL *out = (VAL *)sweep->out->data + output * sweep->out->stride;
#pragma omp simd
      for (uint64_t r = 0; r < sweep->rank; ++r)
        out[r] += product[r];
    } else {
      if (p == begin || output != row) {
        if (p > begin) NAME(store)(sweep, row, sums);
        row = output;
        memset(sums, 0, sweep->rank * sizeof *sums);
      }
#pragma omp simd
      for (uint64_t r = 0; r < sweep->rank; ++r)
        sums[r] += (double)product[r];
    }
    if (sweep->to != NULL)
      memcpy(sweep->to + pd_flycoo_get(element, sweep->remap) * words, element,
             words * sizeof *element);
  }
  if (sweep->sorted && end > begin) NAME(store)(sweep, row, sums);
}
