/* How data travel between the memories of a team's devices. On the CPU they travel as all other
 * data of the team do. GPUs whose members are threads of one process copy from each other's memory:
 * each member shows where its data lie, all meet, each enqueues the copies that it needs, and all
 * meet again. Nothing has to be started for that, while NCCL takes a second to start. Between
 * processes a library carries the data (struct pd_device_link), where every member has a device of
 * its own. In all other cases, and where the devices are of several kinds, data go by way of the
 * hosts' memory (team_relay.c). No way changes the data, so results do not depend on which one is
 * taken. */
#include "device/device.h"
#include "device/team.h"
#include "linalg/linalg.h"
#include <stdio.h>
#include <string.h>

/* ---- copies between devices of one process -------------------------------------------------- */

/* What a member shows the others. */
struct shown {
  const struct pd_device *device;
  const void *data; /* gather: numbers on the device; exchange: the parcels, on the host */
};

struct peers {
  polyad_team *team;
  struct shown *shown; /* `size` */
};

static polyad_status show_to_peers(polyad_context *context, const struct peers *peers,
                                   const void *data) {
  const polyad_team *team = peers->team;
  struct shown mine = {team->device, data};
  return team->collectives->gather(context, team->state, &mine, sizeof mine, peers->shown);
}

/* All members have enqueued their copies. A member that could not has to come here too. */
static polyad_status meet(polyad_context *context, const struct peers *peers,
                          polyad_status status) {
  const polyad_team *team = peers->team;
  polyad_status met = team->collectives->gather(context, team->state, NULL, 0, NULL);
  return status == POLYAD_OK ? met : status;
}

static polyad_status fetch(polyad_context *context, const polyad_team *team, void *to,
                           const struct pd_device *device, const void *from, uint64_t bytes) {
  if (bytes == 0) return POLYAD_OK;
  return team->device->functions->copy_peer(context, team->device, to, device, from, bytes);
}

static polyad_status peers_gather(polyad_context *context, void *state, const void *mine,
                                  uint64_t bytes, void *all) {
  const struct peers *peers = state;
  PD_TRY(show_to_peers(context, peers, mine));
  polyad_status status = POLYAD_OK;
  for (int k = 0; k < peers->team->size && status == POLYAD_OK; ++k)
    status = fetch(context, peers->team, (char *)all + (uint64_t)k * bytes, peers->shown[k].device,
                   peers->shown[k].data, bytes);
  return meet(context, peers, status);
}

static polyad_status peers_exchange(polyad_context *context, void *state,
                                    const struct pd_parcel *to, const struct pd_parcel *from) {
  const struct peers *peers = state;
  PD_TRY(show_to_peers(context, peers, to));
  polyad_status status = POLYAD_OK;
  for (int k = 0; k < peers->team->size && status == POLYAD_OK; ++k) {
    const struct pd_parcel *theirs =
        (const struct pd_parcel *)peers->shown[k].data + peers->team->rank;
    status = fetch(context, peers->team, from[k].data, peers->shown[k].device, theirs->data,
                   theirs->bytes);
  }
  return meet(context, peers, status);
}

static void peers_leave(void *state, bool failed) {
  struct peers *peers = state;
  (void)failed;
  pd_free(NULL, peers->shown);
}

static const struct pd_collectives by_copies = {
    .gather = peers_gather, .exchange = peers_exchange, .leave = peers_leave};

/* ---- the way that a team takes --------------------------------------------------------------- */

/* What members tell each other of their devices. No padding. */
struct place {
  uint64_t unit; /* two with the same share a device */
  char kind[24];
};

/* Devices of several kinds can exchange data through the host's memory only, which members share
 * where they are threads of one process. */
static polyad_status check_kinds(polyad_context *context, polyad_team *team,
                                 const struct place *all) {
  team->mixed = false;
  for (int k = 1; k < team->size; ++k)
    if (strcmp(all[k].kind, all[0].kind) != 0) {
      team->mixed = true;
      if (!team->collectives->one_process)
        return pd_fail(context, POLYAD_UNSUPPORTED,
                       "%s 0 computes on %s and %s %d on %s; expected one kind of device",
                       team->called, all[0].kind, team->called, k, all[k].kind);
    }
  return POLYAD_OK;
}

/* Whether no two members have the same device. */
static polyad_status compare_places(polyad_context *context, polyad_team *team,
                                    const struct pd_device *device, bool *apart) {
  struct place mine = {.unit = device->unit}, *all = NULL;
  (void)snprintf(mine.kind, sizeof mine.kind, "%s", device->kind);
  PD_TRY(PD_NEW(context, (uint64_t)team->size, &all));
  polyad_status status = pd_team_gather(context, team, &mine, sizeof mine, all);
  if (status == POLYAD_OK) status = check_kinds(context, team, all);
  *apart = true;
  for (int k = 0; k < team->size && status == POLYAD_OK; ++k)
    for (int other = 0; other < k; ++other)
      *apart = *apart && all[k].unit != all[other].unit;
  pd_free(context, all);
  return status;
}

/* All members join, or none does. `made` is what came of it on this member. */
static polyad_status join_link(polyad_context *context, polyad_team *team,
                               const struct pd_device *device, bool *joined, polyad_status *made) {
  const struct pd_device_link *link = device->linalg->link;
  char ticket[PD_TICKET_BYTES] = "";
  *joined = false;
  *made = pd_alloc_zero(context, 1, link->state_bytes, &team->there_state);
  if (*made == POLYAD_OK) *made = link->ready(context, device, team->size, team->there_state);
  if (*made == POLYAD_OK && team->rank == 0) *made = link->make_ticket(context, ticket);
  bool cannot = *made != POLYAD_OK;
  if (pd_cancelled(context)) /* joining takes long */
    return pd_fail(context, POLYAD_CANCELLED, "cancelled before the devices were connected");
  PD_TRY(pd_team_any(context, team, &cannot));
  if (cannot) return POLYAD_OK;
  PD_TRY(pd_team_broadcast(context, team, 0, ticket, sizeof ticket));
  *made = link->join(context, ticket, team->rank, team->there_state);
  cannot = *made != POLYAD_OK;
  PD_TRY(pd_team_any(context, team, &cannot));
  *joined = !cannot;
  return POLYAD_OK;
}

/* Lets a library carry the data. Where it cannot, why is logged. */
static polyad_status try_link(polyad_context *context, polyad_team *team,
                              const struct pd_device *device) {
  const struct pd_collectives *collectives = &device->linalg->link->collectives;
  bool joined;
  polyad_status made, status = join_link(context, team, device, &joined, &made);
  if (joined) {
    team->there = collectives;
    return POLYAD_OK;
  }
  if (team->there_state != NULL) collectives->leave(team->there_state, true);
  pd_free(context, team->there_state);
  team->there_state = NULL;
  PD_TRY(status);
  if (made != POLYAD_OK)
    pd_log(context, POLYAD_LOG_INFO, "no library carries the data of the devices: %s",
           polyad_last_error(context));
  pd_begin(context);
  return POLYAD_OK;
}

static polyad_status use_copies(polyad_context *context, polyad_team *team) {
  struct peers *peers = NULL;
  PD_TRY(PD_NEW_ZERO(context, 1, &peers));
  polyad_status status = PD_NEW(context, (uint64_t)team->size, &peers->shown);
  if (status != POLYAD_OK) {
    pd_free(context, peers);
    return status;
  }
  peers->team = team;
  team->there = &by_copies;
  team->there_state = peers;
  return POLYAD_OK;
}

static polyad_status use_devices(polyad_context *context, polyad_team *team,
                                 const struct pd_device *device, bool apart) {
  if (team->mixed) return pd_team_use_relay(context, team);
  if (team->collectives->one_process && device->functions->copy_peer != NULL)
    return use_copies(context, team);
  if (device->linalg->link != NULL && apart && team->size > 1)
    PD_TRY(try_link(context, team, device));
  return team->there != NULL ? POLYAD_OK : pd_team_use_relay(context, team);
}

void pd_team_leave_device(polyad_team *team) {
  if (team->there != NULL && team->there != team->collectives) {
    team->there->leave(team->there_state, team->failed != POLYAD_OK);
    pd_free(team->context, team->there_state);
  }
  team->there = NULL;
  team->there_state = NULL;
}

polyad_status pd_team_use_device(polyad_context *context, polyad_team *team,
                                 const struct pd_device *device) {
  if (team->there != NULL && team->device == device) return POLYAD_OK;
  pd_team_leave_device(team);
  team->device = device;
  bool apart;
  PD_TRY(compare_places(context, team, device, &apart));
  if (!device->functions->host_memory) return use_devices(context, team, device, apart);
  team->there = team->collectives;
  team->there_state = team->state;
  return POLYAD_OK;
}
