/* All instances of the kernels over rows for one type, and the table that finds them, for the
 * backends whose compiler runs ahead of time. */
#define PD_INSTANCE(x) PD_INSTANCE_NAME(x, PD_F64, PD_KIND, PD_INPUTS, PD_TILE)
#define PD_INSTANCE_NAME(x, w, k, i, t) PD_INSTANCE_PASTE(x, w, k, i, t)
#define PD_INSTANCE_PASTE(x, w, k, i, t) x##_##w##_##k##_##i##_##t

#define PD_KIND 0
#include "portable/instances_inputs.h"
#undef PD_KIND
#define PD_KIND 1
#include "portable/instances_inputs.h"
#undef PD_KIND
#define PD_INPUTS 0
#define PD_KIND 2
#include "portable/instances_tiles.h"
#undef PD_KIND
#define PD_KIND 3
#include "portable/instances_tiles.h"
#undef PD_KIND
#define PD_KIND 4
#include "portable/instances_tiles.h"
#undef PD_KIND
#undef PD_INPUTS
#undef PD_INSTANCE
#undef PD_INSTANCE_NAME
#undef PD_INSTANCE_PASTE

/* The table of type `w`: by kind, inputs (PD_INPUTS_CLASS) and tile. */
#define PD_RUN(w, k, i, t) run_##w##_##k##_##i##_##t
#define PD_RUN_TILES(w, k, i)                                                                      \
  { PD_RUN(w, k, i, 0), PD_RUN(w, k, i, 1), PD_RUN(w, k, i, 2), PD_RUN(w, k, i, 3) }
#define PD_RUN_INPUTS(w, k)                                                                        \
  { PD_RUN_TILES(w, k, 0), PD_RUN_TILES(w, k, 2), PD_RUN_TILES(w, k, 3), PD_RUN_TILES(w, k, 4) }
#define PD_RUN_FEW(w, k)                                                                           \
  {                                                                                                \
    { 0, PD_RUN(w, k, 0, 1), 0, PD_RUN(w, k, 0, 3) }                                               \
  }
#define PD_RUN_TABLE(w)                                                                            \
  { PD_RUN_INPUTS(w, 0), PD_RUN_INPUTS(w, 1), PD_RUN_FEW(w, 2), PD_RUN_FEW(w, 3), PD_RUN_FEW(w, 4) }
