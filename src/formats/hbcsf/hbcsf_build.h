/* Building the lists of one mode of "hbcsf". */
#ifndef PD_HBCSF_BUILD_H
#define PD_HBCSF_BUILD_H

#include "formats/hbcsf/hbcsf_layout.h"

/** Fills the mode, whose levels are set; what was allocated is in it also on failure. */
polyad_status pd_hbcsf_build(polyad_context *context, const polyad_tensor *tensor,
                             struct pd_hbcsf_mode *mode);

#endif
