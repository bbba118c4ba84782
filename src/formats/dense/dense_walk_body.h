/* Body of the inner loops of "dense" for one instruction set; the includer defines WALK, the name
 * of the table.
 *
 * The product takes a few rows of `a` and two vectors of columns at a time, whose sums stay in
 * registers, and goes through `b` in blocks of rows that the second level of cache holds. A row's
 * sums do not depend on the rows beside it: however rows are shared out, the bits are equal. */
#include "formats/dense/dense_walk.h"
#include <stdbool.h>

#if defined(__AVX512F__)
enum { LANES = 8, TILE_ROWS = 6 };
#elif defined(__AVX2__)
enum { LANES = 4, TILE_ROWS = 6 };
#else
enum { LANES = 2, TILE_ROWS = 4 };
#endif
enum { TILE_VECTORS = 2, BLOCK_NUMBERS = 1 << 14, BLOCK_ROWS = 256 };

typedef double vector __attribute__((vector_size(LANES * 8), aligned(8), may_alias));

#define WALK_INLINE static inline __attribute__((always_inline))

WALK_INLINE vector load(const double *from) { return *(const vector *)from; }
WALK_INLINE void store(double *to, vector value) { *(vector *)to = value; }

/* y += a b, or y = a b where these are the first rows of b, for `rows` rows of `a`, whose rows lie
 * `stride` numbers apart, and `vectors` vectors of columns: both are known when this is compiled.
 */
WALK_INLINE void tile(int rows, int vectors, size_t inner, const double *a, size_t stride,
                      const double *b, size_t padded, bool first, double *y) {
  vector sum[TILE_ROWS][TILE_VECTORS] = {{{0}}};
  for (int i = 0; i < rows && !first; ++i)
    for (int v = 0; v < vectors; ++v)
      sum[i][v] = load(y + (size_t)i * padded + (size_t)(v * LANES));
  for (size_t k = 0; k < inner; ++k, b += padded) {
    vector right[TILE_VECTORS];
    for (int v = 0; v < vectors; ++v)
      right[v] = load(b + v * LANES);
    for (int i = 0; i < rows; ++i)
      for (int v = 0; v < vectors; ++v)
        sum[i][v] += a[(size_t)i * stride + k] * right[v];
  }
  for (int i = 0; i < rows; ++i)
    for (int v = 0; v < vectors; ++v)
      store(y + (size_t)i * padded + (size_t)(v * LANES), sum[i][v]);
}

/* All columns of `rows` rows. */
WALK_INLINE void stripe(int rows, size_t inner, const double *a, size_t stride, const double *b,
                        size_t padded, bool first, double *y) {
  size_t r = 0;
  for (; r + TILE_VECTORS * LANES <= padded; r += TILE_VECTORS * LANES)
    tile(rows, TILE_VECTORS, inner, a, stride, b + r, padded, first, y + r);
  if (r < padded) tile(rows, 1, inner, a, stride, b + r, padded, first, y + r);
}

static void block(size_t rows, size_t inner, const double *a, size_t stride, const double *b,
                  size_t padded, bool first, double *y) {
  size_t done = 0;
  for (; done + TILE_ROWS <= rows; done += TILE_ROWS, a += TILE_ROWS * stride)
    stripe(TILE_ROWS, inner, a, stride, b, padded, first, y + done * padded);
  for (; done + 2 <= rows; done += 2, a += 2 * stride)
    stripe(2, inner, a, stride, b, padded, first, y + done * padded);
  if (done < rows) stripe(1, inner, a, stride, b, padded, first, y + done * padded);
}

static void product(size_t rows, size_t inner, const double *a, const double *b, size_t padded,
                    double *y) {
  size_t some = BLOCK_NUMBERS / padded;
  some = some > BLOCK_ROWS ? BLOCK_ROWS : some < TILE_ROWS ? TILE_ROWS : some;
  for (size_t k = 0; k < inner; k += some) {
    size_t count = inner - k < some ? inner - k : some;
    block(rows, count, a + k, inner, b + k * padded, padded, k == 0, y);
  }
}

static void fold_rows(size_t outer, size_t step, size_t inner, size_t padded, const double *y,
                      const double *b, double *sum) {
  for (size_t l = 0; l < outer; ++l, y += step * padded, b += inner * padded)
    for (size_t r = 0; r < padded; r += LANES) {
      vector total = load(sum + r);
      for (size_t k = r; k < inner * padded; k += padded)
        total += load(y + k) * load(b + k);
      store(sum + r, total);
    }
}

const struct pd_dense_walk WALK = {.lanes = LANES, .product = product, .fold = fold_rows};
