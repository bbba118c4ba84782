/* Loops of the CPU's kernel for one value type: the includer defines VAL and NAME(x). */

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
    NAME(multiply_weighed)(sweep, p, output, product);
    if (!sweep->sorted) {
      NAME(add_row)(sweep, output, product);
    } else {
      if (p == begin || output != row) {
        if (p > begin) NAME(store)(sweep, row, sums);
        row = output;
        memset(sums, 0, sweep->rank * sizeof *sums);
      }
      NAME(add_to_sums)(sweep, product, sums);
    }
    if (sweep->to != NULL)
      memcpy(sweep->to + pd_flycoo_get(element, sweep->remap) * words, element,
             words * sizeof *element);
  }
  if (sweep->sorted && end > begin) NAME(store)(sweep, row, sums);
}

/* The gains of the nonzeros [begin, end). */
static double NAME(gain_part)(const struct sweep *sweep, uint64_t begin, uint64_t end,
                              void *buffer) {
  double sum = 0;
  for (uint64_t p = begin; p < end; ++p)
    sum +=
        NAME(gain_row)(sweep, p, p + 1, pd_flycoo_get(element_at(sweep, p), sweep->output), buffer);
  return sum;
}
