/* Compression of a stream of bytes: gzip (libdeflate, in parallel) or Zstandard. */
#ifndef PD_COMPRESSOR_H
#define PD_COMPRESSOR_H

#include "io/atomic_file.h"

struct pd_compressor;

/** Takes compressed bytes. */
typedef polyad_status (*pd_sink)(void *user, const void *data, size_t size);

polyad_status pd_compressor_create(polyad_context *context, enum pd_compression compression,
                                   struct pd_compressor **compressor);
/** Bytes that are best compressed in one call. */
size_t pd_compressor_block(const struct pd_compressor *compressor);
/** Compresses bytes into the sink; `end` finishes the stream. */
polyad_status pd_compressor_write(struct pd_compressor *compressor, const void *data, size_t size,
                                  bool end, pd_sink sink, void *user);
void pd_compressor_destroy(struct pd_compressor *compressor);

#endif
