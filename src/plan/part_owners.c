/* Who owns which rows of a mode. The members whose cells have the same range of the mode, a layer,
 * share its rows. Each of them is the home of an equal part of the range: there the members' lists
 * of the rows that their nonzeros have come together, and every row gets an owner: of the members
 * that have it the one with the fewest rows so far, after the rows that only one has; a row that
 * nobody has stays at its home. The answers go back, and members tell the owners which rows they
 * read.
 *
 * Every step but one is shared by threads, each of which has a piece of a list; where what a piece
 * finds begins is known before it is written, so that the result is that of one thread. Which of
 * several members gets a row depends on all rows before it: one thread goes through them, which
 * takes a nanosecond or two for each (part_settle.c). */
#include "core/bits.h"
#include "core/radix_sort.h"
#include "plan/part_making.h"
#include <string.h>

/* One mode's layer, as a member sees it. */
struct layer {
  polyad_team *team;
  struct pd_part_layer of;
  int *rank;              /* of its members, ascending */
  int me;                 /* this member among them */
  const double *weight;   /* see pd_part_settle() */
  uint64_t first, length; /* the range */
  uint64_t *touched;      /* indices that this member's nonzeros have, ascending */
  uint64_t touched_count;
  uint32_t *owner; /* of each of them, as number in the layer */
  uint64_t *kept;  /* indices of this member's home that nobody has, ascending */
  uint64_t kept_count;
  struct pd_parcel *to, *from; /* `size` of the team */
};

/* ---- homes, and who owns what is there ------------------------------------------------------ */

struct pd_part_layer pd_part_layers(const struct pd_part *part, int mode, int size) {
  struct pd_part_layer layer = {.members = size / part->grid[mode], .inner = 1};
  for (int n = mode + 1; n < part->order; ++n)
    layer.inner *= part->grid[n];
  return layer;
}

uint64_t pd_part_home(const struct pd_part_layer *layer, uint64_t first, uint64_t length, int k) {
  uint64_t members = (uint64_t)layer->members;
  uint64_t begin = (uint64_t)k * ((length + members - 1) / members);
  return first + (begin < length ? begin : length);
}

/* ---- a member's layer ------------------------------------------------------------------------ */

static uint64_t home_begin(const struct layer *layer, int k) {
  return pd_part_home(&layer->of, layer->first, layer->length, k);
}

static polyad_status open_layer(polyad_context *context, const struct pd_part_making *making,
                                int mode, struct layer *layer) {
  const struct pd_part *part = making->part;
  uint64_t size = (uint64_t)making->size;
  int count = 0;
  layer->team = making->team;
  layer->of = pd_part_layers(part, mode, making->size);
  layer->first = making->cut[mode][making->place[mode]];
  layer->length = making->cut[mode][making->place[mode] + 1] - layer->first;
  PD_TRY(PD_NEW(context, (uint64_t)layer->of.members, &layer->rank));
  PD_TRY(PD_NEW_ZERO(context, 2 * size, &layer->to));
  layer->from = layer->to + size;
  /* With weights a layer is the whole team, or, in the mode that is cut, a single member. */
  if (layer->of.members == making->size) layer->weight = making->weight;
  for (int k = 0; k < (int)size; ++k)
    if (k / layer->of.inner % part->grid[mode] == making->place[mode]) {
      if (k == making->team->rank) layer->me = count;
      layer->rank[count++] = k;
    }
  return POLYAD_OK;
}

static void close_layer(polyad_context *context, struct layer *layer) {
  PD_FREE(context, layer->rank, layer->to, layer->touched, layer->owner, layer->kept);
}

/* Says which indices this member's nonzeros have, counted from the range's first. */
static void mark_touched(polyad_context *context, const struct pd_part_making *making, int mode,
                         uint64_t first, unsigned char *has) {
  uint64_t offset = 0;
  for (int n = 0; n < mode; ++n)
    offset += (uint64_t)making->index_bytes[n];
  int threads = pd_threads_for(context, making->count, 1 << 18);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t p = 0; p < making->count; ++p) {
    const char *record = making->record + p * making->record_bytes + offset;
    uint64_t i = pd_part_get(record, making->index_bytes[mode]) - first;
    /* Several threads may say so of one row. */
    if (!__atomic_load_n(&has[i], __ATOMIC_RELAXED)) __atomic_store_n(&has[i], 1, __ATOMIC_RELAXED);
  }
}

/* The indices that this member's nonzeros have. */
static polyad_status find_touched(polyad_context *context, const struct pd_part_making *making,
                                  int mode, struct layer *layer) {
  unsigned char *has = NULL;
  polyad_status status = POLYAD_OK;
  PD_TRY(PD_NEW_ZERO(context, layer->length, &has));
  if (making->there != NULL)
    status = pd_part_there_mark(context, making, mode, layer->first, layer->length, has);
  else
    mark_touched(context, making, mode, layer->first, has);
  if (status == POLYAD_OK)
    status = pd_part_list(context, has, layer->length, 1, layer->first, &layer->touched,
                          &layer->touched_count);
  if (status == POLYAD_OK) status = PD_NEW(context, layer->touched_count, &layer->owner);
  pd_free(context, has);
  return status;
}

/* How many indices of an ascending list lie before one. */
static uint64_t before(const uint64_t *list, uint64_t count, uint64_t index) {
  uint64_t begin = 0;
  while (count > 0) {
    uint64_t half = count / 2;
    bool less = list[begin + half] < index;
    begin += less ? half + 1 : 0;
    count = less ? count - half - 1 : half;
  }
  return begin;
}

/* Parcels of the touched indices, or of what belongs to them, for their homes. */
static void lay_by_home(const struct layer *layer, void *list, size_t item,
                        struct pd_parcel *parcel) {
  uint64_t begin = 0, end = 0;
  memset(parcel, 0, (size_t)layer->team->size * sizeof *parcel);
  for (int k = 0; k < layer->of.members; ++k, begin = end) {
    end = before(layer->touched, layer->touched_count, home_begin(layer, k + 1));
    parcel[layer->rank[k]] = (struct pd_parcel){(char *)list + begin * item, (end - begin) * item};
  }
}

/* ---- at home ------------------------------------------------------------------------------- */

/* The lists of all members of the layer for the rows of this home, as keys. */
struct home {
  uint64_t *keys, count;
  uint32_t *owner;   /* of every key's row */
  uint64_t *load;    /* of every member: rows that it owns so far */
  uint32_t *answers; /* the owners in the order of the lists, one behind the other */
};

static uint64_t listed(const struct layer *layer, int k) {
  return layer->from[layer->rank[k]].bytes / sizeof(uint64_t);
}

static const uint64_t *list_of(const struct layer *layer, int k) {
  return layer->from[layer->rank[k]].data;
}

static polyad_status open_home(polyad_context *context, const struct layer *layer,
                               struct home *home) {
  uint64_t members = (uint64_t)layer->of.members, next = 0;
  uint64_t begin = home_begin(layer, layer->me), rows = home_begin(layer, layer->me + 1) - begin;
  for (int k = 0; k < layer->of.members; ++k)
    home->count += listed(layer, k);
  PD_TRY(PD_NEW(context, members, &home->load));
  PD_TRY(PD_NEW(context, home->count, &home->keys));
  PD_TRY(PD_NEW(context, home->count, &home->owner));
  PD_TRY(PD_NEW(context, home->count, &home->answers));
  for (int k = 0; k < layer->of.members; ++k) {
    const uint64_t *list = list_of(layer, k), count = listed(layer, k);
    int threads = pd_threads_for(context, count, PD_PART_GRAIN);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (uint64_t j = 0; j < count; ++j)
      home->keys[next + j] = (list[j] - begin) * members + (uint64_t)k;
    next += count;
  }
  return pd_sort_u64(context, home->count, home->keys, pd_bit_length(rows * members), NULL, 0);
}

static void close_home(polyad_context *context, struct home *home) {
  PD_FREE(context, home->load, home->keys, home->owner, home->answers);
}

/* The rows of this home that nobody has. */
static polyad_status keep_rest(polyad_context *context, struct layer *layer,
                               const struct home *home) {
  uint64_t begin = home_begin(layer, layer->me), rows = home_begin(layer, layer->me + 1) - begin;
  uint64_t members = (uint64_t)layer->of.members;
  unsigned char *has = NULL;
  PD_TRY(PD_NEW_ZERO(context, rows, &has));
  int threads = pd_threads_for(context, home->count, PD_PART_GRAIN);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t j = 0; j < home->count; ++j) /* threads may meet at a row */
    __atomic_store_n(&has[home->keys[j] / members], 1, __ATOMIC_RELAXED);
  polyad_status status =
      pd_part_list(context, has, rows, 0, begin, &layer->kept, &layer->kept_count);
  pd_free(context, has);
  return status;
}

/* Where the answers of every member begin. */
static void lay_answers(struct layer *layer, const struct home *home) {
  uint64_t next = 0;
  memset(layer->to, 0, (size_t)layer->team->size * sizeof *layer->to);
  for (int k = 0; k < layer->of.members; ++k) {
    uint64_t count = listed(layer, k);
    layer->to[layer->rank[k]] =
        (struct pd_parcel){home->answers + next, count * sizeof *home->answers};
    next += count;
  }
}

/* The answers of the keys from `begin` to `end`. Keys of one member ascend as its list does: so
 * many of them come before `begin` as it has indices whose keys are less. */
static void answer_some(const struct layer *layer, const struct home *home, uint64_t begin,
                        uint64_t end, uint64_t *next) {
  uint64_t members = (uint64_t)layer->of.members, first = home_begin(layer, layer->me);
  if (begin == end) return;
  for (uint64_t k = 0; k < members; ++k) {
    const struct pd_parcel *to = &layer->to[layer->rank[k]];
    uint64_t row = home->keys[begin] / members + (home->keys[begin] % members > k);
    next[k] = (uint64_t)((uint32_t *)to->data - home->answers) +
              before(list_of(layer, (int)k), listed(layer, (int)k), first + row);
  }
  for (uint64_t j = begin; j < end; ++j)
    home->answers[next[home->keys[j] % members]++] = home->owner[j];
}

/* Owners go back in the order of the lists. */
static polyad_status answer(polyad_context *context, struct layer *layer, const struct home *home) {
  int threads = pd_threads_for(context, home->count, PD_PART_GRAIN);
  uint64_t members = (uint64_t)layer->of.members, *next = NULL;
  PD_TRY(PD_NEW(context, pd_mul_saturated(members, (uint64_t)threads), &next));
  lay_answers(layer, home);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t)
    answer_some(layer, home, pd_part_begin(home->count, t, threads),
                pd_part_begin(home->count, t + 1, threads), next + (uint64_t)t * members);
  pd_free(context, next);
  return POLYAD_OK;
}

/* Gives every row of this home an owner, and its members the answers. */
static polyad_status settle_home(polyad_context *context, struct layer *layer) {
  struct home home = {0};
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(open_home(context, layer, &home));
  pd_part_settle(context, home.keys, home.count, layer->of.members, layer->weight, home.load,
                 home.owner);
  PD_TRY_CLEANUP(keep_rest(context, layer, &home));
  PD_TRY_CLEANUP(answer(context, layer, &home));
  lay_by_home(layer, layer->owner, sizeof *layer->owner, layer->from);
  status = pd_team_exchange(context, layer->team, layer->to, layer->from);
cleanup:
  close_home(context, &home);
  return status;
}

/* ---- the rows of a member ------------------------------------------------------------------ */

/* Numbering the rows by threads: each has a piece of the range, and `next` has for every member
 * of the layer the row that its next one gets there; at first how many it has there. */
struct numbering {
  const struct layer *layer;
  struct pd_part_mode *mode;
  uint64_t *local;
  int threads;
  uint64_t *next; /* members of the layer for each thread */
};

/* A thread's piece of the touched indices, and of those that are kept. */
struct piece {
  uint64_t a, a_end, b, b_end;
};

static struct piece piece_of(const struct numbering *of, int t) {
  const struct layer *layer = of->layer;
  uint64_t begin = layer->first + pd_part_begin(layer->length, t, of->threads);
  uint64_t end = layer->first + pd_part_begin(layer->length, t + 1, of->threads);
  return (struct piece){.a = before(layer->touched, layer->touched_count, begin),
                        .a_end = before(layer->touched, layer->touched_count, end),
                        .b = before(layer->kept, layer->kept_count, begin),
                        .b_end = before(layer->kept, layer->kept_count, end)};
}

static uint64_t *next_of(const struct numbering *of, int t) {
  return of->next + (uint64_t)t * (uint64_t)of->layer->of.members;
}

static void count_piece(const struct numbering *of, int t) {
  struct piece piece = piece_of(of, t);
  uint64_t *next = next_of(of, t);
  for (uint64_t a = piece.a; a < piece.a_end; ++a)
    ++next[of->layer->owner[a]];
  next[of->layer->me] += piece.b_end - piece.b;
}

/* The rows of member k of the layer come next, of each thread's piece in turn. */
static uint64_t part_owners_place(const struct numbering *of, int k, uint64_t at) {
  for (int t = 0; t < of->threads; ++t) {
    uint64_t count = next_of(of, t)[k];
    next_of(of, t)[k] = at;
    at += count;
  }
  return at;
}

/* Own rows come first, then the others' by owner. */
static void place_owners(const struct numbering *of) {
  const struct layer *layer = of->layer;
  struct pd_part_mode *mode = of->mode;
  uint64_t at = mode->owned = part_owners_place(of, layer->me, 0);
  for (int rank = 0, k = 0; rank < layer->team->size; ++rank) {
    bool here = k < layer->of.members && layer->rank[k] == rank;
    mode->held[rank] = at;
    if (here && k != layer->me) at = part_owners_place(of, k, at);
    k += here;
  }
  mode->held[layer->team->size] = mode->rows = at;
}

static void number_piece(const struct numbering *of, int t) {
  const struct layer *layer = of->layer;
  struct piece piece = piece_of(of, t);
  uint64_t *next = next_of(of, t);
  while (piece.a < piece.a_end || piece.b < piece.b_end) {
    bool kept = piece.a == piece.a_end ||
                (piece.b < piece.b_end && layer->kept[piece.b] < layer->touched[piece.a]);
    uint64_t index = kept ? layer->kept[piece.b] : layer->touched[piece.a];
    uint64_t row = next[kept ? (uint32_t)layer->me : layer->owner[piece.a]]++;
    of->mode->index[row] = index;
    of->local[index - layer->first] = row;
    piece.a += !kept;
    piece.b += kept;
  }
}

/* Local rows: own ones in the order of their indices, then the others' by owner. */
static polyad_status number_rows(polyad_context *context, const struct layer *layer,
                                 struct pd_part_mode *mode, uint64_t *local) {
  int threads = pd_threads_for(context, layer->length, PD_PART_GRAIN);
  struct numbering of = {.layer = layer, .mode = mode, .local = local, .threads = threads};
  uint64_t counts = pd_mul_saturated((uint64_t)layer->of.members, (uint64_t)threads);
  PD_TRY(PD_NEW(context, layer->touched_count + layer->kept_count, &mode->index));
  PD_TRY(PD_NEW(context, (uint64_t)layer->team->size + 1, &mode->held));
  PD_TRY(PD_NEW_ZERO(context, counts, &of.next));
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t)
    count_piece(&of, t);
  place_owners(&of);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t)
    number_piece(&of, t);
  pd_free(context, of.next);
  if (mode->rows == 0) mode->rows = 1;
  return POLYAD_OK;
}

/* The rows that a member has told of. */
static void list_lent(polyad_context *context, const struct layer *layer, const uint64_t *local,
                      const struct pd_parcel *told, uint64_t *lent) {
  const uint64_t *index = told->data, count = told->bytes / sizeof *index;
  int threads = pd_threads_for(context, count, PD_PART_GRAIN);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t j = 0; j < count; ++j)
    lent[j] = local[index[j] - layer->first];
}

/* Tells the owners which of their rows this member reads. */
static polyad_status lend_rows(polyad_context *context, struct layer *layer, const uint64_t *local,
                               struct pd_part_mode *mode) {
  uint64_t size = (uint64_t)layer->team->size;
  void *memory = NULL;
  for (uint64_t k = 0; k < size; ++k)
    layer->to[k] = (struct pd_parcel){mode->index + mode->held[k],
                                      (mode->held[k + 1] - mode->held[k]) * sizeof *mode->index};
  PD_TRY(pd_team_deliver(context, layer->team, layer->to, layer->from, &memory));
  polyad_status status = PD_NEW_ZERO(context, size + 1, &mode->lent);
  for (uint64_t k = 0; k < size && status == POLYAD_OK; ++k)
    mode->lent[k + 1] = mode->lent[k] + layer->from[k].bytes / sizeof(uint64_t);
  if (status == POLYAD_OK) status = PD_NEW(context, mode->lent[size], &mode->lent_row);
  for (uint64_t k = 0; k < size && status == POLYAD_OK; ++k)
    list_lent(context, layer, local, &layer->from[k], mode->lent_row + mode->lent[k]);
  pd_free(context, memory);
  return status;
}

polyad_status pd_part_find_owners(polyad_context *context, struct pd_part_making *making, int mode,
                                  uint64_t **local) {
  struct layer layer = {0};
  struct pd_part_mode *of = &making->part->mode[mode];
  void *lists = NULL;
  polyad_status status = POLYAD_OK;
  of->length = making->part->dims[mode];
  PD_TRY_CLEANUP(open_layer(context, making, mode, &layer));
  PD_TRY_CLEANUP(find_touched(context, making, mode, &layer));
  lay_by_home(&layer, layer.touched, sizeof *layer.touched, layer.to);
  PD_TRY_CLEANUP(pd_team_deliver(context, layer.team, layer.to, layer.from, &lists));
  PD_TRY_CLEANUP(settle_home(context, &layer));
  PD_TRY_CLEANUP(PD_NEW(context, layer.length, local));
  PD_TRY_CLEANUP(number_rows(context, &layer, of, *local));
  status = lend_rows(context, &layer, *local, of);
cleanup:
  close_layer(context, &layer);
  pd_free(context, lists);
  return status;
}
