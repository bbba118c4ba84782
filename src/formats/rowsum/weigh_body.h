/* Gains of a loss and their gradient: the nonzeros of a run are weighed before they are summed.
 * Included by driver_body.h.
 *
 * A chunk of nonzeros at a time: the rows of Pi are made once and kept in a tile, their products
 * with the row of B give the weights, and then the chunk is summed as in MTTKRP, with the tile's
 * rows for its only column. Ranks too large for the tile make the rows of Pi twice. */

enum { TILE_BYTES = 16 << 10, LEAST_CHUNK = 16 };

static void slopes_of(polyad_type type, uint64_t count, const void *values,
                      const struct pd_loss *loss, void *models) {
  if (type == POLYAD_F32)
    slopes_float(count, values, loss, models);
  else
    slopes_double(count, values, loss, models);
}

static double gains_of(polyad_type type, uint64_t count, const void *values,
                       const struct pd_loss *loss, const void *models) {
  return type == POLYAD_F32 ? gains_float(count, values, loss, models)
                            : gains_double(count, values, loss, models);
}

struct weighing {
  const struct pd_rowsum_job *job;
  const char *b;  /* the row of B at work */
  uint64_t row;   /* its number; UINT64_MAX: none yet */
  bool whole;     /* rows of B are laid out as the column blocks want them */
  bool keeps;     /* rows of Pi in the tile */
  uint64_t chunk; /* nonzeros at once */
  double gain;    /* summed so far */
  const char *tile_row[PD_BLOCK + PD_AHEAD];
  _Alignas(64) double dots[PD_BLOCK + PD_LANES_MAX];
  _Alignas(64) char tile[TILE_BYTES];
};

static void start_weighing(const struct pd_rowsum_job *job, const struct pd_column_blocks *blocks,
                           int columns, struct weighing *w) {
  const uint64_t bytes = job->rank * pd_type_bytes(job->type), fits = TILE_BYTES / bytes;
  w->job = job;
  w->row = UINT64_MAX;
  w->gain = 0;
  w->whole = pd_rows_arranged(blocks, job->rank);
  w->keeps = job->out != NULL && columns != 1 && fits >= LEAST_CHUNK;
  w->chunk = PD_BLOCK;
  if (!w->keeps) return;
  if (fits < PD_BLOCK) w->chunk = fits / LEAST_CHUNK * LEAST_CHUNK;
  for (uint64_t p = 0; p < w->chunk; ++p)
    w->tile_row[p] = w->tile + p * bytes;
}

static void load_row(struct weighing *w, const struct pd_column_blocks *blocks, uint64_t row,
                     void *room) {
  if (w->row == row) return;
  size_t item = pd_type_bytes(w->job->type);
  w->row = row;
  w->b = (const char *)w->job->b + row * w->job->b_stride * item;
  if (w->whole) return;
  pd_arrange_row(blocks, item, w->b, room);
  w->b = room;
}

static void weigh_run(struct weighing *w, const struct pd_column_blocks *blocks,
                      const struct pd_run *run, uint64_t row, void *room, double *sums) {
  const struct pd_rowsum_job *job = w->job;
  const uint64_t item = pd_type_bytes(job->type);
  load_row(w, blocks, row, room);
  struct pd_run piece = *run;
  for (uint64_t at = 0; at < run->count; at += w->chunk) {
    uint64_t count = run->count - at < w->chunk ? run->count - at : w->chunk;
    piece.count = (uint32_t)count;
    piece.columns = run->columns;
    piece.prefetches = run->prefetches;
    piece.row = (const pd_rows *)(run->row[0] + at);
    pd_find_dots(blocks, item, job->rank, &piece, w->b, w->keeps ? w->tile : NULL, w->dots);
    const char *values = (const char *)run->values + at * item;
    if (job->out == NULL) {
      w->gain += gains_of(job->type, count, values, &job->loss, w->dots);
      continue;
    }
    slopes_of(job->type, count, values, &job->loss, w->dots);
    piece.values = w->dots;
    piece.prefetches = false;
    if (w->keeps) {
      piece.columns = 1;
      piece.row = (const pd_rows *)w->tile_row;
    }
    pd_sum_run(blocks, item, &piece, sums);
    piece.fresh = false;
  }
}

/* What the drivers call for every run, or piece of one, of output row `row`. */
static inline void take_run(const struct pd_rowsum_job *job, const struct pd_column_blocks *blocks,
                            const struct pd_rowsum_part *part, struct weighing *w,
                            struct pd_run *run, uint64_t row, double *sums) {
  if (job->b == NULL)
    pd_sum_run(blocks, pd_type_bytes(job->type), run, sums);
  else
    weigh_run(w, blocks, run, row, part->b, sums);
}
