/* Writes into the page cache of one file wait for each other: the kernel locks the file for each of
 * them. So each thread copies a piece into a buffer of its own, which lies as direct writes want
 * it, and the disk takes it from there: no page is taken for the cache and nothing is copied under
 * the lock. Such writes run side by side only inside the file, so that its room is taken first.
 * Where a file system takes no room ahead or has no direct writes, one thread writes the same
 * pieces through the page cache. */
#include "io/wide_write.h"
#include "io/system_calls.h"
#include <errno.h>
#include <omp.h>
#include <stdatomic.h>

enum {
  PIECE = 8 << 20,
  PAGE = 64 << 10, /* the largest that a system has: no page is written in both ways */
  MOST_THREADS = 8 /* more keep no disk busier, and each has a buffer */
};

struct wide_write {
  int file, direct; /* through the page cache and past it; direct -1: there is no way */
  const char *data;
  uint64_t offset, end; /* of the data in the file */
  char *buffers;        /* one for each thread, at a page; used where there is a direct way */
  atomic_int error;     /* the first that a thread met; the others stop then */
};

static int put_cached(const struct wide_write *w, uint64_t begin, uint64_t end) {
  size_t size = (size_t)(end - begin);
  if (pd_sys_write_at(w->file, w->data + (begin - w->offset), size, begin) < 0) return -1;
  pd_sys_begin_writing(w->file, begin, size);
  return 0;
}

/* The part in whole pages goes past the cache. What a file system takes so when the file is opened
 * it may still refuse when it is written. */
static int put_piece(const struct wide_write *w, uint64_t begin, uint64_t end, char *buffer) {
  uint64_t from = (begin + PAGE - 1) / PAGE * PAGE, to = end / PAGE * PAGE;
  if (w->direct < 0 || from >= to) return put_cached(w, begin, end);
  memcpy(buffer, w->data + (from - w->offset), (size_t)(to - from));
  if (pd_sys_write_at(w->direct, buffer, (size_t)(to - from), from) < 0)
    return errno == EINVAL ? put_cached(w, begin, end) : -1;
  if (begin < from && put_cached(w, begin, from) < 0) return -1;
  return to < end ? put_cached(w, to, end) : 0;
}

static void put_pieces(struct wide_write *w, int threads) {
  uint64_t first = w->offset / PIECE, last = (w->end - 1) / PIECE;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (uint64_t piece = first; piece <= last; ++piece) {
    uint64_t begin = piece * PIECE, end = begin + PIECE;
    int none = 0;
    if (atomic_load(&w->error) != 0) continue;
    if (begin < w->offset) begin = w->offset;
    if (end > w->end) end = w->end;
    char *buffer = w->direct < 0 ? NULL : w->buffers + (size_t)omp_get_thread_num() * PIECE;
    if (put_piece(w, begin, end, buffer) < 0)
      (void)atomic_compare_exchange_strong(&w->error, &none, errno);
  }
}

/* Opens the way past the page cache. That there is none, or no memory for it, is no error. */
static void open_direct(polyad_context *context, const char *path, int threads,
                        struct wide_write *w, char **memory) {
  w->direct = pd_sys_open_direct(path);
  if (w->direct < 0) return;
  bool room = pd_sys_take_room(w->file, w->offset, w->end - w->offset) == 0;
  if (room &&
      pd_alloc(context, (uint64_t)threads * PIECE + PAGE, 1, (void **)memory) == POLYAD_OK) {
    w->buffers = *memory + (PAGE - (uintptr_t)*memory % PAGE) % PAGE;
    return;
  }
  pd_begin(context);
  (void)pd_sys_close(w->direct);
  w->direct = -1;
}

int pd_wide_write(polyad_context *context, int file, const char *path, const void *data,
                  size_t size, uint64_t offset) {
  struct wide_write w = {.file = file, .data = data, .offset = offset, .end = offset + size};
  char *memory = NULL;
  int threads = pd_threads_for(context, size, PIECE);
  if (threads > MOST_THREADS) threads = MOST_THREADS;
  open_direct(context, path, threads, &w, &memory);
  put_pieces(&w, w.direct < 0 ? 1 : threads);
  pd_free(context, memory);
  int error = atomic_load(&w.error);
  if (w.direct >= 0 && pd_sys_close(w.direct) < 0 && error == 0) error = errno;
  errno = error;
  return error == 0 ? 0 : -1;
}
