/* Which grid a team is, over the modes of a tensor.
 *
 * With a mode of length I cut into q ranges, the p members are q layers of p / q, and a layer
 * shares the I / q rows of a range. Nonzeros that are as good as scattered at random have, where
 * there are c of them, (1 - exp(-c / rows)) of so many rows. A member reads those that its nonzeros
 * have; of those that its layer's have it owns an equal share, all of which it reads, for the owner
 * of a row is one that has it. The other rows that it reads travel. Of the grids of p members the
 * one that moves the fewest rows is taken. */
#include "plan/part.h"
#include <math.h>
#include <string.h>

double pd_part_expected_rows(int order, const uint64_t *dims, uint64_t nnz, const int *grid) {
  double size = 1, sum = 0;
  for (int n = 0; n < order; ++n)
    size *= grid[n];
  for (int n = 0; n < order; ++n) {
    double rows = (double)dims[n] / grid[n];
    double members = size / grid[n], mine = (double)nnz / size;
    double read = -rows * expm1(-mine / rows);
    double owned = -rows * expm1(-mine * members / rows) / members;
    if (read > owned) sum += read - owned;
  }
  return sum;
}

/* Tries every way to divide `left` over the modes from n on. */
static void try_grids(int order, const uint64_t *dims, uint64_t nnz, int n, int left, int *grid,
                      double *least, int *best) {
  if (n == order - 1) {
    grid[n] = left;
    /* No mode is cut into more ranges than it has indices, as long as there is another way. */
    double penalty = 1;
    for (int m = 0; m < order; ++m)
      if ((uint64_t)grid[m] > dims[m]) penalty *= 1e30;
    double rows = (1 + pd_part_expected_rows(order, dims, nnz, grid)) * penalty;
    if (rows < *least) {
      *least = rows;
      memcpy(best, grid, (size_t)order * sizeof *grid);
    }
    return;
  }
  for (int q = 1; q <= left; ++q) {
    if (left % q != 0) continue;
    grid[n] = q;
    try_grids(order, dims, nnz, n + 1, left / q, grid, least, best);
  }
}

void pd_part_choose_grid(int order, const uint64_t *dims, uint64_t nnz, int size, int *grid) {
  int trial[POLYAD_MAX_ORDER];
  double least = INFINITY;
  try_grids(order, dims, nnz, 0, size, trial, &least, grid);
}
