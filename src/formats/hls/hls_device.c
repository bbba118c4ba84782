/* Building "hls" on a device: nonzeros are sorted by tile and cell, tiles are told apart by their
 * sizes, and indices, bitmaps and values are written from the places of what is dense and of the
 * rest. */
#include "formats/hls/hls_layout.h"
#include "formats/sent.h"

enum { CELL_BITS = 4 /* of an index in a mode that a tile spans */ };

uint64_t pd_hls_bytes_there(const struct pd_traits *traits, const struct pd_request *request,
                            uint64_t storage_bytes) {
  int threshold = pd_hls_threshold_of(request);
  uint64_t bytes = pd_sent_bytes_there(traits, request, storage_bytes);
  if (bytes == 0 || threshold > PD_HLS_CELLS) return bytes;
  /* Where tiles begin, and the places of what is dense and of the rest; the tiles themselves. */
  uint64_t tiles = traits->nnz / (uint64_t)threshold + 1, places = 2 * traits->nnz + 1 + tiles;
  return pd_add_saturated(
      bytes, pd_add_saturated(pd_mul_saturated(places, 4), pd_mul_saturated(tiles, 560)));
}

/* The first bit of an index that names the tile. */
static int tile_from(const struct pd_hls *hls, int mode) {
  int bits = pd_index_bits(hls->dims[mode]);
  if (hls->place[mode] < 0) return 0;
  return bits < CELL_BITS ? bits : CELL_BITS;
}

static struct pd_build_key hls_tile_key(const struct pd_hls *hls) {
  struct pd_build_key key = {.pieces = 0};
  for (int n = 0; n < hls->order; ++n)
    pd_build_key_add(&key, n, tile_from(hls, n), pd_index_bits(hls->dims[n]));
  return key;
}

/* Tile, then cell. */
static struct pd_build_key hls_sort_key(const struct pd_hls *hls) {
  struct pd_build_key key = hls_tile_key(hls);
  for (int k = 0; k < PD_HLS_SPAN; ++k)
    pd_build_key_add(&key, hls->span[k], 0, tile_from(hls, hls->span[k]));
  return key;
}

/* The bit of a cell in its tile's bitmap: four of each mode, of which a short one has fewer. */
static void hls_cell_fields(const struct pd_hls *hls, struct pd_build_planes *cell) {
  for (int k = 0; k < PD_HLS_SPAN; ++k)
    pd_build_field_add(cell, hls->span[k], 0, tile_from(hls, hls->span[k]), 0,
                       CELL_BITS * (PD_HLS_SPAN - 1 - k));
}

/* What building works on. */
struct job {
  const struct pd_device_build *steps;
  const struct pd_request *request;
  struct pd_build *build;
  struct pd_hls *hls;
  struct pd_build_parts parts;
};

static polyad_status write_values(polyad_context *context, const struct job *job,
                                  const uint32_t *place, uint64_t count, void **values) {
  const struct pd_hls *hls = job->hls;
  PD_TRY(pd_sent_allocate(context, job->request, count, pd_hls_value_bytes(hls->value), values));
  const struct pd_build_planes planes = {.output = -1,
                                         .padded = count,
                                         .place = place,
                                         .values = *values,
                                         .converts = true,
                                         .number = (int)hls->value,
                                         .exponent = hls->exponent};
  return job->steps->gather(context, job->build, &planes);
}

/* Indices bit by bit: of tiles, or of single nonzeros. */
static polyad_status write_indices(polyad_context *context, const struct job *job, bool tiles,
                                   const uint32_t *place, uint64_t count, uint32_t **indices) {
  const struct pd_hls *hls = job->hls;
  struct pd_build_planes items = {.output = -1, .padded = count, .place = place};
  int bits = tiles ? hls->tile_linear_bits : hls->linear_bits;
  uint64_t words = pd_hls_packed_words(count, bits);
  PD_TRY(pd_sent_allocate(context, job->request, words, sizeof **indices, indices));
  items.plane[0] = *indices;
  for (int n = 0; n < hls->order; ++n)
    pd_build_field_add(&items, n, tiles ? tile_from(hls, n) : 0, pd_index_bits(hls->dims[n]), 0,
                       tiles ? hls->tile_shift[n] : hls->shift[n]);
  return job->steps->pack(context, job->build, &items, bits, words);
}

static polyad_status write_tiles(polyad_context *context, struct job *job) {
  struct pd_hls *hls = job->hls;
  struct pd_build_planes cell = {.output = -1};
  uint64_t words = hls->tiles * PD_HLS_WORDS;
  hls_cell_fields(hls, &cell);
  PD_TRY(write_indices(context, job, true, job->parts.first, hls->tiles, &hls->b_inds));
  PD_TRY(pd_sent_allocate(context, job->request, words, sizeof *hls->b_bmp, &hls->b_bmp));
  PD_TRY(job->steps->bitmaps(context, job->build, &job->parts, &cell, PD_HLS_WORDS, hls->b_bmp));
  return write_values(context, job, job->parts.in, hls->dense_nnz, &hls->b_vals);
}

/* Which tiles are dense. Where none can be, nobody looks. */
static polyad_status classify_there(polyad_context *context, struct job *job) {
  const struct pd_device *device = job->request->device;
  struct pd_hls *hls = job->hls;
  struct pd_build_parts *parts = &job->parts;
  const struct pd_build_key tile = hls_tile_key(hls);
  if (hls->threshold <= PD_HLS_CELLS) {
    PD_TRY(job->steps->split(context, job->build, &tile, (uint32_t)hls->threshold, parts));
  } else {
    PD_TRY(pd_sent_allocate(context, job->request, 1, sizeof *parts->begin, &parts->begin));
    PD_TRY(device->functions->fill_zero(context, device, parts->begin, sizeof *parts->begin));
  }
  hls->tiles = parts->runs;
  hls->dense_nnz = parts->large;
  hls->sparse_nnz = hls->nnz - parts->large;
  hls->b_vals_ptr = parts->begin;
  return POLYAD_OK;
}

/* Frees what the storage does not keep. */
static void hls_clear_parts(polyad_context *context, const struct pd_device *device,
                            const struct pd_hls *hls, const struct pd_build_parts *parts) {
  uint32_t *own = hls->b_vals_ptr == parts->begin ? NULL : parts->begin;
  uint32_t *arrays[] = {parts->first, own, parts->in, parts->rest};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k)
    if (arrays[k] != NULL) device->functions->release(context, device, arrays[k]);
}

polyad_status pd_hls_fill_there(polyad_context *context, struct pd_build *build,
                                const polyad_tensor *tensor, const struct pd_request *request,
                                void *storage) {
  (void)tensor;
  const struct pd_device *device = request->device;
  struct job job = {device->functions->build, request, build, storage, {0}};
  struct pd_hls *hls = storage;
  polyad_status status = POLYAD_OK;
  const struct pd_build_key key = hls_sort_key(hls);
  double most = 0;
  if (pd_hls_scales(hls)) PD_TRY(job.steps->largest(context, build, &most));
  pd_hls_set_scale(hls, most);
  PD_TRY(job.steps->sort(context, build, &key));
  PD_TRY_CLEANUP(classify_there(context, &job));
  PD_TRY_CLEANUP(write_tiles(context, &job));
  PD_TRY_CLEANUP(
      write_indices(context, &job, false, job.parts.rest, hls->sparse_nnz, &hls->nnz_inds));
  PD_TRY_CLEANUP(write_values(context, &job, job.parts.rest, hls->sparse_nnz, &hls->nnz_vals));
cleanup:
  hls_clear_parts(context, device, hls, &job.parts);
  return status;
}
