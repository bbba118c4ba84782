/* Chooses blocks and tiles by a model of the caches: what the rows that a nonzero needs cost to
 * fetch, against what loading tiles and starting runs costs. Constants are nanoseconds of one
 * thread of an AMD EPYC (Zen 4); the choice depends on their ratios only. */
#include "formats/rowsum/rowsum_build.h"
#include <math.h>

static const double NEAR_BYTES = 200e3, FAR_BYTES = 10e6; /* of a factor, kept in L2 and in L3 */
static const double NEAR_LINE = 0.35, FAR_LINE = 1.7, MEMORY_LINE = 5;
static const double RUN_START = 7, BLOCK_BYTES = 128 << 10;

struct column {
  int mode;
  double rows;     /* that have nonzeros */
  double row_size; /* bytes */
  int bits;        /* of its index */
};

/* Columns are in the order by which a run is sorted: the last is the leaf. Nonzeros that differ in
 * their leaf only (a fiber) follow each other and find the other rows where they were. */
struct model {
  int columns;
  double fibers; /* along the leaf */
  struct column column[POLYAD_MAX_ORDER];
  double nnz, out_rows, lines; /* cache lines of a factor row */
  double block_rows;
};

double pd_line_nanoseconds(double bytes) {
  double near = bytes < NEAR_BYTES ? 1 : NEAR_BYTES / bytes;
  double far = bytes < FAR_BYTES ? 1 : FAR_BYTES / bytes;
  return near * NEAR_LINE + (far - near) * FAR_LINE + (1 - far) * MEMORY_LINE;
}

static double tiling_tiles_of(const struct column *column, int shift) {
  return shift >= column->bits ? 1 : ldexp(1, column->bits - shift);
}

/* A row with k nonzeros has at most k runs: this is an upper bound. */
static double runs_of(const struct model *model, const struct pd_tiling *tiling) {
  double tiles = 1;
  for (int g = 0; g < model->columns; ++g)
    tiles *= tiling_tiles_of(&model->column[g], tiling->shift[g]);
  return fmin(model->nnz, model->out_rows * tiles);
}

static double tiling_cost(const struct model *model, const struct pd_tiling *tiling) {
  double tiles = 1, sum = 0;
  for (int g = 0; g < model->columns; ++g)
    tiles *= tiling_tiles_of(&model->column[g], tiling->shift[g]);
  double blocks = tiling->tiled ? ceil(model->out_rows / model->block_rows) : 1;
  int leaf = model->columns - 1;
  double pieces = model->nnz; /* of fibers, cut by the leaf's tiles */
  if (leaf >= 0)
    pieces = fmin(model->nnz,
                  model->fibers * tiling_tiles_of(&model->column[leaf], tiling->shift[leaf]));
  for (int g = 0; g < model->columns; ++g) {
    const struct column *column = &model->column[g];
    double mine = tiling_tiles_of(column, tiling->shift[g]);
    double table = column->rows * column->row_size;
    double fetches = g == leaf ? model->nnz : pieces;
    double fetched = fetches * pd_line_nanoseconds(table / mine);
    /* Each tile of this column is loaded anew for every tile of the others and every block. */
    double loaded = blocks * (tiles / mine) * column->rows * pd_line_nanoseconds(table);
    double once = fetches * pd_line_nanoseconds(table);
    sum += model->lines * (mine == 1 ? once : fmin(fetched + loaded, once));
  }
  return sum + runs_of(model, tiling) * RUN_START + model->nnz * 0.4 * (model->columns + 1);
}

/* The other modes, the longest first and the leaf last. */
static void set_model(const struct pd_traits *traits, const struct pd_request *request, int mode,
                      int leaf, struct model *model) {
  double row = (double)request->rank * (double)pd_type_bytes(request->precision);
  *model = (struct model){.nnz = (double)traits->nnz,
                          .fibers = (double)traits->fibers[leaf],
                          .out_rows = (double)traits->nonempty[mode],
                          .lines = fmax(1, row / 64)};
  int modes[POLYAD_MAX_ORDER];
  for (int m = 0; m < traits->order; ++m) {
    if (m == mode || m == leaf) continue;
    int at = model->columns++;
    for (; at > 0 && traits->dims[modes[at - 1]] < traits->dims[m]; --at)
      modes[at] = modes[at - 1];
    modes[at] = m;
  }
  modes[model->columns++] = leaf;
  for (int g = 0; g < model->columns; ++g)
    model->column[g] = (struct column){.mode = modes[g],
                                       .rows = (double)traits->nonempty[modes[g]],
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

static void plain_tiling(const struct model *model, struct pd_tiling *tiling) {
  *tiling = (struct pd_tiling){.columns = model->columns};
  for (int g = 0; g < model->columns; ++g) {
    tiling->mode[g] = model->column[g].mode;
    tiling->shift[g] = 64;
  }
  tiling->nanoseconds = tiling_cost(model, tiling);
}

/* Cuts one column after the other into smaller tiles, as long as that is better. */
static void cut_tiles(struct model *model, const struct pd_request *request, int row_bits,
                      struct pd_tiling *tiling) {
  double rows = BLOCK_BYTES / ((double)request->rank * sizeof(double));
  tiling->block_shift = rows < 2 ? 0 : (int)log2(rows);
  model->block_rows = ldexp(1, tiling->block_shift);
  for (bool better = true; better;) {
    struct pd_tiling best = *tiling;
    for (int g = 0; g < model->columns; ++g)
      for (int shift = model->column[g].bits - 1; shift >= 4 && shift < 64; --shift) {
        struct pd_tiling next = *tiling;
        if (shift >= next.shift[g]) continue;
        next.tiled = true;
        next.shift[g] = shift;
        if (!sortable(model, &next, row_bits)) break;
        next.nanoseconds = tiling_cost(model, &next);
        if (next.nanoseconds < 0.97 * best.nanoseconds) best = next;
      }
    better = best.nanoseconds < tiling->nanoseconds;
    *tiling = best;
  }
}

void pd_tiling_choose(const struct pd_traits *traits, const struct pd_request *request, int mode,
                      bool tiles, struct pd_tiling *tiling) {
  struct model model;
  *tiling = (struct pd_tiling){.runs = traits->nonempty[mode]};
  int row_bits = pd_index_bits(traits->dims[mode]);
  for (int leaf = 0; leaf < traits->order; ++leaf) {
    if (leaf == mode) continue;
    struct pd_tiling next;
    set_model(traits, request, mode, leaf, &model);
    plain_tiling(&model, &next);
    if (tiles) cut_tiles(&model, request, row_bits, &next);
    next.runs = (uint64_t)runs_of(&model, &next);
    if (tiling->columns == 0 || next.nanoseconds < tiling->nanoseconds) *tiling = next;
  }
}
