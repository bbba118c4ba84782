/* Plans of two devices that share a tensor's nonzeros: each computes with its own, in a format of
 * its own, and what the second has found is added to what the first has. */
#ifndef PD_PAIR_H
#define PD_PAIR_H

#include "plan/plan.h"

/** The storage of such a plan. The plan's device is that of the first part; matrices of its
 *  algorithms are there. */
struct pd_pair {
  struct polyad_format format; /* what the plan calls; its name is `name` */
  char name[64];               /* such as "modecopy+coo" */
  polyad_plan *part[2];
  double share; /* of the nonzeros that the second part has */
  /* Where its parts' nonzeros are read: a pair brought from the devices is a view of another. */
  bool view;
  const void *readable[2]; /* storages of the parts with their arrays; NULL: they are shed */
  void *brought[2];        /* those of them that were brought */
};

/** Functions that pd_pair::format has, but for its name. */
extern const struct polyad_format pd_pair_format;
extern const struct polyad_kernels pd_pair_kernels;

/** A plan of request->device and request->second; of the first alone where the second would not
 *  help. */
polyad_status pd_pair_create(polyad_context *context, const polyad_tensor *tensor,
                             const struct pd_request *request, const polyad_plan_options *options,
                             polyad_plan **plan);

#endif
