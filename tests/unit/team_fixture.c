#include "team_fixture.h"
#include "tensor/tensor.h"
#include <pthread.h>
#include <stdio.h>

static void *member_main(void *argument) {
  struct team_member *member = argument;
  member->status = member->all->body(member);
  /* A member that failed where the others do not look tells them, as any program does at its end.
   */
  member->status = polyad_team_agree(member->context, member->team, member->status);
  snprintf(member->message, sizeof member->message, "%s",
           member->status == POLYAD_OK ? "" : polyad_last_error(member->context));
  return NULL;
}

static void open_member(struct team_case *all, int rank) {
  struct team_member *member = &all->member[rank];
  *member = (struct team_member){.all = all, .rank = rank};
  member->allocator = (struct failing_allocator){1L << 40, 0, true};
  polyad_allocator allocator = {failing_allocate, failing_release, &member->allocator};
  assert_int_equal(polyad_context_create_with_allocator(&allocator, &member->context), POLYAD_OK);
  assert_int_equal(polyad_set_device(member->context, "cpu"), POLYAD_OK);
  assert_int_equal(polyad_set_threads(member->context, 1), POLYAD_OK);
}

void team_run(struct team_case *all) {
  polyad_context *contexts[TEAM_MOST];
  polyad_team *teams[TEAM_MOST];
  pthread_t thread[TEAM_MOST];
  for (int k = 0; k < all->size; ++k) {
    open_member(all, k);
    contexts[k] = all->member[k].context;
  }
  assert_int_equal(pd_team_create_threads(contexts, all->size, teams), POLYAD_OK);
  for (int k = 0; k < all->size; ++k) {
    all->member[k].team = teams[k];
    atomic_store(&all->member[k].allocator.until_failure,
                 all->failing >= 0 && k == all->failing_rank ? all->failing : 1L << 40);
  }
  for (int k = 0; k < all->size; ++k)
    assert_int_equal(pthread_create(&thread[k], NULL, member_main, &all->member[k]), 0);
  for (int k = 0; k < all->size; ++k)
    pthread_join(thread[k], NULL);
  for (int k = 0; k < all->size; ++k) {
    all->allocations[k] = (1L << 40) - atomic_load(&all->member[k].allocator.until_failure);
    polyad_team_destroy(teams[k]);
  }
  for (int k = 0; k < all->size; ++k)
    context_end(contexts[k]);
}

void team_succeeded(const struct team_case *all) {
  for (int k = 0; k < all->size; ++k)
    if (all->member[k].status != POLYAD_OK)
      fail_msg("member %d of %d: %s", k, all->size, all->member[k].message);
}

polyad_status team_share(struct team_member *member, const polyad_tensor *whole,
                         polyad_tensor **share) {
  polyad_tensor_input input;
  int order = polyad_tensor_order(whole);
  uint64_t first = (uint64_t)member->rank, step = (uint64_t)member->all->size;
  uint64_t nnz = polyad_tensor_nnz(whole);
  size_t item = pd_type_bytes(whole->type);
  polyad_tensor_input_init(&input);
  input.order = order;
  input.dims = polyad_tensor_dims(whole);
  input.nnz = first < nnz ? (nnz - first - 1) / step + 1 : 0;
  input.index_type = POLYAD_U32;
  for (int n = 0; n < order; ++n) {
    input.index[n] = (const uint32_t *)polyad_tensor_indices(whole, n) + first;
    input.index_stride[n] = (int64_t)(step * sizeof(uint32_t));
  }
  input.values = (const char *)polyad_tensor_values(whole) + first * item;
  input.value_stride = (int64_t)(step * item);
  input.value_type = input.type = whole->type;
  input.zeros = whole->zeros;
  return polyad_tensor_create(member->context, &input, share);
}

polyad_status team_plan(struct team_member *member, const polyad_tensor *whole, const char *format,
                        polyad_kernel kernel, uint64_t rank, polyad_type precision,
                        polyad_plan **plan) {
  polyad_plan_options options;
  polyad_tensor *share;
  polyad_status status = team_share(member, whole, &share);
  if (status != POLYAD_OK) return status;
  polyad_plan_options_init(&options);
  options.format = format;
  options.kernel = kernel;
  options.rank = rank;
  options.precision = precision;
  options.team = member->team;
  status = polyad_plan_create(member->context, share, &options, plan);
  polyad_tensor_destroy(share);
  return status;
}
