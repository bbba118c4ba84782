#include "fuzz_ptm_seal.h"

#include "io/ptm_layout.h"
#include <string.h>
#include <xxhash.h>

static uint64_t checksum(const uint8_t *data, uint64_t bytes) {
  static uint64_t of_block[64];
  uint64_t blocks = 0;
  for (uint64_t at = 0; at < bytes; at += PD_PTM_BLOCK_BYTES)
    of_block[blocks++] =
        XXH3_64bits(data + at, bytes - at < PD_PTM_BLOCK_BYTES ? bytes - at : PD_PTM_BLOCK_BYTES);
  return XXH3_64bits(of_block, blocks * sizeof *of_block);
}

void fuzz_ptm_seal(uint8_t *data, size_t size) {
  struct pd_ptm_header header;
  if (size < sizeof header) return;
  memcpy(&header, data, sizeof header);
  for (int s = 0; s < PD_PTM_MAX_SECTIONS; ++s) {
    struct pd_ptm_section *section = &header.section[s];
    if ((uint32_t)s < header.section_count && section->offset <= size &&
        section->bytes <= size - section->offset)
      section->checksum = checksum(data + section->offset, section->bytes);
  }
  pd_binary_seal(&header);
  memcpy(data, &header, sizeof header);
}
