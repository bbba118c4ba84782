/* What members of a team do together, from two calls that carry data (struct pd_collectives).
 *
 * Every call begins with a round in which the members say which call they are in, how long it is,
 * and whether they have failed. That keeps them in step: a member that has failed takes part in one
 * such round more, wherever the others are.
 *
 * A sum is short, or it is made in two steps: every member gets its share of the numbers from all,
 * adds them in the order of the ranks, and hands out the sums. Either way all members have the same
 * bits, and the same bits every time. */
#include "device/team.h"
#include "core/bits.h"
#include "core/machine.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum call {
  AGREE = 1,
  SUM,
  MAX,
  MAX_COUNT,
  BROADCAST,
  GATHER,
  EXCHANGE,
  GATHER_THERE,
  EXCHANGE_THERE
};

enum { SHORT_SUM = 4096 };

static polyad_status allocate(polyad_context *context, polyad_team *team) {
  uint64_t size = (uint64_t)team->size;
  PD_TRY(PD_NEW(context, size, &team->opening));
  PD_TRY(PD_NEW(context, size, &team->messages));
  return PD_NEW(context, 2 * size, &team->parcel);
}

polyad_status pd_team_create(polyad_context *context, int rank, int size,
                             const struct pd_collectives *collectives, void *state,
                             polyad_team **team) {
  polyad_team *made = NULL;
  polyad_status status = PD_NEW_ZERO(context, 1, &made);
  if (status != POLYAD_OK) {
    collectives->leave(state, true);
    return status;
  }
  *made = (polyad_team){.context = context,
                        .rank = rank,
                        .size = size,
                        .threads = polyad_threads(context),
                        .collectives = collectives,
                        .state = state,
                        .called = "process"};
  status = allocate(context, made);
  if (status == POLYAD_OK) {
    *team = made;
    return POLYAD_OK;
  }
  made->failed = status;
  polyad_team_destroy(made);
  return status;
}

void polyad_team_destroy(polyad_team *team) {
  if (team == NULL) return;
  pd_team_leave_device(team);
  team->collectives->leave(team->state, team->failed != POLYAD_OK);
  PD_FREE(team->context, team->opening, team->messages, team->parcel, team->room, team);
}

int polyad_team_rank(const polyad_team *team) { return pd_team_rank(team); }

int polyad_team_size(const polyad_team *team) { return pd_team_size(team); }

int polyad_team_threads(const polyad_team *team) {
  return team == NULL ? pd_machine_processors() : team->threads;
}

static polyad_status spent(polyad_context *context, const polyad_team *team) {
  pd_begin(context);
  return pd_fail(context, team->failed, "%s", team->message);
}

/* A message as others tell it: one with a place says "FILE:LINE: error: TEXT", and who tells it
 * calls it an error once more. */
static void write_message(const polyad_context *context, char mine[PD_TEAM_MESSAGE_BYTES]) {
  static const char word[] = " error: ";
  polyad_error error = polyad_last_error_record(context);
  size_t length = error.file == NULL ? 0 : strlen(error.file);
  const char *found = NULL;
  if (length > 0 && strncmp(error.message, error.file, length) == 0)
    found = strstr(error.message + length, word);
  if (found == NULL)
    snprintf(mine, PD_TEAM_MESSAGE_BYTES, "%s", error.message);
  else
    snprintf(mine, PD_TEAM_MESSAGE_BYTES, "%.*s %s", (int)(found - error.message), error.message,
             found + sizeof word - 1);
}

/* All members get the message of the one that failed. */
static polyad_status spread_failure(polyad_context *context, polyad_team *team, int rank,
                                    polyad_status status) {
  char mine[PD_TEAM_MESSAGE_BYTES] = "";
  write_message(context, mine);
  team->failed = status;
  snprintf(team->message, sizeof team->message, "%s %d failed: %s", team->called, rank,
           polyad_status_string(status));
  polyad_status told =
      team->collectives->gather(context, team->state, mine, sizeof mine, team->messages);
  if (told == POLYAD_OK && team->messages[rank][0] != '\0')
    snprintf(team->message, sizeof team->message, "%s %d: %.480s", team->called, rank,
             team->messages[rank]);
  return rank == team->rank ? status : spent(context, team);
}

static polyad_status out_of_step(polyad_context *context, polyad_team *team, int other) {
  const struct pd_team_opening *mine = &team->opening[team->rank], *theirs = &team->opening[other];
  team->failed = POLYAD_INTERNAL;
  snprintf(team->message, sizeof team->message,
           "members %d and %d of the team are in different calls (%d of %llu and %d of %llu); "
           "expected all to be started with the same options",
           team->rank, other, (int)mine->call, (unsigned long long)mine->length, (int)theirs->call,
           (unsigned long long)theirs->length);
  return spent(context, team);
}

/* The member whose failure all are told: the first, but for those that have waited for another in
 * vain. -1: none has failed. */
static int first_failure(const polyad_team *team) {
  int first = -1;
  for (int k = 0; k < team->size; ++k) {
    const struct pd_team_opening *one = &team->opening[k];
    if (one->status == POLYAD_OK) continue;
    if (!one->gave_up) return k;
    if (first < 0) first = k;
  }
  return first;
}

static bool has_given_up(const polyad_team *team) {
  return team->there != NULL && team->there->gave_up != NULL &&
         team->there->gave_up(team->there_state);
}

/* Begins a call: all members are in it, and none has failed. */
static polyad_status begin(polyad_context *context, polyad_team *team, enum call call,
                           uint64_t length, polyad_status status) {
  struct pd_team_opening mine = {(int32_t)status, (int16_t)call, 0, length};
  mine.gave_up = status != POLYAD_OK && has_given_up(team);
  if (team->failed != POLYAD_OK) return spent(context, team);
  if (team->idle)
    return pd_fail(context, POLYAD_UNSUPPORTED,
                   "several devices share the plan: it serves CP-ALS and CP-APR by multiplicative "
                   "updates; expected one device");
  PD_TRY(team->collectives->gather(context, team->state, &mine, sizeof mine, team->opening));
  int failed = first_failure(team);
  if (failed >= 0)
    return spread_failure(context, team, failed, (polyad_status)team->opening[failed].status);
  for (int k = 0; k < team->size; ++k)
    if (team->opening[k].call != mine.call || team->opening[k].length != mine.length)
      return out_of_step(context, team, k);
  return POLYAD_OK;
}

polyad_status pd_team_agree(polyad_context *context, polyad_team *team, polyad_status status) {
  if (team == NULL) return status;
  double started = pd_seconds();
  polyad_status all = begin(context, team, AGREE, 0, status);
  team->seconds += pd_seconds() - started;
  return all;
}

polyad_status polyad_team_agree(polyad_context *context, polyad_team *team, polyad_status status) {
  if (context == NULL) return POLYAD_INVALID_ARGUMENT;
  return pd_team_agree(context, team, status);
}

/* Makes room for `count` numbers. */
static polyad_status team_reserve(polyad_context *context, polyad_team *team, uint64_t count) {
  if (count <= team->room_count) return POLYAD_OK;
  pd_free(team->context, team->room);
  team->room = NULL;
  team->room_count = 0;
  PD_TRY(PD_NEW(context, count, &team->room));
  team->room_count = count;
  return POLYAD_OK;
}

static void count_sent(polyad_team *team, const struct pd_parcel *to) {
  for (int k = 0; k < team->size; ++k)
    if (k != team->rank) team->bytes_sent += to[k].bytes;
}

/* Room for parcels, or the failure that all are told of when they meet. */
static polyad_status reserve_parcels(polyad_context *context, const polyad_team *team,
                                     const struct pd_collectives *by, void *state,
                                     const struct pd_parcel *to, const struct pd_parcel *from) {
  uint64_t bytes = 0;
  if (by->reserve == NULL) return POLYAD_OK;
  for (int k = 0; k < team->size; ++k)
    bytes = pd_add_saturated(bytes, pd_add_saturated(to[k].bytes, from[k].bytes));
  return by->reserve(context, state, bytes);
}

static polyad_status team_carry(polyad_context *context, polyad_team *team,
                                const struct pd_parcel *to, const struct pd_parcel *from) {
  count_sent(team, to);
  return team->collectives->exchange(context, team->state, to, from);
}

/* ---- numbers ------------------------------------------------------------------------------ */

static double larger(double a, double b) { return isnan(a) || a > b ? a : b; }

static void combine(enum call call, uint64_t count, const double *more, double *numbers) {
  if (call == SUM)
    for (uint64_t k = 0; k < count; ++k)
      numbers[k] += more[k];
  else
    for (uint64_t k = 0; k < count; ++k)
      numbers[k] = larger(more[k], numbers[k]);
}

/* Lists of all members' numbers, one behind the other, into the first. */
static void combine_all(const polyad_team *team, enum call call, uint64_t count, double *all) {
  for (int k = 1; k < team->size; ++k)
    combine(call, count, all + (uint64_t)k * count, all);
}

static polyad_status combine_short(polyad_context *context, polyad_team *team, enum call call,
                                   uint64_t count, double *numbers) {
  PD_TRY(team->collectives->gather(context, team->state, numbers, count * sizeof *numbers,
                                   team->room));
  team->bytes_sent += count * sizeof *numbers;
  combine_all(team, call, count, team->room);
  memcpy(numbers, team->room, count * sizeof *numbers);
  return POLYAD_OK;
}

/* team->room is for a share from every member. */
static polyad_status combine_long(polyad_context *context, polyad_team *team, enum call call,
                                  uint64_t count, double *numbers) {
  struct pd_parcel *to = team->parcel, *from = team->parcel + team->size;
  uint64_t begin_mine = pd_part_begin(count, team->rank, team->size);
  uint64_t mine = pd_part_begin(count, team->rank + 1, team->size) - begin_mine;
  for (int k = 0; k < team->size; ++k) {
    uint64_t first = pd_part_begin(count, k, team->size);
    uint64_t share = pd_part_begin(count, k + 1, team->size) - first;
    to[k] = (struct pd_parcel){numbers + first, share * sizeof *numbers};
    from[k] = (struct pd_parcel){team->room + (uint64_t)k * mine, mine * sizeof *numbers};
  }
  PD_TRY(team_carry(context, team, to, from));
  combine_all(team, call, mine, team->room);
  for (int k = 0; k < team->size; ++k) {
    from[k] = to[k];
    to[k] = (struct pd_parcel){team->room, mine * sizeof *numbers};
  }
  return team_carry(context, team, to, from);
}

/* Whether a sum is made in one step. */
static bool sum_is_short(uint64_t count, uint64_t size) { return count <= SHORT_SUM / size + 1; }

int pd_team_rounds(int size) { return pd_bit_length((uint64_t)size - 1); }

struct pd_team_traffic pd_team_sum_traffic(int size, uint64_t count) {
  double bytes = (double)count * sizeof(double), others = size - 1, rounds = pd_team_rounds(size);
  if (size < 2) return (struct pd_team_traffic){0, 0};
  if (sum_is_short(count, (uint64_t)size))
    return (struct pd_team_traffic){2 * rounds, others * bytes};
  return (struct pd_team_traffic){rounds + 2 * others, 2 * bytes * others / size};
}

static polyad_status combined(polyad_context *context, polyad_team *team, enum call call,
                              uint64_t count, double *numbers) {
  double started = pd_seconds();
  uint64_t size = (uint64_t)team->size, longest = count / size + 1;
  bool is_short = sum_is_short(count, size);
  polyad_status ready = team_reserve(context, team, size * (is_short ? count : longest));
  polyad_status status = begin(context, team, call, count, ready);
  if (status == POLYAD_OK)
    status = is_short ? combine_short(context, team, call, count, numbers)
                      : combine_long(context, team, call, count, numbers);
  team->seconds += pd_seconds() - started;
  return status;
}

polyad_status pd_team_sum(polyad_context *context, polyad_team *team, uint64_t count,
                          double *numbers) {
  return team == NULL ? POLYAD_OK : combined(context, team, SUM, count, numbers);
}

polyad_status pd_team_max(polyad_context *context, polyad_team *team, uint64_t count,
                          double *numbers) {
  return team == NULL ? POLYAD_OK : combined(context, team, MAX, count, numbers);
}

polyad_status pd_team_max_count(polyad_context *context, polyad_team *team, uint64_t *count) {
  if (team == NULL) return POLYAD_OK;
  PD_TRY(begin(context, team, MAX_COUNT, 1, team_reserve(context, team, (uint64_t)team->size)));
  uint64_t *all = (uint64_t *)(void *)team->room;
  PD_TRY(team->collectives->gather(context, team->state, count, sizeof *count, all));
  for (int k = 0; k < team->size; ++k)
    if (all[k] > *count) *count = all[k];
  return POLYAD_OK;
}

polyad_status pd_team_any(polyad_context *context, polyad_team *team, bool *truth) {
  double number = *truth ? 1 : 0;
  PD_TRY(pd_team_max(context, team, 1, &number));
  *truth = number > 0;
  return POLYAD_OK;
}

/* The lanes of a GPU's warp, whose sums are added by halves. No plan has more devices. */
enum { FOLD_LANES = 32 };

/* One number of all members' lists: their sum, as the lanes of a warp make it, or the largest. */
static double fold_one(const double *all, int size, uint64_t count, uint64_t c, bool largest) {
  double lane[FOLD_LANES] = {0};
  for (int k = 0; k < size; ++k) {
    double one = all[(uint64_t)k * count + c];
    if (!largest)
      lane[k] = one;
    else if (isnan(one) || one > lane[0])
      lane[0] = one;
    if (largest && isnan(lane[0])) return lane[0];
  }
  for (int half = FOLD_LANES / 2; half > 0 && !largest; half /= 2)
    for (int k = 0; k < half; ++k)
      lane[k] += lane[k + half];
  return lane[0];
}

polyad_status pd_team_fold(polyad_context *context, polyad_team *team, uint64_t count,
                           uint64_t largest, double *numbers) {
  double started = pd_seconds();
  polyad_status ready = team->size > FOLD_LANES
                            ? pd_fail(context, POLYAD_INTERNAL, "%d members fold", team->size)
                            : team_reserve(context, team, (uint64_t)team->size * count);
  polyad_status status = begin(context, team, GATHER_THERE, count * sizeof *numbers, ready);
  if (status == POLYAD_OK)
    status = team->collectives->gather(context, team->state, numbers, count * sizeof *numbers,
                                       team->room);
  for (uint64_t c = 0; c < count && status == POLYAD_OK; ++c)
    numbers[c] = fold_one(team->room, team->size, count, c, c >= largest);
  team->seconds += pd_seconds() - started;
  return status;
}

/* ---- bytes -------------------------------------------------------------------------------- */

polyad_status pd_team_broadcast(polyad_context *context, polyad_team *team, int root, void *data,
                                uint64_t bytes) {
  if (team == NULL) return POLYAD_OK;
  double started = pd_seconds();
  struct pd_parcel *to = team->parcel, *from = team->parcel + team->size;
  polyad_status status = begin(context, team, BROADCAST, bytes, POLYAD_OK);
  if (status == POLYAD_OK) {
    memset(team->parcel, 0, 2 * (size_t)team->size * sizeof *team->parcel);
    for (int k = 0; k < team->size && team->rank == root; ++k)
      if (k != root) to[k] = (struct pd_parcel){data, bytes};
    if (team->rank != root) from[root] = (struct pd_parcel){data, bytes};
    status = team_carry(context, team, to, from);
  }
  team->seconds += pd_seconds() - started;
  return status;
}

polyad_status pd_team_gather(polyad_context *context, polyad_team *team, const void *mine,
                             uint64_t bytes, void *all) {
  if (team == NULL) {
    memcpy(all, mine, (size_t)bytes);
    return POLYAD_OK;
  }
  double started = pd_seconds();
  polyad_status status = begin(context, team, GATHER, bytes, POLYAD_OK);
  if (status == POLYAD_OK)
    status = team->collectives->gather(context, team->state, mine, bytes, all);
  team->seconds += pd_seconds() - started;
  return status;
}

polyad_status pd_team_exchange(polyad_context *context, polyad_team *team,
                               const struct pd_parcel *to, const struct pd_parcel *from) {
  if (team == NULL) {
    memcpy(from[0].data, to[0].data, (size_t)to[0].bytes);
    return POLYAD_OK;
  }
  double started = pd_seconds();
  polyad_status ready = reserve_parcels(context, team, team->collectives, team->state, to, from);
  polyad_status status = begin(context, team, EXCHANGE, 0, ready);
  if (status == POLYAD_OK) status = team_carry(context, team, to, from);
  team->seconds += pd_seconds() - started;
  return status;
}

polyad_status pd_team_gather_there(polyad_context *context, polyad_team *team, const void *mine,
                                   uint64_t bytes, void *all) {
  double started = pd_seconds();
  polyad_status ready = POLYAD_OK;
  if (team->there->reserve != NULL)
    ready = team->there->reserve(context, team->there_state,
                                 pd_mul_saturated(bytes, (uint64_t)team->size + 1));
  polyad_status status = begin(context, team, GATHER_THERE, bytes, ready);
  if (status == POLYAD_OK)
    status = team->there->gather(context, team->there_state, mine, bytes, all);
  team->seconds += pd_seconds() - started;
  return status;
}

polyad_status pd_team_exchange_there(polyad_context *context, polyad_team *team,
                                     const struct pd_parcel *to, const struct pd_parcel *from) {
  double started = pd_seconds();
  polyad_status ready = reserve_parcels(context, team, team->there, team->there_state, to, from);
  polyad_status status = begin(context, team, EXCHANGE_THERE, 0, ready);
  if (status == POLYAD_OK) {
    count_sent(team, to);
    status = team->there->exchange(context, team->there_state, to, from);
  }
  team->seconds += pd_seconds() - started;
  return status;
}

/* Sizes travel first. */
polyad_status pd_team_deliver(polyad_context *context, polyad_team *team,
                              const struct pd_parcel *to, struct pd_parcel *from, void **memory) {
  int size = pd_team_size(team);
  uint64_t *bytes = NULL, total = 0;
  struct pd_parcel *parcel = NULL;
  polyad_status status = POLYAD_OK;
  *memory = NULL;
  PD_TRY_CLEANUP(PD_NEW(context, 2 * (uint64_t)size, &bytes));
  PD_TRY_CLEANUP(PD_NEW(context, 2 * (uint64_t)size, &parcel));
  for (int k = 0; k < size; ++k) {
    bytes[k] = to[k].bytes;
    parcel[k] = (struct pd_parcel){&bytes[k], sizeof *bytes};
    parcel[size + k] = (struct pd_parcel){&bytes[size + k], sizeof *bytes};
  }
  PD_TRY_CLEANUP(pd_team_exchange(context, team, parcel, parcel + size));
  for (int k = 0; k < size; ++k)
    total = pd_add_saturated(total, bytes[size + k]);
  PD_TRY_CLEANUP(pd_memory_check(context, total, "what other processes send"));
  PD_TRY_CLEANUP(pd_alloc(context, total, 1, memory));
  total = 0;
  for (int k = 0; k < size; ++k) {
    from[k] = (struct pd_parcel){(char *)*memory + total, bytes[size + k]};
    total += bytes[size + k];
  }
  status = pd_team_exchange(context, team, to, from);
cleanup:
  PD_FREE(context, bytes, parcel);
  if (status != POLYAD_OK) {
    pd_free(context, *memory);
    *memory = NULL;
  }
  return status;
}
