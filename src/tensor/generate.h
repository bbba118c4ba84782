/* Inside the generators: a tensor is planned as leaves, ranges of its sorted nonzeros whose exact
 * numbers are known before any is made, so that leaves can be made in any order, by any thread,
 * into memory or chunk by chunk into a file. */
#ifndef PD_GENERATE_H
#define PD_GENERATE_H

#include "tensor/tensor.h"
#include <polyad/generate.h>

struct pd_generator;

/** Checks the options and plans the tensor. With `rank` the tensor cannot be planned in leaves;
 *  such options fail with POLYAD_UNSUPPORTED here. */
polyad_status pd_generator_create(polyad_context *context, const polyad_generate_options *options,
                                  struct pd_generator **generator);
void pd_generator_destroy(polyad_context *context, struct pd_generator *generator);

int pd_generator_order(const struct pd_generator *generator);
const uint64_t *pd_generator_dims(const struct pd_generator *generator);
uint64_t pd_generator_nnz(const struct pd_generator *generator);

/** Leaves, and the place of a leaf's first nonzero among all; that of leaf pd_generator_leaves()
 *  is the number of nonzeros. */
uint64_t pd_generator_leaves(const struct pd_generator *generator);
uint64_t pd_generator_begin(const struct pd_generator *generator, uint64_t leaf);

/** Makes the nonzeros of leaves first to last - 1, in order, into arrays of their own: index[n]
 *  of pd_index_bytes(dims[n]) bytes, `values` of the options' type. */
polyad_status pd_generator_fill(polyad_context *context, const struct pd_generator *generator,
                                uint64_t first, uint64_t last, void **index, void *values);

/** The tensor of a known model, for options with `rank`. */
polyad_status pd_generate_from_model(polyad_context *context,
                                     const polyad_generate_options *options, polyad_tensor **tensor,
                                     polyad_ktensor **truth);

/** What is published of the tensor that is imitated, and is to be followed; NULL: nothing. */
struct pd_tile_profile;
struct pd_fiber_profile;
struct pd_profiles {
  const struct pd_tile_profile *tiles;
  const struct pd_fiber_profile *fibers;
};

/** Replaces `like` by what it stands for. */
polyad_status pd_generate_resolve(polyad_context *context, const polyad_generate_options *options,
                                  polyad_generate_options *resolved, struct pd_profiles *profiles);

#endif
