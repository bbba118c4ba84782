#include "tensor/generate_tiles.h"
#include "core/numbers.h"
#include "core/radix_sort.h"
#include "core/random.h"
#include "tensor/generate_sort.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = PD_TILE_SIDE, CELLS = SIDE * SIDE * SIDE, POPULARITY = 1, LUCK = 2, CELL = 3 };

/* Popular rows of tiles attract more tiles: exponent of their power law. */
static const double TILE_SKEW = 0.4;

static uint64_t cells_along(const struct pd_tile_plan *plan, int mode, uint64_t tile) {
  uint64_t rest = plan->dims[mode] - tile * SIDE;
  return rest < SIDE ? rest : SIDE;
}

static void tile_corner(const struct pd_tile_plan *plan, uint64_t place, uint64_t tile[3]) {
  tile[2] = place % plan->grid[2];
  tile[1] = place / plan->grid[2] % plan->grid[1];
  tile[0] = place / plan->grid[2] / plan->grid[1];
}

static uint32_t tile_capacity(const struct pd_tile_plan *plan, uint64_t place) {
  uint64_t tile[3], cells = 1;
  tile_corner(plan, place, tile);
  for (int n = 0; n < 3; ++n)
    cells *= cells_along(plan, n, tile[n]);
  return (uint32_t)cells;
}

/* ---- which tiles -------------------------------------------------------------------------------
 */

/* A draw without replacement by weight: the tiles whose exponential clocks ring first. Positive
 * doubles order as their bits do. */
static uint64_t clock_of(const struct pd_tile_plan *plan, uint64_t place) {
  uint64_t tile[3];
  double popularity = 1;
  tile_corner(plan, place, tile);
  for (int n = 0; n < 3; ++n) {
    double rank = pd_random_uniform(plan->seed, POPULARITY + 8 * (uint64_t)n, tile[n]);
    popularity *= pow(1 + rank * (double)plan->grid[n], -TILE_SKEW);
  }
  double ring = -log1p(-pd_random_uniform(plan->seed, LUCK, place)) / popularity;
  uint64_t bits;
  memcpy(&bits, &ring, sizeof bits);
  return bits;
}

/* The chosen tiles, full ones before those cut off by the end of a mode, so that the heaviest find
 * room. */
static polyad_status choose_tiles(polyad_context *context, struct pd_tile_plan *plan) {
  uint64_t cells = plan->grid[0] * plan->grid[1] * plan->grid[2], *clocks = NULL, *places = NULL;
  int threads = pd_threads_for(context, cells, 1 << 12);
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(PD_NEW(context, cells, &clocks));
  PD_TRY_CLEANUP(PD_NEW(context, cells, &places));
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t place = 0; place < cells; ++place) {
    clocks[place] = clock_of(plan, place);
    places[place] = place;
  }
  PD_TRY_CLEANUP(pd_sort_u64(context, cells, clocks, 64, places, sizeof *places));
  for (uint64_t t = 0; t < plan->tile_count; ++t)
    clocks[t] = CELLS - tile_capacity(plan, places[t]);
  PD_TRY_CLEANUP(pd_sort_u64(context, plan->tile_count, clocks, 13, places, sizeof *places));
  for (uint64_t t = 0; t < plan->tile_count; ++t)
    plan->tiles[t].place = places[t];
cleanup:
  PD_FREE(context, places, clocks);
  return status;
}

/* ---- how full ------------------------------------------------------------------------------- */

/* Sum of the k smallest tiles of a segment of `tiles`, whose sizes follow a power of their rank. */
static double sum_of_smallest(const struct pd_tile_segment *segment, double tiles, double k) {
  double mean = (double)segment->nnz / (double)segment->tiles;
  double power = (segment->most - segment->least) / (mean - segment->least) - 1;
  return k * segment->least +
         (segment->most - segment->least) * tiles / (1 + power) * pow(k / tiles, 1 + power);
}

/* Sizes of the tiles from the largest to the smallest. */
static void size_tiles(const struct pd_tile_profile *profile, struct pd_tile_plan *plan) {
  uint64_t all_tiles = 0, tiles_before = 0, t = plan->tile_count;
  for (int s = 0; s < PD_TILE_SEGMENTS; ++s)
    all_tiles += profile->segment[s].tiles;
  for (int s = 0; s < PD_TILE_SEGMENTS; ++s) {
    const struct pd_tile_segment *segment = &profile->segment[s];
    if (segment->tiles == 0) continue;
    double share = (double)plan->tile_count / (double)all_tiles;
    uint64_t begin = (uint64_t)round(share * (double)tiles_before);
    tiles_before += segment->tiles;
    uint64_t count = (uint64_t)round(share * (double)tiles_before) - begin;
    double before = 0;
    for (uint64_t k = 1; k <= count; ++k) {
      double sum = floor(sum_of_smallest(segment, (double)count, (double)k));
      plan->tiles[--t].nnz = (uint32_t)(sum - before);
      before = sum;
    }
  }
}

/* Adds or takes nonzeros, evenly from the largest tiles on, until there are as many as asked for
 * and no tile holds more than its cells. */
static void settle_sizes(struct pd_tile_plan *plan) {
  uint64_t sum = 0;
  for (uint64_t t = 0; t < plan->tile_count; ++t) {
    uint32_t capacity = tile_capacity(plan, plan->tiles[t].place);
    if (plan->tiles[t].nnz > capacity) plan->tiles[t].nnz = capacity;
    sum += plan->tiles[t].nnz;
  }
  double grow = (double)plan->nnz / (double)sum;
  for (uint64_t t = 0; grow > 1.01 && t < plan->tile_count; ++t) {
    uint32_t capacity = tile_capacity(plan, plan->tiles[t].place), old = plan->tiles[t].nnz;
    double want = floor((double)old * grow);
    plan->tiles[t].nnz = want < (double)capacity ? (uint32_t)want : capacity;
    sum += plan->tiles[t].nnz - old;
  }
  while (sum != plan->nnz)
    for (uint64_t t = 0; t < plan->tile_count && sum != plan->nnz; ++t) {
      struct pd_tile *tile = &plan->tiles[t];
      if (sum < plan->nnz && tile->nnz < tile_capacity(plan, tile->place)) {
        ++tile->nnz;
        ++sum;
      } else if (sum > plan->nnz && tile->nnz > 1) {
        --tile->nnz;
        --sum;
      }
    }
}

static int by_place(const void *left, const void *right) {
  const struct pd_tile *a = left, *b = right;
  return a->place < b->place ? -1 : a->place > b->place;
}

static uint64_t count_tiles(const struct pd_tile_plan *plan, const struct pd_tile_profile *profile,
                            double scale) {
  uint64_t tiles = 0, grid = plan->grid[0] * plan->grid[1] * plan->grid[2];
  for (int s = 0; s < PD_TILE_SEGMENTS; ++s)
    tiles += profile->segment[s].tiles;
  double scaled = round((double)tiles * scale);
  if (scaled < 1) scaled = 1;
  uint64_t count = scaled < (double)grid ? (uint64_t)scaled : grid;
  return count < plan->nnz ? count : plan->nnz;
}

polyad_status pd_tile_plan_create(polyad_context *context, const struct pd_tile_profile *profile,
                                  double scale, struct pd_tile_plan *plan) {
  polyad_status status = POLYAD_OK;
  for (int n = 0; n < 3; ++n)
    plan->grid[n] = (plan->dims[n] + SIDE - 1) / SIDE;
  plan->tile_count = count_tiles(plan, profile, scale);
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, plan->tile_count, &plan->tiles));
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, plan->grid[0] + 1, &plan->first_tile));
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, plan->grid[0] + 1, &plan->first_nonzero));
  PD_TRY_CLEANUP(choose_tiles(context, plan));
  size_tiles(profile, plan);
  settle_sizes(plan);
  qsort(plan->tiles, (size_t)plan->tile_count, sizeof *plan->tiles, by_place);
  for (uint64_t t = 0; t < plan->tile_count; ++t) {
    uint64_t slab = plan->tiles[t].place / plan->grid[1] / plan->grid[2];
    ++plan->first_tile[slab + 1];
    plan->first_nonzero[slab + 1] += plan->tiles[t].nnz;
  }
  for (uint64_t slab = 0; slab < plan->grid[0]; ++slab) {
    plan->first_tile[slab + 1] += plan->first_tile[slab];
    plan->first_nonzero[slab + 1] += plan->first_nonzero[slab];
  }
cleanup:
  if (status != POLYAD_OK) pd_tile_plan_destroy(context, plan);
  return status;
}

void pd_tile_plan_destroy(polyad_context *context, struct pd_tile_plan *plan) {
  PD_FREE(context, plan->first_nonzero, plan->first_tile, plan->tiles);
  *plan = (struct pd_tile_plan){0};
}

/* ---- nonzeros ----------------------------------------------------------------------------------
 */

uint64_t pd_tile_plan_scratch_bytes(const struct pd_tile_plan *plan) {
  uint64_t most = 0;
  for (uint64_t slab = 0; slab < plan->grid[0]; ++slab) {
    uint64_t nnz = plan->first_nonzero[slab + 1] - plan->first_nonzero[slab];
    most = nnz > most ? nnz : most;
  }
  return 2 * most * sizeof(uint64_t);
}

/* Chooses the tile's cells by Floyd's method (R. W. Floyd, in J. Bentley, Programming pearls, CACM
 * 1987) and writes them as keys that order as the nonzeros of the slab do. */
static uint64_t *generate_tiles_add_tile(const struct pd_tile_plan *plan,
                                         const struct pd_tile *tile, uint64_t *keys) {
  uint64_t corner[3], side[3], chosen[CELLS / 64] = {0};
  tile_corner(plan, tile->place, corner);
  for (int n = 0; n < 3; ++n)
    side[n] = cells_along(plan, n, corner[n]);
  uint64_t cells = side[0] * side[1] * side[2];
  for (uint64_t last = cells - tile->nnz; last < cells; ++last) {
    uint64_t draw = pd_random_u64(plan->seed, CELL, tile->place * CELLS + last);
    uint64_t cell = (draw >> 32) * (last + 1) >> 32;
    if (chosen[cell / 64] >> cell % 64 & 1) cell = last;
    chosen[cell / 64] |= UINT64_C(1) << cell % 64;
    uint64_t i = cell / side[2] / side[1], j = cell / side[2] % side[1], k = cell % side[2];
    *keys++ = (i * plan->dims[1] + corner[1] * SIDE + j) * plan->dims[2] + corner[2] * SIDE + k;
  }
  return keys;
}

void pd_tile_plan_fill(const struct pd_tile_plan *plan, uint64_t slab, void *scratch,
                       struct pd_sink *sink) {
  uint64_t *keys = scratch, *end = keys, position = plan->first_nonzero[slab];
  for (uint64_t t = plan->first_tile[slab]; t < plan->first_tile[slab + 1]; ++t)
    end = generate_tiles_add_tile(plan, &plan->tiles[t], end);
  uint64_t count = (uint64_t)(end - keys);
  int bits = pd_index_bits(SIDE * plan->dims[1] * plan->dims[2]);
  pd_sort_items(keys, keys + count, count, 1, bits);
  for (uint64_t p = 0; p < count; ++p) {
    uint64_t rest = keys[p] / plan->dims[2];
    ((uint32_t *)sink->index[2])[sink->at] = (uint32_t)(keys[p] % plan->dims[2]);
    ((uint32_t *)sink->index[1])[sink->at] = (uint32_t)(rest % plan->dims[1]);
    ((uint32_t *)sink->index[0])[sink->at] = (uint32_t)(slab * SIDE + rest / plan->dims[1]);
    double value = pd_generated_value(plan->seed, position + p);
    pd_store(sink->type, sink->values, sink->at++, value);
  }
}
