/* Zstandard: frames one after another, decompressed by libzstd as bytes come. */
#include "io/decoder_internal.h"

polyad_status pd_zstd_start(struct pd_decoder *d) {
  d->encoding = PD_ENCODING_ZSTD;
  d->zstd = ZSTD_createDCtx();
  if (d->zstd == NULL) return pd_decoder_note(d, POLYAD_OUT_OF_MEMORY, "no memory to decompress");
  return POLYAD_OK;
}

polyad_status pd_zstd_read(struct pd_decoder *d, unsigned char *out, size_t size, size_t *got) {
  while (*got < size) {
    PD_TRY(pd_decoder_refill(d));
    if (d->raw_at == d->raw_used) {
      if (d->frame_open)
        return pd_decoder_note(d, POLYAD_PARSE,
                               "compressed data ends early; expected more: the file is truncated");
      return POLYAD_OK;
    }
    ZSTD_inBuffer in = {d->raw, d->raw_used, d->raw_at};
    ZSTD_outBuffer to = {out, size, *got};
    size_t left = ZSTD_decompressStream(d->zstd, &to, &in);
    if (ZSTD_isError(left))
      return pd_decoder_note(d, POLYAD_PARSE, "corrupt zstd data (%s); expected a whole .zst file",
                             ZSTD_getErrorName(left));
    d->raw_at = in.pos;
    *got = to.pos;
    d->frame_open = left != 0;
  }
  return POLYAD_OK;
}
