/* Walks a part of a tree, nonzero by nonzero; included once per instruction set with WALK defined.
 *
 * A fiber (a node of the last level but one) is summed by the kernels of rowsum. What goes up from
 * a node is the sum over its subtree; what comes down to it is the product of the factor rows
 * above it. At the output's level the two meet. Everything above the fibers is float64 and adds
 * linearly, so a part may begin and end anywhere in the tree. */
#include "formats/csf/csf_walk.h"
#include "formats/rowsum/decode.h"
#include "tensor/tensor.h"
#include <string.h>

struct walker {
  const struct pd_csf_job *job;
  struct pd_csf_part *part;
  int fibers;                      /* level of the fibers; -1 when the tensor has one mode */
  uint64_t node[POLYAD_MAX_ORDER]; /* where we are */
  double *up[POLYAD_MAX_ORDER];    /* sums of the node at work, per level */
  double *down[POLYAD_MAX_ORDER];  /* products of the rows above each level */
  double *whole[POLYAD_MAX_ORDER]; /* CP-APR: the same with B's row at the output's level */
  void *b;                         /* whole[fibers + 1] as the kernels want it */
  _Alignas(64) double dots[PD_BLOCK + PD_LANES_MAX];
};

static uint64_t start_of(const struct pd_csf_tree *tree, int level, uint64_t node) {
  return pd_id_at(tree->start[level], tree->start_bytes, node);
}

static uint64_t id_of(const struct walker *w, int level) {
  const struct pd_csf_tree *tree = w->job->tree;
  return pd_id_at(tree->id[level], tree->id_bytes[level], w->node[level]);
}

static const void *row_of(const struct walker *w, int level) {
  return w->job->factor[level] + id_of(w, level) * w->job->stride[level];
}

/* to (+)= a * row, row in the factors' type. */
static void multiply(uint64_t rank, polyad_type type, const double *restrict a, const void *row,
                     double *restrict to) {
  if (type == POLYAD_F32)
    for (uint64_t r = 0; r < rank; ++r)
      to[r] = a[r] * (double)((const float *)row)[r];
  else
    for (uint64_t r = 0; r < rank; ++r)
      to[r] = a[r] * ((const double *)row)[r];
}

static void multiply_add(uint64_t rank, polyad_type type, const double *restrict a, const void *row,
                         double *restrict to) {
  if (type == POLYAD_F32)
    for (uint64_t r = 0; r < rank; ++r)
      to[r] += a[r] * (double)((const float *)row)[r];
  else
    for (uint64_t r = 0; r < rank; ++r)
      to[r] += a[r] * ((const double *)row)[r];
}

static void zero(uint64_t rank, double *a) { memset(a, 0, rank * sizeof *a); }

/* The part's first nonzero, and the nodes above it. */
static void locate(struct walker *w) {
  const struct pd_csf_tree *tree = w->job->tree;
  uint64_t child = w->part->begin;
  for (int l = w->fibers; l >= 0; --l)
    w->node[l] = child = pd_id_find(tree->start[l], tree->start_bytes, 0, tree->nodes[l], child);
}

/* Refreshes what comes down to the output's level after the node of `level` changed. */
static void set_down(struct walker *w, int level) {
  for (int l = level; l < w->job->level; ++l)
    multiply(w->job->rank, w->job->csf->type, w->down[l], row_of(w, l), w->down[l + 1]);
}

/* The columns of the last vector lie over those of the one before: puts them side by side. */
static void unpack(const struct pd_csf_job *job, double *sums) {
  uint64_t lanes = (uint64_t)job->sums->blocks.block[0].lanes;
  uint64_t vectors = (job->rank + lanes - 1) / lanes, last = (vectors - 1) * lanes;
  uint64_t shift = last + lanes - job->rank;
  if (shift != 0)
    for (uint64_t c = last; c < job->rank; ++c)
      sums[c] = sums[c + shift];
}

/* CP-APR: refreshes the products of all rows above the leaves after the node of `level` changed. */
static void set_whole(struct walker *w, int level) {
  const struct pd_csf_job *job = w->job;
  const struct pd_column_blocks *blocks = &job->sums->blocks;
  for (int l = level; l <= w->fibers; ++l)
    multiply(job->rank, job->csf->type, w->whole[l], row_of(w, l), w->whole[l + 1]);
  double *row = w->whole[w->fibers + 1];
  if (job->csf->type == POLYAD_F32) {
    float *narrow = (float *)(w->whole[0] + ((uint64_t)job->csf->order + 1) * job->padded);
    for (uint64_t r = 0; r < job->rank; ++r)
      narrow[r] = (float)row[r];
    pd_arrange_row(blocks, sizeof *narrow, narrow, w->b);
  } else {
    pd_arrange_row(blocks, sizeof *row, row, w->b);
  }
}

/* Puts weights in the place of the values of a run of leaves, whose rows it knows. */
static void weigh(struct walker *w, struct pd_run *run) {
  const struct pd_csf_job *job = w->job;
  const struct pd_rowsum_isa *isa = job->sums->isa;
  polyad_type type = job->csf->type;
  pd_find_dots(&job->sums->blocks, pd_type_bytes(type), job->rank, run, w->b, NULL, w->dots);
  if (job->gains)
    w->part->gain += isa->gains(type, run->count, run->values, &job->loss, w->dots);
  else
    isa->slopes(type, run->count, run->values, &job->loss, w->dots);
  run->values = w->dots;
  run->prefetches = false;
}

/* Sum over the fiber's nonzeros [begin, end) of value times leaf row. */
static void sum_fiber(struct walker *w, uint64_t begin, uint64_t end, double *sums) {
  const struct pd_csf_job *job = w->job;
  const struct pd_csf_tree *tree = job->tree;
  const uint64_t item = pd_type_bytes(job->csf->type);
  int leaf = w->fibers + 1;
  _Alignas(64) const char *row[1][PD_BLOCK + PD_AHEAD];
  struct pd_run run = {.columns = 1, .fresh = true, .prefetches = job->prefetch};
  run.prefetch[0] = job->prefetch;
  run.row = (const pd_rows *)row[0];
  for (uint64_t first = begin, count; first < end; first += count) {
    count = end - first < PD_BLOCK ? end - first : PD_BLOCK;
    pd_decode(tree->id[leaf], tree->id_bytes[leaf], job->csf->nnz, job->factor[leaf],
              job->stride[leaf], first, count, row[0]);
    run.count = (uint32_t)count;
    run.values = (const char *)tree->values + first * item;
    if (job->weighs) weigh(w, &run);
    if (job->gains) continue;
    pd_sum_run(&job->sums->blocks, item, &run, sums);
    run.prefetches = job->prefetch;
    run.fresh = false;
  }
  if (!job->gains) unpack(job, sums);
}

/* Leaf output: every nonzero of the fiber adds to the row of its leaf. */
static void scatter_values(const struct walker *w, uint64_t begin, uint64_t end,
                           const void *values) {
  const struct pd_csf_job *job = w->job;
  const struct pd_csf_tree *tree = job->tree;
  const double *restrict down = w->down[job->level];
  for (uint64_t p = begin; p < end; ++p) {
    double x = job->csf->type == POLYAD_F32 ? (double)((const float *)values)[p - begin]
                                            : ((const double *)values)[p - begin];
    uint64_t i = pd_id_at(tree->id[job->level], tree->id_bytes[job->level], p);
    double *restrict to = w->part->rows + i * job->padded;
    for (uint64_t r = 0; r < job->rank; ++r)
      to[r] += x * down[r];
  }
}

static void scatter_fiber(struct walker *w, uint64_t begin, uint64_t end) {
  const struct pd_csf_job *job = w->job;
  const struct pd_csf_tree *tree = job->tree;
  const uint64_t item = pd_type_bytes(job->csf->type);
  const char *values = (const char *)tree->values + begin * item;
  _Alignas(64) const char *row[1][PD_BLOCK + PD_AHEAD];
  struct pd_run run = {.columns = 1, .row = (const pd_rows *)row[0]};
  if (!job->weighs) {
    scatter_values(w, begin, end, values);
    return;
  }
  for (uint64_t first = begin, count; first < end; first += count, values += count * item) {
    count = end - first < PD_BLOCK ? end - first : PD_BLOCK;
    pd_decode(tree->id[job->level], tree->id_bytes[job->level], job->csf->nnz,
              job->factor[job->level], job->stride[job->level], first, count, row[0]);
    run.count = (uint32_t)count;
    run.values = values;
    weigh(w, &run);
    scatter_values(w, first, first + count, run.values);
  }
}

static uint64_t first_nonzero(const struct walker *w, uint64_t root) {
  uint64_t at = root;
  for (int l = 0; l <= w->fibers; ++l)
    at = start_of(w->job->tree, l, at);
  return at;
}

/* Root output: the sums of a row, or of this part's share of it. */
static void finish_root(struct walker *w, double *sums) {
  const struct pd_csf_job *job = w->job;
  struct pd_csf_part *part = w->part;
  uint64_t row = id_of(w, 0);
  bool begins = first_nonzero(w, w->node[0]) >= part->begin;
  bool ends = first_nonzero(w, w->node[0] + 1) <= part->end;
  if (!begins) {
    part->has_head = true;
    part->head_ends = ends;
    part->head_row = row;
    memcpy(part->head, sums, job->rank * sizeof *sums);
  } else if (!ends) {
    part->has_tail = true;
    part->tail_row = row;
    memcpy(part->tail, sums, job->rank * sizeof *sums);
  } else {
    pd_csf_write_row(&job->out, sums, row);
  }
}

/* A node of `level` is complete (or the part ends): its sums go up, as far as they are complete.
 * Down from the output's level nothing is left to do. */
static void climb(struct walker *w, bool last) {
  const struct pd_csf_job *job = w->job;
  const struct pd_csf_tree *tree = job->tree;
  for (int l = w->fibers;; --l) {
    if (l == job->level) {
      if (l == 0)
        finish_root(w, w->up[0]);
      else {
        double *restrict to = w->part->rows + id_of(w, l) * job->padded;
        const double *restrict up = w->up[l], *restrict down = w->down[l];
        for (uint64_t r = 0; r < job->rank; ++r)
          to[r] += up[r] * down[r];
      }
      zero(job->rank, w->up[l]);
      return;
    }
    multiply_add(job->rank, job->csf->type, w->up[l], row_of(w, l), w->up[l - 1]);
    zero(job->rank, w->up[l]);
    bool complete = w->node[l] + 1 == start_of(tree, l - 1, w->node[l - 1] + 1);
    if (!complete && !last) return;
  }
}

/* Goes to the next fiber; returns the highest level whose node changed. */
static int advance(struct walker *w) {
  int l = w->fibers;
  while (++w->node[l], l > 0 && w->node[l] == start_of(w->job->tree, l - 1, w->node[l - 1] + 1))
    --l;
  return l;
}

static void set_up(struct walker *w, const struct pd_csf_job *job, struct pd_csf_part *part) {
  *w = (struct walker){.job = job, .part = part, .fibers = job->csf->order - 2};
  double *at = part->vectors;
  for (int l = 0; l < job->csf->order; ++l, at += 2 * job->padded) {
    w->up[l] = at;
    w->down[l] = at + job->padded;
    zero(job->padded, w->up[l]);
  }
  for (uint64_t r = 0; r < job->rank; ++r)
    w->down[0][r] = 1;
  if (!job->weighs) return;
  for (int l = 0; l < job->csf->order; ++l)
    w->whole[l] = part->whole + (uint64_t)l * job->padded;
  w->b = part->whole + (uint64_t)job->csf->order * job->padded;
  for (uint64_t r = 0; r < job->rank; ++r)
    w->whole[0][r] = 1;
}

void WALK(const struct pd_csf_job *job, struct pd_csf_part *part) {
  struct walker w;
  set_up(&w, job, part);
  if (part->begin == part->end) return;
  locate(&w);
  set_down(&w, 0);
  if (job->weighs) set_whole(&w, 0);
  for (uint64_t p = part->begin; p < part->end;) {
    uint64_t end = w.fibers < 0 ? part->end : start_of(job->tree, w.fibers, w.node[w.fibers] + 1);
    if (end > part->end) end = part->end;
    if (job->gains) {
      sum_fiber(&w, p, end, NULL);
    } else if (job->level == job->csf->order - 1) {
      scatter_fiber(&w, p, end);
    } else {
      sum_fiber(&w, p, end, w.up[w.fibers]);
      climb(&w, end == part->end);
    }
    p = end;
    if (p == part->end) break;
    int changed = advance(&w);
    set_down(&w, changed);
    if (job->weighs) set_whole(&w, changed);
  }
}
