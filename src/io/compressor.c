#include "io/compressor.h"
#include "io/bgzf.h"
#include <libdeflate.h>
#include <omp.h>
#include <string.h>
#include <zstd.h>

/* An empty member, as bgzip looks for it at the end of a file. */
static const unsigned char last_member[28] = {0x1f, 0x8b, 8,   4,   0, 0, 0,    0, 0, 0xff,
                                              6,    0,    'B', 'C', 2, 0, 0x1b, 0, 3};

enum { MEMBERS_OF_THREAD = 16, MOST_THREADS = 16, GZIP_LEVEL = 6, ZSTD_LEVEL = 3 };

/* gzip: the bytes are cut into members that say how long they are (bgzf.h), which threads
 * compress at the same time, as they inflate them when they are read. Members depend on nothing but
 * their bytes: so does the file, whatever the number of threads. An empty member ends it, as
 * bgzip's files. */
struct pd_compressor {
  polyad_context *context;
  enum pd_compression compression;
  int threads;
  struct libdeflate_compressor *gzip[MOST_THREADS];
  size_t packed[MOST_THREADS * MEMBERS_OF_THREAD]; /* bytes of each member */
  ZSTD_CCtx *zstd;
  size_t room; /* for one member's compressed bytes, or those of zstd */
  unsigned char *out;
};

static polyad_status create_gzip(struct pd_compressor *c) {
  int threads = polyad_threads(c->context);
  c->threads = threads < MOST_THREADS ? threads : MOST_THREADS;
  for (int t = 0; t < c->threads; ++t) {
    c->gzip[t] = libdeflate_alloc_compressor(GZIP_LEVEL);
    if (c->gzip[t] == NULL) return pd_fail_memory(c->context, PD_BGZF_BYTES);
  }
  c->room = PD_BGZF_BYTES;
  uint64_t members = (uint64_t)c->threads * MEMBERS_OF_THREAD;
  return PD_NEW(c->context, pd_mul_saturated(members, c->room), &c->out);
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
  return (size_t)c->threads * MEMBERS_OF_THREAD * PD_BGZF_TEXT;
}

static void put_word(unsigned char *to, uint32_t word, int bytes) {
  for (int k = 0; k < bytes; ++k)
    to[k] = (unsigned char)(word >> 8 * k);
}

/* Bytes of a member that holds `data`; 0: they do not fit, which these sizes rule out. */
static size_t compress_member(struct libdeflate_compressor *gzip, const unsigned char *data,
                              size_t size, unsigned char *out) {
  const size_t around = PD_BGZF_HEADER + PD_BGZF_TRAILER;
  size_t packed =
      libdeflate_deflate_compress(gzip, data, size, out + PD_BGZF_HEADER, PD_BGZF_BYTES - around);
  if (packed == 0) return 0;
  memcpy(out, pd_bgzf_header, PD_BGZF_HEADER);
  put_word(out + 16, (uint32_t)(packed + around - 1), 2);
  put_word(out + PD_BGZF_HEADER + packed, libdeflate_crc32(0, data, size), 4);
  put_word(out + PD_BGZF_HEADER + packed + 4, (uint32_t)size, 4);
  return packed + around;
}

/* `count` members. */
static polyad_status write_members(struct pd_compressor *c, const unsigned char *data, size_t size,
                                   int count, pd_sink sink, void *user) {
  int threads = pd_threads_for(c->context, (uint64_t)count, 1);
  threads = threads < c->threads ? threads : c->threads;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (int k = 0; k < count; ++k) {
    size_t begin = (size_t)k * PD_BGZF_TEXT, left = size - begin;
    c->packed[k] =
        compress_member(c->gzip[omp_get_thread_num()], data + begin,
                        left < PD_BGZF_TEXT ? left : PD_BGZF_TEXT, c->out + (size_t)k * c->room);
  }
  for (int k = 0; k < count; ++k) {
    if (c->packed[k] == 0)
      return pd_fail(c->context, POLYAD_INTERNAL, "libdeflate cannot compress");
    PD_TRY(sink(user, c->out + (size_t)k * c->room, c->packed[k]));
  }
  return POLYAD_OK;
}

static polyad_status write_gzip(struct pd_compressor *c, const void *data, size_t size, bool end,
                                pd_sink sink, void *user) {
  const unsigned char *from = data;
  while (size > 0) {
    size_t part = size < pd_compressor_block(c) ? size : pd_compressor_block(c);
    PD_TRY(
        write_members(c, from, part, (int)((part + PD_BGZF_TEXT - 1) / PD_BGZF_TEXT), sink, user));
    from += part;
    size -= part;
  }
  return end ? sink(user, last_member, sizeof last_member) : POLYAD_OK;
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
