/* Chooses blocks and tiles by a model of the caches: what the rows that a nonzero needs cost to
 * fetch, against what loading tiles and starting runs costs. Constants are nanoseconds of one
 * thread of an AMD EPYC (Zen 4); the choice depends on their ratios only. */
#include "core/bits.h"
#include "formats/rowsum/rowsum_build.h"
#include <math.h>

static const double NEAR_BYTES = 350e3, FAR_BYTES = 10e6; /* of a factor, kept in L2 and in L3 */
static const double NEAR_LINE = 0.35, FAR_LINE = 1.7, MEMORY_LINE = 5;
static const double RUN_START = 7, BLOCK_BYTES = 256 << 10;

struct column {
  double rows;     /* that have nonzeros */
  double row_size; /* bytes */
  int bits;        /* of its index */
};

struct model {
  int columns;
  struct column column[POLYAD_MAX_ORDER];
  double nnz, out_rows, lines; /* cache lines of a factor row */
  double block_rows;
};

/* Nanoseconds to fetch a line of a table of so many bytes at random. */
static double line_cost(double bytes) {
  double near = bytes < NEAR_BYTES ? 1 : NEAR_BYTES / bytes;
  double far = bytes < FAR_BYTES ? 1 : FAR_BYTES / bytes;
  return near * NEAR_LINE + (far - near) * FAR_LINE + (1 - far) * MEMORY_LINE;
}

static double tiles_of(const struct column *column, int shift) {
  return shift >= column->bits ? 1 : ldexp(1, column->bits - shift);
}

static double cost(const struct model *model, const struct pd_tiling *tiling) {
  double tiles = 1, sum = 0;
  for (int g = 0; g < model->columns; ++g)
    tiles *= tiles_of(&model->column[g], tiling->shift[g]);
  double blocks = tiling->tiled ? ceil(model->out_rows / model->block_rows) : 1;
  for (int g = 0; g < model->columns; ++g) {
    const struct column *column = &model->column[g];
    double mine = tiles_of(column, tiling->shift[g]);
    double table = column->rows * column->row_size;
    double fetched = model->nnz * line_cost(table / mine);
    /* Each tile of this column is loaded anew for every tile of the others and every block. */
    double loaded = blocks * (tiles / mine) * column->rows * line_cost(table);
    double once = model->nnz * line_cost(table);
    sum += model->lines * (mine == 1 ? once : fmin(fetched + loaded, once));
  }
  double runs = fmin(model->nnz, model->out_rows * tiles);
  /* Runs of one tile are not all there: a row with k nonzeros is in at most k tiles. */
  return sum + runs * RUN_START + model->nnz * 0.4 * (model->columns + 1);
}

static void set_model(const struct pd_traits *traits, const struct pd_request *request, int mode,
                      struct model *model) {
  int modes[POLYAD_MAX_ORDER];
  double row = (double)request->rank * (double)pd_type_bytes(request->precision);
  *model = (struct model){.nnz = (double)traits->nnz,
                          .out_rows = (double)traits->nonempty[mode],
                          .lines = fmax(1, row / 64)};
  model->columns = pd_rowsum_columns(traits->order, traits->dims, mode, modes);
  for (int g = 0; g < model->columns; ++g)
    model->column[g] = (struct column){.rows = (double)traits->nonempty[modes[g]],
                                       .row_size = row,
                                       .bits = pd_index_bits(traits->dims[modes[g]])};
}

/* Whether block, tile and row fit into the 64 bits by which nonzeros are sorted. */
static bool sortable(const struct model *model, const struct pd_tiling *tiling, int row_bits) {
  int bits = row_bits;
  for (int g = 0; g < model->columns; ++g)
    if (model->column[g].bits > tiling->shift[g]) bits += model->column[g].bits - tiling->shift[g];
  return bits <= 64;
}

void pd_tiling_choose(const struct pd_traits *traits, const struct pd_request *request, int mode,
                      struct pd_tiling *tiling) {
  struct model model;
  set_model(traits, request, mode, &model);
  int row_bits = pd_index_bits(traits->dims[mode]);
  double rows = BLOCK_BYTES / ((double)request->rank * sizeof(double));
  int block_shift = rows < 2 ? 0 : (int)log2(rows);
  model.block_rows = ldexp(1, block_shift);
  *tiling = (struct pd_tiling){.block_shift = block_shift};
  for (int g = 0; g < model.columns; ++g)
    tiling->shift[g] = 64;
  tiling->nanoseconds = cost(&model, tiling);
  /* Halves the tiles of one column after the other, as long as that is better; a column's first
   * steps may not pay alone, so several are tried at once. */
  for (bool better = true; better;) {
    struct pd_tiling best = *tiling;
    for (int g = 0; g < model.columns; ++g)
      for (int shift = model.column[g].bits - 1; shift >= 4 && shift < 64; --shift) {
        struct pd_tiling next = *tiling;
        if (shift >= next.shift[g]) continue;
        next.tiled = true;
        next.shift[g] = shift;
        if (!sortable(&model, &next, row_bits)) break;
        next.nanoseconds = cost(&model, &next);
        if (next.nanoseconds < 0.97 * best.nanoseconds) best = next;
      }
    better = best.nanoseconds < tiling->nanoseconds;
    *tiling = best;
  }
}
