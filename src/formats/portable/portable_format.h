/* Format "portable": nonzeros as modecopy stores them, kernels written once for every device. */
#ifndef PD_PORTABLE_FORMAT_H
#define PD_PORTABLE_FORMAT_H

#include "formats/modecopy/modecopy_layout.h"
#include "formats/tables.h"

struct pd_portable {
  struct pd_modecopy lists; /* with ends of rows instead of marks */
  bool atomic;              /* rows that groups share are added atomically */
  bool stores_pi;           /* else CP-APR's Pi is computed on the fly */
};

/** Fails with POLYAD_UNSUPPORTED when a device cannot launch the kernels. */
polyad_status pd_portable_check_device(polyad_context *context, const struct pd_device *device);

#endif
