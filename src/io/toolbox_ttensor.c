/* Tucker tensors in the manner of Tensor Toolbox text, which has none of its own: the word ttensor,
 * the number of modes and their lengths, then the core as a "tensor" (first mode fastest) and one
 * "matrix" per mode, each with its header. */
#include "io/formats.h"
#include "io/number.h"
#include "io/toolbox_parts.h"
#include "tensor/ttensor.h"
#include <string.h>

/* What a file holds. */
struct ttensor_parts {
  uint64_t order, dims[POLYAD_MAX_ORDER], ranks[POLYAD_MAX_ORDER], core_size;
  void *core, *factor[POLYAD_MAX_ORDER];
};

static void copy_number(void *to, uint64_t at, const void *from, uint64_t k, polyad_type type) {
  if (type == POLYAD_F64)
    ((double *)to)[at] = ((const double *)from)[k];
  else
    ((float *)to)[at] = ((const float *)from)[k];
}

/* Where number k of the text, first mode fastest, is in memory, last mode fastest. */
static uint64_t toolbox_ttensor_place_of(int order, const uint64_t *ranks, uint64_t k) {
  uint64_t at = 0, stride = 1, index[POLYAD_MAX_ORDER];
  for (int n = 0; n < order; ++n) {
    index[n] = k % ranks[n];
    k /= ranks[n];
  }
  for (int n = order - 1; n >= 0; --n) {
    at += index[n] * stride;
    stride *= ranks[n];
  }
  return at;
}

static polyad_status read_sizes(struct pd_scanner *s, struct ttensor_parts *parts) {
  uint64_t modes;
  PD_TRY(pd_scanner_expect(s, "ttensor"));
  PD_TRY(pd_scanner_integer(s, "the number of modes", 1, POLYAD_MAX_ORDER, &parts->order));
  for (uint64_t n = 0; n < parts->order; ++n)
    PD_TRY(pd_scanner_integer(s, "the length of a mode", 1, PD_TOOLBOX_CELLS, &parts->dims[n]));
  PD_TRY(pd_scanner_expect(s, "tensor"));
  PD_TRY(
      pd_scanner_integer(s, "the number of modes of the core", parts->order, parts->order, &modes));
  parts->core_size = 1;
  for (uint64_t n = 0; n < parts->order; ++n) {
    uint64_t most = PD_TOOLBOX_CELLS / parts->core_size;
    if (most > PD_TOOLBOX_CELLS / parts->dims[n]) most = PD_TOOLBOX_CELLS / parts->dims[n];
    PD_TRY(pd_scanner_integer(s, "the length of a mode of the core", 1, most, &parts->ranks[n]));
    parts->core_size *= parts->ranks[n];
  }
  return POLYAD_OK;
}

static polyad_status read_ttensor(struct pd_scanner *s, polyad_type type,
                                  struct ttensor_parts *parts) {
  PD_TRY(read_sizes(s, parts));
  PD_TRY(pd_toolbox_read_values(s, "an entry of the core", parts->core_size, type, &parts->core));
  for (uint64_t n = 0; n < parts->order; ++n) {
    uint64_t rows, columns;
    PD_TRY(pd_toolbox_read_matrix_header(s, parts->dims[n], parts->ranks[n], &rows, &columns));
    PD_TRY(
        pd_toolbox_read_values(s, "an entry of a factor", rows * columns, type, &parts->factor[n]));
  }
  return pd_scanner_end(s);
}

static polyad_status toolbox_ttensor_assemble(polyad_context *context, polyad_type type,
                                              const struct ttensor_parts *parts,
                                              polyad_ttensor **ttensor) {
  int order = (int)parts->order;
  PD_TRY(polyad_ttensor_create(context, order, parts->dims, parts->ranks, type, ttensor));
  for (uint64_t k = 0; k < parts->core_size; ++k)
    copy_number((*ttensor)->core, toolbox_ttensor_place_of(order, parts->ranks, k), parts->core, k,
                type);
  for (int n = 0; n < order; ++n)
    memcpy((*ttensor)->factor[n], parts->factor[n],
           (size_t)(parts->dims[n] * parts->ranks[n]) * pd_type_bytes(type));
  return POLYAD_OK;
}

polyad_status pd_toolbox_read_ttensor(struct pd_scanner *scanner, polyad_type type,
                                      polyad_ttensor **ttensor) {
  struct ttensor_parts parts = {0};
  polyad_status status = read_ttensor(scanner, type, &parts);
  if (status == POLYAD_OK)
    status = toolbox_ttensor_assemble(scanner->context, type, &parts, ttensor);
  pd_free(scanner->context, parts.core);
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    pd_free(scanner->context, parts.factor[n]);
  return status;
}

static polyad_status write_core(struct pd_output *output, const polyad_ttensor *ttensor) {
  char text[PD_NUMBER_TEXT + 1];
  bool single = ttensor->type == POLYAD_F32;
  PD_TRY(pd_output_printf(output, "tensor\n%d\n", ttensor->order));
  PD_TRY(pd_toolbox_write_sizes(output, ttensor->order, ttensor->ranks));
  for (uint64_t k = 0; k < ttensor->core_size; ++k) {
    uint64_t at = toolbox_ttensor_place_of(ttensor->order, ttensor->ranks, k);
    double value =
        single ? (double)((const float *)ttensor->core)[at] : ((const double *)ttensor->core)[at];
    size_t length = pd_format_number(text, value, single);
    text[length] = '\n';
    PD_TRY(pd_output_write(output, text, length + 1));
  }
  return POLYAD_OK;
}

polyad_status pd_toolbox_write_ttensor(polyad_context *context, struct pd_output *output,
                                       const polyad_ttensor *ttensor) {
  PD_TRY(pd_output_printf(output, "ttensor\n%d\n", ttensor->order));
  PD_TRY(pd_toolbox_write_sizes(output, ttensor->order, ttensor->dims));
  PD_TRY(write_core(output, ttensor));
  for (int n = 0; n < ttensor->order; ++n)
    PD_TRY(pd_toolbox_write_matrix(context, output, ttensor->dims[n], ttensor->ranks[n],
                                   ttensor->type, ttensor->factor[n]));
  return POLYAD_OK;
}
