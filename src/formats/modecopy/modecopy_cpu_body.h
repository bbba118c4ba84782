/* Loops of the CPU's kernel for one value type: the includer defines VAL and NAME(x). */

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
