/** @file
 *  @brief Everything: sparse tensors, storage formats, decompositions, files. */
#ifndef POLYAD_POLYAD_H
#define POLYAD_POLYAD_H

#include <polyad/anomalies.h>
#include <polyad/completion.h>
#include <polyad/context.h>
#include <polyad/cp_als.h>
#include <polyad/cp_apr.h>
#include <polyad/decompose.h>
#include <polyad/device.h>
#include <polyad/export.h>
#include <polyad/gcp.h>
#include <polyad/generate.h>
#include <polyad/io.h>
#include <polyad/match.h>
#include <polyad/model.h>
#include <polyad/plan.h>
#include <polyad/project.h>
#include <polyad/rank.h>
#include <polyad/run.h>
#include <polyad/scale.h>
#include <polyad/status.h>
#include <polyad/stream.h>
#include <polyad/team.h>
#include <polyad/tensor.h>
#include <polyad/transform.h>
#include <polyad/ttensor.h>
#include <polyad/tucker.h>
#include <polyad/update.h>
#include <polyad/version.h>

#endif
