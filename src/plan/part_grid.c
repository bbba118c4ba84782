/* Chooses the grid over the modes of a tensor that a team of p members is.
 *
 * Where a mode of length I is cut into q ranges the members form q layers of p / q members, and the
 * members of a layer share the I / q rows of a range. The estimate takes nonzeros for scattered at
 * random: c nonzeros then touch a fraction 1 - exp(-c / rows) of the rows. A member reads the rows
 * that its own nonzeros touch. Of the rows that its layer's nonzeros touch it owns an equal share;
 * it reads all of these, since the owner of a row is a member whose nonzeros touch it. The other
 * rows that it reads travel. Where slices are so full that ranges cannot be cut evenly, all members
 * wait for the one with the most nonzeros: what it has above the mean is converted into rows and
 * added. Of all grids of p members the cheapest is taken.
 *
 * A team whose members are to have unequal shares cuts one mode only. The cell of a grid over two
 * modes would have the product of two ranges' fractions, and products do not give every member the
 * share that it is to have. */
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

/* So many nonzeros take about as long as one row that travels. */
static const double nonzeros_per_row = 10;

/* What all grids are tried for. */
struct trial {
  int order, size;
  const uint64_t *dims;
  uint64_t nnz;
  const double *crowding; /* see pd_part_choose_grid() */
  int grid[POLYAD_MAX_ORDER];
  double least;
  int *best;
};

static double cost_of(const struct trial *trial) {
  double crowding = 1, penalty = 1;
  for (int n = 0; n < trial->order; ++n) {
    if (trial->crowding != NULL)
      crowding *= trial->crowding[n * (trial->size + 1) + trial->grid[n]];
    /* No mode is cut into more ranges than it has indices, as long as there is another way. */
    if ((uint64_t)trial->grid[n] > trial->dims[n]) penalty *= 1e30;
  }
  double rows = pd_part_expected_rows(trial->order, trial->dims, trial->nnz, trial->grid);
  double waiting = (crowding - 1) * (double)trial->nnz / trial->size / nonzeros_per_row;
  return (1 + rows + waiting) * penalty;
}

/* Tries every way to divide `left` over the modes from n on. */
static void try_grids(struct trial *trial, int n, int left) {
  if (n == trial->order - 1) {
    trial->grid[n] = left;
    double cost = cost_of(trial);
    if (cost >= trial->least) return;
    trial->least = cost;
    memcpy(trial->best, trial->grid, (size_t)trial->order * sizeof *trial->grid);
    return;
  }
  for (int q = 1; q <= left; ++q) {
    if (left % q != 0) continue;
    trial->grid[n] = q;
    try_grids(trial, n + 1, left / q);
  }
}

void pd_part_choose_grid(int order, const uint64_t *dims, uint64_t nnz, int size,
                         const double *crowding, int *grid) {
  struct trial trial = {.order = order,
                        .size = size,
                        .dims = dims,
                        .nnz = nnz,
                        .crowding = crowding,
                        .least = INFINITY,
                        .best = grid};
  try_grids(&trial, 0, size);
}

void pd_part_choose_mode(int order, const uint64_t *dims, uint64_t nnz, int size,
                         const double *crowding, int *grid) {
  struct trial trial = {
      .order = order, .size = size, .dims = dims, .nnz = nnz, .crowding = crowding};
  double least = INFINITY;
  int best = 0;
  for (int n = 0; n < order; ++n) {
    for (int m = 0; m < order; ++m)
      trial.grid[m] = m == n ? size : 1;
    double cost = cost_of(&trial);
    if (cost >= least) continue;
    least = cost;
    best = n;
  }
  for (int n = 0; n < order; ++n)
    grid[n] = n == best ? size : 1;
}
