/* Body of the factor kernels for one value type and instruction set. The includer defines VAL
 * (float or double), VAL_IS_DOUBLE (0 or 1) and NAME(x) (a name of its own for x). */

/* Inner products are taken with the entries as they are stored: what is computed from them and the
 * Gram matrix is the fit of the stored factors, though float rounds them. */

/* Rows as doubles, padded with zeros: the rows themselves where they are so already. */
static inline const double *NAME(load_rows)(size_t rows, size_t rank, size_t padded,
                                            const VAL *from, double *tile) {
  if (VAL_IS_DOUBLE && rank == padded) return (const void *)from;
  for (size_t i = 0; i < rows; ++i) {
#pragma omp simd
    for (size_t r = 0; r < rank; ++r)
      tile[i * padded + r] = (double)from[i * rank + r];
    for (size_t r = rank; r < padded; ++r)
      tile[i * padded + r] = 0;
  }
  return tile;
}

static void NAME(gram)(uint64_t rows, size_t rank, const void *a, double *gram, double *tile) {
  const VAL *row = a;
  size_t padded = pd_padded(rank);
  for (uint64_t i = 0; i < rows; i += PD_TILE_ROWS, row += PD_TILE_ROWS * rank) {
    size_t count = rows - i < PD_TILE_ROWS ? (size_t)(rows - i) : PD_TILE_ROWS;
    const double *from = NAME(load_rows)(count, rank, padded, row, tile);
    gram_padded(count, rank, from, gram);
  }
}

/* Entries [r, r + LANES) of product j. */
KERNEL_INLINE vector NAME(row_product)(const struct pd_row_lists *lists, int factors, size_t j,
                                       size_t r) {
#define ROW(k) NAME(widened)((const VAL *)lists->factor[k] + lists->index[k][j] * lists->stride + r)
  vector product = ROW(0);
  for (int k = 1; k < factors; ++k)
    product *= ROW(k);
#undef ROW
  return product;
}

/* The last vector of a row overlaps the one before it, since nothing may be read behind a row. */
KERNEL_INLINE void NAME(row_products_of)(const struct pd_row_lists *lists, int factors, size_t rows,
                                         size_t rank, size_t stride, double *out) {
  for (size_t j = 0; j < rows; ++j, out += stride) {
    size_t r = 0;
    for (; r + LANES <= rank; r += LANES)
      store(out + r, NAME(row_product)(lists, factors, j, r));
    if (r < rank) store(out + rank - LANES, NAME(row_product)(lists, factors, j, rank - LANES));
  }
}

static void NAME(few_row_products)(const struct pd_row_lists *lists, size_t rows, size_t rank,
                                   size_t stride, double *out) {
  for (size_t j = 0; j < rows; ++j, out += stride)
    for (size_t r = 0; r < rank; ++r) {
      out[r] = 1;
      for (int k = 0; k < lists->count; ++k)
        out[r] *= (double)((const VAL *)lists->factor[k])[lists->index[k][j] * lists->stride + r];
    }
}

static void NAME(row_products)(const struct pd_row_lists *lists, size_t rows, size_t rank,
                               size_t stride, double *out) {
  if (rank < LANES || lists->count == 0) {
    NAME(few_row_products)(lists, rows, rank, stride, out);
    return;
  }
  switch (lists->count) { /* unrolled for these */
  case 2:
    NAME(row_products_of)(lists, 2, rows, rank, stride, out);
    break;
  case 3:
    NAME(row_products_of)(lists, 3, rows, rank, stride, out);
    break;
  case 4:
    NAME(row_products_of)(lists, 4, rows, rank, stride, out);
    break;
  default:
    NAME(row_products_of)(lists, lists->count, rows, rank, stride, out);
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
        VAL value = (VAL)tile[r * PD_ROW_TILE + k];
        inner[r] += (double)in[(i + k) * rank + r] * (double)value;
        out[(i + k) * rank + r] = value;
      }
  }
}

/* Hands out `width` columns of a tile of rows: their sums are registers where width is known. */
KERNEL_INLINE void NAME(take_product)(size_t rows, size_t rank, size_t padded, size_t width,
                                      const double *from, const double *product, VAL *out,
                                      double *inner) {
  double sum[PD_COLUMN_TILE] = {0};
  for (size_t k = 0; k < rows; ++k)
#pragma omp simd
    for (size_t r = 0; r < width; ++r) {
      VAL value = (VAL)product[k * padded + r];
      sum[r] += from[k * padded + r] * (double)value;
      out[k * rank + r] = value;
    }
  for (size_t r = 0; r < width; ++r)
    inner[r] += sum[r];
}

static void NAME(multiply)(uint64_t rows, size_t rank, const double *w, const void *m, void *x,
                           double *inner, double *tile) {
  const VAL *in = m;
  VAL *out = x;
  size_t padded = pd_padded(rank), whole = rank / PD_COLUMN_TILE * PD_COLUMN_TILE;
  double *product = tile + TILE_ROWS * padded;
  for (uint64_t i = 0; i < rows; i += TILE_ROWS, in += TILE_ROWS * rank, out += TILE_ROWS * rank) {
    size_t count = rows - i < TILE_ROWS ? (size_t)(rows - i) : TILE_ROWS;
    const double *from = tile;
    if (count == TILE_ROWS) {
      from = NAME(load_rows)(count, rank, padded, in, tile);
    } else {
      memset(tile, 0, TILE_ROWS * padded * sizeof *tile);
      for (size_t k = 0; k < count; ++k)
        for (size_t r = 0; r < rank; ++r)
          tile[k * padded + r] = (double)in[k * rank + r];
    }
    product_tile(rank, padded, from, w, 0, product, (const char *)in + PREFETCH_BYTES,
                 TILE_ROWS * sizeof(VAL));
    for (size_t s = TILE_VECTORS * LANES; s < rank; s += TILE_VECTORS * LANES)
      product_tile(rank, padded, from, w, s, product, NULL, 0);
    for (size_t s = 0; s < whole; s += PD_COLUMN_TILE)
      NAME(take_product)
    (count, rank, padded, PD_COLUMN_TILE, from + s, product + s, out + s, inner + s);
    if (whole < rank) NAME(take_product)
    (count, rank, padded, rank - whole, from + whole, product + whole, out + whole, inner + whole);
  }
}

static void NAME(multiply_damped)(uint64_t rows, size_t rank, const double *w, const void *before,
                                  const double *c, const void *m, void *x, double *inner,
                                  double *tile) {
  const VAL *in = m, *old = before;
  VAL *out = x;
  size_t padded = pd_padded(rank);
  double *product = tile + padded;
  for (uint64_t i = 0; i < rows; ++i, in += rank, out += rank) {
    for (size_t r = 0; r < rank; ++r)
      tile[r] = (double)in[r] + (old != NULL ? (double)old[i * rank + r] * c[r] : 0);
    memset(product, 0, rank * sizeof *product);
    for (size_t s = 0; s < rank; ++s) {
      const double *line = w + s * padded;
#pragma omp simd
      for (size_t r = 0; r < rank; ++r)
        product[r] += tile[s] * line[r];
    }
    for (size_t r = 0; r < rank; ++r) {
      VAL value = (VAL)product[r];
      inner[r] += (double)in[r] * (double)value;
      out[r] = value;
    }
  }
}

KERNEL_INLINE void NAME(largest_of)(uint64_t rows, size_t rank, size_t width, const VAL *x,
                                    double *largest) {
  double most[PD_COLUMN_TILE];
  memcpy(most, largest, width * sizeof *most);
  for (uint64_t i = 0; i < rows; ++i, x += rank)
#pragma omp simd
    for (size_t r = 0; r < width; ++r) {
      double value = x[r], magnitude = value < 0 ? -value : value;
      most[r] = magnitude > most[r] ? magnitude : most[r];
    }
  memcpy(largest, most, width * sizeof *most);
}

static void NAME(largest)(uint64_t rows, size_t rank, const void *x, double *largest) {
  const VAL *row = x;
  size_t whole = rank / PD_COLUMN_TILE * PD_COLUMN_TILE;
  for (size_t s = 0; s < whole; s += PD_COLUMN_TILE)
    NAME(largest_of)(rows, rank, PD_COLUMN_TILE, row + s, largest + s);
  if (whole < rank) NAME(largest_of)(rows, rank, rank - whole, row + whole, largest + whole);
}

static void NAME(squares)(uint64_t rows, size_t rank, const double *of_row, const void *x,
                          double *sums) {
  const VAL *row = x;
  for (uint64_t i = 0; i < rows; ++i, row += rank) {
    double weight = of_row[i];
#pragma omp simd
    for (size_t r = 0; r < rank; ++r)
      sums[r] += weight * ((double)row[r] * (double)row[r]);
  }
}

static void NAME(absolute)(uint64_t rows, size_t rank, const void *x, double *sum) {
  const VAL *row = x;
  for (uint64_t i = 0; i < rows; ++i, row += rank) {
#pragma omp simd
    for (size_t r = 0; r < rank; ++r)
      sum[r] += row[r] < 0 ? -(double)row[r] : (double)row[r];
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

/* Brings rows and what they are given into columns, with zeros in the lanes behind the last row;
 * whether any of these numbers is not zero. */
static bool NAME(take_columns)(size_t count, size_t rank, const VAL *in, const VAL *row,
                               double *given, double *columns) {
  int any = 0;
#pragma omp simd reduction(| : any)
  for (size_t e = 0; e < count * rank; ++e)
    any |= (in[e] != 0) | (row[e] != 0);
  if (!any) return false;
  for (size_t k = 0; k < SWEEP_ROWS; ++k)
    for (size_t r = 0; r < rank; ++r) {
      given[r * SWEEP_ROWS + k] = k < count ? (double)in[k * rank + r] : 0;
      columns[r * SWEEP_ROWS + k] = k < count ? (double)row[k * rank + r] : 0;
    }
  return true;
}

/* Rows without nonzeros are given zeros and become zeros in the first sweep: from then on they stay
 * as they are, and nothing is added to `inner`. */
static void NAME(hals)(uint64_t rows, size_t rank, const double *v, const void *m, void *a,
                       double *inner, double *tile) {
  const VAL *in = m;
  VAL *out = a;
  double *given = tile + SWEEP_ROWS * rank;
  for (uint64_t i = 0; i < rows;
       i += SWEEP_ROWS, in += SWEEP_ROWS * rank, out += SWEEP_ROWS * rank) {
    size_t count = rows - i < SWEEP_ROWS ? (size_t)(rows - i) : SWEEP_ROWS;
    if (!NAME(take_columns)(count, rank, in, out, given, tile)) continue;
    sweep_group(rank, v, given, tile);
    for (size_t k = 0; k < count; ++k)
      for (size_t r = 0; r < rank; ++r) {
        VAL value = (VAL)tile[r * SWEEP_ROWS + k];
        inner[r] += (double)in[k * rank + r] * (double)value;
        out[k * rank + r] = value;
      }
  }
}

static uint64_t NAME(weigh)(uint64_t rows, size_t rank, const void *phi, double kappa,
                            double kappa_tolerance, const double *lambda, void *x) {
  const VAL *slope = phi;
  VAL *row = x;
  uint64_t shifted = 0;
  for (uint64_t i = 0; i < rows; ++i, row += rank) {
    if (slope == NULL) {
#pragma omp simd
      for (size_t r = 0; r < rank; ++r)
        row[r] = (VAL)((double)row[r] * lambda[r]);
      continue;
    }
#pragma omp simd reduction(+ : shifted)
    for (size_t r = 0; r < rank; ++r) {
      double value = row[r];
      int shifts = (slope[r] > 1) & (value < kappa_tolerance);
      shifted += (uint64_t)shifts;
      row[r] = (VAL)((value + (shifts ? kappa : 0.0)) * lambda[r]);
    }
    slope += rank;
  }
  return shifted;
}

static double NAME(kkt)(uint64_t count, const void *phi, const void *b, double most) {
  const VAL *slope = phi, *value = b;
  /* NaN is neither less nor more than anything: it is counted apart. Both numbers are loaded before
   * they are asked about: for a load that depends on the first, GCC 13 writes wrong AVX2 code. */
  int lost = most != most;
#pragma omp simd reduction(max : most) reduction(| : lost)
  for (uint64_t k = 0; k < count; ++k) {
    double rest = 1.0 - (double)slope[k], entry = (double)value[k];
    double least = entry < rest ? entry : rest;
    double size = least < 0 ? -least : least;
    lost |= (rest != rest) | (entry != entry);
    most = size > most ? size : most;
  }
  return lost ? __builtin_nan("") : most;
}

static void NAME(elementwise)(uint64_t count, const void *phi, void *b) {
  const VAL *factor = phi;
  VAL *value = b;
#pragma omp simd
  for (uint64_t k = 0; k < count; ++k)
    value[k] *= factor[k];
}

static void NAME(row_dots)(uint64_t rows, size_t rank, const void *a, const double *b,
                           double *dots) {
  const VAL *row = a;
  for (uint64_t i = 0; i < rows; ++i, row += rank) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t r = 0; r < rank; ++r)
      sum += (double)row[r] * b[r];
    dots[i] = sum;
  }
}

static void NAME(row_sums)(uint64_t rows, size_t rank, const void *a, const double *weight,
                           double *sums) {
  const VAL *row = a;
  for (uint64_t i = 0; i < rows; ++i, row += rank) {
#pragma omp simd
    for (size_t r = 0; r < rank; ++r)
      sums[r] += weight[i] * (double)row[r];
  }
}
