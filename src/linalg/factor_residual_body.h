/* The model's values at a chunk of nonzeros, for one value type and instruction set: a part of the
 * factor kernels' body, with its macros.
 *
 * Modes come by how often their indices change from one nonzero to the next, the one that changes
 * most, the leaf, last. Two products are kept: that of the rows of all modes before the last two,
 * and with it that of all but the leaf. So a nonzero costs one inner product with the leaf's row,
 * in doubles whatever the factors' type, and mostly at most one product of rows. */

/* outer[p] is not zero where an index of the modes before the last two differs from that of the
 * nonzero before, inner[p] where one of any mode but the leaf does. */
static void NAME(find_changes)(const struct pd_residual_model *model, const struct pd_chunk *chunk,
                               int count, uint64_t *restrict outer, uint64_t *restrict inner) {
  memset(outer, 0, (size_t)count * sizeof *outer);
  for (int n = 0; n < model->order - 2; ++n) {
    const uint64_t *index = chunk->index[model->mode[n]];
    for (int p = 1; p < count; ++p)
      outer[p] |= index[p] ^ index[p - 1];
  }
  outer[0] = 1;
  const uint64_t *index = chunk->index[model->mode[model->order - 2]];
  for (int p = 1; p < count; ++p)
    inner[p] = outer[p] | (index[p] ^ index[p - 1]);
  inner[0] = 1;
}

static const VAL *NAME(row_of)(const struct pd_residual_model *model, const struct pd_chunk *chunk,
                               int n, int p) {
  int mode = model->mode[n];
  return (const void *)(model->factor[mode] + chunk->index[mode][p] * model->stride[mode]);
}

/* to = from times a row. */
KERNEL_INLINE void NAME(multiply_row)(size_t rank, const double *from, const VAL *row, double *to) {
  size_t r = 0;
  for (; r + LANES <= rank; r += LANES)
    store(to + r, load(from + r) * NAME(widened)(row + r));
  for (; r < rank; ++r)
    to[r] = from[r] * (double)row[r];
}

/* Inner product of `rank` doubles with a row, as lanes that are still to be added up. */
KERNEL_INLINE vector NAME(inner_product)(size_t rank, const double *a, const VAL *b) {
  enum { VECTORS = 4 };
  vector sum[VECTORS] = {{0}};
  size_t r = 0;
  for (; r + VECTORS * LANES <= rank; r += VECTORS * LANES)
    for (size_t k = 0; k < VECTORS; ++k)
      sum[k] += load(a + r + k * LANES) * NAME(widened)(b + r + k * LANES);
  for (; r + LANES <= rank; r += LANES)
    sum[0] += load(a + r) * NAME(widened)(b + r);
  sum[0] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  for (; r < rank; ++r)
    sum[0][0] += a[r] * (double)b[r];
  return sum[0];
}

/* value[p] = the model at nonzero p, for LANES of them at a time: value has room for as many more
 * than count. Rows of the leaf are asked for ahead of their use. */
KERNEL_INLINE void NAME(model_values)(const struct pd_residual_model *model, size_t rank,
                                      const struct pd_chunk *chunk, int count, double *tile,
                                      double *value) {
  enum { AHEAD = 8 };
  int order = model->order, leaf = model->mode[order - 1];
  uint64_t outer[PD_CHUNK], inner[PD_CHUNK];
  const char *factor = model->factor[leaf];
  size_t stride = model->stride[leaf];
  size_t fetched = model->far[leaf] ? rank * sizeof(VAL) : 0;
  const uint64_t *index = chunk->index[leaf];
  double *whole = tile + pd_padded(rank);
  const double *product = order > 1 ? whole : model->weight;
  const double *kept = order > 2 ? tile : model->weight;
  if (order > 1)
    NAME(find_changes)(model, chunk, count, outer, inner);
  else
    memset(inner, 0, sizeof inner);
  for (int first = 0; first < count; first += LANES) {
    vector part[LANES];
    int some = count - first < LANES ? count - first : LANES;
    for (int k = some; k < LANES; ++k)
      part[k] = (vector){0};
    for (int k = 0, p = first; k < some; ++k, ++p) {
      if (fetched > 0) {
        const char *ahead = factor + index[p + AHEAD < count ? p + AHEAD : p] * stride;
        for (size_t byte = 0; byte < fetched; byte += 64)
          __builtin_prefetch(ahead + byte);
      }
      if (inner[p] != 0) {
        if (outer[p] != 0)
          for (int n = 0; n < order - 2; ++n)
            NAME(multiply_row)
        (rank, n == 0 ? model->weight : tile, NAME(row_of)(model, chunk, n, p), tile);
        NAME(multiply_row)(rank, kept, NAME(row_of)(model, chunk, order - 2, p), whole);
      }
      part[k] = NAME(inner_product)(rank, product, (const void *)(factor + index[p] * stride));
    }
    PD_FOLD_ALL(part);
    store(value + first, part[0]);
  }
}

static void NAME(residual)(const struct pd_residual_model *model, const struct pd_chunk *chunk,
                           int count, double *tile, double sums[2]) {
  double value[PD_CHUNK + LANES];
  switch (model->rank) { /* ranks that loops over columns are unrolled for */
  case 16:
    NAME(model_values)(model, 16, chunk, count, tile, value);
    break;
  case 32:
    NAME(model_values)(model, 32, chunk, count, tile, value);
    break;
  default:
    NAME(model_values)(model, model->rank, chunk, count, tile, value);
  }
  sum_residual_squares(count, chunk->value, value, sums);
}
