/* Body of the factor kernels for one value type and instruction set. The includer defines VAL
 * (float or double) and NAME(x) (a name of its own for x). */

static void NAME(gram)(uint64_t rows, size_t rank, const void *a, double *gram) {
  const VAL *row = a;
  uint64_t i = 0;
  /* Four rows at a time: one load and store of the Gram row serves four products. */
  for (; i + 4 <= rows; i += 4, row += 4 * rank) {
    const VAL *r0 = row, *r1 = row + rank, *r2 = row + 2 * rank, *r3 = row + 3 * rank;
    for (size_t r = 0; r < rank; ++r) {
      double *out = gram + r * rank;
      double a0 = r0[r], a1 = r1[r], a2 = r2[r], a3 = r3[r];
#pragma omp simd
      for (size_t s = r; s < rank; ++s)
        out[s] += a0 * (double)r0[s] + a1 * (double)r1[s] + a2 * (double)r2[s] + a3 * (double)r3[s];
    }
  }
  for (; i < rows; ++i, row += rank)
    for (size_t r = 0; r < rank; ++r) {
      double *out = gram + r * rank, ar = row[r];
#pragma omp simd
      for (size_t s = r; s < rank; ++s)
        out[s] += ar * (double)row[s];
    }
}

/* Substitution runs along the columns of a row, so rows are the vector lanes: a tile of rows
 * is transposed, solved, and transposed back. */
static void NAME(solve_tile)(size_t rank, const double *lower, const double *inverse_diagonal,
                             double *tile) {
  for (size_t r = 0; r < rank; ++r) {
    double sum[PD_ROW_TILE];
    const double *l = lower + r * rank;
#pragma omp simd
    for (int k = 0; k < PD_ROW_TILE; ++k)
      sum[k] = tile[r * PD_ROW_TILE + (size_t)k];
    for (size_t s = 0; s < r; ++s) {
      double factor = l[s];
#pragma omp simd
      for (int k = 0; k < PD_ROW_TILE; ++k)
        sum[k] -= factor * tile[s * PD_ROW_TILE + (size_t)k];
    }
#pragma omp simd
    for (int k = 0; k < PD_ROW_TILE; ++k)
      tile[r * PD_ROW_TILE + (size_t)k] = sum[k] * inverse_diagonal[r];
  }
  for (size_t r = rank; r-- > 0;) {
    double value[PD_ROW_TILE];
    const double *l = lower + r * rank;
#pragma omp simd
    for (int k = 0; k < PD_ROW_TILE; ++k)
      value[k] = tile[r * PD_ROW_TILE + (size_t)k] *= inverse_diagonal[r];
    for (size_t s = 0; s < r; ++s) {
      double factor = l[s];
#pragma omp simd
      for (int k = 0; k < PD_ROW_TILE; ++k)
        tile[s * PD_ROW_TILE + (size_t)k] -= factor * value[k];
    }
  }
}

static void NAME(solve)(uint64_t rows, size_t rank, const double *lower,
                        const double *inverse_diagonal, const void *m, void *x, double *inner,
                        double *tile) {
  const VAL *in = m;
  VAL *out = x;
  for (uint64_t i = 0; i < rows; i += PD_ROW_TILE) {
    size_t count = rows - i < PD_ROW_TILE ? (size_t)(rows - i) : PD_ROW_TILE;
    for (size_t r = 0; r < rank; ++r)
      for (size_t k = 0; k < PD_ROW_TILE; ++k)
        tile[r * PD_ROW_TILE + k] = k < count ? (double)in[(i + k) * rank + r] : 0.0;
    NAME(solve_tile)(rank, lower, inverse_diagonal, tile);
    for (size_t k = 0; k < count; ++k)
      for (size_t r = 0; r < rank; ++r) {
        double value = tile[r * PD_ROW_TILE + k];
        inner[r] += (double)in[(i + k) * rank + r] * value;
        out[(i + k) * rank + r] = (VAL)value;
      }
  }
}

static void NAME(multiply)(uint64_t rows, size_t rank, const double *w, const void *m, void *x,
                           double *inner, double *tile) {
  const VAL *in = m;
  VAL *out = x;
  for (uint64_t i = 0; i < rows; ++i, in += rank, out += rank) {
    for (size_t r = 0; r < rank; ++r)
      tile[r] = 0.0;
    for (size_t s = 0; s < rank; ++s) {
      double factor = in[s];
      const double *line = w + s * rank;
#pragma omp simd
      for (size_t r = 0; r < rank; ++r)
        tile[r] += factor * line[r];
    }
    for (size_t r = 0; r < rank; ++r) {
      inner[r] += (double)in[r] * tile[r];
      out[r] = (VAL)tile[r];
    }
  }
}

static void NAME(column_sums)(uint64_t rows, size_t rank, const void *x,
                              struct pd_column_sums *sums) {
  const VAL *row = x;
  double *square = sums->square, *largest = sums->largest, *absolute = sums->absolute;
  for (uint64_t i = 0; i < rows; ++i, row += rank) {
#pragma omp simd
    for (size_t r = 0; r < rank; ++r) {
      double value = row[r], magnitude = value < 0 ? -value : value;
      square[r] += value * value;
      absolute[r] += magnitude;
      largest[r] = magnitude > largest[r] ? magnitude : largest[r];
    }
  }
}

static void NAME(inner)(uint64_t rows, size_t rank, const void *m, const void *x, double *inner) {
  const VAL *a = m, *b = x;
  for (uint64_t i = 0; i < rows; ++i, a += rank, b += rank) {
#pragma omp simd
    for (size_t r = 0; r < rank; ++r)
      inner[r] += (double)a[r] * (double)b[r];
  }
}

static void NAME(scale)(uint64_t rows, size_t rank, const double *factor, void *x) {
  VAL *row = x;
  for (uint64_t i = 0; i < rows; ++i, row += rank) {
#pragma omp simd
    for (size_t r = 0; r < rank; ++r)
      row[r] = (VAL)((double)row[r] * factor[r]);
  }
}

static void NAME(hals)(uint64_t rows, size_t rank, const double *v, const void *m, void *a,
                       double *inner, double *tile) {
  const VAL *in = m;
  VAL *out = a;
  for (uint64_t i = 0; i < rows; ++i, in += rank, out += rank) {
#pragma omp simd
    for (size_t r = 0; r < rank; ++r)
      tile[r] = out[r];
    for (size_t r = 0; r < rank; ++r) {
      const double *line = v + r * rank;
      if (!(line[r] > 0)) continue;
      double product = 0;
#pragma omp simd reduction(+ : product)
      for (size_t s = 0; s < rank; ++s)
        product += tile[s] * line[s];
      double value = tile[r] + ((double)in[r] - product) / line[r];
      tile[r] = value > 0 ? value : 0;
    }
    for (size_t r = 0; r < rank; ++r) {
      inner[r] += (double)in[r] * tile[r];
      out[r] = (VAL)tile[r];
    }
  }
}
