/* What the fuzz targets share. */
#ifndef PD_FUZZ_INPUT_H
#define PD_FUZZ_INPUT_H

#include <polyad/polyad.h>
#include <stddef.h>
#include <stdint.h>

/** Entry that a fuzzer calls with any bytes; it aborts when the library breaks a promise. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** Puts bytes into a file without a name; *path leads to it. Returns its descriptor. */
int fuzz_open(const uint8_t *data, size_t size, char path[64]);

/** Aborts, with the text, when `condition` does not hold. */
void fuzz_require(int condition, const char *text);

/** A context with a memory limit; its destruction requires that all memory was given back. */
polyad_context *fuzz_context(int threads);
void fuzz_context_end(polyad_context *context);

/** What every failure must be: a message of bounded length without control bytes. */
void fuzz_check_failure(const polyad_context *context, polyad_status status);

#endif
