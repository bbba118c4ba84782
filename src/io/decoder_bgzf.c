/* Gzip of many short members whose headers say how long they are, as bgzip writes them and polyad
 * does (BGZF, section 4.1 of the SAM specification): they are found without being inflated, and all
 * threads inflate them at once. What a header says is believed only as far as inflating bears it
 * out; the first member that differs, and all behind it, are left to decoder_gzip.c, which knows
 * every form and says what is wrong. */
#include "io/decoder_internal.h"
#include "io/inflater.h"
#include <omp.h>
#include <string.h>

enum { AT_ONCE = 128, MOST_THREADS = 64 };

const unsigned char pd_bgzf_header[PD_BGZF_HEADER] = {0x1f, 0x8b, 8, 4, 0,   0,   0, 0,
                                                      0,    0xff, 6, 0, 'B', 'C', 2, 0};

struct member {
  const unsigned char *in;
  unsigned char *out;
  size_t in_size, out_size;
  bool right; /* it is as long as it says, and whole */
};

struct pd_bgzf {
  int threads;
  struct pd_inflater *inflater[MOST_THREADS];
  struct member member[AT_ONCE];
  unsigned char rest[PD_BGZF_BYTES]; /* of the member that had no room */
  size_t rest_at, rest_used;
};

/* Bytes that the member at `in` says it has, of which `left` are there; 0: it does not say. */
static size_t length_of(const unsigned char *in, size_t left) {
  if (left < PD_BGZF_HEADER || memcmp(in, pd_bgzf_header, 4) != 0 ||
      memcmp(in + 10, pd_bgzf_header + 10, 6) != 0)
    return 0;
  size_t bytes = 1 + (size_t)(in[16] | in[17] << 8);
  return bytes < PD_BGZF_HEADER + PD_BGZF_TRAILER ? 0 : bytes;
}

static size_t inflated_bytes(const unsigned char *end) {
  return (size_t)end[-4] | (size_t)end[-3] << 8 | (size_t)end[-2] << 16 | (size_t)end[-1] << 24;
}

polyad_status pd_bgzf_start(struct pd_decoder *d) {
  struct pd_bgzf *bgzf;
  if (length_of(d->raw, d->raw_used) == 0) return POLYAD_OK;
  PD_TRY(PD_NEW_ZERO(d->context, 1, &d->bgzf));
  bgzf = d->bgzf;
  bgzf->threads = polyad_threads(d->context);
  if (bgzf->threads > MOST_THREADS) bgzf->threads = MOST_THREADS;
  for (int t = 0; t < bgzf->threads; ++t)
    PD_TRY(pd_inflating.create(d->context, &bgzf->inflater[t]));
  return POLYAD_OK;
}

/* Reads until a member is whole, and of a file, which has no one to wait for, more. */
static void read_members(struct pd_decoder *d) {
  if (d->regular && d->raw_used - d->raw_at < PD_RAW_BYTES / 2) pd_decoder_read_ahead(d);
  for (size_t left; !d->raw_end && d->raw_error == 0; pd_decoder_read_ahead(d)) {
    left = d->raw_used - d->raw_at;
    if (left >= PD_BGZF_HEADER && length_of(d->raw + d->raw_at, left) <= left) break;
  }
}

/* The members at the beginning of the raw bytes for which there is room: `size` bytes at `out`, and
 * what the last of them has beyond these. */
static int find_members(struct pd_decoder *d, unsigned char *out, size_t size) {
  struct pd_bgzf *bgzf = d->bgzf;
  int count = 0;
  for (size_t at = d->raw_at, length; count < AT_ONCE && size > 0; at += length) {
    length = length_of(d->raw + at, d->raw_used - at);
    if (length == 0 || length > d->raw_used - at) break;
    size_t bytes = inflated_bytes(d->raw + at + length);
    if (bytes > PD_BGZF_BYTES) break;
    bool fits = bytes <= size;
    bgzf->member[count++] =
        (struct member){d->raw + at, fits ? out : bgzf->rest, length, bytes, false};
    if (!fits) break;
    out += bytes;
    size -= bytes;
  }
  return count;
}

bool pd_bgzf_read(struct pd_decoder *d, unsigned char *out, size_t size, size_t *got) {
  struct pd_bgzf *bgzf = d->bgzf;
  if (bgzf == NULL || d->bgzf_wrong) return false;
  read_members(d);
  int count = find_members(d, out + *got, size - *got);
  int threads = count < bgzf->threads ? count : bgzf->threads;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1) if (threads > 1)
  for (int k = 0; k < count; ++k) {
    struct member *m = &bgzf->member[k];
    m->right = pd_inflating.run_whole(bgzf->inflater[omp_get_thread_num()], m->in, m->in_size,
                                      m->out, m->out_size);
  }
  for (int k = 0; k < count; ++k) {
    const struct member *m = &bgzf->member[k];
    d->bgzf_wrong = !m->right;
    if (d->bgzf_wrong) return k > 0;
    d->raw_at += m->in_size;
    if (m->out != bgzf->rest)
      *got += m->out_size;
    else
      bgzf->rest_used = m->out_size;
  }
  if (bgzf->rest_used > 0) pd_bgzf_take(bgzf, out, size, got);
  return count > 0;
}

void pd_bgzf_take(struct pd_bgzf *bgzf, unsigned char *out, size_t size, size_t *got) {
  if (bgzf == NULL) return;
  size_t left = bgzf->rest_used - bgzf->rest_at;
  size_t part = left < size - *got ? left : size - *got;
  memcpy(out + *got, bgzf->rest + bgzf->rest_at, part);
  bgzf->rest_at += part;
  *got += part;
  if (bgzf->rest_at == bgzf->rest_used) bgzf->rest_at = bgzf->rest_used = 0;
}

void pd_bgzf_destroy(polyad_context *context, struct pd_bgzf *bgzf) {
  for (int t = 0; bgzf != NULL && t < bgzf->threads; ++t)
    pd_inflating.destroy(context, bgzf->inflater[t]);
  pd_free(context, bgzf);
}
