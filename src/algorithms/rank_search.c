/* Ranks chosen jointly. Orthonormal bases that contain each other make the choice a search in one
 * table: the core of the largest bases holds the truncated HOSVDs of all smaller ranks. Bases grow
 * until the choice is inside of them. A mode's spectrum bounds what any model of some rank keeps,
 * so that a share out of reach is found out early. Levels here are modes from the shortest to the
 * longest, as struct pd_tree orders them. */
#include "algorithms/rank_search.h"
#include "algorithms/core_project.h"
#include "algorithms/rank_choice.h"
#include "algorithms/unfolding.h"
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* Vectors of a long mode at first and at most. */
enum { FIRST = 32, MOST = 512 };
/* Cells of the core at first; it grows GROWTH times as large while the choice is not inside and its
 * projection takes at most MOST_WORK operations (about half a minute of one core). */
enum { FIRST_CELLS = 1 << 22, GROWTH = 4, BYTES_PER_CELL = 64 };
static const double most_work = 4e10;
/* Vectors of long modes span what is kept; they need no last digits, since iterations follow. */
static const double tolerance = 1e-4;

struct level {
  uint64_t rows, columns; /* of the basis; further columns are rounding error */
  uint64_t stride;        /* numbers of a row of `vectors` */
  bool whole;             /* no further vectors would add anything */
  double *vectors;
  double *shares; /* shares[r]: that the first r columns keep, r = 0 to columns */
};

struct search {
  struct pd_stage stage;
  polyad_context *context;
  polyad_tensor *tensor;
  struct pd_tree tree;
  int order;
  double target, total; /* share, and the squared norm */
  struct level level[POLYAD_MAX_ORDER];
  struct pd_core core, table;
  struct pd_rank_limits limits;
  pd_rank_fits fits;
  const void *user;
};

static bool level_ranks_fit(const void *user, const uint64_t *ranks) {
  const struct search *s = user;
  uint64_t of_mode[POLYAD_MAX_ORDER] = {0};
  for (int l = 0; l < s->order; ++l)
    of_mode[s->tree.mode[l]] = ranks[l];
  return s->fits(s->user, of_mode);
}

/* ---- bases ---------------------------------------------------------------------------------- */

static void clear_level(polyad_context *context, struct level *level) {
  PD_FREE(context, level->vectors, level->shares);
  *level = (struct level){0};
}

static void log_spectrum(const struct search *s, int l) {
  const struct level *level = &s->level[l];
  char text[256];
  int length = 0;
  for (uint64_t r = 1; r <= level->columns && length < 200; r *= 2)
    length += snprintf(text + length, sizeof text - (size_t)length, "%s%" PRIu64 ": %.4f",
                       r > 1 ? ", " : "", r, level->shares[r]);
  pd_log(s->context, POLYAD_LOG_DEBUG,
         "mode %d: its first singular vectors keep of the squared norm: %s; %" PRIu64 ": %.4f%s",
         s->tree.mode[l] + 1, text, level->columns, level->shares[level->columns],
         level->whole ? " (all)" : "");
}

/* The `count` leading vectors of a mode. */
static polyad_status find_level(struct search *s, int l, uint64_t count) {
  struct level *level = &s->level[l];
  polyad_status status = POLYAD_OK;
  struct pd_unfolding x = {0};
  double *values = NULL, residual;
  uint64_t rows = s->tensor->dims[s->tree.mode[l]];
  clear_level(s->context, level);
  PD_TRY_CLEANUP(pd_stage_tick(&s->stage));
  PD_TRY_CLEANUP(pd_unfold(s->context, s->tensor, s->tree.mode[l], &x));
  PD_TRY_CLEANUP(PD_NEW(s->context, count, &values));
  PD_TRY_CLEANUP(PD_NEW_ZERO(s->context, count + 1, &level->shares));
  PD_TRY_CLEANUP(PD_NEW(s->context, pd_mul_saturated(rows, count), &level->vectors));
  PD_TRY_CLEANUP(pd_unfolding_leading(&s->stage, &x, count, tolerance, 16 + (int)count / 4, values,
                                      level->vectors, &residual));
  level->rows = rows;
  level->columns = level->stride = count;
  while (level->columns > 1 && values[level->columns - 1] <= values[0] * DBL_EPSILON * (double)rows)
    --level->columns;
  level->whole = level->columns < count || count == rows;
  for (uint64_t r = 0; r < level->columns; ++r)
    level->shares[r + 1] = level->shares[r] + values[r] / s->total;
cleanup:
  pd_free(s->context, values);
  pd_unfolding_clear(&x);
  return status;
}

static uint64_t first_count(uint64_t rows) {
  if (rows <= PD_UNFOLDING_WHOLE) return rows;
  return FIRST;
}

static uint64_t next_count(const struct level *level) {
  uint64_t most = level->rows / 4 < MOST ? level->rows / 4 : MOST, twice = 2 * level->columns;
  return twice < most ? twice : most;
}

static bool can_grow(const struct level *level) {
  return !level->whole && next_count(level) > level->columns;
}

/* The fewest vectors that any model with this share has; where the known ones are too few, the
 * fewest that could be, as further ones keep no more than the last. */
static uint64_t fewest(const struct search *s, const struct level *level) {
  double missing = s->target - level->shares[level->columns];
  if (missing > 0 && !level->whole) {
    double last = level->shares[level->columns] - level->shares[level->columns - 1];
    double more = ceil(missing / last);
    double left = (double)(level->rows - level->columns);
    return level->columns + (uint64_t)(more < left ? more : left);
  }
  for (uint64_t r = 1; r < level->columns; ++r)
    if (level->shares[r] >= s->target) return r;
  return level->columns;
}

static void rank_search_find_least(struct search *s) {
  for (int l = 0; l < s->order; ++l)
    s->limits.least[l] = fewest(s, &s->level[l]);
}

/* Bases that keep the share in each mode alone; false when no ranks that fit can. */
static polyad_status find_bases(struct search *s, bool *possible) {
  for (int l = 0; l < s->order; ++l)
    PD_TRY(find_level(s, l, first_count(s->tensor->dims[s->tree.mode[l]])));
  *possible = true;
  for (int l = 0; l < s->order && *possible; ++l) {
    rank_search_find_least(s);
    *possible = level_ranks_fit(s, s->limits.least);
    struct level *level = &s->level[l];
    if (level->shares[level->columns] >= s->target || !*possible) continue;
    if (can_grow(level))
      PD_TRY(find_level(s, l--, next_count(level)));
    else if (!level->whole)
      *possible = false;
  }
  for (int l = 0; l < s->order; ++l)
    log_spectrum(s, l);
  return POLYAD_OK;
}

/* ---- the core ------------------------------------------------------------------------------- */

static double rank_search_size_of(const uint64_t *columns, int order) {
  double size = 1;
  for (int l = 0; l < order; ++l)
    size *= (double)columns[l];
  return size;
}

/* Of all modes the columns whose squared singular value is a share of at least `threshold`, and the
 * fewest that the target needs. */
static void columns_above(const struct search *s, double threshold, uint64_t *columns) {
  for (int l = 0; l < s->order; ++l) {
    const struct level *level = &s->level[l];
    uint64_t least = s->limits.least[l] < level->columns ? s->limits.least[l] : level->columns;
    columns[l] = level->columns;
    while (columns[l] > least &&
           level->shares[columns[l]] - level->shares[columns[l] - 1] < threshold)
      --columns[l];
  }
}

/* Columns of each basis so that the core has at most `cells` (unless the fewest have more), those
 * of the largest singular values of all modes. */
static void choose_columns(const struct search *s, uint64_t cells, uint64_t *columns) {
  double low = 1e-18, high = 2;
  columns_above(s, 0, columns);
  if (rank_search_size_of(columns, s->order) <= (double)cells) return;
  for (int step = 0; step < 60; ++step) {
    double threshold = sqrt(low * high);
    columns_above(s, threshold, columns);
    if (rank_search_size_of(columns, s->order) <= (double)cells)
      high = threshold;
    else
      low = threshold;
  }
  columns_above(s, high, columns);
}

static void clear_core(struct search *s) {
  PD_FREE(s->context, s->core.data, s->table.data);
  s->core.data = s->table.data = NULL;
}

/* The core of these columns, as shares, and its table. */
static polyad_status rank_search_project(struct search *s, const uint64_t *columns) {
  struct pd_bases bases = {{0}, {0}, {0}};
  uint64_t cells = (uint64_t)rank_search_size_of(columns, s->order);
  clear_core(s);
  s->core.order = s->order;
  for (int l = 0; l < s->order; ++l) {
    s->core.dims[l] = bases.columns[l] = columns[l];
    bases.basis[l] = s->level[l].vectors;
    bases.stride[l] = s->level[l].stride;
  }
  s->table = s->core;
  PD_TRY(PD_NEW(s->context, cells, &s->core.data));
  PD_TRY(PD_NEW(s->context, cells, &s->table.data));
  PD_TRY(pd_project(&s->stage, &s->tree, &bases, s->core.data));
  double scale = 1 / sqrt(s->total);
  for (uint64_t k = 0; k < cells; ++k)
    s->table.data[k] = s->core.data[k] *= scale;
  pd_rank_table(&s->table);
  return POLYAD_OK;
}

/* ---- the choice ----------------------------------------------------------------------------- */

static uint64_t most_cells(const struct search *s) {
  uint64_t used = polyad_memory_in_use(s->context), limit = polyad_memory_limit(s->context);
  uint64_t own =
      s->core.data == NULL ? 0 : 2 * (uint64_t)rank_search_size_of(s->core.dims, s->order) * 8;
  uint64_t left = limit > used ? limit - used : 0;
  return (left + own) / BYTES_PER_CELL + 1;
}

static bool too_much_work(const struct search *s, uint64_t cells, double most) {
  uint64_t columns[POLYAD_MAX_ORDER];
  choose_columns(s, cells, columns);
  return pd_project_work(&s->tree, columns) > most;
}

static uint64_t first_cells(const struct search *s) {
  uint64_t most = most_cells(s), cells = most < FIRST_CELLS ? most : FIRST_CELLS;
  while (cells > 1 << 12 && too_much_work(s, cells, most_work / 16))
    cells /= 2;
  return cells;
}

/* More vectors for modes whose choice is the last of those known, or of all modes when there is no
 * choice; false when there are none. */
static polyad_status grow_levels(struct search *s, const uint64_t *ranks, bool found, bool *grown) {
  *grown = false;
  for (int l = 0; l < s->order; ++l) {
    if (!can_grow(&s->level[l]) || (found && ranks[l] < s->level[l].columns)) continue;
    PD_TRY(find_level(s, l, next_count(&s->level[l])));
    log_spectrum(s, l);
    *grown = true;
  }
  rank_search_find_least(s);
  return POLYAD_OK;
}

/* Whether a larger core could hold a smaller choice. */
static bool at_edge(const struct search *s, const uint64_t *ranks) {
  for (int l = 0; l < s->order; ++l)
    if (ranks[l] == s->core.dims[l] && s->core.dims[l] < s->level[l].columns) return true;
  return false;
}

/* The truncated HOSVD of the fewest cells, in s->core's bases. */
static polyad_status rank_search_choose(struct search *s, uint64_t *ranks, bool *found) {
  uint64_t columns[POLYAD_MAX_ORDER];
  for (uint64_t cells = first_cells(s);;) {
    uint64_t most = most_cells(s);
    choose_columns(s, cells, columns);
    *found = false;
    if (rank_search_size_of(columns, s->order) > (double)most) return POLYAD_OK;
    PD_TRY(rank_search_project(s, columns));
    *found = pd_rank_smallest(&s->table, &s->limits, s->target, ranks);
    bool all = true, grown;
    for (int l = 0; l < s->order; ++l)
      all = all && columns[l] == s->level[l].columns;
    uint64_t larger = cells < most / GROWTH ? cells * GROWTH : most;
    if ((*found ? at_edge(s, ranks) : !all) && larger > cells &&
        !too_much_work(s, larger, most_work)) {
      cells = larger;
      continue;
    }
    PD_TRY(grow_levels(s, ranks, *found, &grown));
    if (!grown) return POLYAD_OK;
  }
}

static void print_ranks(const struct search *s, const uint64_t *ranks, char *text, size_t size) {
  uint64_t of_mode[POLYAD_MAX_ORDER] = {0};
  size_t length = 0;
  for (int l = 0; l < s->order; ++l)
    of_mode[s->tree.mode[l]] = ranks[l];
  text[0] = '\0';
  for (int n = 0; n < s->order && length + 24 < size; ++n)
    length +=
        (size_t)snprintf(text + length, size - length, "%s%" PRIu64, n > 0 ? "," : "", of_mode[n]);
}

/* The most that any model whose ranks fit may keep: in every mode it keeps no more than that mode's
 * leading singular vectors do. Eigenvalues of long modes are known up to the tolerance. */
static double most_possible(struct search *s) {
  double low = 0, high = 1;
  for (int step = 0; step < 50; ++step) {
    s->target = (low + high) / 2;
    rank_search_find_least(s);
    if (level_ranks_fit(s, s->limits.least))
      low = s->target;
    else
      high = s->target;
  }
  return fmin(high * (1 + tolerance), 1);
}

/* The error that tells how much can be kept. */
static polyad_status out_of_reach(struct search *s, double energy) {
  uint64_t columns[POLYAD_MAX_ORDER], ranks[POLYAD_MAX_ORDER];
  char text[120], limit[32];
  double share = 0, most = most_possible(s);
  for (int l = 0; l < s->order; ++l)
    s->limits.least[l] = 1;
  if (s->core.data == NULL) {
    choose_columns(s, first_cells(s), columns);
    PD_TRY(rank_search_project(s, columns));
  }
  (void)pd_bytes_text(limit, polyad_memory_limit(s->context));
  if (!pd_rank_largest(&s->table, &s->limits, ranks, &share))
    return pd_fail(s->context, POLYAD_MEMORY_LIMIT,
                   "not even ranks 1 fit the memory limit, %s; raise it", limit);
  print_ranks(s, ranks, text, sizeof text);
  return pd_fail(
      s->context, POLYAD_MEMORY_LIMIT,
      "no ranks found keep the share %g within the memory limit, %s, and the search's (%d "
      "columns of modes of over %d rows, %.0e operations); the most found is %.4g with ranks %s, "
      "and "
      "none that fit the memory can keep more than %.4g",
      energy, limit, (int)MOST, (int)PD_UNFOLDING_WHOLE, most_work, share, text,
      ceil(most * 1e4) / 1e4);
}

/* ---- the result ----------------------------------------------------------------------------- */

/* factor = basis times the model's vectors. */
static polyad_status take_factor(struct search *s, const struct pd_core_model *model, int l,
                                 double **factor) {
  const struct level *level = &s->level[l];
  uint64_t rank = model->ranks[l];
  PD_TRY(PD_NEW_ZERO(s->context, pd_mul_saturated(level->rows, rank), factor));
  int threads = pd_threads_for(s->context, level->rows * s->core.dims[l] * rank, 1 << 16);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t i = 0; i < level->rows; ++i)
    for (uint64_t k = 0; k < s->core.dims[l]; ++k) {
      double x = level->vectors[i * level->stride + k];
      const double *vector = model->vectors[l] + k * model->columns[l];
      for (uint64_t r = 0; r < rank; ++r)
        (*factor)[i * rank + r] += x * vector[r];
    }
  return POLYAD_OK;
}

/* Shrinks the choice and takes its factors. */
static polyad_status rank_search_finish(struct search *s, const uint64_t *ranks, double deadline,
                                        struct pd_rank_search *result) {
  struct pd_core_model model = {0};
  polyad_status status = POLYAD_OK;
  char text[120], first[120];
  int tried;
  pd_free(s->context, s->table.data);
  s->table.data = NULL;
  print_ranks(s, ranks, first, sizeof first);
  PD_TRY_CLEANUP(pd_core_model_create(s->context, &s->core, ranks, &model));
  PD_TRY_CLEANUP(
      pd_rank_shrink(&s->stage, &s->core, &s->limits, s->target, deadline, &model, &tried));
  result->share = model.share;
  for (int l = 0; l < s->order; ++l) {
    result->ranks[s->tree.mode[l]] = model.ranks[l];
    PD_TRY_CLEANUP(take_factor(s, &model, l, &result->factor[s->tree.mode[l]]));
  }
  print_ranks(s, model.ranks, text, sizeof text);
  pd_log(
      s->context, POLYAD_LOG_INFO,
      "ranks %s (a core of %.0f cells) keep %.6f of the squared norm; the smallest truncated HOSVD "
      "that does has ranks %s (%.0f cells); %d smaller cores were tried; %.2f s",
      text, rank_search_size_of(model.ranks, s->order), model.share, first,
      rank_search_size_of(ranks, s->order), tried, pd_seconds() - s->stage.started);
cleanup:
  pd_core_model_clear(s->context, &model);
  return status;
}

static polyad_status find_total(struct search *s) {
  for (uint64_t p = 0; p < s->tensor->nnz; ++p) {
    double value = pd_tensor_value(s->tensor, p);
    s->total += value * value;
  }
  if (!isfinite(s->total) || !(s->total > 0))
    return pd_fail(s->context, POLYAD_NUMERICAL,
                   "the tensor's squared norm overflows or vanishes; scale the values");
  return POLYAD_OK;
}

polyad_status pd_rank_search(polyad_context *context, const polyad_plan *plan, double energy,
                             double deadline, pd_rank_fits fits, const void *user,
                             struct pd_rank_search *result) {
  struct search s = {.stage = pd_stage_begin(context, "choosing ranks"),
                     .context = context,
                     .order = plan->order,
                     .fits = fits,
                     .user = user};
  uint64_t ranks[POLYAD_MAX_ORDER];
  bool found = false;
  /* What rounding may take from the model afterwards is kept beforehand. */
  double slack = 16 * plan->order * (plan->type == POLYAD_F32 ? FLT_EPSILON : DBL_EPSILON);
  polyad_status status = POLYAD_OK;
  s.limits.user = &s;
  s.limits.fits = level_ranks_fit;
  s.target = fmin(energy * (1 + slack), 1 - slack);
  *result = (struct pd_rank_search){.share = 0};
  PD_TRY_CLEANUP(pd_plan_expand(context, plan, &s.tensor));
  PD_TRY_CLEANUP(find_total(&s));
  PD_TRY_CLEANUP(pd_tree_create(context, s.tensor, &s.tree));
  PD_TRY_CLEANUP(find_bases(&s, &found));
  if (found) PD_TRY_CLEANUP(rank_search_choose(&s, ranks, &found));
  status = found ? rank_search_finish(&s, ranks, deadline, result) : out_of_reach(&s, energy);
cleanup:
  clear_core(&s);
  for (int l = 0; l < s.order; ++l)
    clear_level(context, &s.level[l]);
  pd_tree_clear(&s.tree);
  polyad_tensor_destroy(s.tensor);
  if (status != POLYAD_OK) pd_rank_search_clear(context, result);
  return status;
}

void pd_rank_search_clear(polyad_context *context, struct pd_rank_search *search) {
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    pd_free(context, search->factor[n]);
  *search = (struct pd_rank_search){.share = 0};
}
