/* Contexts on the first GPU, for the tests that need one. */
#ifndef GPU_CONTEXT_H
#define GPU_CONTEXT_H

#include "plan/plan.h"
#include "property/mttkrp_case.h"
#include <polyad/polyad.h>

/* 0 when there is a GPU, else 77 (CTest's "skipped") after saying why there is none. */
int gpu_missing(void);

polyad_context *gpu_context(void);

/* A checked plan of the problem. */
polyad_plan *gpu_plan(polyad_context *context, const struct problem *problem,
                      const polyad_plan_options *options);

#endif
