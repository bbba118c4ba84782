/* Generated tensors whose nonzeros gather in tiles of 16 x 16 x 16 cells. */
#ifndef PD_GENERATE_TILES_H
#define PD_GENERATE_TILES_H

#include "tensor/generate.h"
#include "tensor/generate_plan.h"

#define PD_TILE_SIDE 16
#define PD_TILE_SEGMENTS 12

/** So many tiles hold at least `least` and fewer than `most` nonzeros each, `nnz` together. */
struct pd_tile_segment {
  double least, most;
  uint64_t tiles, nnz;
};

struct pd_tile_profile {
  struct pd_tile_segment segment[PD_TILE_SEGMENTS]; /* ascending; unused ones are zero */
};

struct pd_tile {
  uint64_t place; /* number of the tile in the grid, last mode fastest */
  uint32_t nnz;
};

struct pd_tile_plan {
  uint64_t seed;
  uint64_t dims[3], grid[3]; /* grid: tiles along each mode */
  uint64_t nnz, tile_count;
  struct pd_tile *tiles;   /* by place */
  uint64_t *first_tile;    /* of each slab of tiles along mode 0; grid[0] + 1 numbers */
  uint64_t *first_nonzero; /* the same for nonzeros: a slab is a leaf */
};

/** Plans a tensor of `nnz` nonzeros with the profile's tiles, `scale` times as many. */
polyad_status pd_tile_plan_create(polyad_context *context, const struct pd_tile_profile *profile,
                                  double scale, struct pd_tile_plan *plan);
void pd_tile_plan_destroy(polyad_context *context, struct pd_tile_plan *plan);

uint64_t pd_tile_plan_scratch_bytes(const struct pd_tile_plan *plan);

/** Makes the nonzeros of one slab, sorted. */
void pd_tile_plan_fill(const struct pd_tile_plan *plan, uint64_t slab, void *scratch,
                       struct pd_sink *sink);

#endif
