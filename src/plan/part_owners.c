/* Who owns which rows of a mode. The members whose cells have the same range of the mode, a layer,
 * share its rows. Each of them is the home of an equal part of the range: there the members' lists
 * of the rows that their nonzeros have come together, and every row gets an owner: of the members
 * that have it the one with the fewest rows so far, after the rows that only one has; a row that
 * nobody has stays at its home. The answers go back, and members tell the owners which rows they
 * read. */
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

/* Rows that one member has come before those that several have. */
void pd_part_settle(const uint64_t *keys, uint64_t count, int members, uint64_t *load,
                    uint32_t *owner) {
  const uint64_t each = (uint64_t)members;
  memset(load, 0, (size_t)members * sizeof *load);
  for (int several = 0; several < 2; ++several)
    for (uint64_t begin = 0, end; begin < count; begin = end) {
      uint64_t best = keys[begin] % each, behind = keys[begin] - best + each;
      for (end = begin + 1; end < count && keys[end] < behind; ++end)
        if (load[keys[end] % each] < load[best]) best = keys[end] % each;
      if (several != (end - begin > 1)) continue;
      ++load[best];
      for (uint64_t j = begin; j < end; ++j)
        owner[j] = (uint32_t)best;
    }
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
  for (uint64_t i = 0; i < layer->length; ++i)
    layer->touched_count += has[i];
  if (status == POLYAD_OK) status = PD_NEW(context, layer->touched_count, &layer->touched);
  if (status == POLYAD_OK) status = PD_NEW(context, layer->touched_count, &layer->owner);
  uint64_t next = 0;
  for (uint64_t i = 0; i < layer->length && status == POLYAD_OK; ++i)
    if (has[i]) layer->touched[next++] = layer->first + i;
  pd_free(context, has);
  return status;
}

/* Parcels of the touched indices, or of what belongs to them, for their homes. */
static void lay_by_home(const struct layer *layer, void *list, size_t item,
                        struct pd_parcel *parcel) {
  uint64_t begin = 0, end = 0;
  memset(parcel, 0, (size_t)layer->team->size * sizeof *parcel);
  for (int k = 0; k < layer->of.members; ++k, begin = end) {
    while (end < layer->touched_count && layer->touched[end] < home_begin(layer, k + 1))
      ++end;
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
    const uint64_t *list = layer->from[layer->rank[k]].data;
    for (uint64_t j = 0; j < listed(layer, k); ++j)
      home->keys[next++] = (list[j] - begin) * members + (uint64_t)k;
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
  uint64_t members = (uint64_t)layer->of.members, had = 0, j = 0;
  for (uint64_t k = 0; k < home->count; ++k)
    had += k == 0 || home->keys[k] / members != home->keys[k - 1] / members;
  PD_TRY(PD_NEW(context, rows - had, &layer->kept));
  for (uint64_t i = 0; i < rows; ++i) {
    if (j == home->count || home->keys[j] / members != i)
      layer->kept[layer->kept_count++] = begin + i;
    while (j < home->count && home->keys[j] / members == i)
      ++j;
  }
  return POLYAD_OK;
}

/* Owners go back in the order of the lists: keys of one member ascend as its list does. */
static void lay_answers(struct layer *layer, struct home *home) {
  uint64_t members = (uint64_t)layer->of.members, next = 0;
  memset(layer->to, 0, (size_t)layer->team->size * sizeof *layer->to);
  for (int k = 0; k < layer->of.members; ++k) {
    uint64_t count = listed(layer, k);
    layer->to[layer->rank[k]] =
        (struct pd_parcel){home->answers + next, count * sizeof *home->answers};
    home->load[k] = next;
    next += count;
  }
  for (uint64_t j = 0; j < home->count; ++j)
    home->answers[home->load[home->keys[j] % members]++] = home->owner[j];
}

/* Gives every row of this home an owner, and its members the answers. */
static polyad_status settle_home(polyad_context *context, struct layer *layer) {
  struct home home = {0};
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(open_home(context, layer, &home));
  pd_part_settle(home.keys, home.count, layer->of.members, home.load, home.owner);
  PD_TRY_CLEANUP(keep_rest(context, layer, &home));
  lay_answers(layer, &home);
  lay_by_home(layer, layer->owner, sizeof *layer->owner, layer->from);
  status = pd_team_exchange(context, layer->team, layer->to, layer->from);
cleanup:
  close_home(context, &home);
  return status;
}

/* ---- the rows of a member ------------------------------------------------------------------ */

/* Local rows: own ones in the order of their indices, then the others' by owner. */
static polyad_status number_rows(polyad_context *context, const struct layer *layer,
                                 struct pd_part_mode *mode, uint64_t *local) {
  uint64_t size = (uint64_t)layer->team->size, a = 0, b = 0;
  PD_TRY(PD_NEW(context, layer->touched_count + layer->kept_count, &mode->index));
  PD_TRY(PD_NEW_ZERO(context, size + 1, &mode->held));
  while (a < layer->touched_count || b < layer->kept_count) {
    bool kept =
        a == layer->touched_count || (b < layer->kept_count && layer->kept[b] < layer->touched[a]);
    if (!kept && layer->owner[a] != (uint32_t)layer->me) {
      ++mode->held[layer->rank[layer->owner[a++]] + 1];
      continue;
    }
    mode->index[mode->owned++] = kept ? layer->kept[b++] : layer->touched[a++];
  }
  mode->held[0] = mode->owned;
  for (uint64_t k = 0; k < size; ++k)
    mode->held[k + 1] += mode->held[k];
  mode->rows = mode->held[size];
  /* held[k] counts up to where member k + 1's rows begin, and is then moved back. */
  for (a = 0; a < layer->touched_count; ++a)
    if (layer->owner[a] != (uint32_t)layer->me)
      mode->index[mode->held[layer->rank[layer->owner[a]]]++] = layer->touched[a];
  memmove(mode->held + 1, mode->held, size * sizeof *mode->held);
  mode->held[0] = mode->owned;
  for (uint64_t i = 0; i < mode->rows; ++i)
    local[mode->index[i] - layer->first] = i;
  if (mode->rows == 0) mode->rows = 1;
  return POLYAD_OK;
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
    for (uint64_t j = mode->lent[k]; j < mode->lent[k + 1]; ++j)
      mode->lent_row[j] =
          local[((const uint64_t *)layer->from[k].data)[j - mode->lent[k]] - layer->first];
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
