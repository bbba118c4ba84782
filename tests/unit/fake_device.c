#include "unit/fake_device.h"
#include "core/core.h"

#include "harness.h"
#include "host_steps.h"
#include "linalg/cpu_work.h"
#include "unit/host_newton.h"
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct block {
  uint64_t bytes;
  _Alignas(64) char data[];
};

static uint64_t used, peak;
static long allocations, fails_at;

uint64_t fake_device_used(void) { return used; }

uint64_t fake_device_peak(void) {
  uint64_t most = peak;
  peak = used;
  return most;
}

long fake_device_fail(long which) {
  long before = allocations;
  allocations = 0;
  fails_at = which;
  return before;
}

static polyad_status fake_allocate(polyad_context *context, const struct pd_device *device,
                                   uint64_t bytes, void **out) {
  struct block *block;
  *out = NULL;
  if (++allocations == fails_at)
    return pd_fail(context, POLYAD_OUT_OF_MEMORY, "%s is out of memory", device->name);
  if (used + bytes > polyad_memory_limit(context))
    return pd_fail(context, POLYAD_MEMORY_LIMIT, "%s: the memory limit is reached", device->name);
  block = aligned_alloc(64, (sizeof *block + bytes + 63) / 64 * 64);
  assert_non_null(block);
  block->bytes = bytes;
  memset(block->data, 0xa5, bytes); /* nothing may rest on what was there before */
  used += bytes;
  if (used > peak) peak = used;
  *out = block->data;
  return POLYAD_OK;
}

static void fake_release(polyad_context *context, const struct pd_device *device, void *pointer) {
  (void)context, (void)device;
  if (pointer == NULL) return;
  struct block *block = (void *)((char *)pointer - offsetof(struct block, data));
  used -= block->bytes;
  free(block);
}

static polyad_status fake_copy(polyad_context *context, const struct pd_device *device, void *to,
                               const void *from, uint64_t bytes) {
  (void)context, (void)device;
  memcpy(to, from, bytes);
  return POLYAD_OK;
}

static polyad_status fake_zero(polyad_context *context, const struct pd_device *device, void *to,
                               uint64_t bytes) {
  (void)context, (void)device;
  memset(to, 0, bytes);
  return POLYAD_OK;
}

static polyad_status fake_synchronize(polyad_context *context, const struct pd_device *device) {
  (void)context, (void)device;
  return POLYAD_OK;
}

static void fake_memory_used(const struct pd_device *device, uint64_t *in_use, uint64_t *most) {
  (void)device;
  *in_use = used;
  *most = peak;
}

static uint64_t fake_memory_available(polyad_context *context, const struct pd_device *device) {
  (void)device;
  uint64_t limit = polyad_memory_limit(context);
  return limit > used ? limit - used : 0;
}

/* ---- the feed ---------------------------------------------------------------------------------
 */

enum { SLOTS = 2 };

struct feed {
  struct {
    const void *from;
    uint64_t bytes, hash;
    bool filled; /* and not used yet */
  } slot[SLOTS];
};

static uint64_t fake_hash(const void *from, uint64_t bytes) { return XXH3_64bits(from, bytes); }

static polyad_status feed_open(polyad_context *context, const struct pd_device *device, int slots,
                               void **out) {
  struct feed *feed;
  (void)device;
  assert_int_equal(slots, SLOTS);
  *out = NULL;
  PD_TRY(PD_NEW_ZERO(context, 1, &feed));
  *out = feed;
  return POLYAD_OK;
}

static polyad_status feed_copy(polyad_context *context, void *pointer, int slot, void *to,
                               const void *from, uint64_t bytes) {
  struct feed *feed = pointer;
  (void)context;
  assert_false(feed->slot[slot].filled);
  feed->slot[slot].from = from;
  feed->slot[slot].bytes = bytes;
  feed->slot[slot].hash = fake_hash(from, bytes);
  feed->slot[slot].filled = true;
  memcpy(to, from, bytes);
  return POLYAD_OK;
}

static polyad_status feed_used(polyad_context *context, void *pointer, int slot) {
  struct feed *feed = pointer;
  (void)context;
  assert_true(feed->slot[slot].filled);
  feed->slot[slot].filled = false;
  return POLYAD_OK;
}

/* Whoever feeds has to wait here before what is fed changes. */
static polyad_status feed_copied(polyad_context *context, void *pointer, int slot) {
  struct feed *feed = pointer;
  (void)context;
  if (feed->slot[slot].from != NULL)
    assert_true(feed->slot[slot].hash == fake_hash(feed->slot[slot].from, feed->slot[slot].bytes));
  feed->slot[slot].from = NULL;
  return POLYAD_OK;
}

static void feed_close(void *feed) { pd_free(NULL, feed); }

static const struct pd_device_feed feed = {.open = feed_open,
                                           .copy = feed_copy,
                                           .used = feed_used,
                                           .copied = feed_copied,
                                           .close = feed_close};

static struct pd_device_functions functions = {
    .build = &host_steps,
    .allocate = fake_allocate,
    .release = fake_release,
    .copy_in = fake_copy,
    .copy_out = fake_copy,
    .copy = fake_copy,
    .feed = &feed,
    .fill_zero = fake_zero,
    .synchronize = fake_synchronize,
    .memory_used = fake_memory_used,
    .memory_available = fake_memory_available,
};

/* ---- residuals from lists ----------------------------------------------------------------------
 */

static void list_decode(const void *storage, uint64_t first, int count, struct pd_chunk *chunk) {
  const struct pd_list *list = storage;
  for (int k = 0; k < count; ++k) {
    uint64_t p = first + (uint64_t)k;
    for (int n = 0; n < list->order; ++n)
      chunk->index[n][k] = list->index_bytes[n] == 4 ? ((const uint32_t *)list->index[n])[p]
                                                     : ((const uint64_t *)list->index[n])[p];
    chunk->value[k] = list->type == POLYAD_F32 ? (double)((const float *)list->values)[p]
                                               : ((const double *)list->values)[p];
  }
}

static polyad_status fake_residual(polyad_context *context, struct pd_linalg_work *work,
                                   const struct pd_nonzeros *nonzeros, const struct pd_list *list,
                                   const struct pd_matrix *const *factors,
                                   const struct pd_matrix *lambda) {
  double *sum = &work->scalars[PD_SCALAR_RESIDUAL], *covered = &work->scalars[PD_SCALAR_COVERED];
  double before[2] = {*sum, *covered};
  struct pd_nonzeros listed = *nonzeros;
  assert_true(list->device == fake_device() && list->nnz == nonzeros->nnz);
  listed.storage = list;
  listed.decode = list_decode;
  listed.readable = NULL;
  PD_TRY(pd_cpu_linalg.residual(context, work, &listed, NULL, factors, lambda));
  if (!list->goes_on) return POLYAD_OK;
  *sum += before[0];
  *covered += before[1];
  return POLYAD_OK;
}

void fake_device_builds(bool builds) { functions.build = builds ? &host_steps : NULL; }

static const struct pd_newton *newton = &host_newton;

const struct pd_device *fake_device(void) {
  static struct pd_linalg linalg;
  static struct pd_device device = {
      .kind = "cpu", .name = "fake", .functions = &functions, .linalg = &linalg};
  linalg = pd_cpu_linalg;
  linalg.residual = fake_residual;
  linalg.residual_reads_list = true;
  linalg.newton = newton;
  return &device;
}

void fake_device_newton(const struct pd_newton *rows) {
  newton = rows;
  (void)fake_device();
}
