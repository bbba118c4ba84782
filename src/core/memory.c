/* All memory of the library: blocks are counted against their context's limit, with the peak. Large
 * ones come from the context's arena, which keeps what is freed for the next block (arena.h), as
 * long as that raises no peak. */
#include "core/context_internal.h"

/* Each block is preceded by one alignment unit that remembers its size and owner, so that
 * freeing needs neither and accounting is exact. */
struct block_header {
  polyad_context *context;
  uint64_t bytes;  /* asked of the allocator, header included */
  uint64_t offset; /* from the allocator's pointer to the caller's */
};

enum {
  SMALL_ALIGNMENT = 64,
  HUGE_ALIGNMENT = 2 << 20,
  HUGE_FROM = 2 << 20,
  MEMORY_PIECE = 4 << 20
};

/* ---- the system's memory: small blocks from the C library, large ones from the context's arena --
 */

#ifdef __SANITIZE_ADDRESS__ /* which sees the ends of the C library's blocks alone */
enum { ARENA_USED = 0 };
#else
enum { ARENA_USED = 1 };
#endif

static void *system_allocate(void *arena, size_t alignment, size_t bytes) {
  void *pointer = NULL;
  if (ARENA_USED && bytes >= HUGE_FROM) return pd_arena_take(arena, bytes);
  return posix_memalign(&pointer, alignment, bytes) == 0 ? pointer : NULL;
}

static void system_release(void *arena, void *pointer, size_t bytes) {
  if (ARENA_USED && bytes >= HUGE_FROM)
    pd_arena_give(arena, pointer, bytes);
  else
    free(pointer);
}

polyad_allocator pd_system_allocator(struct pd_arena *arena) {
  return (polyad_allocator){system_allocate, system_release, arena};
}

void pd_memory_shed(polyad_context *context) { pd_arena_return(&context->arena, UINT64_MAX); }

/* ---- blocks -----------------------------------------------------------------------------------
 */

static struct block_header *header_of(void *pointer) {
  return (struct block_header *)((char *)pointer - sizeof(struct block_header));
}

/* Freed memory that is kept never makes the process larger: with all blocks together it is at most
 * what the blocks alone once were. */
static void count_bytes(polyad_context *context, uint64_t bytes) {
  uint64_t now = atomic_fetch_add(&context->memory_in_use, bytes) + bytes;
  uint64_t peak = atomic_load(&context->memory_peak);
  while (now > peak && !atomic_compare_exchange_weak(&context->memory_peak, &peak, now)) {
  }
  uint64_t with_kept = pd_add_saturated(now, atomic_load(&context->arena.kept));
  peak = now > peak ? now : peak;
  if (with_kept > peak) pd_arena_return(&context->arena, with_kept - peak);
}

polyad_status pd_memory_check(polyad_context *context, uint64_t bytes, const char *what) {
  uint64_t used = atomic_load(&context->memory_in_use), total = pd_add_saturated(used, bytes);
  if (total <= context->memory_limit) return POLYAD_OK;
  char need[32], have[32], sum[32], limit[32];
  return pd_fail(context, POLYAD_MEMORY_LIMIT,
                 "%s: %s (%llu bytes) more are needed and %s are in use, %s in all; the memory "
                 "limit is %s: raise it or ask for less",
                 what, pd_bytes_text(need, bytes), (unsigned long long)bytes,
                 pd_bytes_text(have, used), pd_bytes_text(sum, total),
                 pd_bytes_text(limit, context->memory_limit));
}

polyad_status pd_alloc(polyad_context *context, uint64_t count, size_t size, void **out) {
  *out = NULL;
  uint64_t payload, bytes;
  if (!pd_mul(count, size, &payload) || !pd_add(payload, HUGE_ALIGNMENT, &bytes) ||
      bytes > SIZE_MAX / 2)
    return pd_fail(context, POLYAD_OVERFLOW, "an array of %llu items of %zu bytes is too large",
                   (unsigned long long)count, size);
  size_t alignment = payload >= HUGE_FROM ? HUGE_ALIGNMENT : SMALL_ALIGNMENT;
  /* A whole alignment unit in front of a large block would waste 2 MiB: 4 KiB keep the
   * payload page-aligned, all but its first page in huge pages. */
  uint64_t offset = payload >= HUGE_FROM ? 4096 : SMALL_ALIGNMENT;
  bytes = payload + offset;
  PD_TRY(pd_memory_check(context, bytes, "an array"));
  char *base = context->allocator.allocate(context->allocator.user, alignment, (size_t)bytes);
  if (base == NULL) return pd_fail_memory(context, bytes);
  struct block_header *header = header_of(base + offset);
  *header = (struct block_header){.context = context, .bytes = bytes, .offset = offset};
  count_bytes(context, bytes);
  *out = base + offset;
  return POLYAD_OK;
}

/* Threads for an array that they go through piece by piece. For most arrays, which are short, there
 * is no parallel region. */
static int memory_threads(const polyad_context *context, uint64_t bytes) {
  return pd_threads_for(context, bytes, 4 * MEMORY_PIECE);
}

static size_t piece_bytes(uint64_t bytes, uint64_t at) {
  return (size_t)(bytes - at < MEMORY_PIECE ? bytes - at : MEMORY_PIECE);
}

void pd_fill_zero(polyad_context *context, void *to, uint64_t bytes) {
  int threads = memory_threads(context, bytes);
  if (threads == 1) {
    memset(to, 0, (size_t)bytes);
    return;
  }
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t at = 0; at < bytes; at += MEMORY_PIECE)
    memset((char *)to + at, 0, piece_bytes(bytes, at));
}

void pd_copy(polyad_context *context, void *to, const void *from, uint64_t bytes) {
  int threads = memory_threads(context, bytes);
  if (threads == 1) {
    if (bytes > 0) memcpy(to, from, (size_t)bytes);
    return;
  }
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t at = 0; at < bytes; at += MEMORY_PIECE)
    memcpy((char *)to + at, (const char *)from + at, piece_bytes(bytes, at));
}

polyad_status pd_alloc_zero(polyad_context *context, uint64_t count, size_t size, void **out) {
  PD_TRY(pd_alloc(context, count, size, out));
  pd_fill_zero(context, *out, count * size);
  return POLYAD_OK;
}

polyad_status pd_realloc(polyad_context *context, uint64_t count, size_t size, void **pointer) {
  void *moved;
  PD_TRY(pd_alloc(context, count, size, &moved));
  if (*pointer != NULL) {
    struct block_header *old = header_of(*pointer);
    uint64_t kept = old->bytes - old->offset, bytes = count * size;
    memcpy(moved, *pointer, (size_t)(kept < bytes ? kept : bytes));
    pd_free(context, *pointer);
  }
  *pointer = moved;
  return POLYAD_OK;
}

void pd_free(polyad_context *context, void *pointer) {
  (void)context;
  if (pointer == NULL) return;
  struct block_header header = *header_of(pointer);
  polyad_context *owner = header.context;
  uint64_t left = atomic_fetch_sub(&owner->memory_in_use, header.bytes) - header.bytes;
  owner->allocator.release(owner->allocator.user, (char *)pointer - header.offset,
                           (size_t)header.bytes);
  /* What nobody may want again goes back: no more is kept than is in use. */
  uint64_t kept = atomic_load(&owner->arena.kept);
  if (kept > left) pd_arena_return(&owner->arena, kept - left);
}

void pd_free_all(polyad_context *context, void *const *pointers, size_t count) {
  for (size_t k = 0; k < count; ++k)
    pd_free(context, pointers[k]);
}

const char *pd_bytes_text(char out[32], uint64_t bytes) {
  static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = (double)bytes;
  int unit = 0;
  while (value >= 1024 && unit < 6) {
    value /= 1024;
    ++unit;
  }
  snprintf(out, 32, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return out;
}
