/* The decompositions that teams know, for tests of teams of processes and of devices: tensors for
 * them, a run, and how far two models are apart. */
#ifndef PD_TEST_TEAM_METHODS_H
#define PD_TEST_TEAM_METHODS_H

#include "als_fixture.h"

/** PARTLY: mode 1 is nonnegative, the others have any sign. */
enum method { ALS, NONNEGATIVE, MU, PARTLY };

/** A model with noise: well conditioned. Counts are whole numbers. */
polyad_tensor *method_tensor(polyad_context *context, enum method method);

enum { HOSTILE_NNZ = 60 };
/** The first of up to HOSTILE_NNZ nonzeros: a slice with most of them, empty slices, a mode of
 *  length 1. */
polyad_tensor *method_hostile(polyad_context *context, int entries);

polyad_status method_decompose(polyad_context *context, const polyad_plan *plan, enum method method,
                               uint64_t rank, const polyad_run_options *run, polyad_ktensor **model,
                               polyad_run_info *info);

/** The largest difference of an entry of two models' factors. */
double largest_difference(polyad_ktensor *a, polyad_ktensor *b);

#endif
