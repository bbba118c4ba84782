/* Checksums of .ptm files, which would stop a fuzzer at once, made right. */
#ifndef PD_FUZZ_PTM_SEAL_H
#define PD_FUZZ_PTM_SEAL_H

#include <stddef.h>
#include <stdint.h>

/** Makes every checksum right of a section that lies within the data. */
void fuzz_ptm_seal(uint8_t *data, size_t size);

#endif
