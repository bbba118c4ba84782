#include "io/binary_header.h"
#include "io/foreign.h"
#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

static const size_t before_checksum = PD_BINARY_HEADER_BYTES - sizeof(uint64_t);

static uint64_t binary_header_checksum_of(const void *header) {
  return XXH3_64bits(header, before_checksum);
}

void pd_binary_seal(void *header) {
  uint64_t checksum = binary_header_checksum_of(header);
  memcpy((char *)header + before_checksum, &checksum, sizeof checksum);
}

polyad_status pd_binary_host_check(polyad_context *context, const struct pd_binary_kind *kind) {
  const uint32_t mark = PD_BINARY_ENDIAN_MARK;
  unsigned char first;
  memcpy(&first, &mark, 1);
  if (first == (PD_BINARY_ENDIAN_MARK & 0xff)) return POLYAD_OK;
  return pd_fail(context, POLYAD_UNSUPPORTED,
                 "%s files are little-endian, this machine is not; use a text format",
                 kind->extension);
}

/* The bytes may be those of any file. */
static polyad_status check_magic(polyad_context *context, const char *path, const void *header,
                                 size_t got, const struct pd_binary_kind *kind) {
  size_t known = got < sizeof kind->magic ? got : sizeof kind->magic;
  if (memcmp(header, kind->magic, known) == 0) return POLYAD_OK;
  char quoted[PD_QUOTE_BYTES];
  const char *foreign = pd_foreign_format(header, got);
  if (foreign != NULL)
    return pd_fail_at(context, POLYAD_PARSE, path, 0, 0, "%s; expected a %s file", foreign,
                      kind->extension);
  return pd_fail_at(context, POLYAD_PARSE, path, 0, 0,
                    "not a %s file: it begins with %s; expected '\\x89%.3s'", kind->extension,
                    pd_quote(quoted, header, known), (const char *)kind->magic + 1);
}

polyad_status pd_binary_header_check(polyad_context *context, const char *path, const void *header,
                                     size_t got, const struct pd_binary_kind *kind) {
  struct pd_binary_start start;
  uint64_t checksum;
  PD_TRY(check_magic(context, path, header, got, kind));
  if (got < PD_BINARY_HEADER_BYTES)
    return pd_fail_at(context, POLYAD_PARSE, path, 0, 0, "truncated header: %zu bytes, need %d",
                      got, PD_BINARY_HEADER_BYTES);
  memcpy(&start, header, sizeof start);
  memcpy(&checksum, (const char *)header + before_checksum, sizeof checksum);
  if (start.endian_mark == __builtin_bswap32(PD_BINARY_ENDIAN_MARK))
    return pd_fail_at(context, POLYAD_PARSE, path, 0, 0,
                      "header is big-endian; expected little-endian");
  if (start.version > kind->newest && start.endian_mark == PD_BINARY_ENDIAN_MARK)
    return pd_fail_at(context, POLYAD_UNSUPPORTED, path, 0, 0,
                      "written by a newer polyad: format version %" PRIu32
                      ", this build reads up to %" PRIu32,
                      start.version, kind->newest);
  if (checksum != binary_header_checksum_of(header))
    return pd_fail_at(context, POLYAD_PARSE, path, 0, 0,
                      "header is damaged: its checksum does not match");
  if (start.endian_mark != PD_BINARY_ENDIAN_MARK || start.version == 0 ||
      start.header_bytes != PD_BINARY_HEADER_BYTES)
    return pd_fail_at(context, POLYAD_PARSE, path, 0, 0,
                      "header has byte order mark %08" PRIx32 ", version %" PRIu32 ", %" PRIu32
                      " bytes; expected 01020304, 1 to %" PRIu32 ", %d",
                      start.endian_mark, start.version, start.header_bytes, kind->newest,
                      PD_BINARY_HEADER_BYTES);
  return POLYAD_OK;
}
