/* Parts of the decoder that its compressed forms share. */
#ifndef PD_DECODER_INTERNAL_H
#define PD_DECODER_INTERNAL_H

#include "io/bgzf.h"
#include "io/decoder.h"
#include <stdatomic.h>
#include <zstd.h>

enum { PD_RAW_BYTES = 1 << 20, PD_DECODER_MESSAGE = 200 };

enum pd_encoding { PD_ENCODING_PLAIN, PD_ENCODING_GZIP, PD_ENCODING_ZSTD };

struct pd_decoder {
  polyad_context *context;
  char *path;
  int file;
  bool regular; /* opened by name: may be read at any offset */
  int64_t size; /* of a regular file */
  enum pd_encoding encoding;
  unsigned char *raw;
  size_t raw_used, raw_at;
  uint64_t raw_total; /* bytes read from the file */
  bool raw_end;
  int raw_error; /* of reading ahead; told when the bytes before it are used up */
  atomic_bool stop;
  struct pd_inflater *inflater;
  struct pd_bgzf *bgzf; /* NULL: no gzip members that say how long they are */
  bool bgzf_wrong;      /* one was of another length */
  bool member_open, any_member;
  ZSTD_DCtx *zstd;
  bool frame_open;
  polyad_status status; /* of the error that was met */
  char message[PD_DECODER_MESSAGE];
};

/** Keeps an error. Returns `status`. */
polyad_status pd_decoder_note(struct pd_decoder *decoder, polyad_status status, const char *format,
                              ...) PD_PRINTF(3, 4);
/** Refills the raw buffer when it is used up. */
polyad_status pd_decoder_refill(struct pd_decoder *decoder);
/** Reads once behind the raw bytes that are left. An error is kept for pd_decoder_refill(). */
void pd_decoder_read_ahead(struct pd_decoder *decoder);

polyad_status pd_gzip_start(struct pd_decoder *decoder);
polyad_status pd_gzip_read(struct pd_decoder *decoder, unsigned char *out, size_t size,
                           size_t *got);

/** Gets ready where the first gzip member says how long it is (decoder_bgzf.c). */
polyad_status pd_bgzf_start(struct pd_decoder *decoder);
/** At the beginning of a member: inflates it and those behind it, as far as they say how long they
 *  are and `out` has room; true when there were any. */
bool pd_bgzf_read(struct pd_decoder *decoder, unsigned char *out, size_t size, size_t *got);
/** Bytes that were inflated and had no room then. */
void pd_bgzf_take(struct pd_bgzf *members, unsigned char *out, size_t size, size_t *got);
void pd_bgzf_destroy(polyad_context *context, struct pd_bgzf *members);

polyad_status pd_zstd_start(struct pd_decoder *decoder);
polyad_status pd_zstd_read(struct pd_decoder *decoder, unsigned char *out, size_t size,
                           size_t *got);

#endif
