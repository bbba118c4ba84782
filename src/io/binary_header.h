/* How every binary file of polyad begins and ends its header, whatever it holds: 1024 bytes, first
 * what names the file and the version of its layout, last a checksum of all before it. */
#ifndef PD_BINARY_HEADER_H
#define PD_BINARY_HEADER_H

#include "core/core.h"

enum { PD_BINARY_HEADER_BYTES = 1024, PD_BINARY_ENDIAN_MARK = 0x01020304 };

/** The first bytes of a header. */
struct pd_binary_start {
  unsigned char magic[8];
  uint32_t endian_mark;
  uint32_t version;
  uint32_t header_bytes;
};

/** A kind of file. */
struct pd_binary_kind {
  const char *extension; /* ".ptn" */
  unsigned char magic[8];
  uint32_t newest; /* version that this build reads */
};

/** Puts the checksum of all bytes before it into the last 8 of a header. */
void pd_binary_seal(void *header);
/** Refuses files of this kind on a big-endian machine. */
polyad_status pd_binary_host_check(polyad_context *context, const struct pd_binary_kind *kind);
/** Proves that `got` bytes are a whole header of this kind, of a version that this build reads, and
 *  undamaged, before anything else in it is believed. */
polyad_status pd_binary_header_check(polyad_context *context, const char *path, const void *header,
                                     size_t got, const struct pd_binary_kind *kind);

#endif
