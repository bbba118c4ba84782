/* Writes a model as .ptm: checksums first, then one pass from the first byte to the last, so that a
 * pipe or a compressed file will do. */
#include "io/atomic_file.h"
#include "io/formats.h"
#include "io/ptm_layout.h"
#include "io/ptn_labels.h"

/* The header and every section, each with zeros in front up to its place. */
static polyad_status ptm_write_write_sections(struct pd_output *output,
                                              const struct pd_ptm_header *header,
                                              const void *const *section) {
  static const char zeros[PD_PTM_ALIGNMENT];
  uint64_t at = sizeof *header;
  PD_TRY(pd_output_write(output, header, sizeof *header));
  for (uint32_t s = 0; s < header->section_count; ++s) {
    const struct pd_ptm_section *place = &header->section[s];
    PD_TRY(pd_output_write(output, zeros, (size_t)(place->offset - at)));
    PD_TRY(pd_output_write(output, section[s], (size_t)place->bytes));
    at = place->offset + place->bytes;
  }
  return POLYAD_OK;
}

polyad_status pd_ptm_write(polyad_context *context, const struct pd_model *model,
                           const char *path) {
  struct pd_ptm_header header;
  struct pd_output *output = NULL;
  const void *section[PD_PTM_MAX_SECTIONS] = {model->first};
  uint64_t label_bytes = pd_ptn_labels_bytes(model->outline);
  char *labels = NULL;
  polyad_status status = POLYAD_OK;
  PD_TRY(pd_binary_host_check(context, &pd_ptm_binary));
  if (!pd_ptm_header_make(&header, model->tucker ? PD_PTM_TUCKER : PD_PTM_KRUSKAL, model->order,
                          model->dims, model->ranks, model->type, label_bytes))
    return pd_fail(context, POLYAD_OVERFLOW, "the model is too large for a file");
  PD_TRY_CLEANUP(pd_output_open(context, path, pd_compression_of(path), &output));
  PD_TRY_CLEANUP(PD_NEW(context, label_bytes, &labels));
  if (label_bytes > 0) pd_ptn_labels_encode(model->outline, labels);
  for (int n = 0; n < model->order; ++n)
    section[1 + n] = model->factor[n];
  section[1 + model->order] = labels;
  for (uint32_t s = 0; s < header.section_count; ++s)
    PD_TRY_CLEANUP(
        pd_ptm_checksum(context, section[s], header.section[s].bytes, &header.section[s].checksum));
  pd_binary_seal(&header);
  PD_TRY_CLEANUP(ptm_write_write_sections(output, &header, section));
  status = pd_output_commit(output);
  output = NULL;

cleanup:
  pd_output_abort(output);
  pd_free(context, labels);
  return status;
}
