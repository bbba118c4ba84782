/* A team: processes, or threads of one process, that compute one decomposition together. All
 * members run the same program, each on its part of the tensor, and meet in the calls of this file:
 * every member makes the same calls in the same order, or the call fails on all of them.
 *
 * A member that fails between two calls tells the others by pd_team_agree(), which every public
 * function that works for a team calls at its end: the others, wherever they wait, get its status
 * and message. From then on the team is spent, and every call fails in the same way. So an error of
 * one ends all, and nobody waits for a member that has left. Of several that have failed the lowest
 * rank is the one, but that those come last which have waited for another in vain.
 *
 * NULL is the team of one, alone: all calls are fine and do nothing. */
#ifndef PD_TEAM_H
#define PD_TEAM_H

#include "core/core.h"
#include <polyad/team.h>

struct pd_device;

enum { PD_TEAM_MESSAGE_BYTES = 512, PD_TICKET_BYTES = 128 };

/** Bytes to or from one member. */
struct pd_parcel {
  void *data;
  uint64_t bytes;
};

/** What carries a team's data. Both functions return when the member's own data may be changed
 *  again, and what they fill in is there. */
struct pd_collectives {
  bool one_process; /* members are threads of one process, and see each other's memory */
  /** Every member's `bytes` bytes, the same number on all, one after the other in the order of
   *  their ranks. */
  polyad_status (*gather)(polyad_context *context, void *state, const void *mine, uint64_t bytes,
                          void *all);
  /** A parcel to every member, and one from every member: both lists are as long as the team, and
   *  sizes agree. The member's own is copied. */
  polyad_status (*exchange)(polyad_context *context, void *state, const struct pd_parcel *to,
                            const struct pd_parcel *from);
  /** Makes room for a gather or an exchange in which `bytes` bytes come and go, the member's own
   *  included: before all meet, so that a member without room does not leave the others waiting.
   *  NULL: none is needed. */
  polyad_status (*reserve)(polyad_context *context, void *state, uint64_t bytes);
  /** Whether this member has given up waiting for others, so that its failures tell of theirs.
   *  NULL: it waits for ever. */
  bool (*gave_up)(const void *state);
  /** Frees the state, but for that of a struct pd_device_link. `failed`: other members may be gone.
   */
  void (*leave)(void *state, bool failed);
};

/** What carries data between the memories of devices, where one kind of device has a library for
 *  that: every member of a team joins with the same ticket, which one of them has made. Joining
 *  waits for all members: what can fail in one of them alone is done before, by ready(). */
struct pd_device_link {
  size_t state_bytes;
  /** Whether the library is there, and has what is needed; makes what a member of `size` needs in
   *  its state, which is zero. Whatever comes of it, leave() of the collectives undoes it. */
  polyad_status (*ready)(polyad_context *context, const struct pd_device *device, int size,
                         void *state);
  polyad_status (*make_ticket)(polyad_context *context, char ticket[PD_TICKET_BYTES]);
  polyad_status (*join)(polyad_context *context, const char ticket[PD_TICKET_BYTES], int rank,
                        void *state);
  /** Data are in the device's memory. Work is ordered on its stream, and nothing waits. */
  struct pd_collectives collectives;
};

/** What a member says of itself when a call begins. No padding. */
struct pd_team_opening {
  int32_t status;
  int16_t call, gave_up; /* whether it has failed by waiting for others in vain */
  uint64_t length;       /* the same on all members */
};

struct polyad_team {
  polyad_context *context; /* of this member; owner of the memory */
  int rank, size;
  int threads;        /* for this member, where its user names no number */
  const char *called; /* what messages call a member: "process", or "device" */
  bool mixed; /* the members' devices are of several kinds: all data go by way of the host */
  /* The members are devices of one process, and none of their threads runs: they could not meet. */
  bool idle;
  const struct pd_collectives *collectives;
  void *state;
  /* Where matrices of the members lie, and what carries data there; NULL: not known yet. */
  const struct pd_device *device;
  const struct pd_collectives *there;
  void *there_state;
  polyad_status failed; /* POLYAD_OK until a member has failed */
  char message[PD_TEAM_MESSAGE_BYTES];
  struct pd_team_opening *opening; /* `size` */
  char (*messages)[PD_TEAM_MESSAGE_BYTES];
  struct pd_parcel *parcel; /* 2 `size` */
  double *room;             /* of sums; grows to the longest */
  uint64_t room_count;
  uint64_t bytes_sent; /* in parcels to other members */
  double seconds;      /* in calls, waiting for others included */
};

/** A member of a team on these collectives, which take over `state` also on failure. */
polyad_status pd_team_create(polyad_context *context, int rank, int size,
                             const struct pd_collectives *collectives, void *state,
                             polyad_team **team);
/** `size` members for as many threads of this process, each with its own context. */
polyad_status pd_team_create_threads(polyad_context *const *contexts, int size,
                                     polyad_team **teams);

static inline int pd_team_size(const polyad_team *team) { return team == NULL ? 1 : team->size; }
static inline bool pd_team_is_mixed(const polyad_team *team) { return team != NULL && team->mixed; }
static inline int pd_team_rank(const polyad_team *team) { return team == NULL ? 0 : team->rank; }

/** Meets all members: fails where any has another status than POLYAD_OK, with the status and
 * message of the lowest rank that has. */
polyad_status pd_team_agree(polyad_context *context, polyad_team *team, polyad_status status);
/** Adds numbers over the members in the order of their ranks: the same bits on all. */
polyad_status pd_team_sum(polyad_context *context, polyad_team *team, uint64_t count,
                          double *numbers);
/** What a member does in a sum of `count` numbers over `size` members: messages that follow each
 *  other, and bytes sent. */
struct pd_team_traffic {
  double messages, bytes;
};
struct pd_team_traffic pd_team_sum_traffic(int size, uint64_t count);
/** Messages that follow each other in a short gather: every one doubles what members know. */
int pd_team_rounds(int size);
/** The largest over the members; NaN where any is. */
polyad_status pd_team_max(polyad_context *context, polyad_team *team, uint64_t count,
                          double *numbers);
/** The same for one count, which a double may not hold. */
polyad_status pd_team_max_count(polyad_context *context, polyad_team *team, uint64_t *count);
/** Whether it is true on any member. */
polyad_status pd_team_any(polyad_context *context, polyad_team *team, bool *truth);
/** Gives all what `root` has. */
polyad_status pd_team_broadcast(polyad_context *context, polyad_team *team, int root, void *data,
                                uint64_t bytes);
polyad_status pd_team_gather(polyad_context *context, polyad_team *team, const void *mine,
                             uint64_t bytes, void *all);
/** Lists of pd_team_size() parcels; see struct pd_collectives. */
polyad_status pd_team_exchange(polyad_context *context, polyad_team *team,
                               const struct pd_parcel *to, const struct pd_parcel *from);

/** Tells the team that the members' matrices lie in the memory of their devices from now on, and
 *  chooses the way of their data. Where that memory is not the host's, devices of one process copy
 *  from each other. Data between processes are carried by a library, where the kind of device has
 *  one and each member has a device of its own; else they go by way of the hosts. Devices of
 * several kinds always send by way of the host, and must be of one process: else the call fails. */
polyad_status pd_team_use_device(polyad_context *context, polyad_team *team,
                                 const struct pd_device *device);
void pd_team_leave_device(polyad_team *team);
/** By way of the hosts' memory (team_relay.c): sets team->there and its state. */
polyad_status pd_team_use_relay(polyad_context *context, polyad_team *team);
/** Adds up numbers over the members of a mixed team, on a member whose sums lie in the host's
 *  memory. It meets a pd_team_gather_there() of `count` numbers on the members whose sums lie on
 *  their devices. Numbers from `largest` on are not added: the largest is taken, or NaN where any
 *  is. They are added in the order of a GPU's warp, so that all members have the same bits. */
polyad_status pd_team_fold(polyad_context *context, polyad_team *team, uint64_t count,
                           uint64_t largest, double *numbers);
/** pd_team_gather() and pd_team_exchange() of data in the devices' memory. On a device that works
 *  by itself they are ordered on its stream and do not wait. */
polyad_status pd_team_gather_there(polyad_context *context, polyad_team *team, const void *mine,
                                   uint64_t bytes, void *all);
polyad_status pd_team_exchange_there(polyad_context *context, polyad_team *team,
                                     const struct pd_parcel *to, const struct pd_parcel *from);
/** The same where members do not know what they will get: fills in `from`, whose data lie in
 *  `memory`, one parcel behind the other. */
polyad_status pd_team_deliver(polyad_context *context, polyad_team *team,
                              const struct pd_parcel *to, struct pd_parcel *from, void **memory);

#endif
