/* One build of the CPU's kernels: the includer defines WALK, the name of the entry. All sums and
 * products are in double.
 *
 * A tile goes fiber by fiber: (a, b, *) is 16 bits of the bitmap and as many packed values. Where
 * the output is the last mode of the tile, the product of the other rows is made once per fiber;
 * else the fiber is first summed over its last mode, t = X(a, b, :) C, and multiplied by the other
 * rows once (equations 7 and 10, without the zeros that tensor cores would multiply). */
#include "formats/hls/hls_walk.h"
#include <math.h>

/* Rows of factors whose product belongs to a nonzero or a fiber: one per mode but the output's, in
 * the order of the modes. */
struct rows {
  int count;
  const double *row[PD_HLS_MAX_ORDER];
  uint64_t length[PD_HLS_MAX_ORDER];
};

/* Where things lie in a thread's buffer. */
struct place {
  double *product, *other; /* columns */
  double *sum;             /* of a fiber: a rank */
  double *room[PD_HLS_MAX_ORDER];
  double *gain; /* where gains are summed */
};

static struct place place_of(const struct pd_hls_sweep *sweep, double *buffer) {
  struct place place = {.product = buffer, .other = buffer + sweep->columns};
  buffer += 2 * sweep->columns;
  place.sum = buffer;
  for (int n = 0; n < sweep->hls->order; ++n)
    place.room[n] = buffer + (uint64_t)(n + 1) * sweep->widest;
  return place;
}

/* Row of a factor as doubles. */
static const double *factor_row(const struct pd_hls_sweep *sweep, const struct place *place,
                                int mode, uint64_t index) {
  uint64_t at = index * sweep->stride[mode];
  if (sweep->hls->type == POLYAD_F64) return (const double *)sweep->factor[mode] + at;
  const float *restrict from = (const float *)sweep->factor[mode] + at;
  double *restrict to = place->room[mode];
  for (uint64_t r = 0; r < sweep->rank[mode]; ++r)
    to[r] = (double)from[r];
  return to;
}

/* product = row by row, elementwise. */
static void hadamard(const struct rows *rows, double *restrict product) {
  const double *restrict row = rows->row[0];
  uint64_t rank = rows->length[0];
  for (uint64_t r = 0; r < rank; ++r)
    product[r] = row[r];
  for (int k = 1; k < rows->count; ++k) {
    row = rows->row[k];
    for (uint64_t r = 0; r < rank; ++r)
      product[r] *= row[r];
  }
}

static void outer(uint64_t length, const double *restrict left, uint64_t rank,
                  const double *restrict right, double *restrict product) {
  for (uint64_t i = 0; i < length; ++i)
    for (uint64_t r = 0; r < rank; ++r)
      product[i * rank + r] = left[i] * right[r];
}

/* product = Kronecker product of the rows, the last one's columns fastest; `other` has as much
 * room. */
static void kronecker(const struct rows *rows, double *product, double *other) {
  uint64_t length = 1;
  double *from = rows->count % 2 ? other : product;
  from[0] = 1;
  for (int k = 0; k < rows->count; ++k) {
    double *to = from == product ? other : product;
    outer(length, from, rows->length[k], rows->row[k], to);
    length *= rows->length[k];
    from = to;
  }
}

static void multiply(const struct pd_hls_sweep *sweep, const struct rows *rows,
                     const struct place *place) {
  if (sweep->chain)
    kronecker(rows, place->product, place->other);
  else
    hadamard(rows, place->product);
}

static void add(uint64_t columns, double x, const double *restrict product, double *restrict sums) {
  for (uint64_t r = 0; r < columns; ++r)
    sums[r] += x * product[r];
}

/* Where the model is needed: the gain of nonzero x with output row `index`, or the gain's slope
 * times the product of the other rows, added to the row's sums. */
static void weigh(const struct pd_hls_sweep *sweep, const struct place *place, double x,
                  uint64_t index, double *restrict sums) {
  const double *restrict own = factor_row(sweep, place, sweep->mode, index);
  const double *restrict product = place->product;
  double model = 0;
  for (uint64_t r = 0; r < sweep->columns; ++r)
    model += product[r] * own[r];
  if (sweep->gains)
    *place->gain += PD_LOSS_GAIN(sweep->loss.kind, x, model);
  else
    add(sweep->columns, PD_LOSS_SLOPE(sweep->loss.kind, x, model, sweep->loss.least), product,
        sums);
}

/* What nonzero x with output row `index` gives, the product of the other rows being made. */
static void hls_walk_take(const struct pd_hls_sweep *sweep, const struct place *place, double x,
                          uint64_t index, double *sums) {
  if (sweep->weighs)
    weigh(sweep, place, x, index, sums);
  else
    add(sweep->columns, x, place->product, sums);
}

static void walk_nonzero(const struct pd_hls_sweep *sweep, uint64_t p, uint64_t first_row,
                         double *sums, const struct place *place) {
  const struct pd_hls *hls = sweep->hls;
  struct rows rows = {.count = 0};
  for (int n = 0; n < hls->order; ++n) {
    if (n == sweep->mode) continue;
    rows.length[rows.count] = sweep->rank[n];
    rows.row[rows.count++] = factor_row(sweep, place, n, pd_hls_index(hls, n, p));
  }
  multiply(sweep, &rows, place);
  uint64_t row = pd_hls_index(hls, sweep->mode, p);
  hls_walk_take(sweep, place, pd_hls_value_at(hls->nnz_vals, hls->value, p), row,
                sums + (row - first_row) * sweep->columns);
}

/* The tile that is being walked. */
struct tile {
  uint64_t index[PD_HLS_MAX_ORDER]; /* first index in a spanned mode, else the index */
  struct rows rows;
  int slot[PD_HLS_SPAN]; /* of a spanned mode's row in rows; -1: the output */
  uint64_t value;        /* next */
  uint64_t output;       /* row of the sums when the tile does not span the output's mode */
};

static void enter(const struct pd_hls_sweep *sweep, uint64_t tile, uint64_t first_row,
                  const struct place *place, struct tile *at) {
  const struct pd_hls *hls = sweep->hls;
  *at = (struct tile){.slot = {-1, -1, -1}, .value = hls->b_vals_ptr[tile]};
  for (int n = 0; n < hls->order; ++n) {
    at->index[n] = pd_hls_tile_index(hls, n, tile);
    if (hls->place[n] >= 0) at->index[n] *= PD_HLS_SIDE;
    if (n == sweep->mode) {
      at->output = at->index[n] - first_row;
      continue;
    }
    int slot = at->rows.count++;
    at->rows.length[slot] = sweep->rank[n];
    if (hls->place[n] >= 0)
      at->slot[hls->place[n]] = slot;
    else
      at->rows.row[slot] = factor_row(sweep, place, n, at->index[n]);
  }
}

static void set_row(const struct pd_hls_sweep *sweep, const struct place *place, int which,
                    uint32_t offset, struct tile *at) {
  int mode = sweep->hls->span[which];
  if (at->slot[which] >= 0)
    at->rows.row[at->slot[which]] = factor_row(sweep, place, mode, at->index[mode] + offset);
}

/* Fiber (a, b, *) with the output along it. */
static void fiber_along(const struct pd_hls_sweep *sweep, const struct place *place, uint32_t bits,
                        double *sums, struct tile *at) {
  const struct pd_hls *hls = sweep->hls;
  multiply(sweep, &at->rows, place);
  for (; bits != 0; bits &= bits - 1, ++at->value) {
    uint64_t row = (uint64_t)__builtin_ctz(bits);
    hls_walk_take(sweep, place, pd_hls_value_at(hls->b_vals, hls->value, at->value),
                  at->index[sweep->mode] + row, sums + row * sweep->columns);
  }
}

/* Fiber (a, b, *) across the output, whose row is `index`, where every nonzero has a model of its
 * own. */
static void fiber_weighed(const struct pd_hls_sweep *sweep, const struct place *place,
                          uint32_t bits, uint64_t index, double *sums, struct tile *at) {
  const struct pd_hls *hls = sweep->hls;
  for (; bits != 0; bits &= bits - 1, ++at->value) {
    set_row(sweep, place, 2, (uint32_t)__builtin_ctz(bits), at);
    multiply(sweep, &at->rows, place);
    weigh(sweep, place, pd_hls_value_at(hls->b_vals, hls->value, at->value), index, sums);
  }
}

/* Fiber (a, b, *) with the output across it. */
static void fiber_across(const struct pd_hls_sweep *sweep, const struct place *place, uint32_t bits,
                         double *sums, struct tile *at) {
  const struct pd_hls *hls = sweep->hls;
  int mode = hls->span[2];
  uint64_t rank = sweep->rank[mode];
  for (uint64_t r = 0; r < rank; ++r)
    place->sum[r] = 0;
  for (; bits != 0; bits &= bits - 1, ++at->value)
    add(rank, pd_hls_value_at(hls->b_vals, hls->value, at->value),
        factor_row(sweep, place, mode, at->index[mode] + (uint64_t)__builtin_ctz(bits)),
        place->sum);
  at->rows.row[at->slot[2]] = place->sum;
  multiply(sweep, &at->rows, place);
  add(sweep->columns, 1, place->product, sums);
}

static void walk_tile(const struct pd_hls_sweep *sweep, uint64_t tile, uint64_t first_row,
                      double *sums, const struct place *place) {
  const struct pd_hls *hls = sweep->hls;
  int output = hls->place[sweep->mode];
  struct tile at;
  enter(sweep, tile, first_row, place, &at);
  for (uint32_t row = 0; row < PD_HLS_SIDE * PD_HLS_SIDE; ++row) {
    uint32_t bits = pd_hls_row_bits(hls, tile, row), a = row / PD_HLS_SIDE, b = row % PD_HLS_SIDE;
    if (bits == 0) continue;
    set_row(sweep, place, 0, a, &at);
    set_row(sweep, place, 1, b, &at);
    uint64_t to = output == 0 ? a : output == 1 ? b : output == 2 ? 0 : at.output;
    if (output == 2)
      fiber_along(sweep, place, bits, sums, &at);
    else if (sweep->weighs)
      fiber_weighed(sweep, place, bits, first_row + to, sums + to * sweep->columns, &at);
    else
      fiber_across(sweep, place, bits, sums + to * sweep->columns, &at);
  }
}

void WALK(const struct pd_hls_sweep *sweep, const struct pd_hls_unit *unit, double *rows,
          double *buffer) {
  const struct pd_hls_order *order = sweep->order;
  struct place place = place_of(sweep, buffer);
  place.gain = rows;
  for (uint64_t t = unit->tile_begin; t < unit->tile_end; ++t)
    walk_tile(sweep, order->tile[t], unit->first_row, rows, &place);
  for (uint64_t p = unit->nonzero_begin; p < unit->nonzero_end; ++p)
    walk_nonzero(sweep, order->nonzero[p], unit->first_row, rows, &place);
}
