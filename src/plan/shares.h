/* How much of a tensor each of several devices gets. */
#ifndef PD_SHARES_H
#define PD_SHARES_H

#include "device/device_registry.h"
#include "plan/plan.h"

/** Devices that share a tensor, and the parts of its nonzeros that they are to have. */
struct pd_shares {
  struct pd_device_list devices;
  bool equal; /* all members get equal parts of the nonzeros and of the rows; `weight` is unused */
  double weight[PD_DEVICES_MOST];
};

/** Chooses the shares. Devices of one kind get equal shares; of devices of several kinds each is
 *  measured on a sample of the nonzeros. Where options->second_share is set there are two
 *  devices, and it is the second one's share. A device whose share is too small is left out. */
polyad_status pd_shares_choose(polyad_context *context, const polyad_tensor *tensor,
                               const struct pd_device_list *devices,
                               const polyad_plan_options *options, struct pd_shares *shares);

#endif
