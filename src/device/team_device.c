/* Data of a team in the memory of its members' devices. On the CPU they travel as all others do. On
 * GPUs a library carries them (struct pd_device_link) where every member has a device of its own;
 * else the members, threads of one process, copy from each other's memory: each shows where its
 * data lie, all meet, everyone enqueues the copies that it needs, and all meet again. Either way
 * what travels is not changed on the way, so that results do not depend on it. */
#include "device/device.h"
#include "device/team.h"
#include "linalg/linalg.h"
#include <string.h>
#include <unistd.h>

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
  char here = 0;
  _Static_assert(sizeof here <= sizeof *peers->shown, "there is room for what a meeting gathers");
  polyad_status met =
      team->collectives->gather(context, team->state, &here, sizeof here, peers->shown);
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

/* Where a member is: two of one process on one device share its stream. */
struct place {
  int64_t process;
  int64_t device;
};

/* Whether all members are of one process, and whether no two have the same device. */
static polyad_status find_places(polyad_context *context, polyad_team *team,
                                 const struct pd_device *device, bool *one_process, bool *apart) {
  struct place mine = {getpid(), device->index}, *all = NULL;
  PD_TRY(PD_NEW(context, (uint64_t)team->size, &all));
  polyad_status status = pd_team_gather(context, team, &mine, sizeof mine, all);
  *one_process = *apart = true;
  for (int k = 0; k < team->size && status == POLYAD_OK; ++k) {
    *one_process = *one_process && all[k].process == mine.process;
    for (int other = 0; other < k; ++other)
      *apart = *apart && all[k].device != all[other].device;
  }
  pd_free(context, all);
  return status;
}

/* Lets a library carry the data: all members do, or none. Where it cannot, why is logged. */
static polyad_status try_link(polyad_context *context, polyad_team *team,
                              const struct pd_device *device) {
  const struct pd_device_link *link = device->linalg->link;
  char ticket[PD_TICKET_BYTES] = "";
  polyad_status made = pd_alloc_zero(context, 1, link->state_bytes, &team->there_state);
  if (made == POLYAD_OK && team->rank == 0) made = link->make_ticket(context, ticket);
  bool cannot = made != POLYAD_OK;
  PD_TRY(pd_team_any(context, team, &cannot));
  if (!cannot) {
    PD_TRY(pd_team_broadcast(context, team, 0, ticket, sizeof ticket));
    made = link->join(context, device, ticket, team->rank, team->size, team->there_state);
    cannot = made != POLYAD_OK;
    PD_TRY(pd_team_any(context, team, &cannot));
    if (!cannot) team->there = &link->collectives;
    if (cannot) link->collectives.leave(team->there_state, true);
  }
  if (!cannot) return POLYAD_OK;
  pd_free(context, team->there_state);
  team->there_state = NULL;
  if (made != POLYAD_OK)
    pd_log(context, POLYAD_LOG_INFO, "devices copy from each other: %s",
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
                                 const struct pd_device *device) {
  bool one_process, apart;
  PD_TRY(find_places(context, team, device, &one_process, &apart));
  if (!one_process || device->functions->copy_peer == NULL)
    return pd_fail(context, POLYAD_UNSUPPORTED,
                   "%s is the device of a process that shares the tensor with others; expected "
                   "device cpu, or several GPUs of one process (--device cuda:all)",
                   device->name);
  if (device->linalg->link != NULL && apart && team->size > 1)
    PD_TRY(try_link(context, team, device));
  return team->there != NULL ? POLYAD_OK : use_copies(context, team);
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
  if (!device->functions->host_memory) return use_devices(context, team, device);
  team->there = team->collectives;
  team->there_state = team->state;
  return POLYAD_OK;
}
