/* Reads a .ptm file in order, so that pipes and compressed files work: the header is proved first,
 * then each section is read, checked against its checksum, and becomes an array of the model. */
#include "io/formats.h"
#include "io/ptm_layout.h"
#include "io/ptn_labels.h"
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

struct reader {
  polyad_context *context;
  struct pd_input *input;
  const char *path;
  struct pd_ptm_header header;
  uint64_t at; /* bytes of the file read so far */
  void *section[PD_PTM_MAX_SECTIONS];
};

/* An early end is a truncated file. */
static polyad_status check_taken(struct reader *r, uint64_t got, uint64_t bytes) {
  r->at += got;
  if (got == bytes) return POLYAD_OK;
  return pd_fail_at(r->context, POLYAD_PARSE, r->path, 0, 0,
                    "the file ends after %" PRIu64 " bytes; expected the %" PRIu64
                    " that its header declares: it is truncated",
                    r->at, r->header.file_bytes);
}

/* Reads exactly `bytes`. */
static polyad_status ptm_read_take(struct reader *r, void *buffer, size_t bytes) {
  size_t got = 0;
  if (bytes > 0 && pd_input_read(r->input, buffer, bytes, &got) != POLYAD_OK)
    return pd_input_error(r->input, 0);
  return check_taken(r, got, bytes);
}

static polyad_status ptm_read_take_header(struct reader *r) {
  size_t got = 0;
  if (pd_input_read(r->input, &r->header, sizeof r->header, &got) != POLYAD_OK)
    return pd_input_error(r->input, 0);
  r->at = got;
  return pd_ptm_header_check(r->context, r->path, &r->header, got, pd_input_plain_size(r->input));
}

/* The zeros between the end of what was read and a section. */
static polyad_status skip_padding(struct reader *r, uint64_t offset) {
  unsigned char padding[PD_PTM_ALIGNMENT];
  size_t size = (size_t)(offset - r->at);
  PD_TRY(ptm_read_take(r, padding, size));
  for (size_t k = 0; k < size; ++k)
    if (padding[k] != 0)
      return pd_fail_at(r->context, POLYAD_PARSE, r->path, 0, 0,
                        "the padding before byte %" PRIu64 " is damaged; expected zeros", offset);
  return POLYAD_OK;
}

static polyad_status take_section(struct reader *r, int s) {
  const struct pd_ptm_section *place = &r->header.section[s];
  char name[32];
  uint64_t checksum, got = 0;
  PD_TRY(skip_padding(r, place->offset));
  PD_TRY(pd_input_load(r->input, place->bytes, &r->section[s], &got));
  PD_TRY(check_taken(r, got, place->bytes));
  PD_TRY(pd_ptm_checksum(r->context, r->section[s], place->bytes, &checksum));
  if (checksum == place->checksum) return POLYAD_OK;
  return pd_fail_at(r->context, POLYAD_PARSE, r->path, 0, 0,
                    "%s: damaged: the checksum does not match",
                    pd_ptm_section_name(name, &r->header, s));
}

static polyad_status check_end(struct reader *r) {
  unsigned char byte;
  size_t got = 0;
  if (pd_input_read(r->input, &byte, 1, &got) != POLYAD_OK) return pd_input_error(r->input, 0);
  if (got == 0) return POLYAD_OK;
  return pd_fail_at(r->context, POLYAD_PARSE, r->path, 0, 0,
                    "surplus bytes follow the %" PRIu64 " that the header declares", r->at);
}

/* ---- from sections to a model -----------------------------------------------------------------
 */

static double ptm_read_entry(const void *array, uint32_t bytes, uint64_t k) {
  return bytes == 4 ? (double)((const float *)array)[k] : ((const double *)array)[k];
}

/* The first entry whose magnitude passes `most` or that is no number; `count` when none is. */
static uint64_t find_bad(const void *array, uint32_t bytes, uint64_t count, double most) {
  for (uint64_t k = 0; k < count; ++k)
    if (!(fabs(ptm_read_entry(array, bytes, k)) <= most)) return k;
  return count;
}

/* Copies a section into an array of the model, in the type that was asked for. */
static polyad_status ptm_read_convert(struct reader *r, int s, polyad_type type, void *to) {
  uint32_t bytes = r->header.value_bytes;
  uint64_t count = r->header.section[s].bytes / bytes;
  const void *from = r->section[s];
  bool narrows = bytes == 8 && type == POLYAD_F32;
  /* Half a unit below the next power of two, a double rounds to the largest float. */
  double most = narrows ? nextafter(0x1.ffffffp127, 0) : DBL_MAX;
  uint64_t bad = find_bad(from, bytes, count, most);
  char name[32];
  if (bad < count)
    return pd_fail_at(r->context, POLYAD_PARSE, r->path, 0, 0,
                      "%s: entry %" PRIu64 " is %g; expected a finite number%s",
                      pd_ptm_section_name(name, &r->header, s), bad + 1,
                      ptm_read_entry(from, bytes, bad),
                      narrows ? " of at most 3.4e38, a float's largest" : "");
  if (bytes == pd_type_bytes(type)) {
    memcpy(to, from, (size_t)(count * bytes));
  } else {
    for (uint64_t k = 0; k < count; ++k)
      if (type == POLYAD_F32)
        ((float *)to)[k] = (float)((const double *)from)[k];
      else
        ((double *)to)[k] = ((const float *)from)[k];
  }
  pd_free(r->context, r->section[s]);
  r->section[s] = NULL;
  return POLYAD_OK;
}

static polyad_status ptm_read_make_model(struct reader *r, struct pd_model_read *model) {
  const struct pd_ptm_header *h = &r->header;
  struct pd_model arrays;
  PD_TRY(pd_model_make(r->context, (int)h->order, h->dims, h->ranks, model, &arrays));
  PD_TRY(ptm_read_convert(r, 0, model->type, arrays.first));
  for (int n = 0; n < arrays.order; ++n)
    PD_TRY(ptm_read_convert(r, 1 + n, model->type, arrays.factor[n]));
  return POLYAD_OK;
}

static polyad_status make_outline(struct reader *r, struct pd_model_read *model) {
  const struct pd_ptm_header *h = &r->header;
  int s = (int)h->order + 1;
  if ((int)h->section_count == s) return POLYAD_OK;
  PD_TRY(pd_model_make_outline(r->context, (int)h->order, h->dims, model));
  return pd_ptn_labels_decode(r->context, r->path, h->section[s].offset, r->section[s],
                              h->section[s].bytes, model->outline);
}

static polyad_status ptm_read_read_all(struct reader *r, struct pd_model_read *model) {
  PD_TRY(ptm_read_take_header(r));
  if ((r->header.kind == PD_PTM_KRUSKAL) != (model->wanted == POLYAD_CONTENTS_KTENSOR))
    return pd_model_fail_kind(r->context, r->path, model);
  for (int s = 0; s < (int)r->header.section_count; ++s)
    PD_TRY(take_section(r, s));
  PD_TRY(check_end(r));
  PD_TRY(ptm_read_make_model(r, model));
  return make_outline(r, model);
}

polyad_status pd_ptm_read(polyad_context *context, struct pd_input *input,
                          struct pd_model_read *model) {
  struct reader *r;
  PD_TRY(pd_binary_host_check(context, &pd_ptm_binary));
  PD_TRY(PD_NEW_ZERO(context, 1, &r));
  r->context = context;
  r->input = input;
  r->path = pd_input_path(input);
  polyad_status status = ptm_read_read_all(r, model);
  for (int s = 0; s < PD_PTM_MAX_SECTIONS; ++s)
    pd_free(context, r->section[s]);
  pd_free(context, r);
  return status;
}

bool pd_ptm_recognise(const unsigned char *head, size_t size) {
  struct pd_ptm_header header;
  (void)pd_ptm_header_make(&header, PD_PTM_KRUSKAL, 1, &(uint64_t){1}, &(uint64_t){1}, POLYAD_F64,
                           0);
  return size >= sizeof header.magic && memcmp(head, header.magic, sizeof header.magic) == 0;
}
