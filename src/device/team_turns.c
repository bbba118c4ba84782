/* The devices of a team's members where they have not named one each: those on one machine take its
 * GPUs in turn. */
#include "core/machine.h"
#include "device/module.h"
#include "device/team.h"
#include <polyad/device.h>
#include <stdio.h>
#include <string.h>

/* How many members of lower rank are on this machine. */
static polyad_status number_here(polyad_context *context, polyad_team *team, int *number) {
  uint64_t mine = pd_machine_identity(), *all = NULL;
  *number = 0;
  PD_TRY(PD_NEW(context, (uint64_t)team->size, &all));
  polyad_status status = pd_team_gather(context, team, &mine, sizeof mine, all);
  for (int k = 0; k < team->rank && status == POLYAD_OK; ++k)
    *number += all[k] == mine;
  pd_free(context, all);
  return status;
}

static polyad_status device_in_turn(polyad_context *context, polyad_team *team,
                                    const char *device) {
  const struct pd_module *module = pd_module_open("cuda");
  int gpus = module == NULL ? 0 : module->device_count, number = 0;
  bool without = gpus == 0;
  char name[32];
  PD_TRY(number_here(context, team, &number));
  PD_TRY(pd_team_any(context, team, &without));
  if (without && strcmp(device, "auto") == 0) return polyad_set_device(context, "cpu");
  if (gpus == 0) return polyad_set_device(context, device); /* says why there is none */
  snprintf(name, sizeof name, "cuda:%d", number % gpus);
  return polyad_set_device(context, name);
}

polyad_status polyad_team_set_device(polyad_context *context, polyad_team *team,
                                     const char *device) {
  PD_ENTER(context);
  bool in_turn = team != NULL && device != NULL &&
                 (strcmp(device, "cuda") == 0 || strcmp(device, "auto") == 0);
  return pd_team_agree(context, team,
                       in_turn ? device_in_turn(context, team, device)
                               : polyad_set_device(context, device));
}
