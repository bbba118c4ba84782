/* Cuts a tensor into the parts of a team: the grid and where its ranges begin, the nonzeros to the
 * members (part_deal.c), owners of the rows (part_owners.c), and the tensor with local indices.
 * Members whose devices build do what is to be done with nonzeros there (part_there.c). */
#include "device/build.h"
#include "plan/part.h"
#include "plan/part_making.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- what all members agree on ------------------------------------------------------------- */

/* A share whose dims come from its own indices may be shorter than others, and one without any
 * nonzeros may know nothing of the tensor. */
static polyad_status agree_on_shape(polyad_context *context, struct pd_part_making *making,
                                    const polyad_tensor *mine) {
  double order = mine->order, type = mine->type, none = -INFINITY;
  double shape[4] = {order, -order, type, -type};
  PD_TRY(pd_part_check_file(context, making->team, mine));
  for (int k = 0; k < 4 && mine->nnz == 0; ++k)
    shape[k] = none;
  PD_TRY(pd_team_max(context, making->team, 4, shape));
  if (shape[0] == none)
    return pd_fail(context, POLYAD_NUMERICAL,
                   "no member of the team has a nonzero; expected at least one");
  if (shape[0] != -shape[1] || shape[2] != -shape[3])
    return pd_fail(context, POLYAD_MISMATCH,
                   "members of the team have shares of %g to %g modes%s; expected shares of one "
                   "tensor",
                   -shape[1], shape[0], shape[2] != -shape[3] ? " and of two types" : "");
  making->type = (polyad_type)shape[2];
  making->part->order = (int)shape[0];
  for (int n = 0; n < making->part->order; ++n) {
    making->part->dims[n] = mine->order == making->part->order ? mine->dims[n] : 1;
    PD_TRY(pd_team_max_count(context, making->team, &making->part->dims[n]));
    making->index_bytes[n] = pd_index_bytes(making->part->dims[n]);
    making->record_bytes += (uint64_t)making->index_bytes[n];
  }
  making->record_bytes += pd_type_bytes(making->type);
  return POLYAD_OK;
}

static void find_place(struct pd_part_making *making) {
  const struct pd_part *part = making->part;
  int rank = making->team->rank;
  for (int n = part->order - 1; n >= 0; --n) {
    making->place[n] = rank % part->grid[n];
    rank /= part->grid[n];
  }
}

/* ---- ranges -------------------------------------------------------------------------------- */

/* How many indices a bucket of a mode has, and how many buckets the mode has. */
static uint64_t bucket_width(uint64_t length) {
  return length / PD_PART_BUCKETS + (length % PD_PART_BUCKETS != 0);
}

static uint64_t bucket_count(uint64_t length) { return (length - 1) / bucket_width(length) + 1; }

/* The fraction of the nonzeros that the members of a mode's range q are to have. */
static double part_create_share(const struct pd_part_making *making, int q, int ranges) {
  return making->weight != NULL && ranges == making->size ? making->weight[q] : 1.0 / ranges;
}

/* Cuts a mode into ranges that have about their shares of the nonzeros; not exactly, since the
 * nonzeros were counted for buckets of indices only. */
static void part_create_cut_at(const struct pd_part_making *making, int n, int ranges,
                               uint64_t *cut) {
  const double *nonzeros = making->nonzeros[n];
  uint64_t length = making->part->dims[n], width = bucket_width(length);
  uint64_t count = bucket_count(length);
  double total = 0, sum = 0, before = 0;
  uint64_t b = 0;
  for (uint64_t k = 0; k < count; ++k)
    total += nonzeros[k];
  cut[0] = 0;
  for (int q = 1; q < ranges; ++q) {
    /* A bucket that is cut by the border goes to the side where more of it lies. */
    before += part_create_share(making, q - 1, ranges);
    double border = making->weight == NULL ? total * q / ranges : total * before;
    while (b < count && sum + nonzeros[b] / 2 < border)
      sum += nonzeros[b++];
    cut[q] = total > 0 ? b * width : pd_part_begin(length, q, ranges);
    if (cut[q] > length) cut[q] = length;
  }
  cut[ranges] = length;
}

/* Counts the nonzeros from `begin` on in the buckets of a mode. */
static void count_some(const polyad_tensor *mine, int n, uint64_t width, uint64_t begin,
                       uint64_t end, uint64_t *found) {
  if (mine->index_bytes[n] == 4 && width <= UINT32_MAX) { /* a division of 32 bits is quicker */
    const uint32_t *index = mine->index[n], narrow = (uint32_t)width;
    for (uint64_t p = begin; p < end; ++p)
      ++found[index[p] / narrow];
    return;
  }
  for (uint64_t p = begin; p < end; ++p)
    ++found[pd_tensor_index(mine, n, p) / width];
}

/* The nonzeros in every bucket of a mode, of this member; each thread counts in a list of its own.
 */
static polyad_status part_create_count_mode(polyad_context *context, const polyad_tensor *mine,
                                            int n, uint64_t width, uint64_t count,
                                            double *nonzeros) {
  int threads = pd_threads_for(context, mine->nnz, 1 << 18);
  uint64_t *found = NULL;
  PD_TRY(PD_NEW_ZERO(context, pd_mul_saturated(count, (uint64_t)threads), &found));
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t)
    count_some(mine, n, width, pd_part_begin(mine->nnz, t, threads),
               pd_part_begin(mine->nnz, t + 1, threads), found + (uint64_t)t * count);
  for (int t = 0; t < threads; ++t)
    for (uint64_t b = 0; b < count; ++b)
      nonzeros[b] += (double)found[(uint64_t)t * count + b];
  pd_free(context, found);
  return POLYAD_OK;
}

/* The nonzeros in every bucket of every mode, of all members. */
static polyad_status count_buckets(polyad_context *context, struct pd_part_making *making,
                                   const polyad_tensor *mine) {
  for (int n = 0; n < making->part->order; ++n) {
    uint64_t width = bucket_width(making->part->dims[n]);
    uint64_t count = bucket_count(making->part->dims[n]);
    PD_TRY(PD_NEW_ZERO(context, count, &making->nonzeros[n]));
    if (making->there != NULL)
      PD_TRY(pd_part_there_count(context, making, n, width, making->nonzeros[n]));
    else if (mine->nnz > 0)
      PD_TRY(part_create_count_mode(context, mine, n, width, count, making->nonzeros[n]));
    PD_TRY(pd_team_sum(context, making->team, count, making->nonzeros[n]));
  }
  return POLYAD_OK;
}

/* How many times its share of the nonzeros the fullest of a mode's ranges has. */
static double crowding_of(const struct pd_part_making *making, int n, int ranges, uint64_t *cut) {
  uint64_t length = making->part->dims[n], width = bucket_width(length);
  uint64_t count = bucket_count(length), b = 0;
  double most = 0, total = 0;
  part_create_cut_at(making, n, ranges, cut);
  for (int q = 0; q < ranges; ++q) {
    double sum = 0;
    for (; b < count && b * width < cut[q + 1]; ++b)
      sum += making->nonzeros[n][b];
    total += sum;
    sum /= part_create_share(making, q, ranges);
    if (sum > most) most = sum;
  }
  return most / total;
}

/* Chooses the grid, with how evenly every mode can be cut into every number of ranges. */
static polyad_status choose_grid(polyad_context *context, struct pd_part_making *making,
                                 uint64_t nnz) {
  struct pd_part *part = making->part;
  int size = making->size;
  double *crowding = NULL;
  uint64_t *cut = NULL;
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, pd_mul_saturated((uint64_t)part->order, ((uint64_t)size + 1)),
                             &crowding));
  PD_TRY_CLEANUP(PD_NEW(context, (uint64_t)size + 1, &cut));
  for (int n = 0; n < part->order; ++n)
    for (int q = 1; q <= size; ++q)
      if (size % q == 0) crowding[n * (size + 1) + q] = crowding_of(making, n, q, cut);
  (making->weight != NULL ? pd_part_choose_mode : pd_part_choose_grid)(part->order, part->dims, nnz,
                                                                       size, crowding, part->grid);
cleanup:
  PD_FREE(context, crowding, cut);
  return status;
}

static polyad_status cut_modes(polyad_context *context, struct pd_part_making *making) {
  for (int n = 0; n < making->part->order; ++n) {
    int ranges = making->part->grid[n];
    PD_TRY(PD_NEW(context, (uint64_t)ranges + 1, &making->cut[n]));
    part_create_cut_at(making, n, ranges, making->cut[n]);
    pd_free(context, making->nonzeros[n]);
    making->nonzeros[n] = NULL;
  }
  return POLYAD_OK;
}

polyad_status pd_part_cut(polyad_context *context, struct pd_part_making *making,
                          const polyad_tensor *mine, uint64_t nnz) {
  PD_TRY(count_buckets(context, making, mine));
  PD_TRY(choose_grid(context, making, nnz));
  return cut_modes(context, making);
}

void pd_part_making_clear(polyad_context *context, struct pd_part_making *making) {
  pd_part_there_close(context, making);
  pd_free(context, making->record);
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n) {
    PD_FREE(context, making->nonzeros[n], making->cut[n]);
  }
}

/* ---- the local tensor ---------------------------------------------------------------------- */

/* Local indices of a mode from those in the records, which begin `offset` bytes in. */
static polyad_status number_mode(polyad_context *context, struct pd_part_making *making, int n,
                                 uint64_t offset, void **index) {
  uint64_t *local = NULL, first = making->cut[n][making->place[n]];
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(pd_part_find_owners(context, making, n, &local));
  int bytes = pd_index_bytes(making->part->mode[n].rows);
  PD_TRY_CLEANUP(pd_alloc(context, making->count, (size_t)bytes, index));
  int threads = pd_threads_for(context, making->count, 1 << 16);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t p = 0; p < making->count; ++p) {
    const char *record = making->record + p * making->record_bytes + offset;
    uint64_t row = local[pd_part_get(record, making->index_bytes[n]) - first];
    if (bytes == 4)
      ((uint32_t *)*index)[p] = (uint32_t)row;
    else
      ((uint64_t *)*index)[p] = row;
  }
cleanup:
  pd_free(context, local);
  return status;
}

static polyad_status make_local(polyad_context *context, struct pd_part_making *making,
                                polyad_zeros zeros, polyad_tensor **local) {
  void *index[POLYAD_MAX_ORDER] = {NULL}, *values = NULL;
  uint64_t dims[POLYAD_MAX_ORDER], offset = 0;
  size_t item = pd_type_bytes(making->type);
  int order = making->part->order;
  polyad_status status = POLYAD_OK;
  for (int n = 0; n < order; ++n) {
    PD_TRY_CLEANUP(number_mode(context, making, n, offset, &index[n]));
    offset += (uint64_t)making->index_bytes[n];
    dims[n] = making->part->mode[n].rows;
  }
  PD_TRY_CLEANUP(pd_alloc(context, making->count, item, &values));
  int threads = pd_threads_for(context, making->count, 1 << 16);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t p = 0; p < making->count; ++p)
    memcpy((char *)values + p * item, making->record + p * making->record_bytes + offset, item);
  pd_free(context, making->record);
  making->record = NULL;
  status = pd_tensor_create_take(context, order, dims, making->count, making->type, index, &values,
                                 POLYAD_DUPLICATES_SUM, zeros, local);
cleanup:
  for (int n = 0; n < order; ++n)
    pd_free(context, index[n]);
  pd_free(context, values);
  return status;
}

/* The same where the nonzeros are on the device. */
static polyad_status make_local_there(polyad_context *context, struct pd_part_making *making,
                                      polyad_zeros zeros, polyad_tensor **local,
                                      struct pd_build **sent) {
  for (int n = 0; n < making->part->order; ++n) {
    uint64_t *number = NULL;
    polyad_status status = pd_part_find_owners(context, making, n, &number);
    if (status == POLYAD_OK) status = pd_part_there_number(context, making, n, number);
    pd_free(context, number);
    PD_TRY(status);
  }
  return pd_part_there_tensor(context, making, zeros, local, sent);
}

/* How many nonzeros there are once those of equal coordinates have come together. */
static polyad_status count_nonzeros(polyad_context *context, struct pd_part *part,
                                    const polyad_tensor *local) {
  double nnz = (double)local->nnz;
  part->most_nnz = local->nnz;
  PD_TRY(pd_team_max_count(context, part->team, &part->most_nnz));
  PD_TRY(pd_team_sum(context, part->team, 1, &nnz));
  part->nnz = (uint64_t)nnz;
  return POLYAD_OK;
}

/* Modes of which no member reads rows of another's need no exchange. */
static polyad_status find_travelling(polyad_context *context, struct pd_part *part) {
  for (int n = 0; n < part->order; ++n) {
    struct pd_part_mode *of = &part->mode[n];
    of->travels = of->held[part->team->size] > of->owned;
    PD_TRY(pd_team_any(context, part->team, &of->travels));
  }
  return POLYAD_OK;
}

static void explain_part(polyad_context *context, const struct pd_part *part,
                         const polyad_tensor *local) {
  char grid[8 * POLYAD_MAX_ORDER] = "";
  size_t length = 0;
  for (int n = 0; n < part->order; ++n)
    length += (size_t)snprintf(grid + length, sizeof grid - length, "%s%d", n > 0 ? " x " : "",
                               part->grid[n]);
  pd_log(context, POLYAD_LOG_INFO,
         "%s %d of %d: the team is a grid of %s over the modes; %llu of %llu nonzeros are here",
         part->team->called, part->team->rank, part->team->size, grid,
         (unsigned long long)local->nnz, (unsigned long long)part->nnz);
}

static polyad_status cut_up(polyad_context *context, struct pd_part_making *making,
                            const struct pd_request *request, const polyad_tensor *mine,
                            polyad_tensor **local, struct pd_build **sent) {
  struct pd_part *part = making->part;
  PD_TRY(agree_on_shape(context, making, mine));
  double nnz = (double)mine->nnz;
  PD_TRY(pd_team_sum(context, making->team, 1, &nnz));
  if (sent != NULL) PD_TRY(pd_part_there_open(context, making, request, mine));
  PD_TRY(pd_part_cut(context, making, mine, (uint64_t)nnz));
  find_place(making);
  if (sent != NULL) {
    PD_TRY(pd_part_there_deal(context, making));
    PD_TRY(make_local_there(context, making, mine->zeros, local, sent));
  } else {
    PD_TRY(pd_part_deal(context, making, mine));
    PD_TRY(make_local(context, making, mine->zeros, local));
  }
  PD_TRY(count_nonzeros(context, part, *local));
  PD_TRY(find_travelling(context, part));
  explain_part(context, part, *local);
  return POLYAD_OK;
}

polyad_status pd_part_create(polyad_context *context, polyad_team *team,
                             const struct pd_request *request, const polyad_tensor *mine,
                             polyad_tensor **local, struct pd_build **sent, struct pd_part **part) {
  struct pd_part_making making = {
      .team = team, .size = pd_team_size(team), .weight = request->weights};
  polyad_status status = POLYAD_OK;
  *local = NULL;
  *part = NULL;
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, 1, &making.part));
  making.part->team = team;
  status = cut_up(context, &making, request, mine, local, sent);
cleanup:
  pd_part_making_clear(context, &making);
  if (status == POLYAD_OK) {
    *part = making.part;
    return POLYAD_OK;
  }
  if (making.cannot) {
    pd_begin(context);
    status = POLYAD_OK;
  }
  if (sent != NULL && *sent != NULL) {
    request->device->functions->build->close(context, *sent);
    *sent = NULL;
  }
  pd_part_destroy(context, making.part);
  polyad_tensor_destroy(*local);
  *local = NULL;
  return status;
}

polyad_status pd_part_place(polyad_context *context, struct pd_part *part,
                            const struct pd_device *device) {
  part->device = device;
  for (int n = 0; n < part->order; ++n) {
    struct pd_part_mode *of = &part->mode[n];
    uint64_t bytes = of->lent[part->team->size] * sizeof *of->lent_row;
    PD_TRY(device->functions->allocate(context, device, bytes, (void **)&of->lent_there));
    PD_TRY(device->functions->copy_in(context, device, of->lent_there, of->lent_row, bytes));
  }
  return device->functions->synchronize(context, device);
}

void pd_part_destroy(polyad_context *context, struct pd_part *part) {
  if (part == NULL) return;
  for (int n = 0; n < POLYAD_MAX_ORDER && part->device != NULL; ++n)
    part->device->functions->release(context, part->device, part->mode[n].lent_there);
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n) {
    PD_FREE(context, part->mode[n].index, part->mode[n].held, part->mode[n].lent,
            part->mode[n].lent_row);
  }
  pd_free(context, part);
}
