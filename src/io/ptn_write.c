/* Writes a whole tensor as .ptn: checksums by several threads first, then one pass from the first
 * byte to the last, so that a pipe will do. */
#include "io/atomic_file.h"
#include "io/formats.h"
#include "io/ptn_labels.h"
#include "io/ptn_layout.h"
#include <xxhash.h>

static const void *array_of(const polyad_tensor *tensor, int section) {
  return section < tensor->order ? tensor->index[section] : tensor->values;
}

static void compute_checksums(polyad_context *context, const polyad_tensor *tensor,
                              const struct pd_ptn_header *header, const char *labels,
                              uint64_t *checksums) {
  uint64_t blocks = pd_ptn_array_blocks(header), all = blocks * (header->order + 1);
  int threads = pd_threads_for(context, all, 1);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t i = 0; i < all; ++i) {
    int section = (int)(i / blocks);
    uint64_t begin = i % blocks * PD_PTN_BLOCK_ENTRIES, rest = header->nnz - begin;
    uint64_t count = rest < PD_PTN_BLOCK_ENTRIES ? rest : PD_PTN_BLOCK_ENTRIES;
    size_t bytes = pd_ptn_entry_bytes(header, section);
    checksums[i] =
        XXH3_64bits((const char *)array_of(tensor, section) + begin * bytes, (size_t)count * bytes);
  }
  pd_ptn_labels_checksums(header, labels, checksums);
}

/* A section, and zeros up to the place of the next one. */
static polyad_status write_section(struct pd_output *output, const struct pd_ptn_header *header,
                                   int section, const void *data) {
  static const char zeros[PD_PTN_ALIGNMENT];
  const struct pd_ptn_section *s = &header->section[section];
  if (s->bytes > 0) PD_TRY(pd_output_write(output, data, (size_t)s->bytes));
  if (section == pd_ptn_checksum_section(header)) return POLYAD_OK;
  return pd_output_write(output, zeros, (size_t)(s[1].offset - s->offset - s->bytes));
}

static polyad_status ptn_write_write_sections(struct pd_output *output, const polyad_tensor *tensor,
                                              const struct pd_ptn_header *header,
                                              const char *labels, const uint64_t *checksums) {
  PD_TRY(pd_output_write(output, header, sizeof *header));
  for (int s = 0; s <= tensor->order; ++s)
    PD_TRY(write_section(output, header, s, array_of(tensor, s)));
  int section = pd_ptn_label_section(header);
  if (section >= 0) PD_TRY(write_section(output, header, section, labels));
  return write_section(output, header, pd_ptn_checksum_section(header), checksums);
}

polyad_status pd_ptn_write(polyad_context *context, const polyad_tensor *tensor, const char *path) {
  struct pd_ptn_header header;
  struct pd_output *output = NULL;
  uint64_t *checksums = NULL, label_bytes = pd_ptn_labels_bytes(tensor);
  char *labels = NULL;
  polyad_status status = POLYAD_OK;
  PD_TRY(pd_binary_host_check(context, &pd_ptn_binary));
  PD_TRY(pd_ptn_name_check(context, path));
  pd_ptn_header_init(&header, tensor->order, tensor->dims, tensor->nnz, tensor->type);
  header.repeats_merged = tensor->repeats_merged;
  header.zeros_dropped = tensor->zeros_dropped;
  if (tensor->zeros_kept > 0) {
    header.version = 2;
    header.flags = PD_PTN_ZEROS;
  }
  if (!pd_ptn_lay_out(&header, label_bytes))
    return pd_fail(context, POLYAD_OVERFLOW, "the tensor is too large for a file");
  PD_TRY_CLEANUP(pd_output_open(context, path, PD_PLAIN, &output));
  PD_TRY_CLEANUP(pd_alloc(context, header.section[pd_ptn_checksum_section(&header)].bytes, 1,
                          (void **)&checksums));
  PD_TRY_CLEANUP(PD_NEW(context, label_bytes, &labels));
  if (label_bytes > 0) pd_ptn_labels_encode(tensor, labels);
  compute_checksums(context, tensor, &header, labels, checksums);
  pd_ptn_seal(&header, checksums);
  PD_TRY_CLEANUP(ptn_write_write_sections(output, tensor, &header, labels, checksums));
  status = pd_output_commit(output);
  output = NULL;

cleanup:
  pd_output_abort(output);
  PD_FREE(context, checksums, labels);
  return status;
}
