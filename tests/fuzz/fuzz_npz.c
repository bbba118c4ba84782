/* NumPy archives: of a tensor, of a CP and of a Tucker model; and arrays that are no archive's.
 * Checksums of members would stop a fuzzer at once, so they are made right first where the first
 * byte asks for it. A tensor that was read is written and read again, and must be the same. */
#include "fuzz_input.h"

#include "io/npz_layout.h"
#include <libdeflate.h>
#include <polyad/io.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SINGLE = 4, AS_IT_IS = 8, ARRAY = 16, STORED = 0 };

/* The checksums of stored members whose sizes stand in 32 bits or in the first extra field. */
static void seal(uint8_t *data, size_t size) {
  struct pd_zip_local head;
  struct pd_zip64_sizes sizes;
  for (size_t at = 0; size - at >= sizeof head + sizeof sizes;) {
    memcpy(&head, data + at, sizeof head);
    size_t begin = at + sizeof head + head.about.name_bytes;
    if (head.signature != PD_ZIP_LOCAL || head.about.method != STORED) return;
    if (begin > size - sizeof sizes) return;
    memcpy(&sizes, data + begin, sizeof sizes);
    uint64_t bytes = head.about.bytes == UINT32_MAX ? sizes.bytes : head.about.bytes;
    begin += head.about.extra_bytes;
    if (begin > size || bytes > size - begin) return;
    head.about.checksum = libdeflate_crc32(0, data + begin, (size_t)bytes);
    memcpy(data + at, &head, sizeof head);
    at = begin + (size_t)bytes;
  }
}

static polyad_status read_tensor(polyad_context *context, const char *path, polyad_type type,
                                 polyad_file_format format) {
  polyad_tensor *tensor, *again = NULL;
  polyad_read_options options;
  char copy[300];
  polyad_read_options_init(&options);
  options.type = type;
  options.labels = "";
  options.format = format;
  polyad_status status = polyad_tensor_read(context, path, &options, &tensor);
  if (status != POLYAD_OK) return status;
  snprintf(copy, sizeof copy, "%s/copy.npz", fuzz_folder());
  fuzz_require(polyad_tensor_write(context, tensor, copy, POLYAD_FILE_AUTO) == POLYAD_OK,
               "a tensor is written");
  options.format = POLYAD_FILE_NPZ;
  fuzz_require(polyad_tensor_read(context, copy, &options, &again) == POLYAD_OK &&
                   polyad_tensor_hash(tensor) == polyad_tensor_hash(again),
               "what was written is read");
  polyad_tensor_destroy(tensor);
  polyad_tensor_destroy(again);
  fuzz_empty_folder();
  return POLYAD_OK;
}

static polyad_status read_model(polyad_context *context, const char *path, polyad_type type,
                                bool kruskal) {
  polyad_ktensor *ktensor = NULL;
  polyad_ttensor *ttensor = NULL;
  polyad_tensor *outline;
  polyad_status status =
      kruskal ? polyad_ktensor_read_labelled(context, path, type, &ktensor, &outline)
              : polyad_ttensor_read_labelled(context, path, type, &ttensor, &outline);
  polyad_ktensor_destroy(ktensor);
  polyad_ttensor_destroy(ttensor);
  polyad_tensor_destroy(outline);
  return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0 || size > (16 << 20)) return 0;
  uint8_t what = data[0];
  const char *path = fuzz_sealed_file(data + 1, size - 1, (what & AS_IT_IS) != 0 ? NULL : seal);
  polyad_type type = (what & SINGLE) != 0 ? POLYAD_F32 : POLYAD_F64;
  polyad_context *context = fuzz_begin(1);
  polyad_file_format format = (what & ARRAY) != 0 ? POLYAD_FILE_NPY : POLYAD_FILE_NPZ;
  polyad_status status = (what & 3) == 0 ? read_tensor(context, path, type, format)
                                         : read_model(context, path, type, (what & 3) == 1);
  if (status != POLYAD_OK) fuzz_check_failure(context, status);
  fuzz_end(context);
  return 0;
}
