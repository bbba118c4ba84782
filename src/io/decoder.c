#include "io/decoder.h"
#include "io/decoder_internal.h"
#include "io/inflater.h"
#include "io/system_calls.h"
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { POLL_MILLISECONDS = 100, SLICE_BYTES = 1 << 20, MOST_SLICES = 64 };

polyad_status pd_decoder_note(struct pd_decoder *d, polyad_status status, const char *format, ...) {
  if (d->status != POLYAD_OK) return d->status;
  d->status = status;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(d->message, sizeof d->message, format, arguments);
  va_end(arguments);
  return status;
}

static polyad_status note_read_error(struct pd_decoder *d, int error) {
  char text[PD_ERRNO_BYTES];
  return pd_decoder_note(d, POLYAD_IO, "read error: %s, at byte %" PRIu64,
                         pd_errno_text(text, error), d->raw_total);
}

polyad_status pd_decoder_fail(struct pd_decoder *d, uint64_t line) {
  if (d->status == POLYAD_OK) return POLYAD_OK;
  if (line == 0) return pd_fail_at(d->context, d->status, d->path, 0, 0, "%s", d->message);
  return pd_fail_at(d->context, d->status, d->path, 0, 0, "%s (after line %" PRIu64 ")", d->message,
                    line);
}

const char *pd_decoder_path(const struct pd_decoder *d) { return d->path; }

bool pd_decoder_compressed(const struct pd_decoder *d) { return d->encoding != PD_ENCODING_PLAIN; }

bool pd_decoder_in_parallel(const struct pd_decoder *d) {
  return d->bgzf != NULL && !d->bgzf_wrong;
}

int64_t pd_decoder_size(const struct pd_decoder *d) { return d->regular ? d->size : -1; }

uint64_t pd_decoder_consumed(const struct pd_decoder *d) {
  return d->raw_total - (d->raw_used - d->raw_at);
}

void pd_decoder_stop(struct pd_decoder *d) { atomic_store(&d->stop, true); }

/* A pipe may never deliver what nobody wants any more. */
static void wait_for_pipe(struct pd_decoder *d) {
  struct pollfd wanted = {.fd = d->file, .events = POLLIN};
  while (!atomic_load(&d->stop) && poll(&wanted, 1, POLL_MILLISECONDS) == 0) {
  }
}

static ssize_t read_some(struct pd_decoder *d, void *buffer, size_t size) {
  if (!d->regular) wait_for_pipe(d);
  if (atomic_load(&d->stop)) return 0;
  return pd_sys_read_some(d->file, buffer, size);
}

polyad_status pd_decoder_refill(struct pd_decoder *d) {
  if (d->raw_at < d->raw_used || d->raw_end) return POLYAD_OK;
  if (d->raw_error != 0) return note_read_error(d, d->raw_error);
  ssize_t got = read_some(d, d->raw, PD_RAW_BYTES);
  if (got < 0) return note_read_error(d, errno);
  d->raw_at = 0;
  d->raw_used = (size_t)got;
  d->raw_total += (uint64_t)got;
  d->raw_end = got == 0;
  return POLYAD_OK;
}

void pd_decoder_read_ahead(struct pd_decoder *d) {
  if (d->raw_end || d->raw_error != 0) return;
  d->raw_used -= d->raw_at;
  memmove(d->raw, d->raw + d->raw_at, d->raw_used);
  d->raw_at = 0;
  ssize_t got = read_some(d, d->raw + d->raw_used, PD_RAW_BYTES - d->raw_used);
  if (got < 0) {
    d->raw_error = errno;
    return;
  }
  d->raw_used += (size_t)got;
  d->raw_total += (uint64_t)got;
  d->raw_end = got == 0;
}

static polyad_status decoder_open_file(struct pd_decoder *d) {
  bool standard = strcmp(d->path, "-") == 0;
  char text[PD_ERRNO_BYTES];
  d->file = standard ? pd_sys_duplicate(STDIN_FILENO) : pd_sys_open_read(d->path);
  if (d->file < 0)
    return pd_decoder_note(d, POLYAD_IO, "cannot open: %s", pd_errno_text(text, errno));
  struct stat about;
  if (fstat(d->file, &about) < 0)
    return pd_decoder_note(d, POLYAD_IO, "cannot open: %s", pd_errno_text(text, errno));
  if (S_ISDIR(about.st_mode))
    return pd_decoder_note(d, POLYAD_IO, "cannot read: %s", pd_errno_text(text, EISDIR));
  /* Files of /proc say that they have no bytes, and have some. */
  d->regular = !standard && S_ISREG(about.st_mode) && about.st_size > 0;
  d->size = (int64_t)about.st_size;
  return POLYAD_OK;
}

const char *pd_compressor_name(const unsigned char *in, size_t size) {
  static const struct {
    const char *name, *magic;
    size_t length;
  } known[] = {{"gzip", "\x1f\x8b", 2},
               {"zstd", "\x28\xb5\x2f\xfd", 4},
               {"xz", "\xfd\x37\x7a\x58\x5a\0", 6},
               {"bzip2", "BZh", 3},
               {"lz4", "\x04\x22\x4d\x18", 4},
               {"7-zip", "7z\xbc\xaf\x27\x1c", 6},
               {"compress", "\x1f\x9d", 2}};
  /* Programs that compress in parallel or make files seekable begin with a frame to be skipped, one
   * of sixteen kinds (RFC 8878, section 3.1.2), which the decompressor skips. */
  if (size >= 4 && (in[0] & 0xf0) == 0x50 && memcmp(in + 1, "\x2a\x4d\x18", 3) == 0) return "zstd";
  for (size_t k = 0; k < sizeof known / sizeof *known; ++k)
    if (size >= known[k].length && memcmp(in, known[k].magic, known[k].length) == 0)
      return known[k].name;
  return NULL;
}

enum { MAGIC_BYTES = PD_BGZF_HEADER };

/* Looks at the first bytes; a pipe may hand them out one by one. */
static polyad_status detect(struct pd_decoder *d) {
  while (d->raw_used < MAGIC_BYTES && !d->raw_end) {
    ssize_t got = read_some(d, d->raw + d->raw_used, PD_RAW_BYTES - d->raw_used);
    if (got < 0) return note_read_error(d, errno);
    d->raw_used += (size_t)got;
    d->raw_total += (uint64_t)got;
    d->raw_end = got == 0;
  }
  const char *name = pd_compressor_name(d->raw, d->raw_used);
  if (name == NULL) return POLYAD_OK;
  if (strcmp(name, "gzip") == 0) return pd_gzip_start(d);
  if (strcmp(name, "zstd") == 0) return pd_zstd_start(d);
  return pd_decoder_note(d, POLYAD_UNSUPPORTED,
                         "data compressed by %s; expected plain text, gzip or zstd: decompress it "
                         "first",
                         name);
}

polyad_status pd_decoder_open(polyad_context *context, const char *path, struct pd_decoder **out) {
  struct pd_decoder *d = NULL;
  *out = NULL;
  PD_TRY(PD_NEW_ZERO(context, 1, &d));
  d->context = context;
  d->file = -1;
  size_t length = strlen(path) + 1;
  polyad_status status = PD_NEW(context, length, &d->path);
  if (status == POLYAD_OK) {
    memcpy(d->path, path, length);
    status = PD_NEW(context, PD_RAW_BYTES, &d->raw);
  }
  if (status == POLYAD_OK) status = decoder_open_file(d);
  if (status == POLYAD_OK) status = detect(d);
  if (status != POLYAD_OK) {
    if (d->path != NULL) (void)pd_decoder_fail(d, 0);
    pd_decoder_close(d);
    return status;
  }
  *out = d;
  return POLYAD_OK;
}

static size_t take_raw(struct pd_decoder *d, unsigned char *out, size_t size) {
  size_t left = d->raw_used - d->raw_at, part = left < size ? left : size;
  memcpy(out, d->raw + d->raw_at, part);
  d->raw_at += part;
  return part;
}

static polyad_status decoder_read_plain(struct pd_decoder *d, unsigned char *out, size_t size,
                                        size_t *got) {
  *got = take_raw(d, out, size);
  while (*got < size && !d->raw_end) {
    ssize_t more = read_some(d, out + *got, size - *got);
    if (more < 0) return note_read_error(d, errno);
    d->raw_total += (uint64_t)more;
    d->raw_end = more == 0;
    *got += (size_t)more;
  }
  return POLYAD_OK;
}

polyad_status pd_decoder_read(struct pd_decoder *d, void *buffer, size_t size, size_t *got) {
  *got = 0;
  if (d->status != POLYAD_OK) return d->status;
  switch (d->encoding) {
  case PD_ENCODING_GZIP:
    (void)pd_gzip_read(d, buffer, size, got);
    break;
  case PD_ENCODING_ZSTD:
    (void)pd_zstd_read(d, buffer, size, got);
    break;
  case PD_ENCODING_PLAIN:
    (void)decoder_read_plain(d, buffer, size, got);
    break;
  }
  return *got > 0 ? POLYAD_OK : d->status;
}

/* Reads slices at once; *whole becomes the bytes in front of the first slice that is not full. */
static void read_slices(struct pd_decoder *d, int threads, unsigned char *out, size_t size,
                        size_t *whole) {
  ssize_t got[MOST_SLICES];
  int slices = size / SLICE_BYTES < MOST_SLICES ? (int)(size / SLICE_BYTES) : MOST_SLICES;
  if (slices < 1) slices = 1;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (int k = 0; k < slices; ++k) {
    size_t begin = (size_t)pd_part_begin(size, k, slices);
    size_t end = (size_t)pd_part_begin(size, k + 1, slices);
    got[k] = pd_sys_read_at(d->file, out + begin, end - begin, d->raw_total + begin);
  }
  *whole = 0;
  for (int k = 0; k < slices; ++k) {
    size_t wanted = (size_t)(pd_part_begin(size, k + 1, slices) - pd_part_begin(size, k, slices));
    if (got[k] != (ssize_t)wanted) return;
    *whole += wanted;
  }
}

polyad_status pd_decoder_read_parallel(struct pd_decoder *d, int threads, void *buffer, size_t size,
                                       size_t *got) {
  unsigned char *out = buffer;
  *got = 0;
  if (d->status != POLYAD_OK) return d->status;
  *got = take_raw(d, out, size);
  size_t whole;
  read_slices(d, threads, out + *got, size - *got, &whole);
  *got += whole;
  d->raw_total += whole;
  /* The end of the file, or an error: bytes that can be read are, one after the other. */
  while (*got < size) {
    ssize_t more = pd_sys_read_at(d->file, out + *got, 1, d->raw_total);
    if (more > 0)
      more = pd_sys_read_at(d->file, out + *got, size - *got < 4096 ? size - *got : 4096,
                            d->raw_total);
    if (more < 0) (void)note_read_error(d, errno);
    if (more <= 0) break;
    d->raw_total += (uint64_t)more;
    *got += (size_t)more;
  }
  /* Reading at offsets leaves the file's position alone; pd_decoder_read() goes on from there. */
  if (lseek(d->file, (off_t)d->raw_total, SEEK_SET) < 0) (void)note_read_error(d, errno);
  return *got > 0 ? POLYAD_OK : d->status;
}

polyad_status pd_decoder_seek(struct pd_decoder *d, uint64_t offset) {
  d->raw_used = d->raw_at = 0;
  d->raw_total = offset;
  d->raw_end = false;
  return lseek(d->file, (off_t)offset, SEEK_SET) < 0 ? note_read_error(d, errno) : POLYAD_OK;
}

polyad_status pd_decoder_read_at(struct pd_decoder *d, uint64_t offset, void *buffer, size_t size,
                                 size_t *got) {
  ssize_t count = pd_sys_read_at(d->file, buffer, size, offset);
  *got = count > 0 ? (size_t)count : 0;
  return count < 0 ? note_read_error(d, errno) : POLYAD_OK;
}

bool pd_decoder_read_all_at(const struct pd_decoder *d, uint64_t offset, void *buffer,
                            size_t size) {
  return pd_sys_read_at(d->file, buffer, size, offset) == (ssize_t)size;
}

void pd_decoder_close(struct pd_decoder *d) {
  if (d == NULL) return;
  if (d->file >= 0) (void)pd_sys_close(d->file);
  pd_inflating.destroy(d->context, d->inflater);
  pd_bgzf_destroy(d->context, d->bgzf);
  ZSTD_freeDCtx(d->zstd);
  PD_FREE(d->context, d->raw, d->path, d);
}
