/* Inflating by zlib; whole members by libdeflate, which is about twice as fast and cannot stop
 * midway. */
#include "io/inflater.h"
#include <libdeflate.h>
#include <zlib.h>

enum { GZIP_WINDOW = 15 + 16, MEMORY = 128 << 10 }; /* the largest window, gzip headers only */

/* zlib takes its state at the start and its window with the first bytes: both from one block, so
 * that nothing is allocated on another thread. */
struct pd_inflater {
  z_stream stream;
  struct libdeflate_decompressor *whole;
  size_t used;
  _Alignas(64) unsigned char memory[MEMORY];
};

static void *inflater_allocate(void *user, unsigned count, unsigned size) {
  struct pd_inflater *inflater = user;
  uint64_t bytes = ((uint64_t)count * size + 63) / 64 * 64;
  if (bytes > MEMORY - inflater->used) return NULL;
  void *memory = inflater->memory + inflater->used;
  inflater->used += (size_t)bytes;
  return memory;
}

static void inflater_release(void *user, void *memory) {
  (void)user;
  (void)memory;
}

static polyad_status zlib_create(polyad_context *context, struct pd_inflater **inflater) {
  PD_TRY(PD_NEW_ZERO(context, 1, inflater));
  z_stream *stream = &(*inflater)->stream;
  stream->zalloc = inflater_allocate;
  stream->zfree = inflater_release;
  stream->opaque = *inflater;
  (*inflater)->whole = libdeflate_alloc_decompressor();
  if ((*inflater)->whole != NULL && inflateInit2(stream, GZIP_WINDOW) == Z_OK) return POLYAD_OK;
  if ((*inflater)->whole != NULL) libdeflate_free_decompressor((*inflater)->whole);
  pd_free(context, *inflater);
  *inflater = NULL;
  return pd_fail(context, POLYAD_OUT_OF_MEMORY, "no memory to decompress");
}

static void zlib_reset(struct pd_inflater *inflater) { (void)inflateReset(&inflater->stream); }

static const char *zlib_run(struct pd_inflater *inflater, const unsigned char *in, size_t *in_size,
                            unsigned char *out, size_t *out_size, bool *ended) {
  z_stream *stream = &inflater->stream;
  const unsigned most = 1u << 30;
  unsigned given = *in_size < most ? (unsigned)*in_size : most;
  unsigned room = *out_size < most ? (unsigned)*out_size : most;
  stream->next_in = (unsigned char *)(uintptr_t)in; /* it is only read */
  stream->avail_in = given;
  stream->next_out = out;
  stream->avail_out = room;
  int result = inflate(stream, Z_NO_FLUSH);
  *in_size = given - stream->avail_in;
  *out_size = room - stream->avail_out;
  *ended = result == Z_STREAM_END;
  if (result == Z_OK || result == Z_BUF_ERROR || *ended) return NULL;
  return stream->msg != NULL ? stream->msg : "invalid stream";
}

static bool zlib_run_whole(struct pd_inflater *inflater, const unsigned char *in, size_t in_size,
                           unsigned char *out, size_t out_size) {
  size_t taken, made;
  return libdeflate_gzip_decompress_ex(inflater->whole, in, in_size, out, out_size, &taken,
                                       &made) == LIBDEFLATE_SUCCESS &&
         taken == in_size && made == out_size;
}

static void zlib_destroy(polyad_context *context, struct pd_inflater *inflater) {
  if (inflater != NULL) {
    (void)inflateEnd(&inflater->stream);
    libdeflate_free_decompressor(inflater->whole);
  }
  pd_free(context, inflater);
}

const struct pd_inflater_functions pd_inflating = {zlib_create, zlib_reset, zlib_run,
                                                   zlib_run_whole, zlib_destroy};
