/* gzip: members one after another, each inflated by an inflater; those that say how long they are
 * go to all threads (decoder_bgzf.c). */
#include "io/decoder_internal.h"
#include "io/inflater.h"

polyad_status pd_gzip_start(struct pd_decoder *d) {
  d->encoding = PD_ENCODING_GZIP;
  polyad_status status = pd_inflating.create(d->context, &d->inflater);
  if (status == POLYAD_OK) status = pd_bgzf_start(d);
  return status == POLYAD_OK ? POLYAD_OK : pd_decoder_note(d, status, "no memory to decompress");
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
  pd_inflating.reset(d->inflater);
  return POLYAD_OK;
}

/* One step; *idle: it did nothing, and wants more input. */
static polyad_status inflate_some(struct pd_decoder *d, unsigned char *out, size_t room,
                                  size_t *got, bool *idle) {
  size_t taken = d->raw_used - d->raw_at;
  bool ended;
  *got = room;
  const char *wrong = pd_inflating.run(d->inflater, d->raw + d->raw_at, &taken, out, got, &ended);
  d->raw_at += taken;
  d->member_open = !ended;
  *idle = taken == 0 && *got == 0 && !ended;
  if (wrong == NULL) return POLYAD_OK;
  return pd_decoder_note(d, POLYAD_PARSE, "corrupt gzip data (%s); expected a whole .gz file",
                         wrong);
}

polyad_status pd_gzip_read(struct pd_decoder *d, unsigned char *out, size_t size, size_t *got) {
  pd_bgzf_take(d->bgzf, out, size, got);
  while (*got < size) {
    if (!d->member_open) {
      bool end = false;
      if (d->any_member) PD_TRY(next_member(d, &end));
      if (end) return POLYAD_OK;
      d->any_member = true;
      if (pd_bgzf_read(d, out, size, got)) continue;
      d->member_open = true;
    }
    /* An inflater may hold bytes, and gives back those behind the member's end: new ones overwrite
     * the old ones only when it can do nothing with what it has. */
    size_t part = 0;
    bool idle;
    polyad_status status = inflate_some(d, out + *got, size - *got, &part, &idle);
    *got += part;
    PD_TRY(status);
    if (!idle) continue;
    PD_TRY(pd_decoder_refill(d));
    if (d->raw_at == d->raw_used)
      return pd_decoder_note(d, POLYAD_PARSE,
                             "compressed data ends early; expected more: the file is truncated");
  }
  return POLYAD_OK;
}
