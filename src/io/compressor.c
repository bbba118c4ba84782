#include "io/compressor.h"
#include <libdeflate.h>
#include <string.h>
#include <zstd.h>

enum { MEMBER_BYTES = 1 << 20, MOST_THREADS = 16, GZIP_LEVEL = 6, ZSTD_LEVEL = 3 };

/* gzip: the bytes are cut into members of MEMBER_BYTES, which threads compress at the same time.
 * Members depend on nothing but their bytes: so does the file, whatever the number of threads. */
struct pd_compressor {
  polyad_context *context;
  enum pd_compression compression;
  int threads;
  struct libdeflate_compressor *gzip[MOST_THREADS];
  size_t packed[MOST_THREADS]; /* bytes of each thread's member */
  bool any_member;
  ZSTD_CCtx *zstd;
  size_t room; /* for one thread's compressed bytes */
  unsigned char *out;
};

static polyad_status create_gzip(struct pd_compressor *c) {
  int threads = polyad_threads(c->context);
  c->threads = threads < MOST_THREADS ? threads : MOST_THREADS;
  for (int t = 0; t < c->threads; ++t) {
    c->gzip[t] = libdeflate_alloc_compressor(GZIP_LEVEL);
    if (c->gzip[t] == NULL) return pd_fail_memory(c->context, MEMBER_BYTES);
  }
  c->room = libdeflate_gzip_compress_bound(c->gzip[0], MEMBER_BYTES);
  return PD_NEW(c->context, pd_mul_saturated((uint64_t)c->threads, c->room), &c->out);
}

static polyad_status create_zstd(struct pd_compressor *c) {
  c->threads = 1;
  c->room = ZSTD_CStreamOutSize();
  c->zstd = ZSTD_createCCtx();
  if (c->zstd == NULL) return pd_fail_memory(c->context, c->room);
  (void)ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
  (void)ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_checksumFlag, 1);
  return PD_NEW(c->context, c->room, &c->out);
}

polyad_status pd_compressor_create(polyad_context *context, enum pd_compression compression,
                                   struct pd_compressor **out) {
  struct pd_compressor *made = NULL;
  *out = NULL;
  PD_TRY(PD_NEW_ZERO(context, 1, &made));
  made->context = context;
  made->compression = compression;
  polyad_status status = compression == PD_GZIP ? create_gzip(made) : create_zstd(made);
  if (status != POLYAD_OK) {
    pd_compressor_destroy(made);
    return status;
  }
  *out = made;
  return POLYAD_OK;
}

size_t pd_compressor_block(const struct pd_compressor *c) {
  return (size_t)c->threads * MEMBER_BYTES;
}

/* One member for each thread that has bytes: `count` of them. */
static polyad_status write_members(struct pd_compressor *c, const unsigned char *data, size_t size,
                                   int count, pd_sink sink, void *user) {
  int threads = pd_threads_for(c->context, (uint64_t)count, 1);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < count; ++t) {
    size_t begin = (size_t)t * MEMBER_BYTES, left = size - begin;
    c->packed[t] = libdeflate_gzip_compress(c->gzip[t], data + begin,
                                            left < MEMBER_BYTES ? left : MEMBER_BYTES,
                                            c->out + (size_t)t * c->room, c->room);
  }
  for (int t = 0; t < count; ++t) {
    if (c->packed[t] == 0)
      return pd_fail(c->context, POLYAD_INTERNAL, "libdeflate cannot compress");
    PD_TRY(sink(user, c->out + (size_t)t * c->room, c->packed[t]));
  }
  c->any_member = true;
  return POLYAD_OK;
}

static polyad_status write_gzip(struct pd_compressor *c, const void *data, size_t size, bool end,
                                pd_sink sink, void *user) {
  const unsigned char *from = data;
  while (size > 0 || (end && !c->any_member)) { /* no bytes at all are one empty member */
    size_t part = size < pd_compressor_block(c) ? size : pd_compressor_block(c);
    int count = part == 0 ? 1 : (int)((part + MEMBER_BYTES - 1) / MEMBER_BYTES);
    PD_TRY(write_members(c, from, part, count, sink, user));
    from += part;
    size -= part;
  }
  return POLYAD_OK;
}

static polyad_status write_zstd(struct pd_compressor *c, const void *data, size_t size, bool end,
                                pd_sink sink, void *user) {
  ZSTD_inBuffer in = {data, size, 0};
  size_t left;
  do {
    ZSTD_outBuffer out = {c->out, c->room, 0};
    left = ZSTD_compressStream2(c->zstd, &out, &in, end ? ZSTD_e_end : ZSTD_e_continue);
    if (ZSTD_isError(left))
      return pd_fail(c->context, POLYAD_INTERNAL, "zstd cannot compress: %s",
                     ZSTD_getErrorName(left));
    PD_TRY(sink(user, c->out, out.pos));
  } while (in.pos < in.size || (end && left > 0));
  return POLYAD_OK;
}

polyad_status pd_compressor_write(struct pd_compressor *c, const void *data, size_t size, bool end,
                                  pd_sink sink, void *user) {
  if (c->compression == PD_GZIP) return write_gzip(c, data, size, end, sink, user);
  return write_zstd(c, data, size, end, sink, user);
}

void pd_compressor_destroy(struct pd_compressor *c) {
  if (c == NULL) return;
  for (int t = 0; t < MOST_THREADS; ++t)
    libdeflate_free_compressor(c->gzip[t]);
  ZSTD_freeCCtx(c->zstd);
  PD_FREE(c->context, c->out, c);
}
