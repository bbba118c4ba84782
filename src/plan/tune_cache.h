/* A small file that remembers what was measured: texts under keys.
 *
 * The first line is "polyad tune cache 1" and a checksum of all that follows; then one line per
 * entry, the latest last: 32 hexadecimal digits (XXH3, 128 bits, of the key), a blank, the text. A
 * file that is damaged or something else counts as empty, and the next store replaces it. */
#ifndef PD_TUNE_CACHE_H
#define PD_TUNE_CACHE_H

#include "core/core.h"

enum {
  PD_TUNE_TEXT_BYTES = 4096,        /* of an entry, its zero included */
  PD_TUNE_ENTRIES = 128,            /* of a file; the oldest give way */
  PD_TUNE_CACHE_BYTES = 1024 * 1024 /* a longer file is something else */
};

/** Copies the text under a key; false when there is none. What hinders is said as information: a
 *  cache never makes anything fail. */
bool pd_tune_cache_find(polyad_context *context, const char *path, const char *key,
                        char text[PD_TUNE_TEXT_BYTES]);

/** Puts a text without line ends under a key, in place of what was there. */
void pd_tune_cache_store(polyad_context *context, const char *path, const char *key,
                         const char *text);

#endif
