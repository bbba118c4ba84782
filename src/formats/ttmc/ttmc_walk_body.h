/* Both types of factors; included once per instruction set with WALK defined. */
#include "formats/ttmc/ttmc_walk.h"
#include <string.h>

#define VAL float
#define NAME(x) x##_f32
#include "formats/ttmc/ttmc_walk_loops.h"
#undef VAL
#undef NAME
#define VAL double
#define NAME(x) x##_f64
#include "formats/ttmc/ttmc_walk_loops.h"

void WALK(const struct pd_ttmc_job *job, struct pd_ttmc_part *part) {
  if (job->source->type == POLYAD_F32)
    walk_part_f32(job, part);
  else
    walk_part_f64(job, part);
}
