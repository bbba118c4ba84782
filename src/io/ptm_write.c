/* Writes a model as .ptm: checksums first, then one pass from the first byte to the last, so that a
 * pipe or a compressed file will do. */
#include "io/atomic_file.h"
#include "io/formats.h"
#include "io/ptm_layout.h"
#include "io/ptn_labels.h"
#include "tensor/ktensor.h"
#include "tensor/ttensor.h"

/* The parts of a model, as the sections have them. */
struct parts {
  enum pd_ptm_kind kind;
  int order;
  polyad_type type;
  const uint64_t *dims;
  uint64_t ranks[POLYAD_MAX_ORDER];
  const void *section[PD_PTM_MAX_SECTIONS];
};

static void take_parts(const struct pd_model *model, struct parts *parts) {
  const polyad_ktensor *k = model->ktensor;
  const polyad_ttensor *t = model->ttensor;
  *parts = (struct parts){.kind = k != NULL ? PD_PTM_KRUSKAL : PD_PTM_TUCKER,
                          .order = k != NULL ? k->order : t->order,
                          .type = k != NULL ? k->type : t->type,
                          .dims = k != NULL ? k->dims : t->dims};
  parts->section[0] = k != NULL ? k->weights : t->core;
  for (int n = 0; n < parts->order; ++n) {
    parts->ranks[n] = k != NULL ? k->rank : t->ranks[n];
    parts->section[1 + n] = k != NULL ? k->factor[n] : t->factor[n];
  }
}

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
  struct parts parts;
  uint64_t label_bytes = pd_ptn_labels_bytes(model->outline);
  char *labels = NULL;
  polyad_status status = POLYAD_OK;
  PD_TRY(pd_binary_host_check(context, &pd_ptm_binary));
  take_parts(model, &parts);
  if (!pd_ptm_header_make(&header, parts.kind, parts.order, parts.dims, parts.ranks, parts.type,
                          label_bytes))
    return pd_fail(context, POLYAD_OVERFLOW, "the model is too large for a file");
  PD_TRY_CLEANUP(pd_output_open(context, path, pd_compression_of(path), &output));
  PD_TRY_CLEANUP(PD_NEW(context, label_bytes, &labels));
  if (label_bytes > 0) pd_ptn_labels_encode(model->outline, labels);
  parts.section[1 + parts.order] = labels;
  for (uint32_t s = 0; s < header.section_count; ++s)
    PD_TRY_CLEANUP(pd_ptm_checksum(context, parts.section[s], header.section[s].bytes,
                                   &header.section[s].checksum));
  pd_binary_seal(&header);
  PD_TRY_CLEANUP(ptm_write_write_sections(output, &header, parts.section));
  status = pd_output_commit(output);
  output = NULL;

cleanup:
  pd_output_abort(output);
  pd_free(context, labels);
  return status;
}
