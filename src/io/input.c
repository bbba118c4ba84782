#include "io/input.h"
#include "io/system_calls.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum { IN_BYTES = 1 << 20, PEEK_BYTES = 64 << 10, GZIP_WINDOW = 15 + 16, MESSAGE_BYTES = 200 };

enum encoding { PLAIN, GZIP, ZSTANDARD };

struct pd_input {
  polyad_context *context;
  char *path;
  int file;
  enum encoding encoding;
  unsigned char *in; /* raw bytes */
  size_t in_used, in_at;
  uint64_t raw_read; /* bytes read from the file */
  bool raw_end;
  z_stream gzip;
  bool gzip_ready, member_open, any_member;
  ZSTD_DCtx *zstd;
  bool frame_open;
  unsigned char *peeked; /* the first decompressed bytes, while they are not read */
  size_t peeked_used, peeked_at;
  polyad_status status; /* of the error that was met */
  char message[MESSAGE_BYTES];
};

static polyad_status note(struct pd_input *input, polyad_status status, const char *format, ...)
    PD_PRINTF(3, 4);

static polyad_status note(struct pd_input *input, polyad_status status, const char *format, ...) {
  if (input->status != POLYAD_OK) return input->status;
  input->status = status;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(input->message, sizeof input->message, format, arguments);
  va_end(arguments);
  return status;
}

const char *pd_input_path(const struct pd_input *input) { return input->path; }

polyad_status pd_input_error(struct pd_input *input, uint64_t line) {
  if (input->status == POLYAD_OK) return POLYAD_OK;
  if (line == 0)
    return pd_fail_at(input->context, input->status, input->path, 0, 0, "%s", input->message);
  return pd_fail_at(input->context, input->status, input->path, 0, 0, "%s (after line %llu)",
                    input->message, (unsigned long long)line);
}

/* Refills the raw buffer when it is used up. */
static polyad_status refill(struct pd_input *input) {
  if (input->in_at < input->in_used || input->raw_end) return POLYAD_OK;
  ssize_t got = pd_sys_read(input->file, input->in, IN_BYTES);
  if (got < 0)
    return note(input, POLYAD_IO, "read error: %s, at byte %llu", strerror(errno),
                (unsigned long long)input->raw_read);
  input->in_at = 0;
  input->in_used = (size_t)got;
  input->raw_read += (uint64_t)got;
  input->raw_end = got < IN_BYTES;
  return POLYAD_OK;
}

static polyad_status open_file(struct pd_input *input) {
  if (strcmp(input->path, "-") == 0) {
    input->file = dup(STDIN_FILENO);
  } else {
    input->file = pd_sys_open_read(input->path);
  }
  struct stat about;
  if (input->file >= 0 && fstat(input->file, &about) == 0 && S_ISDIR(about.st_mode)) {
    errno = EISDIR;
    return note(input, POLYAD_IO, "%s", strerror(errno));
  }
  if (input->file < 0) return note(input, POLYAD_IO, "cannot open: %s", strerror(errno));
  return POLYAD_OK;
}

/* Compressors that polyad names but does not read. */
static const char *foreign_compressor(const unsigned char *in, size_t used) {
  if (used >= 6 && memcmp(in,
                          "\xfd"
                          "7zXZ\0",
                          6) == 0)
    return "xz";
  if (used >= 3 && memcmp(in, "BZh", 3) == 0) return "bzip2";
  if (used >= 4 && memcmp(in, "PK\3\4", 4) == 0) return "zip";
  if (used >= 4 && memcmp(in, "\x04\x22\x4d\x18", 4) == 0) return "lz4";
  return NULL;
}

static polyad_status detect(struct pd_input *input) {
  PD_TRY(refill(input));
  const unsigned char *in = input->in;
  size_t used = input->in_used;
  const char *foreign = foreign_compressor(in, used);
  if (foreign != NULL)
    return note(input, POLYAD_UNSUPPORTED,
                "data compressed by %s; expected plain text, gzip or zstd: decompress it first",
                foreign);
  if (used >= 2 && in[0] == 0x1f && in[1] == 0x8b) {
    input->encoding = GZIP;
    if (inflateInit2(&input->gzip, GZIP_WINDOW) != Z_OK)
      return note(input, POLYAD_OUT_OF_MEMORY, "no memory to decompress");
    input->gzip_ready = true;
  } else if (used >= 4 && memcmp(in, "\x28\xb5\x2f\xfd", 4) == 0) {
    input->encoding = ZSTANDARD;
    input->zstd = ZSTD_createDCtx();
    if (input->zstd == NULL) return note(input, POLYAD_OUT_OF_MEMORY, "no memory to decompress");
  }
  return POLYAD_OK;
}

polyad_status pd_input_open(polyad_context *context, const char *path, struct pd_input **out) {
  struct pd_input *input = NULL;
  *out = NULL;
  PD_TRY(PD_NEW_ZERO(context, 1, &input));
  input->context = context;
  input->file = -1;
  size_t length = strlen(path) + 1;
  polyad_status status = PD_NEW(context, length, &input->path);
  if (status == POLYAD_OK) {
    memcpy(input->path, path, length);
    status = PD_NEW(context, IN_BYTES, &input->in);
  }
  if (status == POLYAD_OK) status = open_file(input);
  if (status == POLYAD_OK) status = detect(input);
  if (status != POLYAD_OK) {
    (void)pd_input_error(input, 0);
    pd_input_close(input);
    return status;
  }
  *out = input;
  return POLYAD_OK;
}

static polyad_status read_plain(struct pd_input *input, unsigned char *out, size_t size,
                                size_t *got) {
  size_t buffered = input->in_used - input->in_at, part = buffered < size ? buffered : size;
  memcpy(out, input->in + input->in_at, part);
  input->in_at += part;
  *got = part;
  if (part == size || input->raw_end) return POLYAD_OK;
  ssize_t more = pd_sys_read(input->file, out + part, size - part);
  if (more < 0)
    return note(input, POLYAD_IO, "read error: %s, at byte %llu", strerror(errno),
                (unsigned long long)input->raw_read);
  input->raw_read += (uint64_t)more;
  input->raw_end = part + (size_t)more < size;
  *got = part + (size_t)more;
  return POLYAD_OK;
}

/* What follows the last gzip member: zero padding is ignored, another member is read. */
static polyad_status between_members(struct pd_input *input, bool *end) {
  *end = false;
  for (;;) {
    PD_TRY(refill(input));
    if (input->in_at == input->in_used) {
      *end = true;
      return POLYAD_OK;
    }
    unsigned char c = input->in[input->in_at];
    if (c == 0x1f) break;
    if (c != 0)
      return note(input, POLYAD_PARSE,
                  "data after the end of the gzip stream; expected nothing, or zero bytes");
    ++input->in_at;
  }
  if (inflateReset(&input->gzip) != Z_OK)
    return note(input, POLYAD_INTERNAL, "zlib cannot start a member");
  input->member_open = true;
  return POLYAD_OK;
}

static polyad_status read_gzip(struct pd_input *input, unsigned char *out, size_t size,
                               size_t *got) {
  *got = 0;
  while (*got < size) {
    if (!input->member_open) {
      if (!input->any_member) {
        input->member_open = input->any_member = true;
      } else {
        bool end;
        PD_TRY(between_members(input, &end));
        if (end) return POLYAD_OK;
      }
    }
    PD_TRY(refill(input));
    if (input->in_at == input->in_used)
      return note(input, POLYAD_PARSE, "compressed data ends early; the file may be truncated");
    size_t room = size - *got;
    input->gzip.next_in = input->in + input->in_at;
    input->gzip.avail_in = (unsigned)(input->in_used - input->in_at);
    input->gzip.next_out = out + *got;
    input->gzip.avail_out = room > (1u << 30) ? 1u << 30 : (unsigned)room;
    unsigned before = input->gzip.avail_out;
    int result = inflate(&input->gzip, Z_NO_FLUSH);
    input->in_at = input->in_used - input->gzip.avail_in;
    *got += before - input->gzip.avail_out;
    if (result == Z_STREAM_END)
      input->member_open = false;
    else if (result == Z_MEM_ERROR)
      return note(input, POLYAD_OUT_OF_MEMORY, "no memory to decompress");
    else if (result != Z_OK && result != Z_BUF_ERROR)
      return note(input, POLYAD_PARSE, "corrupt gzip data: %s",
                  input->gzip.msg != NULL ? input->gzip.msg : "invalid stream");
  }
  return POLYAD_OK;
}

static polyad_status read_zstd(struct pd_input *input, unsigned char *out, size_t size,
                               size_t *got) {
  *got = 0;
  while (*got < size) {
    PD_TRY(refill(input));
    if (input->in_at == input->in_used) {
      if (input->frame_open)
        return note(input, POLYAD_PARSE, "compressed data ends early; the file may be truncated");
      return POLYAD_OK;
    }
    ZSTD_inBuffer in = {input->in, input->in_used, input->in_at};
    ZSTD_outBuffer to = {out, size, *got};
    size_t left = ZSTD_decompressStream(input->zstd, &to, &in);
    if (ZSTD_isError(left))
      return note(input, POLYAD_PARSE, "corrupt zstd data: %s", ZSTD_getErrorName(left));
    input->in_at = in.pos;
    *got = to.pos;
    input->frame_open = left != 0;
  }
  return POLYAD_OK;
}

/* Decompressed bytes from the file itself. */
static polyad_status read_file(struct pd_input *input, void *buffer, size_t size, size_t *got) {
  *got = 0;
  if (input->status != POLYAD_OK) return input->status;
  switch (input->encoding) {
  case GZIP:
    (void)read_gzip(input, buffer, size, got);
    break;
  case ZSTANDARD:
    (void)read_zstd(input, buffer, size, got);
    break;
  case PLAIN:
    (void)read_plain(input, buffer, size, got);
    break;
  }
  /* Bytes before an error are handed out first: an earlier error in them is the one to name. */
  return *got > 0 ? POLYAD_OK : input->status;
}

polyad_status pd_input_read(struct pd_input *input, void *buffer, size_t size, size_t *got) {
  size_t left = input->peeked_used - input->peeked_at, part = left < size ? left : size;
  if (part == 0) return read_file(input, buffer, size, got);
  memcpy(buffer, input->peeked + input->peeked_at, part);
  input->peeked_at += part;
  *got = part;
  if (part == size) return POLYAD_OK;
  size_t more;
  (void)read_file(input, (char *)buffer + part, size - part, &more);
  *got += more;
  return POLYAD_OK;
}

polyad_status pd_input_peek(struct pd_input *input, const unsigned char **data, size_t *size) {
  if (input->peeked == NULL) {
    PD_TRY(PD_NEW(input->context, PEEK_BYTES, &input->peeked));
    polyad_status status = read_file(input, input->peeked, PEEK_BYTES, &input->peeked_used);
    if (status != POLYAD_OK) return pd_input_error(input, 0);
  }
  *data = input->peeked + input->peeked_at;
  *size = input->peeked_used - input->peeked_at;
  return POLYAD_OK;
}

uint64_t pd_input_size_bound(const struct pd_input *input) {
  struct stat about;
  if (fstat(input->file, &about) != 0 || !S_ISREG(about.st_mode)) return UINT64_MAX;
  uint64_t size = (uint64_t)about.st_size;
  return input->encoding == PLAIN ? size : pd_mul_saturated(size, 1 << 15);
}

void pd_input_skip(struct pd_input *input, size_t size) { input->peeked_at += size; }

void pd_input_close(struct pd_input *input) {
  if (input == NULL) return;
  if (input->file >= 0) (void)pd_sys_close(input->file);
  if (input->gzip_ready) (void)inflateEnd(&input->gzip);
  ZSTD_freeDCtx(input->zstd);
  pd_free(input->context, input->in);
  pd_free(input->context, input->peeked);
  pd_free(input->context, input->path);
  pd_free(input->context, input);
}
