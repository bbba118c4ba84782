#include "io/decoder_internal.h"

enum { GZIP_WINDOW = 15 + 16 }; /* the largest window, gzip headers only */

/* zlib takes its state at the start and its window with the first bytes: both from one block, so
 * that nothing is allocated on another thread. */
static void *decoder_gzip_allocate(void *user, unsigned count, unsigned size) {
  struct pd_decoder *d = user;
  uint64_t bytes = ((uint64_t)count * size + 63) / 64 * 64;
  if (bytes > PD_GZIP_MEMORY - d->gzip_memory_used) return NULL;
  void *memory = d->gzip_memory + d->gzip_memory_used;
  d->gzip_memory_used += (size_t)bytes;
  return memory;
}

static void decoder_gzip_release(void *user, void *memory) {
  (void)user;
  (void)memory;
}

polyad_status pd_gzip_start(struct pd_decoder *d) {
  d->encoding = PD_ENCODING_GZIP;
  PD_TRY(PD_NEW(d->context, PD_GZIP_MEMORY, &d->gzip_memory));
  d->gzip.zalloc = decoder_gzip_allocate;
  d->gzip.zfree = decoder_gzip_release;
  d->gzip.opaque = d;
  if (inflateInit2(&d->gzip, GZIP_WINDOW) != Z_OK)
    return pd_decoder_note(d, POLYAD_OUT_OF_MEMORY, "no memory to decompress");
  d->gzip_ready = true;
  return POLYAD_OK;
}

/* What follows a member: another member, zero padding (ignored), or the end. */
static polyad_status next_member(struct pd_decoder *d, bool *end) {
  bool padded = false;
  *end = false;
  for (;;) {
    PD_TRY(pd_decoder_refill(d));
    if (d->raw_at == d->raw_used) {
      *end = true;
      return POLYAD_OK;
    }
    unsigned char c = d->raw[d->raw_at];
    if (c == 0x1f && !padded) break;
    if (c != 0)
      return pd_decoder_note(d, POLYAD_PARSE,
                             "data after the end of the compressed data; expected nothing, "
                             "another gzip member or zero bytes");
    padded = true;
    ++d->raw_at;
  }
  if (inflateReset(&d->gzip) != Z_OK)
    return pd_decoder_note(d, POLYAD_INTERNAL, "zlib cannot start a member");
  return POLYAD_OK;
}

static polyad_status inflate_some(struct pd_decoder *d, unsigned char *out, size_t room,
                                  size_t *got) {
  d->gzip.next_in = d->raw + d->raw_at;
  d->gzip.avail_in = (unsigned)(d->raw_used - d->raw_at);
  d->gzip.next_out = out;
  d->gzip.avail_out = room > (1u << 30) ? 1u << 30 : (unsigned)room;
  unsigned before = d->gzip.avail_out;
  int result = inflate(&d->gzip, Z_NO_FLUSH);
  d->raw_at = d->raw_used - d->gzip.avail_in;
  *got = before - d->gzip.avail_out;
  if (result == Z_STREAM_END) d->member_open = false;
  if (result == Z_MEM_ERROR)
    return pd_decoder_note(d, POLYAD_OUT_OF_MEMORY, "no memory to decompress");
  if (result != Z_OK && result != Z_BUF_ERROR && result != Z_STREAM_END)
    return pd_decoder_note(d, POLYAD_PARSE, "corrupt gzip data (%s); expected a whole .gz file",
                           d->gzip.msg != NULL ? d->gzip.msg : "invalid stream");
  return POLYAD_OK;
}

polyad_status pd_gzip_read(struct pd_decoder *d, unsigned char *out, size_t size, size_t *got) {
  while (*got < size) {
    if (!d->member_open) {
      bool end = false;
      if (d->any_member) PD_TRY(next_member(d, &end));
      if (end) return POLYAD_OK;
      d->member_open = d->any_member = true;
    }
    PD_TRY(pd_decoder_refill(d));
    if (d->raw_at == d->raw_used)
      return pd_decoder_note(d, POLYAD_PARSE,
                             "compressed data ends early; expected more: the file is truncated");
    size_t part = 0;
    polyad_status status = inflate_some(d, out + *got, size - *got, &part);
    *got += part;
    PD_TRY(status);
  }
  return POLYAD_OK;
}
