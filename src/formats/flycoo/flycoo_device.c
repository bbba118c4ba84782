/* Building "flycoo" on a device. The sizes of the output rows come to the host, which deals the
 * rows to partitions or numbers them; what each row got goes there. Nonzeros are sorted, packed and
 * numbered there: elements in the order of mode 0, then for each mode their place in its order. */
#include "formats/flycoo/flycoo_deal.h"
#include "formats/sent.h"

/* What building works on. */
struct job {
  const struct pd_device *device;
  const struct pd_device_build *steps;
  const struct pd_request *request;
  struct pd_build *build;
  struct pd_flycoo *storage;
  struct pd_flycoo_deal deal;
  uint32_t *table; /* on the device: of each row of a mode, its place or its partition */
  uint32_t *place; /* on the device: of each nonzero, its place in the order of mode 0 */
};

static polyad_status deal_mode(polyad_context *context, struct job *job, int mode) {
  const struct pd_device_functions *functions = job->device->functions;
  struct pd_flycoo *storage = job->storage;
  PD_TRY(job->steps->degrees(context, job->build, mode, job->deal.degree));
  PD_TRY(pd_flycoo_deal_rows(context, storage, mode, &job->deal));
  if (storage->dealt) {
    uint64_t **start = &storage->mode[mode].part_start, starts = (uint64_t)storage->partitions + 1;
    PD_TRY(pd_sent_allocate(context, job->request, starts, sizeof **start, start));
    PD_TRY(
        functions->copy_in(context, job->device, *start, job->deal.start, starts * sizeof **start));
  }
  const uint32_t *dealt = storage->sorted ? job->deal.place : job->deal.part;
  PD_TRY(functions->copy_in(context, job->device, job->table, dealt,
                            storage->dims[mode] * sizeof *dealt));
  /* The arrays of the host are used again for the next mode. */
  return functions->synchronize(context, job->device);
}

/* By partition, and in the default variants by row and inputs. */
static polyad_status order_mode_there(polyad_context *context, struct job *job, int mode) {
  const struct pd_flycoo *storage = job->storage;
  const struct pd_ordered *order = &storage->mode[mode].order;
  struct pd_build_key key = {.pieces = 0};
  uint64_t dealt =
      storage->sorted ? job->request->traits->nonempty[mode] : (uint64_t)storage->partitions;
  pd_build_key_add(&key, mode, 0, pd_index_bits(dealt));
  if (key.pieces > 0) key.table = job->table;
  for (int k = 0; k < order->inputs && storage->sorted; ++k)
    pd_build_key_add(&key, order->input[k], 0, pd_index_bits(storage->dims[order->input[k]]));
  return job->steps->sort(context, job->build, &key);
}

/* Values and indices, in the order of mode 0; zeros for the rest, behind the last element too. */
static polyad_status write_elements_there(polyad_context *context, const struct job *job) {
  const struct pd_flycoo *storage = job->storage;
  const struct pd_flycoo_packing *packing = &storage->packing;
  uint32_t *elements = storage->elements[0];
  int value_words = (int)pd_type_bytes(storage->type) / 4;
  struct pd_build_planes planes = {.output = -1,
                                   .planes = packing->words - value_words,
                                   .padded = storage->nnz,
                                   .step = packing->words,
                                   .values = elements};
  for (int k = 0; k < planes.planes; ++k)
    planes.plane[k] = elements + value_words + k;
  for (int n = 0; n < storage->order; ++n) {
    const struct pd_flycoo_field *field = &packing->index[n];
    int room = 32 - field->shift, low = field->bits < room ? field->bits : room;
    pd_build_field_add(&planes, n, 0, low, field->word - value_words, field->shift);
    pd_build_field_add(&planes, n, low, field->bits, field->word + 1 - value_words, 0);
  }
  uint64_t words = pd_flycoo_copy_bytes(storage) / 4;
  PD_TRY(job->device->functions->fill_zero(context, job->device, elements + words - 4, 16));
  return job->steps->gather(context, job->build, &planes);
}

/* The rows of a mode, in the order that was found last. */
static polyad_status write_rows_there(polyad_context *context, const struct job *job, int mode) {
  struct pd_ordered *order = &job->storage->mode[mode].order;
  const struct pd_build_planes none = {.output = mode, .padded = job->storage->nnz};
  struct pd_build_tables tables;
  order->has_row_id = true;
  PD_TRY(pd_ordered_tables_there(context, job->request, mode, false, order, &tables));
  for (int k = 0; k + 1 < order->inputs; ++k)
    tables.outer[tables.outers++] = order->input[k];
  PD_TRY(job->steps->gather(context, job->build, &none));
  return job->steps->tables(context, job->build, &none, &tables);
}

static polyad_status build_mode(polyad_context *context, struct job *job, int mode) {
  struct pd_flycoo *storage = job->storage;
  struct pd_ordered *order = &storage->mode[mode].order;
  const struct pd_flycoo_field *field = &storage->packing.remap[mode];
  const struct pd_build_slot own = {job->place, 1, 0, 32};
  PD_TRY(deal_mode(context, job, mode));
  if (storage->sorted)
    PD_TRY(pd_ordered_inputs_there(context, job->build, job->request, mode, true, order));
  for (int n = 0; n < storage->order && !storage->sorted; ++n)
    if (n != mode) order->input[order->inputs++] = n;
  PD_TRY(order_mode_there(context, job, mode));
  if (mode == 0) {
    PD_TRY(write_elements_there(context, job));
    PD_TRY(job->steps->number(context, job->build, NULL, &own));
  }
  const struct pd_build_slot remap = {storage->elements[0] + field->word, storage->packing.words,
                                      field->shift, field->bits};
  PD_TRY(job->steps->number(context, job->build, job->place, &remap));
  return storage->sorted ? write_rows_there(context, job, mode) : POLYAD_OK;
}

polyad_status pd_flycoo_fill_there(polyad_context *context, struct pd_build *build,
                                   const polyad_tensor *tensor, const struct pd_request *request,
                                   void *pointer) {
  (void)tensor;
  struct pd_flycoo *storage = pointer;
  const struct pd_device *device = request->device;
  struct job job = {.device = device,
                    .steps = device->functions->build,
                    .request = request,
                    .build = build,
                    .storage = storage};
  polyad_status status = POLYAD_OK;
  uint64_t longest = pd_longest(storage->order, storage->dims);
  PD_TRY_CLEANUP(
      pd_sent_allocate(context, request, pd_flycoo_copy_bytes(storage), 1, &storage->elements[0]));
  PD_TRY_CLEANUP(pd_flycoo_deal_create(context, storage, &job.deal));
  PD_TRY_CLEANUP(pd_sent_allocate(context, request, longest, sizeof *job.table, &job.table));
  PD_TRY_CLEANUP(pd_sent_allocate(context, request, storage->nnz, sizeof *job.place, &job.place));
  PD_TRY_CLEANUP(
      device->functions->fill_zero(context, device, job.place, storage->nnz * sizeof *job.place));
  for (int mode = 0; mode < storage->order; ++mode)
    PD_TRY_CLEANUP(build_mode(context, &job, mode));
cleanup:
  if (job.place != NULL) device->functions->release(context, device, job.place);
  if (job.table != NULL) device->functions->release(context, device, job.table);
  pd_flycoo_deal_clear(context, &job.deal);
  return status;
}
