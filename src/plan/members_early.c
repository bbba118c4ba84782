/* Devices of a team that are connected while something else goes on, as a file is read: NCCL takes
 * about a second to start between the GPUs of a machine. A thread does what the making of a plan
 * would begin with, on contexts of its own; the context of the caller keeps it until a plan of the
 * same devices takes it, or until the context ends. What fails here fails once more where it is
 * looked for, and is told there. */
#include "core/helper_context.h"
#include "plan/members.h"
#include <polyad/device.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGES_BYTES = 2048 };

struct early {
  struct pd_device_list devices;
  struct pd_members *members;
  pthread_t thread;
  polyad_status status;
  double began, took;
  /* What the caller's log would have got, one text behind the other; what is too much is cut. */
  polyad_log_level level[MESSAGES_BYTES];
  char messages[MESSAGES_BYTES];
  size_t used;
};

static void members_early_keep(void *user, polyad_log_level level, const char *message) {
  struct early *early = user;
  size_t left = sizeof early->messages - early->used;
  if (left < 2) return;
  early->level[early->used] = level;
  (void)snprintf(early->messages + early->used, left, "%s", message);
  early->used += strlen(early->messages + early->used) + 1;
}

static void tell_messages(polyad_context *context, const struct early *early) {
  for (size_t at = 0; at < early->used; at += strlen(early->messages + at) + 1)
    pd_log(context, early->level[at], "%s", early->messages + at);
}

static void *connect_early(void *user) {
  struct early *early = user;
  early->status = pd_members_connect(early->members, &early->devices);
  early->took = pd_seconds() - early->began;
  return NULL;
}

/* Waits for the thread; the members stay. */
static void early_join(struct early *early) { (void)pthread_join(early->thread, NULL); }

static void early_end(void *user) {
  struct early *early = user;
  pd_members_cancel(early->members);
  early_join(early);
  pd_members_destroy(early->members);
  pd_free(NULL, early);
}

static bool same_devices(const struct pd_device_list *a, const struct pd_device_list *b) {
  if (a->count != b->count) return false;
  for (int k = 0; k < a->count; ++k)
    if (a->device[k] != b->device[k]) return false;
  return true;
}

static polyad_status start_early(polyad_context *context, const struct pd_device_list *devices) {
  struct early *early = NULL;
  PD_TRY(PD_NEW_ZERO(context, 1, &early));
  early->devices = *devices;
  early->began = pd_seconds();
  polyad_status status = pd_members_open(context, devices, &early->members);
  if (status != POLYAD_OK) {
    pd_free(context, early);
    return status;
  }
  polyad_set_log(pd_members_context(early->members), POLYAD_LOG_DEBUG, members_early_keep, early);
  if (pthread_create(&early->thread, NULL, connect_early, early) == 0) {
    pd_context_keep(context, early, early_end);
    return POLYAD_OK;
  }
  pd_members_destroy(early->members); /* the plan will do without */
  pd_free(context, early);
  return POLYAD_OK;
}

polyad_status polyad_devices_start(polyad_context *context) {
  struct pd_device_list devices;
  PD_ENTER(context);
  pd_context_keep(context, NULL, NULL);
  if (!pd_devices_are_several(context)) return POLYAD_OK;
  PD_TRY(pd_device_list_of(context, &devices));
  if (devices.count < 2 || !pd_device_list_is_of_one_kind(&devices)) return POLYAD_OK;
  return start_early(context, &devices);
}

struct pd_members *pd_members_early_take(polyad_context *context,
                                         const struct pd_device_list *devices) {
  struct early *early = pd_context_kept(context);
  if (early == NULL) return NULL;
  if (!same_devices(&early->devices, devices)) {
    pd_context_keep(context, NULL, NULL);
    return NULL;
  }
  double asked = pd_seconds();
  early_join(early);
  struct pd_members *members = early->members;
  pd_context_forget(context);
  polyad_set_log(pd_members_context(members), POLYAD_LOG_WARNING, NULL, NULL);
  if (early->status == POLYAD_OK) {
    tell_messages(context, early);
    pd_log(context, POLYAD_LOG_INFO,
           "the devices were connected in %.3f s beside other work, %.3f s of them waited for",
           early->took, pd_seconds() - asked);
  } else {
    pd_members_destroy(members);
    members = NULL;
  }
  pd_free(context, early);
  return members;
}
