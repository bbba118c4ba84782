/* Synthetic tensors: checks of the options, and filling tensors leaf by leaf. */
#include "tensor/generate.h"
#include "tensor/generate_fibers.h"
#include "tensor/generate_plan.h"
#include "tensor/generate_tiles.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

struct pd_generator {
  polyad_generate_options options; /* with `like` replaced */
  enum { LAWS, TILES, FIBERS } kind;
  struct pd_plan plan;             /* LAWS */
  struct pd_tile_plan tile_plan;   /* TILES */
  struct pd_fiber_plan fiber_plan; /* FIBERS */
};

void polyad_generate_options_init(polyad_generate_options *options) {
  *options = (polyad_generate_options){.scale = 1, .type = POLYAD_F64};
}

static polyad_status check_laws(polyad_context *context, const polyad_generate_options *options) {
  for (int n = 0; n < options->order; ++n) {
    PD_EXPECT(context, options->dims[n] != 0 && options->dims[n] <= INT64_MAX,
              "mode %d has length %" PRIu64 "; expected 1 to %" PRId64, pd_shown_mode(context, n),
              options->dims[n], INT64_MAX);
    PD_EXPECT(context, options->skew[n] >= 0 && options->skew[n] <= 8,
              "skew %g of mode %d; expected 0 to 8", options->skew[n], pd_shown_mode(context, n));
  }
  PD_EXPECT(context, options->cluster >= 0 && options->cluster < 1,
            "cluster %g; expected 0 to below 1", options->cluster);
  return POLYAD_OK;
}

static polyad_status generate_check_model(polyad_context *context,
                                          const polyad_generate_options *options) {
  if (options->type != POLYAD_F32 && options->type != POLYAD_F64)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "type %d; expected POLYAD_F32 or POLYAD_F64",
                   (int)options->type);
  PD_EXPECT(context, options->noise >= 0 && options->noise < HUGE_VAL,
            "noise %g; expected at least 0", options->noise);
  if (options->rank == 0 && (options->noise != 0 || options->poisson != 0))
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "noise and Poisson counts need a rank");
  if (options->poisson != 0 && options->noise != 0)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "Poisson counts bring their own noise; expected noise 0");
  return POLYAD_OK;
}

/* Checks options after `like` was replaced. */
static polyad_status generate_check_options(polyad_context *context,
                                            const polyad_generate_options *options) {
  PD_EXPECT(context, options->order >= 1 && options->order <= POLYAD_MAX_ORDER,
            "order %d; expected 1 to %d", options->order, POLYAD_MAX_ORDER);
  PD_EXPECT(context, options->nnz != 0, "0 nonzeros; expected at least 1");
  PD_TRY(check_laws(context, options));
  PD_TRY(generate_check_model(context, options));
  uint64_t cells = pd_cells(options->order, options->dims);
  PD_EXPECT(context, options->nnz <= cells,
            "%" PRIu64 " nonzeros; expected at most the %" PRIu64 " cells of these dims",
            options->nnz, cells);
  return POLYAD_OK;
}

static polyad_status plan_tiles(polyad_context *context, const struct pd_tile_profile *tiles,
                                double scale, struct pd_generator *generator) {
  const polyad_generate_options *options = &generator->options;
  struct pd_tile_plan *plan = &generator->tile_plan;
  plan->seed = polyad_seed(context);
  plan->nnz = options->nnz;
  memcpy(plan->dims, options->dims, 3 * sizeof *plan->dims);
  return pd_tile_plan_create(context, tiles, scale, plan);
}

static polyad_status plan_fibers(polyad_context *context, const struct pd_fiber_profile *fibers,
                                 double scale, struct pd_generator *generator) {
  const polyad_generate_options *options = &generator->options;
  struct pd_fiber_plan *plan = &generator->fiber_plan;
  plan->seed = polyad_seed(context);
  plan->order = options->order;
  memcpy(plan->dims, options->dims, (size_t)options->order * sizeof *plan->dims);
  return pd_fiber_plan_create(context, fibers, options->nnz, scale, options->skew, plan);
}

static polyad_status plan_laws(polyad_context *context, struct pd_generator *generator) {
  const polyad_generate_options *options = &generator->options;
  struct pd_plan *plan = &generator->plan;
  plan->seed = polyad_seed(context);
  plan->order = options->order;
  plan->nnz = options->nnz;
  plan->cluster = options->cluster;
  memcpy(plan->dims, options->dims, (size_t)options->order * sizeof *plan->dims);
  return pd_plan_create(context, options->skew, plan);
}

static polyad_status plan_tensor(polyad_context *context, const struct pd_profiles *profiles,
                                 double scale, struct pd_generator *generator) {
  if (profiles->fibers != NULL) {
    generator->kind = FIBERS;
    return plan_fibers(context, profiles->fibers, scale, generator);
  }
  if (profiles->tiles != NULL) {
    generator->kind = TILES;
    return plan_tiles(context, profiles->tiles, scale, generator);
  }
  generator->kind = LAWS;
  return plan_laws(context, generator);
}

polyad_status pd_generator_create(polyad_context *context, const polyad_generate_options *options,
                                  struct pd_generator **generator) {
  *generator = NULL;
  polyad_generate_options resolved;
  struct pd_profiles profiles;
  PD_TRY(pd_generate_resolve(context, options, &resolved, &profiles));
  PD_TRY(generate_check_options(context, &resolved));
  if (resolved.rank != 0)
    return pd_fail(context, POLYAD_UNSUPPORTED,
                   "the tensor of a known model is made as a whole, not in parts");
  struct pd_generator *made;
  PD_TRY(PD_NEW_ZERO(context, 1, &made));
  made->options = resolved;
  polyad_status status = plan_tensor(context, &profiles, options->scale, made);
  if (status == POLYAD_OK)
    *generator = made;
  else
    pd_free(context, made);
  return status;
}

void pd_generator_destroy(polyad_context *context, struct pd_generator *generator) {
  if (generator == NULL) return;
  switch (generator->kind) {
  case LAWS:
    pd_plan_destroy(context, &generator->plan);
    break;
  case TILES:
    pd_tile_plan_destroy(context, &generator->tile_plan);
    break;
  case FIBERS:
    pd_fiber_plan_destroy(context, &generator->fiber_plan);
    break;
  }
  pd_free(context, generator);
}

int pd_generator_order(const struct pd_generator *generator) { return generator->options.order; }

const uint64_t *pd_generator_dims(const struct pd_generator *generator) {
  return generator->options.dims;
}

uint64_t pd_generator_nnz(const struct pd_generator *generator) { return generator->options.nnz; }

uint64_t pd_generator_leaves(const struct pd_generator *generator) {
  switch (generator->kind) {
  case TILES:
    return generator->tile_plan.grid[0];
  case FIBERS:
    return generator->fiber_plan.leaf_count;
  default:
    return generator->plan.leaf_count;
  }
}

uint64_t pd_generator_begin(const struct pd_generator *generator, uint64_t leaf) {
  if (leaf >= pd_generator_leaves(generator)) return generator->options.nnz;
  switch (generator->kind) {
  case TILES:
    return generator->tile_plan.first_nonzero[leaf];
  case FIBERS:
    return pd_fiber_plan_begin(&generator->fiber_plan, leaf);
  default:
    return generator->plan.leaves[leaf].begin;
  }
}

static uint64_t generate_scratch_bytes(const struct pd_generator *generator) {
  switch (generator->kind) {
  case TILES:
    return pd_tile_plan_scratch_bytes(&generator->tile_plan);
  case FIBERS:
    return pd_fiber_plan_scratch_bytes(&generator->fiber_plan);
  default:
    return pd_plan_scratch_bytes(&generator->plan);
  }
}

static void fill_leaf(const struct pd_generator *generator, uint64_t leaf, void *scratch,
                      struct pd_sink *sink) {
  switch (generator->kind) {
  case TILES:
    pd_tile_plan_fill(&generator->tile_plan, leaf, scratch, sink);
    break;
  case FIBERS:
    pd_fiber_plan_fill(&generator->fiber_plan, leaf, scratch, sink);
    break;
  default:
    pd_plan_fill(&generator->plan, &generator->plan.leaves[leaf], scratch, sink);
  }
}

polyad_status pd_generator_fill(polyad_context *context, const struct pd_generator *generator,
                                uint64_t first, uint64_t last, void **index, void *values) {
  uint64_t bytes = generate_scratch_bytes(generator);
  int threads = pd_threads_for(context, last - first, 1);
  char *scratch;
  PD_TRY(pd_alloc(context, (uint64_t)threads, (size_t)bytes, (void **)&scratch));
  uint64_t begin = pd_generator_begin(generator, first), next = first;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int thread = 0; thread < threads; ++thread) {
    void *own = scratch + (uint64_t)thread * bytes;
    for (;;) {
      uint64_t leaf;
#pragma omp atomic capture
      leaf = next++;
      if (leaf >= last || pd_cancelled(context)) break;
      struct pd_sink sink = {index, values, generator->options.type,
                             pd_generator_begin(generator, leaf) - begin};
      fill_leaf(generator, leaf, own, &sink);
    }
  }
  pd_free(context, scratch);
  if (pd_cancelled(context)) return pd_fail(context, POLYAD_CANCELLED, "generating was cancelled");
  return POLYAD_OK;
}

static polyad_status generate_by_law(polyad_context *context,
                                     const polyad_generate_options *options,
                                     polyad_tensor **tensor) {
  struct pd_generator *generator;
  PD_TRY(pd_generator_create(context, options, &generator));
  polyad_status status = POLYAD_OK;
  void *index[POLYAD_MAX_ORDER] = {NULL}, *values = NULL;
  int order = pd_generator_order(generator);
  uint64_t nnz = pd_generator_nnz(generator);
  const uint64_t *dims = pd_generator_dims(generator);
  uint64_t each = pd_type_bytes(options->type);
  for (int n = 0; n < order; ++n)
    each += (uint64_t)pd_index_bytes(dims[n]);
  PD_TRY_CLEANUP(pd_memory_check(context, pd_mul_saturated(nnz, each), "the generated tensor"));
  for (int n = 0; n < order; ++n)
    PD_TRY_CLEANUP(pd_alloc(context, nnz, (size_t)pd_index_bytes(dims[n]), &index[n]));
  PD_TRY_CLEANUP(pd_alloc(context, nnz, pd_type_bytes(options->type), &values));
  PD_TRY_CLEANUP(
      pd_generator_fill(context, generator, 0, pd_generator_leaves(generator), index, values));
  status = pd_tensor_create_take(context, order, dims, nnz, options->type, index, &values,
                                 POLYAD_DUPLICATES_ERROR, POLYAD_ZEROS_DROP, tensor);
cleanup:
  for (int n = 0; n < order; ++n)
    pd_free(context, index[n]);
  pd_free(context, values);
  pd_generator_destroy(context, generator);
  return status;
}

polyad_status polyad_generate(polyad_context *context, const polyad_generate_options *options,
                              polyad_tensor **tensor, polyad_ktensor **truth) {
  PD_ENTER(context);
  if (tensor != NULL) *tensor = NULL;
  if (truth != NULL) *truth = NULL;
  PD_EXPECT(context, options != NULL && tensor != NULL,
            "a NULL where options and a place for the tensor were expected");
  if (options->rank == 0) return generate_by_law(context, options, tensor);
  polyad_generate_options resolved;
  struct pd_profiles profiles;
  PD_TRY(pd_generate_resolve(context, options, &resolved, &profiles));
  PD_TRY(generate_check_options(context, &resolved));
  return pd_generate_from_model(context, &resolved, tensor, truth);
}
