/* Rows of factors on their way between the members of a team: see part.h. */
#include "linalg/linalg.h"
#include "plan/part.h"
#include <string.h>

static uint64_t most_lent(const struct pd_part *part) {
  uint64_t most = 0;
  for (int n = 0; n < part->order; ++n)
    if (part->mode[n].lent[part->team->size] > most) most = part->mode[n].lent[part->team->size];
  return most;
}

static uint64_t held_in(const struct pd_part_mode *of, int size) {
  return of->held[size] - of->held[0];
}

/* Rows travel one after the other. Where those of factors do not lie so, the held ones need room.
 */
static uint64_t most_held(const struct pd_part *part, uint64_t columns) {
  uint64_t most = 0;
  if (pd_factor_stride(part->device, POLYAD_F32, columns) == columns &&
      pd_factor_stride(part->device, POLYAD_F64, columns) == columns)
    return 0;
  for (int n = 0; n < part->order; ++n)
    if (held_in(&part->mode[n], part->team->size) > most)
      most = held_in(&part->mode[n], part->team->size);
  return most;
}

static uint64_t sent_rows_bytes(uint64_t rows, uint64_t columns) {
  return pd_mul_saturated(rows, pd_mul_saturated(columns, sizeof(double)));
}

uint64_t pd_part_room_bytes(const struct pd_part *part, uint64_t columns) {
  return pd_add_saturated(sent_rows_bytes(most_lent(part), columns),
                          sent_rows_bytes(most_held(part, columns), columns));
}

polyad_status pd_part_room_create(polyad_context *context, const struct pd_part *part,
                                  uint64_t columns, struct pd_part_room *room) {
  const struct pd_device *device = part->device;
  uint64_t lent = sent_rows_bytes(most_lent(part), columns);
  uint64_t held = sent_rows_bytes(most_held(part, columns), columns);
  *room = (struct pd_part_room){0};
  polyad_status status = device->functions->allocate(context, device, lent, (void **)&room->rows);
  if (status == POLYAD_OK && held > 0)
    status = device->functions->allocate(context, device, held, (void **)&room->held);
  if (status == POLYAD_OK) status = PD_NEW(context, 2 * (uint64_t)part->team->size, &room->parcel);
  if (status != POLYAD_OK) pd_part_room_clear(context, part, room);
  return status;
}

void pd_part_room_clear(polyad_context *context, const struct pd_part *part,
                        struct pd_part_room *room) {
  part->device->functions->release(context, part->device, room->rows);
  part->device->functions->release(context, part->device, room->held);
  pd_free(context, room->parcel);
  *room = (struct pd_part_room){0};
}

/* Held rows on their way between the matrix and the room where they follow each other. */
static polyad_status move_held(polyad_context *context, const struct pd_part *part, int mode,
                               const struct pd_part_room *room, struct pd_matrix *rows, bool out) {
  const struct pd_device *device = part->device;
  const struct pd_part_mode *of = &part->mode[mode];
  uint64_t item = pd_type_bytes(rows->type), row = rows->columns * item;
  uint64_t step = rows->stride * item, count = held_in(of, part->team->size);
  char *there = (char *)rows->data + of->held[0] * step;
  if (rows->stride == rows->columns) return POLYAD_OK;
  if (out)
    return device->functions->copy_pieces(context, device, room->held, row, there, step, row,
                                          count);
  return device->functions->copy_pieces(context, device, there, step, room->held, row, row, count);
}

/* Parcels of the rows that are lent to each member, in room->rows, and of those that are held for
 * it, in the matrix or the room. */
static void lay_parcels(const struct pd_part *part, int mode, const struct pd_part_room *room,
                        struct pd_parcel *lent, struct pd_parcel *held,
                        const struct pd_matrix *rows) {
  const struct pd_part_mode *of = &part->mode[mode];
  uint64_t bytes = rows->columns * pd_type_bytes(rows->type);
  bool apart = rows->stride != rows->columns;
  char *first = apart ? room->held : (char *)rows->data + of->held[0] * bytes;
  for (int k = 0; k < part->team->size; ++k) {
    lent[k].data = room->rows + of->lent[k] * bytes;
    lent[k].bytes = (of->lent[k + 1] - of->lent[k]) * bytes;
    held[k].data = first + (of->held[k] - of->held[0]) * bytes;
    held[k].bytes = (of->held[k + 1] - of->held[k]) * bytes;
  }
}

polyad_status pd_part_collect(polyad_context *context, const struct pd_part *part, int mode,
                              const struct pd_part_room *room, struct pd_matrix *rows) {
  const struct pd_part_mode *of = &part->mode[mode];
  struct pd_parcel *held = room->parcel, *lent = room->parcel + part->team->size;
  if (!of->travels) return POLYAD_OK;
  lay_parcels(part, mode, room, lent, held, rows);
  PD_TRY(move_held(context, part, mode, room, rows, true));
  PD_TRY(pd_team_exchange_there(context, part->team, held, lent));
  for (int k = 0; k < part->team->size; ++k)
    PD_TRY(part->device->linalg->add_rows(context, lent[k].data, of->lent[k + 1] - of->lent[k],
                                          of->lent_there + of->lent[k], rows));
  return POLYAD_OK;
}

polyad_status pd_part_spread(polyad_context *context, const struct pd_part *part, int mode,
                             const struct pd_part_room *room, struct pd_matrix *rows) {
  const struct pd_part_mode *of = &part->mode[mode];
  struct pd_parcel *held = room->parcel, *lent = room->parcel + part->team->size;
  if (!of->travels) return POLYAD_OK;
  lay_parcels(part, mode, room, lent, held, rows);
  PD_TRY(part->device->linalg->take_rows(context, rows, of->lent[part->team->size], of->lent_there,
                                         room->rows));
  PD_TRY(pd_team_exchange_there(context, part->team, lent, held));
  return move_held(context, part, mode, room, rows, false);
}

/* ---- the whole factor ---------------------------------------------------------------------- */

/* Brings a list from every other member to member 0, whose own stays where it is. */
static polyad_status to_first(polyad_context *context, polyad_team *team, const void *data,
                              uint64_t bytes, struct pd_parcel *from, void **memory) {
  struct pd_parcel *to = NULL;
  PD_TRY(PD_NEW_ZERO(context, (uint64_t)team->size, &to));
  if (team->rank > 0) to[0] = (struct pd_parcel){(void *)data, bytes};
  polyad_status status = pd_team_deliver(context, team, to, from, memory);
  if (team->rank == 0) from[0] = (struct pd_parcel){(void *)data, bytes};
  pd_free(context, to);
  return status;
}

/* Bytes of rows that a thread is worth starting for. */
enum { PLACE_GRAIN = 1 << 18 };

/* Rows to their places. Those of a new model are touched for the first time, which takes longer
 * than copying does: all threads share it. */
static void place_in_whole(const polyad_context *context, const uint64_t *index, uint64_t rows,
                           uint64_t bytes, const char *from, char *whole) {
  int threads = pd_threads_for(context, rows * bytes, PLACE_GRAIN);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t i = 0; i < rows; ++i)
    memcpy(whole + index[i] * bytes, from + i * bytes, (size_t)bytes);
}

/* Threads of one process see member 0's memory: each places its own rows. */
static polyad_status place_own(polyad_context *context, const struct pd_part *part, int mode,
                               uint64_t bytes, const void *local, void *whole) {
  const struct pd_part_mode *of = &part->mode[mode];
  PD_TRY(pd_team_broadcast(context, part->team, 0, &whole, sizeof whole));
  place_in_whole(context, of->index, of->owned, bytes, local, whole);
  return pd_team_agree(context, part->team, POLYAD_OK); /* nobody writes any more */
}

polyad_status pd_part_gather(polyad_context *context, const struct pd_part *part, int mode,
                             uint64_t bytes, const void *local, void *whole) {
  const struct pd_part_mode *of = &part->mode[mode];
  uint64_t size = (uint64_t)part->team->size;
  struct pd_parcel *from = NULL;
  void *indices = NULL, *rows = NULL;
  polyad_status status = POLYAD_OK;
  if (part->team->collectives->one_process)
    return place_own(context, part, mode, bytes, local, whole);
  PD_TRY_CLEANUP(PD_NEW(context, 2 * size, &from));
  PD_TRY_CLEANUP(
      to_first(context, part->team, of->index, of->owned * sizeof *of->index, from, &indices));
  PD_TRY_CLEANUP(to_first(context, part->team, local, of->owned * bytes, from + size, &rows));
  for (uint64_t k = 0; k < size && whole != NULL; ++k)
    place_in_whole(context, from[k].data, from[k].bytes / sizeof(uint64_t), bytes,
                   from[size + k].data, whole);
cleanup:
  PD_FREE(context, from, indices, rows);
  return status;
}

/* Fills the parcels of member 0 with the rows that the others' lists name. */
static polyad_status pack_rows(polyad_context *context, uint64_t size, uint64_t bytes,
                               const struct pd_parcel *from, const void *whole,
                               struct pd_parcel *to, char **packed) {
  uint64_t total = 0;
  for (uint64_t k = 0; k < size; ++k)
    total += from[k].bytes / sizeof(uint64_t);
  PD_TRY(pd_alloc(context, pd_mul_saturated(total, bytes), 1, (void **)packed));
  char *next = *packed;
  for (uint64_t k = 0; k < size; ++k) {
    const uint64_t *index = from[k].data;
    uint64_t count = from[k].bytes / sizeof *index;
    to[k] = (struct pd_parcel){next, count * bytes};
    for (uint64_t i = 0; i < count; ++i, next += bytes)
      memcpy(next, (const char *)whole + index[i] * bytes, (size_t)bytes);
  }
  return POLYAD_OK;
}

polyad_status pd_part_scatter(polyad_context *context, const struct pd_part *part, int mode,
                              uint64_t bytes, const void *whole, void *local) {
  const struct pd_part_mode *of = &part->mode[mode];
  uint64_t size = (uint64_t)part->team->size, rows = of->held[size];
  struct pd_parcel *parcel = NULL;
  void *indices = NULL;
  char *packed = NULL;
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, 3 * size, &parcel));
  struct pd_parcel *from = parcel, *to = parcel + size, *mine = parcel + 2 * size;
  PD_TRY_CLEANUP(
      to_first(context, part->team, of->index, rows * sizeof *of->index, from, &indices));
  if (whole != NULL) PD_TRY_CLEANUP(pack_rows(context, size, bytes, from, whole, to, &packed));
  mine[0] = (struct pd_parcel){local, rows * bytes};
  status = pd_team_exchange(context, part->team, to, mine);
cleanup:
  PD_FREE(context, parcel, indices, packed);
  return status;
}
