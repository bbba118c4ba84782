/* Grouping a tensor on a GPU by the tuples of its indices in some modes: sorted by these modes,
 * places where a tuple begins are marked, and the sums of the marks are the tuples' numbers. What
 * comes out is two tensors that share the memory of the one they were made from. */
#include "device/cuda/cuda_build.h"
#include "device/cuda/cuda_build_launch.h"
#include "device/cuda/cuda_copy.h"
#include "device/cuda/cuda_sort.h"

uint64_t pd_cuda_build_group_bytes(uint64_t nnz, uint64_t tuples, int count, polyad_type type) {
  /* A number per nonzero; per tuple its indices, its number, a one, and two counts of degrees. */
  uint64_t each = 4 * (uint64_t)count + 4 + pd_type_bytes(type) + 2 * 4;
  return pd_add_saturated(pd_mul_saturated(nnz, 4), pd_mul_saturated(tuples, each));
}

/* The arrays of the keys are free after a sort: they hold marks and numbers. */
static struct pd_gpu_build_tuples tuples_of(const struct pd_build *build, const int *modes,
                                            int count) {
  struct pd_gpu_build_tuples of = {.nnz = build->nnz,
                                   .permutation = pd_cuda_build_order(build),
                                   .modes = count,
                                   .begins = build->keys[0],
                                   .number = build->keys[1]};
  for (int k = 0; k < count; ++k)
    of.index[k] = build->index[modes[k]];
  return of;
}

static polyad_status count_tuples(polyad_context *context, struct pd_build *build,
                                  const struct pd_gpu_build_tuples *of, uint64_t *tuples) {
  struct pd_cuda_state *state = pd_cuda_state_of(build->device);
  size_t bytes = 0;
  uint32_t last;
  PD_TRY(PD_CUDA(context, state, pd_gpu_build_number(of, NULL, &bytes, pd_cuda_stream(state))));
  PD_TRY(pd_cuda_build_temporary(context, build, bytes));
  PD_TRY(PD_CUDA(context, state,
                 pd_gpu_build_number(of, build->temporary, &bytes, pd_cuda_stream(state))));
  PD_TRY(pd_cuda_copy_out(context, build->device, &last, of->number + build->nnz - 1, sizeof last));
  *tuples = (uint64_t)last + 1;
  return POLYAD_OK;
}

/* A tensor that sorts in the memory of `build`; its modes and values are still to come. */
static polyad_status child_of(polyad_context *context, const struct pd_build *build, uint64_t nnz,
                              struct pd_build **out) {
  struct pd_build *child;
  PD_TRY(pd_cuda_services->alloc(context, 1, sizeof *child, (void **)&child));
  *child = (struct pd_build){.device = build->device,
                             .nnz = nnz,
                             .type = build->type,
                             .child = true,
                             .keys = {build->keys[0], build->keys[1]},
                             .permutation = {build->permutation[0], build->permutation[1]},
                             .identity = true,
                             .numbers = build->numbers};
  *out = child;
  return POLYAD_OK;
}

static void group_add_mode(struct pd_build *child, uint32_t *index, uint64_t dim) {
  child->borrowed |= UINT64_C(1) << child->order;
  child->index[child->order] = index;
  child->dims[child->order++] = dim;
}

/* Mode 0 of a tensor, an array of its own. */
static polyad_status add_numbers(polyad_context *context, struct pd_build *child, uint64_t tuples) {
  child->order = 1;
  child->dims[0] = tuples;
  return pd_cuda_allocate(context, child->device, child->nnz, sizeof *child->index[0],
                          (void **)&child->index[0]);
}

static polyad_status add_degrees(polyad_context *context, struct pd_build *child) {
  return pd_cuda_allocate(context, child->device, pd_longest(child->order, child->dims),
                          sizeof *child->degree, (void **)&child->degree);
}

/* Its nonzeros stay in the order of the tensor, which is not that of mode 0. */
static polyad_status make_nonzeros(polyad_context *context, const struct pd_build *build,
                                   const int *modes, int count, struct pd_build_groups *groups) {
  PD_TRY(child_of(context, build, build->nnz, &groups->nonzeros));
  struct pd_build *child = groups->nonzeros;
  child->values = build->values;
  child->lent_values = true;
  child->least = 1;
  PD_TRY(add_numbers(context, child, groups->tuples));
  for (int n = 0; n < build->order; ++n) {
    bool grouped = false;
    for (int k = 0; k < count; ++k)
      grouped = grouped || modes[k] == n;
    if (!grouped) group_add_mode(child, build->index[n], build->dims[n]);
  }
  return add_degrees(context, child);
}

static polyad_status make_by_tuple(polyad_context *context, const struct pd_build *build,
                                   const int *modes, int count, struct pd_build_groups *groups) {
  struct pd_cuda_state *state = pd_cuda_state_of(build->device);
  size_t value_bytes = pd_type_bytes(build->type);
  PD_TRY(child_of(context, build, groups->tuples, &groups->by_tuple));
  struct pd_build *child = groups->by_tuple;
  PD_TRY(add_numbers(context, child, groups->tuples));
  PD_TRY(PD_CUDA(context, state,
                 pd_gpu_count_up(child->index[0], groups->tuples, pd_cuda_stream(state))));
  for (int k = 0; k < count; ++k)
    group_add_mode(child, groups->index[k], build->dims[modes[k]]);
  PD_TRY(pd_cuda_allocate(context, child->device, groups->tuples, value_bytes, &child->values));
  PD_TRY(PD_CUDA(
      context, state,
      pd_gpu_build_ones(child->values, (int)value_bytes, groups->tuples, pd_cuda_stream(state))));
  return add_degrees(context, child);
}

polyad_status pd_cuda_build_group(polyad_context *context, struct pd_build *build, const int *modes,
                                  int count, struct pd_build_groups *groups) {
  struct pd_cuda_state *state = pd_cuda_state_of(build->device);
  *groups = (struct pd_build_groups){0};
  const struct pd_build_key key = pd_build_key_of_modes(modes, count, build->dims);
  PD_TRY(pd_cuda_build_sort(context, build, &key));
  struct pd_gpu_build_tuples of = tuples_of(build, modes, count);
  PD_TRY(count_tuples(context, build, &of, &groups->tuples));
  for (int k = 0; k < count; ++k)
    PD_TRY(pd_cuda_allocate(context, build->device, groups->tuples, sizeof *groups->index[k],
                            (void **)&groups->index[k]));
  PD_TRY(make_nonzeros(context, build, modes, count, groups));
  of.tuple_of = groups->nonzeros->index[0];
  for (int k = 0; k < count; ++k)
    of.tuple_index[k] = groups->index[k];
  PD_TRY(PD_CUDA(context, state, pd_gpu_build_name_tuples(&of, pd_cuda_stream(state))));
  return make_by_tuple(context, build, modes, count, groups);
}
