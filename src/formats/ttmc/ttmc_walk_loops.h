/* The walk for one type of factors: the includer defines VAL and NAME(x).
 *
 * A row of the output is the sum over its nonzeros of x times the Kronecker product of the other
 * modes' factor rows. Nonzeros that agree in their first columns share the product of those
 * columns' rows: below each column a partial sum collects, and it is multiplied by the row above
 * it, once, when an index further up changes. Sums are float64. */

struct NAME(walk) {
  const struct pd_ttmc_job *job;
  struct pd_ttmc_part *part;
  int last;                         /* column; -1 when there is none */
  const VAL *row[POLYAD_MAX_ORDER]; /* at work in each column but the last */
  uint64_t index[POLYAD_MAX_ORDER];
  bool fresh[POLYAD_MAX_ORDER + 1]; /* nothing in the sum yet: its contents mean nothing */
};

/* to (+)= x row, for n numbers. */
static inline __attribute__((always_inline)) void
NAME(add_n)(uint64_t n, double x, const VAL *restrict row, bool fresh, double *restrict to) {
  if (fresh)
    for (uint64_t r = 0; r < n; ++r)
      to[r] = x * (double)row[r];
  else
    for (uint64_t r = 0; r < n; ++r)
      to[r] += x * (double)row[r];
}

static inline void NAME(add)(uint64_t n, double x, const VAL *row, bool fresh, double *to) {
  switch (n) {
  case 8:
    NAME(add_n)(8, x, row, fresh, to);
    break;
  case 16:
    NAME(add_n)(16, x, row, fresh, to);
    break;
  case 32:
    NAME(add_n)(32, x, row, fresh, to);
    break;
  default:
    NAME(add_n)(n, x, row, fresh, to);
  }
}

/* to (+)= row (Kronecker) below: `rank` times n numbers. */
static inline __attribute__((always_inline)) void NAME(expand_n)(uint64_t rank, uint64_t n,
                                                                 const VAL *restrict row,
                                                                 const double *restrict below,
                                                                 bool fresh, double *restrict to) {
  for (uint64_t j = 0; j < rank; ++j, to += n) {
    double x = (double)row[j];
    if (fresh)
      for (uint64_t r = 0; r < n; ++r)
        to[r] = x * below[r];
    else
      for (uint64_t r = 0; r < n; ++r)
        to[r] += x * below[r];
  }
}

static void NAME(expand)(uint64_t rank, uint64_t n, const VAL *row, const double *below, bool fresh,
                         double *to) {
  switch (n) {
  case 8:
    NAME(expand_n)(rank, 8, row, below, fresh, to);
    break;
  case 16:
    NAME(expand_n)(rank, 16, row, below, fresh, to);
    break;
  case 32:
    NAME(expand_n)(rank, 32, row, below, fresh, to);
    break;
  default:
    NAME(expand_n)(rank, n, row, below, fresh, to);
  }
}

/* Sums below the columns from `column` on go up into it: their indices are about to change. */
static void NAME(flush)(struct NAME(walk) * w, int column) {
  const struct pd_ttmc_job *job = w->job;
  for (int g = w->last - 1; g >= column; --g) {
    NAME(expand)
    (job->rank[g], job->size[g + 1], w->row[g], w->part->sum[g + 1], w->fresh[g], w->part->sum[g]);
    w->fresh[g] = false;
    w->fresh[g + 1] = true;
  }
}

static void NAME(turn)(struct NAME(walk) * w, int column, uint64_t p) {
  for (int g = column; g < w->last; ++g) {
    w->index[g] = w->part->block->index[g][p];
    w->row[g] = (const VAL *)w->job->factor[g] + w->index[g] * w->job->stride[g];
  }
}

static inline void NAME(add_nonzero)(struct NAME(walk) * w, uint64_t p) {
  const struct pd_ttmc_job *job = w->job;
  const struct pd_ttmc_block *block = w->part->block;
  static const VAL one = 1;
  const VAL *row = &one;
  int last = w->last < 0 ? 0 : w->last;
  if (w->last >= 0)
    row = (const VAL *)job->factor[last] + block->index[last][p] * job->stride[last];
  NAME(add)(job->size[last], block->value[p], row, w->fresh[last], w->part->sum[last]);
  w->fresh[last] = false;
}

/* One more nonzero of the row at work. */
static inline void NAME(next_nonzero)(struct NAME(walk) * w, uint64_t p) {
  int g = 0;
  while (g < w->last && w->part->block->index[g][p] == w->index[g])
    ++g;
  if (g < w->last) {
    NAME(flush)(w, g);
    NAME(turn)(w, g, p);
  }
  NAME(add_nonzero)(w, p);
}

/* The row at work is summed, or this part's share of it. */
static void NAME(finish_row)(struct NAME(walk) * w, uint64_t row, bool begins, bool ends) {
  struct pd_ttmc_part *part = w->part;
  size_t bytes = (size_t)w->job->size[0] * sizeof(double);
  NAME(flush)(w, 0);
  w->fresh[0] = true;
  if (!begins) {
    part->has_head = true;
    part->head_ends = ends;
    part->head_row = row;
    memcpy(part->head, part->sum[0], bytes);
  } else if (!ends) {
    part->has_tail = true;
    part->tail_row = row;
    memcpy(part->tail, part->sum[0], bytes);
  } else {
    pd_ttmc_write_row(w->job, part->sum[0], row);
  }
}

static void NAME(walk_part)(const struct pd_ttmc_job *job, struct pd_ttmc_part *part) {
  const struct pd_ttmc_source *source = job->source;
  struct pd_ttmc_block *block = part->block;
  struct NAME(walk) w = {.job = job, .part = part, .last = source->columns - 1};
  uint64_t row = 0;
  bool begins = true, first_row = true;
  for (int g = 0; g <= source->columns; ++g)
    w.fresh[g] = true;
  if (part->begin > 0) { /* the row that the part before ends with */
    pd_ttmc_decode(source, part->begin - 1, 1, block);
    row = block->row[0];
    begins = first_row = false;
  }
  bool open = false; /* whether something of `row` is in the sums */
  for (uint64_t first = part->begin; first < part->end; first += PD_TTMC_BLOCK) {
    uint64_t count = part->end - first < PD_TTMC_BLOCK ? part->end - first : PD_TTMC_BLOCK;
    pd_ttmc_decode(source, first, count, block);
    for (uint64_t p = 0; p < count; ++p) {
      if (open && block->row[p] == row) {
        NAME(next_nonzero)(&w, p);
        continue;
      }
      if (open) NAME(finish_row)(&w, row, begins, true);
      if (first_row || block->row[p] != row) {
        pd_ttmc_zero_rows(job, first_row ? 0 : row + 1, block->row[p]);
        begins = true;
        row = block->row[p];
      }
      first_row = false;
      open = true;
      NAME(turn)(&w, 0, p);
      NAME(add_nonzero)(&w, p);
    }
  }
  bool ends = true;
  if (part->end < source->nnz) {
    pd_ttmc_decode(source, part->end, 1, block);
    ends = block->row[0] != row;
  } else {
    pd_ttmc_zero_rows(job, row + 1, job->out->rows);
  }
  NAME(finish_row)(&w, row, begins, ends);
}
