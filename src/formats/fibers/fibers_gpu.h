/* GPU side of trees of compressed fibers. */
#ifndef PD_FIBERS_GPU_H
#define PD_FIBERS_GPU_H

#include "formats/nonzeros/nonzeros_gpu.h"

/* Where a tree's arrays are in a list: ids of level l in array l, starts of its children in array
 * PD_FIBERS_START + l. number[0]: 1 when the rows of whole slices are nobody else's; number[1]:
 * fibers. */
enum { PD_FIBERS_START = 16, PD_FIBERS_ITEM = 32, PD_FIBERS_PATH, PD_FIBERS_WHOLE };

/** Of any number of inputs. */
PD_NZ_DECLARE(pd_fibers_add);
/** Of two to four inputs. */
PD_NZ_DECLARE(pd_fibers_sum);
PD_NZ_DECLARE_CHAIN(pd_fibers_chain);

#endif
