/* What the fuzz targets share: one context, one file in memory and one folder for all runs, because
 * making them would take longer than most runs. */
#ifndef PD_FUZZ_INPUT_H
#define PD_FUZZ_INPUT_H

#include <polyad/polyad.h>
#include <stddef.h>
#include <stdint.h>

/** Entry that a fuzzer calls with any bytes; it aborts when the library breaks a promise. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** Aborts, with the text, when `condition` does not hold. */
void fuzz_require(int condition, const char *text);

/** Makes the bytes the whole content of a file in memory. Returns the path to it, which stays. */
const char *fuzz_file(const uint8_t *data, size_t size);
/** The same of a copy of them, in which `seal` makes checksums right first; NULL: as they are. */
const char *fuzz_sealed_file(const uint8_t *data, size_t size,
                             void (*seal)(uint8_t *data, size_t size));
/** Lets what is written to standard output ("-") go into a file in memory. Returns the path to it.
 */
const char *fuzz_output_begin(void);
/** Gives standard output back. */
void fuzz_output_end(void);
/** A folder for the files that a target writes, in memory where the machine has such a place; it is
 *  removed with all its files when the program ends. */
const char *fuzz_folder(void);
/** Removes all files of that folder. */
void fuzz_empty_folder(void);

/** The bytes of a file in that folder, which has fewer than `most` of them; then the folder is
 * empty.
 */
size_t fuzz_take_file(const char *path, uint8_t *to, size_t most);

/** The context of all runs, with a memory limit, this number of threads and no error. */
polyad_context *fuzz_begin(int threads);
/** Requires that all memory was given back since fuzz_begin(). */
void fuzz_end(polyad_context *context);
/** What is allocated now stays for the next runs. */
void fuzz_keep(const polyad_context *context);

/** What every failure must be: a message of bounded length without control bytes. */
void fuzz_check_failure(const polyad_context *context, polyad_status status);

/** A tensor of nonzeros with their indices one behind the other. */
polyad_tensor *fuzz_tensor(polyad_context *context, int order, const uint64_t *dims, uint64_t nnz,
                           const uint32_t *index, const double *values);

/** Takes up to `count` bytes off the front of an input; what is missing is zero. */
void fuzz_take(const uint8_t **data, size_t *size, void *to, size_t count);
/** The next byte of an input; 0 at its end. */
uint8_t fuzz_take_byte(const uint8_t **data, size_t *size);
/** Copies a good file of fewer than 65,536 bytes to `out` with the changes that an input asks for:
 *  places (two bytes) and new values (one byte each). A place past the end sets the length, to at
 *  most `more` bytes longer, which are zeros. Returns the length. */
size_t fuzz_change(const uint8_t *good, size_t bytes, size_t more, const uint8_t *data, size_t size,
                   uint8_t *out);

#endif
