#include "io/compressor.h"
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum { OUT_BYTES = 256 << 10, GZIP_WINDOW = 15 + 16, GZIP_LEVEL = 6, ZSTD_LEVEL = 3 };

struct pd_compressor {
  polyad_context *context;
  enum pd_compression compression;
  z_stream gzip;
  bool gzip_ready;
  ZSTD_CCtx *zstd;
  unsigned char out[OUT_BYTES];
};

/* zlib's memory is counted like all other. */
static void *allocate(void *user, unsigned count, unsigned size) {
  void *memory;
  return pd_alloc(user, count, size, &memory) == POLYAD_OK ? memory : NULL;
}

static void release(void *user, void *memory) { pd_free(user, memory); }

polyad_status pd_compressor_create(polyad_context *context, enum pd_compression compression,
                                   struct pd_compressor **out) {
  struct pd_compressor *made = NULL;
  *out = NULL;
  PD_TRY(PD_NEW_ZERO(context, 1, &made));
  made->context = context;
  made->compression = compression;
  made->gzip.zalloc = allocate;
  made->gzip.zfree = release;
  made->gzip.opaque = context;
  if (compression == PD_GZIP)
    made->gzip_ready = deflateInit2(&made->gzip, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, 8,
                                    Z_DEFAULT_STRATEGY) == Z_OK;
  else
    made->zstd = ZSTD_createCCtx();
  if (!made->gzip_ready && made->zstd == NULL) {
    pd_compressor_destroy(made);
    return pd_fail_memory(context, OUT_BYTES);
  }
  if (made->zstd != NULL) {
    (void)ZSTD_CCtx_setParameter(made->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
    (void)ZSTD_CCtx_setParameter(made->zstd, ZSTD_c_checksumFlag, 1);
  }
  *out = made;
  return POLYAD_OK;
}

static polyad_status write_gzip(struct pd_compressor *c, const void *data, size_t size, bool end,
                                pd_sink sink, void *user) {
  c->gzip.next_in = (unsigned char *)(uintptr_t)data;
  c->gzip.avail_in = (unsigned)size;
  int result;
  do {
    c->gzip.next_out = c->out;
    c->gzip.avail_out = OUT_BYTES;
    result = deflate(&c->gzip, end ? Z_FINISH : Z_NO_FLUSH);
    if (result == Z_STREAM_ERROR)
      return pd_fail(c->context, POLYAD_INTERNAL, "zlib cannot compress");
    PD_TRY(sink(user, c->out, OUT_BYTES - c->gzip.avail_out));
  } while (c->gzip.avail_out == 0 || (end && result != Z_STREAM_END));
  return POLYAD_OK;
}

static polyad_status write_zstd(struct pd_compressor *c, const void *data, size_t size, bool end,
                                pd_sink sink, void *user) {
  ZSTD_inBuffer in = {data, size, 0};
  size_t left;
  do {
    ZSTD_outBuffer out = {c->out, OUT_BYTES, 0};
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
  if (c->gzip_ready) (void)deflateEnd(&c->gzip);
  ZSTD_freeCCtx(c->zstd);
  pd_free(c->context, c);
}
