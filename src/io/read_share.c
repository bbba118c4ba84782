/* What one of several processes reads of a file: the shares together are the file, and each process
 * reads little more than its own. */
#include "io/formats.h"
#include "io/ptn_blocks.h"
#include "tensor/tensor.h"
#include <math.h>
#include <string.h>
#include <xxhash.h>

polyad_status pd_share_of_nothing(polyad_context *context, const polyad_read_options *options,
                                  polyad_tensor **tensor) {
  static const uint64_t one = 1;
  polyad_tensor_input input;
  polyad_tensor_input_init(&input);
  input.order = options->order > 0 ? options->order : 1;
  input.dims = options->order > 0 ? options->dims : &one;
  input.type = options->type;
  input.zeros = options->zeros;
  return polyad_tensor_create(context, &input, tensor);
}

/* ---- text ----------------------------------------------------------------------------------- */

enum { SAMPLES = 64, SAMPLE_BYTES = 4096 };

/* A mark of a file that every process reads a share of: its size and samples spread over it, all of
 * a short one. */
static polyad_status mark_text(polyad_context *context, struct pd_input *input, uint64_t *mark) {
  uint64_t size = pd_input_plain_size(input), step = size / SAMPLES;
  unsigned char sample[SAMPLE_BYTES];
  *mark = XXH3_64bits(&size, sizeof size);
  for (uint64_t k = 0; k < SAMPLES; ++k) {
    uint64_t begin = size > SAMPLES * SAMPLE_BYTES ? k * step : k * SAMPLE_BYTES;
    uint64_t bytes = begin < size ? size - begin : 0;
    if (k == SAMPLES - 1 && bytes > SAMPLE_BYTES) begin = size - SAMPLE_BYTES;
    if (bytes > SAMPLE_BYTES) bytes = SAMPLE_BYTES;
    if (bytes > 0 && !pd_input_read_at(input, begin, sample, (size_t)bytes))
      return pd_fail_at(context, POLYAD_IO, pd_input_path(input), 0, 0,
                        "%llu bytes cannot be read at byte %llu", (unsigned long long)bytes,
                        (unsigned long long)begin);
    *mark = XXH3_64bits_withSeed(sample, (size_t)bytes, *mark);
  }
  return POLYAD_OK;
}

/* Where a line is wrong the lines before this share are counted, and it is read once more: errors
 * name the line of the file. */
static polyad_status read_lines(polyad_context *context, struct pd_input *input,
                                const polyad_read_options *options, polyad_tensor **tensor) {
  uint64_t begin, lines;
  if (options->duplicates != POLYAD_DUPLICATES_SUM)
    return pd_fail_at(context, POLYAD_UNSUPPORTED, pd_input_path(input), 0, 0,
                      "several processes add up repeated coordinates of text; expected duplicates "
                      "to be summed, or a .ptn file");
  PD_TRY(pd_input_cut(input, options->share, options->shares, &begin));
  if (pd_input_plain_size(input) == 0) return pd_share_of_nothing(context, options, tensor);
  polyad_status status = pd_tns_read_body(context, input, options, UINT64_MAX, 0, tensor);
  if (status == POLYAD_OK || polyad_last_error_record(context).line == 0 || begin == 0)
    return status;
  PD_TRY(pd_input_count_lines(input, begin, &lines));
  PD_TRY(pd_input_cut(input, options->share, options->shares, &begin));
  pd_begin(context);
  return pd_tns_read_body(context, input, options, UINT64_MAX, lines, tensor);
}

polyad_status pd_tns_read_share(polyad_context *context, struct pd_input *input,
                                const polyad_read_options *options, polyad_tensor **tensor) {
  uint64_t mark;
  PD_TRY(mark_text(context, input, &mark));
  PD_TRY(read_lines(context, input, options, tensor));
  (*tensor)->file_mark = mark;
  return POLYAD_OK;
}

/* ---- .ptn ----------------------------------------------------------------------------------- */

struct arrays {
  uint64_t nnz, count; /* that there will be, and that there are */
  uint64_t underflows; /* values that have become zero */
  void *index[POLYAD_MAX_ORDER], *values;
};

static polyad_status read_share_take_values(const struct pd_ptn_blocks *file, polyad_type type,
                                            struct arrays *arrays) {
  for (uint64_t p = 0; p < file->count; ++p) {
    double value = pd_ptn_blocks_value(file, p);
    if (type == POLYAD_F32 && !isfinite((float)value))
      return pd_fail_at(file->context, POLYAD_NUMERICAL, file->source.path, 0, 0,
                        "value %.17g does not fit float32; expected at most 3.4e38 in magnitude",
                        value);
    arrays->underflows += type == POLYAD_F32 && pd_becomes_zero(value);
    pd_store(type, arrays->values, arrays->count + p, value);
  }
  return POLYAD_OK;
}

static polyad_status take_blocks(struct pd_ptn_blocks *file, uint64_t end, polyad_type type,
                                 struct arrays *arrays) {
  while (file->next < end) {
    PD_TRY(pd_ptn_blocks_next(file));
    for (int n = 0; n < (int)file->header.order; ++n) {
      size_t bytes = file->header.index_bytes[n];
      memcpy((char *)arrays->index[n] + arrays->count * bytes, file->array[n],
             (size_t)file->count * bytes);
    }
    PD_TRY(read_share_take_values(file, type, arrays));
    arrays->count += file->count;
  }
  return POLYAD_OK;
}

static polyad_status make_arrays(struct pd_ptn_blocks *file, uint64_t begin, uint64_t end,
                                 polyad_type type, struct arrays *arrays) {
  uint64_t nnz = file->header.nnz, last = end * PD_PTN_BLOCK_ENTRIES;
  arrays->nnz = (last < nnz ? last : nnz) - begin * PD_PTN_BLOCK_ENTRIES;
  if (begin >= end) arrays->nnz = 0;
  for (int n = 0; n < (int)file->header.order; ++n)
    PD_TRY(pd_alloc(file->context, arrays->nnz, file->header.index_bytes[n], &arrays->index[n]));
  return pd_alloc(file->context, arrays->nnz, pd_type_bytes(type), &arrays->values);
}

static polyad_status read_blocks(struct pd_ptn_blocks *file, const polyad_read_options *options,
                                 polyad_tensor **tensor) {
  struct arrays arrays = {0};
  const struct pd_ptn_header *header = &file->header;
  uint64_t blocks = (header->nnz + PD_PTN_BLOCK_ENTRIES - 1) / PD_PTN_BLOCK_ENTRIES;
  uint64_t begin = pd_part_begin(blocks, options->share, options->shares);
  uint64_t end = pd_part_begin(blocks, options->share + 1, options->shares);
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(pd_ptn_blocks_rewind(file));
  PD_TRY_CLEANUP(make_arrays(file, begin, end, options->type, &arrays));
  file->next = begin; /* its first nonzero has none before it: any is in order */
  memset(file->last, 0, sizeof file->last);
  PD_TRY_CLEANUP(take_blocks(file, end, options->type, &arrays));
  PD_TRY_CLEANUP(pd_ptn_blocks_same(file));
  pd_warn_of_underflow(file->context, file->source.path, 0, arrays.underflows);
  status = pd_tensor_create_take(file->context, (int)header->order, header->dims, arrays.nnz,
                                 options->type, arrays.index, &arrays.values, POLYAD_DUPLICATES_SUM,
                                 options->zeros, tensor);
cleanup:
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    pd_free(file->context, arrays.index[n]);
  pd_free(file->context, arrays.values);
  return status;
}

polyad_status pd_ptn_read_share(polyad_context *context, const char *path,
                                const polyad_read_options *options, polyad_tensor **tensor) {
  struct pd_ptn_blocks file;
  PD_TRY(pd_ptn_blocks_open(context, path, &file));
  polyad_status status = pd_ptn_check_dims(context, path, &file.header, options);
  if (status == POLYAD_OK) status = read_blocks(&file, options, tensor);
  /* It covers the checksums of the sections, and so every byte of the file. */
  if (status == POLYAD_OK) (*tensor)->file_mark = file.header.checksum;
  pd_ptn_blocks_close(&file);
  return status;
}
