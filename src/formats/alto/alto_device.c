/* Building "alto" on a device: nonzeros are sorted by the pieces of their indices that the key is
 * made of, written as the variant wants them, and listed by the output row of each mode, all
 * there. */
#include "formats/alto/alto_build.h"
#include "formats/sent.h"

/* The pieces of all modes, the highest bits of the key first. */
static struct pd_build_key alto_device_key(const struct pd_alto *alto) {
  struct pd_build_key key = {.pieces = 0};
  for (int end = alto->bits; end > 0;)
    for (int n = 0; n < alto->order; ++n)
      for (int r = 0; r < alto->mode[n].runs; ++r) {
        const struct pd_alto_run *run = &alto->mode[n].run[r];
        if (64 * run->word + run->from + run->bits != end) continue;
        pd_build_key_add(&key, n, run->to, run->to + run->bits);
        end -= run->bits;
      }
  return key;
}

/* Where the words, indices and values go; the second plane has the high words. */
static struct pd_build_planes alto_device_planes(const struct pd_alto *alto) {
  struct pd_build_planes planes = {.output = -1,
                                   .planes = alto->high_bytes > 0 ? 2 : 1,
                                   .padded = alto->nnz,
                                   .plane = {alto->low, alto->high},
                                   .wide = {alto->low_bytes == 8, alto->high_bytes == 8},
                                   .values = alto->values};
  if (alto->decoded) planes.planes = alto->order;
  for (int n = 0; n < alto->order; ++n) {
    if (alto->decoded) {
      planes.plane[n] = alto->index[n];
      pd_build_field_add(&planes, n, 0, pd_index_bits(alto->dims[n]), n, 0);
    }
    for (int r = 0; r < alto->field[n].runs && !alto->decoded; ++r) {
      const struct pd_alto_run *run = &alto->field[n].run[r];
      pd_build_field_add(&planes, n, run->to, run->to + run->bits, run->word, run->from);
    }
  }
  return planes;
}

static polyad_status alto_device_allocate(polyad_context *context, const struct pd_request *request,
                                          struct pd_alto *alto) {
  uint64_t nnz = alto->nnz;
  PD_TRY(pd_sent_allocate(context, request, nnz, pd_type_bytes(alto->type), &alto->values));
  if (alto->low_bytes > 0)
    PD_TRY(pd_sent_allocate(context, request, nnz, (size_t)alto->low_bytes, &alto->low));
  if (alto->high_bytes > 0)
    PD_TRY(pd_sent_allocate(context, request, nnz, (size_t)alto->high_bytes, &alto->high));
  for (int n = 0; n < alto->order && alto->decoded; ++n)
    PD_TRY(pd_sent_allocate(context, request, nnz, (size_t)alto->index_bytes[n], &alto->index[n]));
  return POLYAD_OK;
}

/* The rows of a mode, whose nonzeros keep the order of the keys. */
static polyad_status alto_device_list(polyad_context *context, struct pd_build *build,
                                      const struct pd_request *request, int mode,
                                      struct pd_alto *alto) {
  struct pd_alto_rows *list = &alto->list[mode];
  list->rows = request->traits->nonempty[mode];
  PD_TRY(pd_sent_allocate(context, request, alto->nnz, sizeof *list->order, &list->order));
  PD_TRY(pd_sent_allocate(context, request, list->rows, sizeof *list->row_id, &list->row_id));
  PD_TRY(pd_sent_allocate(context, request, list->rows + 1, sizeof *list->row_start,
                          &list->row_start));
  PD_TRY(pd_sent_allocate(context, request, pd_alto_chunks(alto->nnz) + 1, sizeof *list->chunk_row,
                          &list->chunk_row));
  const struct pd_build_tables tables = {.rows = list->rows,
                                         .row_start = list->row_start,
                                         .row_id = list->row_id,
                                         .chunk_row = list->chunk_row};
  return request->device->functions->build->list(context, build, mode, list->order, &tables);
}

polyad_status pd_alto_fill_there(polyad_context *context, struct pd_build *build,
                                 const polyad_tensor *tensor, const struct pd_request *request,
                                 void *storage) {
  (void)tensor;
  const struct pd_device_build *steps = request->device->functions->build;
  struct pd_alto *alto = storage;
  const struct pd_build_key key = alto_device_key(alto);
  PD_TRY(alto_device_allocate(context, request, alto));
  const struct pd_build_planes planes = alto_device_planes(alto);
  PD_TRY(steps->sort(context, build, &key));
  PD_TRY(steps->gather(context, build, &planes));
  for (int n = 0; n < alto->order && alto->lists; ++n)
    PD_TRY(alto_device_list(context, build, request, n, alto));
  return POLYAD_OK;
}
