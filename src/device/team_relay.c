/* Data of a team in the memory of devices that cannot reach each other's, by way of the hosts: a
 * member brings what it sends to the host, the team's collectives carry it as they carry all other
 * data, and every member sends what it gets to its device. */
#include "device/device.h"
#include "device/team.h"
#include <string.h>

struct relay {
  polyad_team *team;
  char *room; /* of the host */
  uint64_t bytes;
  struct pd_parcel *parcel; /* 2 x size: in the room */
};

static polyad_status relay_reserve(polyad_context *context, void *state, uint64_t bytes) {
  struct relay *relay = state;
  polyad_context *owner = relay->team->context;
  if (bytes <= relay->bytes) return POLYAD_OK;
  pd_free(owner, relay->room);
  relay->room = NULL;
  relay->bytes = 0;
  PD_TRY(pd_alloc(context, bytes, 1, (void **)&relay->room));
  relay->bytes = bytes;
  return POLYAD_OK;
}

/* Copies a list of parcels between the device and the room; those that follow each other in both
 * are one copy. */
static polyad_status relay_move(polyad_context *context, const struct pd_device *device,
                                const struct pd_parcel *there, const struct pd_parcel *here,
                                int count, bool out) {
  for (int k = 0, next; k < count; k = next) {
    uint64_t bytes = there[k].bytes;
    for (next = k + 1; next < count && (char *)there[next].data == (char *)there[k].data + bytes;
         ++next)
      bytes += there[next].bytes;
    if (bytes == 0) continue;
    if (out)
      PD_TRY(device->functions->copy_out(context, device, here[k].data, there[k].data, bytes));
    else
      PD_TRY(device->functions->copy_in(context, device, there[k].data, here[k].data, bytes));
  }
  return POLYAD_OK;
}

/* Places of parcels in the room, one behind the other from `at` on. */
static uint64_t relay_lay(const struct relay *relay, const struct pd_parcel *there, uint64_t at,
                          struct pd_parcel *here) {
  for (int k = 0; k < relay->team->size; ++k) {
    here[k] = (struct pd_parcel){relay->room + at, there[k].bytes};
    at += there[k].bytes;
  }
  return at;
}

/* A member whose copies failed meets the others nevertheless: they wait for what it has to send. */
static polyad_status relay_gather(polyad_context *context, void *state, const void *mine,
                                  uint64_t bytes, void *all) {
  struct relay *relay = state;
  const polyad_team *team = relay->team;
  const struct pd_device *device = team->device;
  polyad_status status = device->functions->copy_out(context, device, relay->room, mine, bytes);
  polyad_status met =
      team->collectives->gather(context, team->state, relay->room, bytes, relay->room + bytes);
  if (status == POLYAD_OK) status = met;
  if (status != POLYAD_OK) return status;
  return device->functions->copy_in(context, device, all, relay->room + bytes,
                                    bytes * (uint64_t)team->size);
}

static polyad_status relay_exchange(polyad_context *context, void *state,
                                    const struct pd_parcel *to, const struct pd_parcel *from) {
  struct relay *relay = state;
  const polyad_team *team = relay->team;
  const struct pd_device *device = team->device;
  struct pd_parcel *sent = relay->parcel, *got = relay->parcel + team->size;
  (void)relay_lay(relay, from, relay_lay(relay, to, 0, sent), got);
  polyad_status status = relay_move(context, device, to, sent, team->size, true);
  polyad_status met = team->collectives->exchange(context, team->state, sent, got);
  if (status == POLYAD_OK) status = met;
  if (status != POLYAD_OK) return status;
  return relay_move(context, device, from, got, team->size, false);
}

static void relay_leave(void *state, bool failed) {
  struct relay *relay = state;
  (void)failed;
  PD_FREE(relay->team->context, relay->room, relay->parcel);
}

static const struct pd_collectives by_relay = {.gather = relay_gather,
                                               .exchange = relay_exchange,
                                               .reserve = relay_reserve,
                                               .leave = relay_leave};

polyad_status pd_team_use_relay(polyad_context *context, polyad_team *team) {
  struct relay *relay = NULL;
  PD_TRY(PD_NEW_ZERO(context, 1, &relay));
  polyad_status status = PD_NEW(context, 2 * (uint64_t)team->size, &relay->parcel);
  if (status != POLYAD_OK) {
    pd_free(context, relay);
    return status;
  }
  relay->team = team;
  team->there = &by_relay;
  team->there_state = relay;
  return POLYAD_OK;
}
