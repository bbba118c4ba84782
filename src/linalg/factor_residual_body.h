/* The model's values at a chunk of nonzeros, for one value type and instruction set: a part of the
 * factor kernels' body, with its macros.
 *
 * The product of the rows of all modes but the leaf is kept while none of them changes, so that a
 * nonzero costs one inner product with the leaf's row, in doubles whatever the factors' type. */

/* Not zero for nonzeros of which an index but the leaf's differs from that of the nonzero before.
 */
static void NAME(find_changes)(const struct pd_residual_model *model, const struct pd_chunk *chunk,
                               int count, uint64_t *restrict changed) {
  memset(changed, 0, (size_t)count * sizeof *changed);
  for (int n = 0; n < model->order; ++n) {
    const uint64_t *index = chunk->index[n];
    for (int p = 1; p < count && n != model->leaf; ++p)
      changed[p] |= index[p] ^ index[p - 1];
  }
  changed[0] = 1;
}

/* tile = weight times the rows of nonzero p in all modes but the leaf, up to three at a time. */
static void NAME(multiply_rows)(const struct pd_residual_model *model, const struct pd_chunk *chunk,
                                int p, double *tile) {
  const VAL *row[POLYAD_MAX_ORDER];
  const double *from = model->weight;
  size_t rank = model->rank;
  int rows = 0, n = 0;
  for (int m = 0; m < model->order; ++m)
    if (m != model->leaf)
      row[rows++] = (const void *)(model->factor[m] + chunk->index[m][p] * model->stride[m]);
  for (; rows - n >= 3; n += 3, from = tile) {
    const VAL *a = row[n], *b = row[n + 1], *c = row[n + 2];
#pragma omp simd
    for (size_t r = 0; r < rank; ++r)
      tile[r] = from[r] * (double)a[r] * (double)b[r] * (double)c[r];
  }
  for (; rows - n >= 2; n += 2, from = tile) {
    const VAL *a = row[n], *b = row[n + 1];
#pragma omp simd
    for (size_t r = 0; r < rank; ++r)
      tile[r] = from[r] * (double)a[r] * (double)b[r];
  }
  for (; n < rows; ++n, from = tile) {
    const VAL *a = row[n];
#pragma omp simd
    for (size_t r = 0; r < rank; ++r)
      tile[r] = from[r] * (double)a[r];
  }
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
  int leaf = model->leaf;
  uint64_t changed[PD_CHUNK];
  const char *factor = model->factor[leaf];
  size_t stride = model->stride[leaf];
  size_t fetched = model->far[leaf] ? rank * sizeof(VAL) : 0;
  const uint64_t *index = chunk->index[leaf];
  const double *product = model->order > 1 ? tile : model->weight;
  NAME(find_changes)(model, chunk, count, changed);
  for (int first = 0; first < count; first += LANES) {
    vector part[LANES];
    int some = count - first < LANES ? count - first : LANES;
    for (int k = some; k < LANES; ++k)
      part[k] = (vector){0};
    for (int k = 0, p = first; k < some; ++k, ++p) {
      const char *ahead = factor + index[p + AHEAD < count ? p + AHEAD : p] * stride;
      for (size_t byte = 0; byte < fetched; byte += 64)
        __builtin_prefetch(ahead + byte);
      if (changed[p] != 0 && model->order > 1) NAME(multiply_rows)(model, chunk, p, tile);
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
