/* Choosing, describing and sizing "hls". */
#include "build/sorted.h"
#include "device/device_registry.h"
#include "formats/hls/hls_layout.h"
#include "formats/storage.h"
#include "formats/tables.h"
#include <stdio.h>
#include <string.h>

struct pd_hls_scheme pd_hls_scheme_of(const char *variant) {
  struct pd_hls_scheme scheme = {.atomic = strncmp(variant, "paper", 5) == 0,
                                 .sequential = strstr(variant, "sequential") != NULL,
                                 .diagonal = strstr(variant, "diagonal") != NULL};
  if (scheme.atomic) scheme.diagonal = true;
  return scheme;
}

int pd_hls_capability(const struct pd_device *device) {
  polyad_device_description about;
  if (device == NULL) return 0;
  pd_device_describe(device, &about);
  return (int)(10 * atof(about.capability) + 0.5);
}

static bool hls_on_gpu(const struct pd_request *request) {
  return request->device != NULL && strcmp(request->device->kind, "cuda") == 0;
}

static bool hls_supports(const struct pd_traits *traits, const struct pd_request *request,
                         char reason[PD_REASON_BYTES]) {
  if (!pd_supports_32_bits(traits, request, UINT32_MAX, reason)) return false;
  if (!hls_on_gpu(request)) return true;
  if (request->compute == POLYAD_COMPUTE_NATIVE && request->precision == POLYAD_F64 &&
      pd_hls_scheme_of(request->variant).atomic) {
    snprintf(reason, PD_REASON_BYTES,
             "variant %.30s adds in float; expected --precision f32 or a compute type",
             request->variant);
    return false;
  }
  int capability = pd_hls_capability(request->device);
  if (capability < 80 &&
      (request->compute == POLYAD_COMPUTE_BF16 || request->compute == POLYAD_COMPUTE_TF32)) {
    snprintf(reason, PD_REASON_BYTES,
             "the GPU has compute capability %d.%d; bf16 and tf32 need 8.0, f16 7.5",
             capability / 10, capability % 10);
    return false;
  }
  return true;
}

static void hls_arrays(void *storage, struct pd_arrays *arrays) {
  struct pd_hls *hls = storage;
  size_t value = pd_hls_value_bytes(hls->value);
  pd_show_array(arrays, &hls->b_inds, pd_hls_packed_words(hls->tiles, hls->tile_linear_bits),
                sizeof *hls->b_inds, PD_ARRAY_DECODED);
  pd_show_array(arrays, &hls->b_bmp, hls->tiles * PD_HLS_WORDS, sizeof *hls->b_bmp,
                PD_ARRAY_DECODED);
  pd_show_array(arrays, &hls->b_vals_ptr, hls->tiles + 1, sizeof *hls->b_vals_ptr,
                PD_ARRAY_DECODED);
  pd_show_array(arrays, &hls->b_vals, hls->dense_nnz, value, PD_ARRAY_DECODED);
  pd_show_array(arrays, &hls->nnz_inds, pd_hls_packed_words(hls->sparse_nnz, hls->linear_bits),
                sizeof *hls->nnz_inds, PD_ARRAY_DECODED);
  pd_show_array(arrays, &hls->nnz_vals, hls->sparse_nnz, value, PD_ARRAY_DECODED);
}

/* As if no tile were dense, which only the nonzeros tell; building is bounded by tiles that just
 * reach the threshold. */
static void hls_estimate_bytes(const struct pd_traits *traits, const struct pd_request *request,
                               uint64_t *storage, uint64_t *building) {
  struct pd_hls like = {.order = traits->order, .span = {0, 1, 2}, .type = request->precision};
  memcpy(like.dims, traits->dims, sizeof like.dims);
  pd_hls_set_bits(&like);
  like.nnz = like.sparse_nnz = traits->nnz;
  like.value = pd_hls_value_for(request->compute, request->precision);
  *storage = pd_storage_bytes(&pd_hls_format, &like);
  int threshold = pd_parameter(request, PD_HLS_TILE_THRESHOLD, PD_HLS_THRESHOLD_TTMC_OLD);
  uint64_t tile = PD_HLS_CELLS / 8 + 16;
  uint64_t tiles = pd_mul_saturated(traits->nnz / (uint64_t)threshold + 1, tile);
  /* The nonzeros by tiles, and the list of single ones. */
  uint64_t sorting = pd_add_saturated(pd_mul_saturated(traits->nnz, 4),
                                      pd_sorted_bytes(traits->order, traits->dims, traits->nnz,
                                                      request->precision, request->threads));
  *building = pd_add_saturated(pd_add_saturated(*storage, tiles), sorting);
}

static double hls_estimate_seconds(const struct pd_traits *traits,
                                   const struct pd_request *request) {
  double row = (double)(request->rank * pd_type_bytes(request->precision));
  double bytes = (double)traits->nnz * traits->order * ((traits->order - 1) * row + 12);
  if (hls_on_gpu(request)) return 4e-5 * traits->order + bytes / 4e12;
  return bytes / (5e9 * request->threads);
}

double pd_hls_formula_bytes(const struct pd_hls *hls) {
  double bits = (double)hls->sparse_nnz * hls->linear_bits +
                (double)hls->tiles * (hls->tile_linear_bits + PD_HLS_CELLS) +
                (double)hls->nnz * 8 * (double)pd_hls_value_bytes(hls->value);
  return bits / 8;
}

static void hls_describe(const void *pointer, int first_mode, char text[PD_REASON_BYTES]) {
  static const char *const names[] = {"f16", "bf16", "f32", "f64"};
  const struct pd_hls *hls = pointer;
  int at =
      snprintf(text, PD_REASON_BYTES,
               "%llu dense tiles over modes %d, %d and %d with %llu of %llu nonzeros "
               "(threshold %d), %s values",
               (unsigned long long)hls->tiles, hls->span[0] + first_mode, hls->span[1] + first_mode,
               hls->span[2] + first_mode, (unsigned long long)hls->dense_nnz,
               (unsigned long long)hls->nnz, hls->threshold, names[hls->value]);
  if (hls->exponent != 0)
    snprintf(text + at, (size_t)(PD_REASON_BYTES - at), " times 2^%d", hls->exponent);
}

static polyad_status hls_build(polyad_context *context, polyad_tensor *tensor, bool take,
                               const struct pd_request *request, void *storage) {
  (void)take, (void)request; /* tiles and nonzeros are gathered from all of the tensor's arrays */
  return pd_hls_fill(context, tensor, storage);
}

static const int thresholds[] = {16, 24, 40, 56, 120, 200, PD_HLS_ALL_SPARSE, 0};
static const struct pd_parameter parameters[] = {
    [PD_HLS_TILE_THRESHOLD] = {.about = {.name = "tile-threshold",
                                         .help = "nonzeros that make a tile of 16 x 16 x 16 cells "
                                                 "dense: by default 78 for MTTKRP and "
                                                 "82 for tensor-times-matrix chains, before "
                                                 "compute capability 8.0 61 and 41; 4097: "
                                                 "none is",
                                         .least = 1,
                                         .most = PD_HLS_ALL_SPARSE},
                               .trials = thresholds}};

const struct polyad_format pd_hls_format = {
    .name = "hls",
    .summary = "Dense tiles as bitmaps for tensor cores, other nonzeros linearised; one copy",
    .paper = "H. Wang, W. Yang, R. Hu, R. Ouyang, K. Li and K. Li, A Novel Parallel Algorithm for "
             "Sparse Tensor Matrix Chain Multiplication via TCU-Acceleration",
    .variants = "auto sequential diagonal paper paper-sequential",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof *parameters,
    .min_order = PD_HLS_MIN_ORDER,
    .max_order = PD_HLS_MAX_ORDER,
    .fiberless = true,
    .reduced = true,
    .supports = hls_supports,
    .estimate_bytes = hls_estimate_bytes,
    .estimate_seconds = hls_estimate_seconds,
    .header_bytes = sizeof(struct pd_hls),
    .arrays = hls_arrays,
    .begin = pd_hls_begin,
    .build_there = pd_hls_fill_there,
    .bytes_there = pd_hls_bytes_there,
    .build = hls_build,
    .check = pd_hls_check,
    .decode = pd_hls_decode,
    .describe = hls_describe,
};
