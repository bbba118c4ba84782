/* Format "hls" without a GPU: half precision, packed indices, tiles, thresholds, bytes, expanding,
 * damage, kernels of the CPU on dense, sparse and mixed tensors. */
#include "core/random.h"
#include "formats/tables.h"
#include "harness.h"
#include "oracle/rounding.h"
#include "oracle/ttmc_oracle.h"
#include "unit/format_fixture.h"
#include "unit/hls_fixture.h"
#include <float.h>
#include <math.h>
#include <polyad/polyad.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct pd_hls *build(polyad_context *context, polyad_tensor *tensor, polyad_compute compute,
                            int threshold) {
  struct pd_request request = {.variant = "auto",
                               .rank = 5,
                               .precision = polyad_tensor_type(tensor),
                               .threads = polyad_threads(context),
                               .compute = compute,
                               .parameter = {[PD_HLS_TILE_THRESHOLD] = threshold}};
  void *storage = NULL;
  assert_int_equal(pd_device_of(context, &request.device), POLYAD_OK);
  uint64_t before = polyad_memory_in_use(context);
  if (pd_storage_build(context, &pd_hls_format, tensor, false, &request, &storage) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(context));
  uint64_t headers =
      polyad_memory_in_use(context) - before - pd_storage_bytes(&pd_hls_format, storage);
  /* What is counted is what was allocated, besides seven headers; that of 2 MiB is a page. */
  assert_true(headers >= 7 * 64 && (headers - 7 * 64) % (4096 - 64) == 0);
  fixture_check(context, &pd_hls_format, storage, POLYAD_OK);
  return storage;
}

static void half_precision_rounds_to_nearest(void **state) {
  (void)state;
  static const struct {
    double x;
    uint16_t half;
  } known[] = {{0, 0},
               {-0.0, 0x8000},
               {1, 0x3c00},
               {-2, 0xc000},
               {65504, 0x7bff},
               {65519, 0x7bff},
               {65520, 0x7c00},
               {0x1p-14, 0x0400},
               {0x1p-24, 1},
               {0x1p-25, 0},
               {0x1.8p-24, 2},
               {1 + 0x1p-11, 0x3c00},
               {1.5, 0x3e00},
               {1 + 0x1p-10, 0x3c01},
               {1 + 0x1.8p-10, 0x3c02},
               {2 - 0x1p-12, 0x4000},
               {0x1p-14 - 0x1p-26, 0x0400}};
  for (size_t k = 0; k < sizeof known / sizeof *known; ++k)
    assert_int_equal(pd_half_of(known[k].x), known[k].half);
  for (uint32_t half = 0; half < 0x7c00; ++half) /* every finite number comes back */
    assert_int_equal(pd_half_of((double)pd_float_of_half((uint16_t)half)), half);
  for (uint64_t k = 0; k < 1000; ++k) {
    float x = (float)(pd_random_uniform(1, 1, k) * 2 - 1);
    double half = (double)pd_float_of_half(pd_half_of((double)x));
    assert_true(fabs(half - (double)x) <= 0x1p-11 * fabs((double)x) + 0x1p-25);
    assert_true(fabsf(pd_float_of_bfloat(pd_bfloat_of(x)) - x) <= 0x1p-8F * fabsf(x));
    assert_true(fabsf(pd_tf32_of(x) - x) <= 0x1p-11F * fabsf(x));
  }
}

/* Floats of any bits, and those in the middle between two numbers of a type and next to it. */
static float any_float(uint64_t k) {
  uint32_t bits = (uint32_t)pd_random_u64(7, 1, k);
  static const uint32_t kept[] = {0xffffffff, 0xffff8000, 0xffff0000, 0xfffff000, 0xffffe000};
  bits = (bits & kept[k % 5]) + (uint32_t)(k / 5 % 3) - 1; /* -1, 0 or 1 unit in the last place */
  if (k % 2 == 0)
    bits = (bits & 0x807fffff) | (uint32_t)(100 + k / 2 % 46) << 23; /* half's sizes */
  return pd_float_of_bits(bits);
}

static void conversions_are_the_oracle_s(void **state) {
  (void)state;
  for (uint64_t k = 0; k < 300000; ++k) {
    float x = any_float(k);
    const float found[] = {pd_float_of_half(pd_half_of((double)x)),
                           pd_float_of_bfloat(pd_bfloat_of(x)), pd_tf32_of(x)};
    const float expected[] = {rounding_of(POLYAD_COMPUTE_F16, x),
                              rounding_of(POLYAD_COMPUTE_BF16, x),
                              rounding_of(POLYAD_COMPUTE_TF32, x)};
    for (int type = 0; type < 3; ++type)
      if (isnan(x) ? !isnan(found[type])
                   : pd_bits_of_float(found[type]) != pd_bits_of_float(expected[type]))
        fail_msg("type %d of %a: %a found, expected %a", type, (double)x, (double)found[type],
                 (double)expected[type]);
  }
}

static void packed_numbers_come_back(void **state) {
  (void)state;
  uint32_t words[80];
  for (int width = 0; width <= 32; ++width) {
    memset(words, 0, sizeof words);
    uint64_t mask = (UINT64_C(1) << width) - 1;
    for (uint64_t k = 0; k < 64; ++k)
      pd_hls_put(words, 3 + k * (uint64_t)width, width, (uint32_t)(pd_random_u64(1, 2, k) & mask));
    for (uint64_t k = 0; k < 64; ++k)
      assert_int_equal(pd_hls_get(words, 3 + k * (uint64_t)width, width),
                       pd_random_u64(1, 2, k) & mask);
  }
}

/* Threads pack 32 numbers each, which fill whole words: what has no bits, an index of a mode of
 * length one behind the last of them, must not write to the next thread's first word. */
static void numbers_without_bits_write_nothing(void **state) {
  (void)state;
  enum { WORDS = 6 };
  uint32_t *words = calloc(WORDS, sizeof *words); /* the sanitizer sees what lies behind */
  assert_non_null(words);
  pd_hls_put(words, (uint64_t)WORDS * 32, 0, 0);
  for (int w = 0; w < WORDS; ++w)
    assert_int_equal(words[w], 0);
  free(words);
}

/* The example of figures 3 and 4: widths and linear indices; places of cells. */
static void indices_are_linear(void **state) {
  (void)state;
  struct pd_hls hls = {.order = 3, .dims = {6, 4, 4}, .span = {0, 1, 2}};
  pd_hls_set_bits(&hls);
  assert_int_equal(hls.linear_bits, 3 + 2 + 2);
  uint32_t words[3] = {0};
  const uint32_t index[] = {1, 3, 3};
  for (int n = 0; n < 3; ++n)
    pd_hls_put(words, (uint64_t)hls.shift[n], hls.bits[n], index[n]);
  assert_int_equal(words[0], 0x1f); /* 001 11 11 */
  for (uint32_t bit = 0; bit < PD_HLS_CELLS; ++bit) {
    uint32_t a = bit / 256, b = bit / 16 % 16, c = bit % 16;
    assert_int_equal(pd_hls_cell(0, bit), a * 256 + c * 16 + b);
    assert_int_equal(pd_hls_cell(1, bit), b * 256 + c * 16 + a);
    assert_int_equal(pd_hls_cell(2, bit), c * 256 + b * 16 + a);
    for (int output = 0; output < 3; ++output) {
      struct pd_hls_steps steps = pd_hls_steps_of(output);
      for (uint32_t first = bit / 32 * 32; first <= bit; first += 16) /* whole and half words */
        assert_int_equal(pd_hls_cell(output, bit), pd_hls_cell(output, first) +
                                                       (bit - first) % 16 * steps.next +
                                                       (bit - first) / 16 * steps.half);
    }
  }
}

static void tiles_are_dense_from_the_threshold_on(void **state) {
  (void)state;
  polyad_context *context = cpu_context(3);
  const struct mixture one = {3, {16, 16, 16}, 1, 3000, 0};
  polyad_tensor *tensor = mixture_tensor(context, &one, POLYAD_F64);
  int nnz = (int)polyad_tensor_nnz(tensor);
  for (int threshold = nnz - 1; threshold <= nnz + 1; ++threshold) {
    struct pd_hls *hls = build(context, tensor, POLYAD_COMPUTE_NATIVE, threshold);
    assert_int_equal(hls->tiles, threshold <= nnz);
    assert_int_equal(hls->dense_nnz, threshold <= nnz ? nnz : 0);
    pd_storage_free(context, &pd_hls_format, hls);
  }
  struct pd_hls *hls = build(context, tensor, POLYAD_COMPUTE_F16, 0);
  assert_int_equal(hls->threshold, PD_HLS_THRESHOLD_MTTKRP);
  pd_storage_free(context, &pd_hls_format, hls);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* Every order, some thresholds and types: valid, and expands to the tensor that was stored. */
static void storages_hold_the_tensor(void **state) {
  (void)state;
  static const int thresholds[] = {1, 40, 78, 600, PD_HLS_ALL_SPARSE};
  for (int m = 0; m < mixture_count; ++m)
    for (int k = 0; k < 5; ++k) {
      polyad_context *context = cpu_context(1 + m % 4);
      polyad_tensor *tensor =
          mixture_tensor(context, &mixtures[m], k % 2 ? POLYAD_F32 : POLYAD_F64);
      struct pd_hls *hls = build(context, tensor, POLYAD_COMPUTE_NATIVE, thresholds[k]);
      if (thresholds[k] == 1) assert_int_equal(hls->sparse_nnz, 0);
      if (thresholds[k] == PD_HLS_ALL_SPARSE) assert_int_equal(hls->tiles, 0);
      if (thresholds[k] == 78) { /* the dense tiles lie over the first three modes */
        assert_true(hls->tiles > 0);
        assert_int_equal(hls->span[0] + hls->span[1] + hls->span[2], 3);
      }
      polyad_tensor *again = NULL;
      assert_int_equal(pd_storage_expand(context, &pd_hls_format, hls, tensor, &again), POLYAD_OK);
      assert_int_equal(polyad_tensor_hash(again), polyad_tensor_hash(tensor));
      assert_int_equal(polyad_tensor_nnz(again), polyad_tensor_nnz(tensor));
      polyad_tensor_destroy(again);
      polyad_tensor_destroy(tensor);
      pd_storage_free(context, &pd_hls_format, hls);
      context_end(context);
    }
}

static void threads_build_the_same(void **state) {
  (void)state;
  static const struct mixture large = {4, {200, 150, 100, 5}, 60, 700, 30000};
  struct pd_hls *made[2];
  polyad_context *context[2];
  for (int k = 0; k < 2; ++k) {
    context[k] = cpu_context(k == 0 ? 1 : 7);
    polyad_tensor *tensor = mixture_tensor(context[k], &large, POLYAD_F32);
    made[k] = build(context[k], tensor, POLYAD_COMPUTE_F16, 60);
    polyad_tensor_destroy(tensor);
  }
  const struct pd_hls *a = made[0], *b = made[1];
  assert_int_equal(a->tiles, b->tiles);
  assert_memory_equal(a->b_inds, b->b_inds, 4 * pd_hls_packed_words(a->tiles, a->tile_linear_bits));
  assert_memory_equal(a->b_bmp, b->b_bmp, 4 * PD_HLS_WORDS * a->tiles);
  assert_memory_equal(a->b_vals_ptr, b->b_vals_ptr, 4 * (a->tiles + 1));
  assert_memory_equal(a->b_vals, b->b_vals, 2 * a->dense_nnz);
  assert_memory_equal(a->nnz_inds, b->nnz_inds,
                      4 * pd_hls_packed_words(a->sparse_nnz, a->linear_bits));
  assert_memory_equal(a->nnz_vals, b->nnz_vals, 2 * a->sparse_nnz);
  for (int k = 0; k < 2; ++k) {
    pd_storage_free(context[k], &pd_hls_format, made[k]);
    context_end(context[k]);
  }
}

/* Values that half precision cannot hold as they are: scaled by a power of two. */
static void values_are_scaled_into_half(void **state) {
  (void)state;
  static const double sizes[] = {1, 1e-30, 1e30, 70000};
  for (int k = 0; k < 4; ++k) {
    polyad_context *context = cpu_context(2);
    polyad_tensor *tensor = mixture_tensor(context, &mixtures[0], POLYAD_F64), *again = NULL;
    for (uint64_t p = 0; p < tensor->nnz; ++p)
      ((double *)tensor->values)[p] *= sizes[k];
    struct pd_hls *hls = build(context, tensor, POLYAD_COMPUTE_F16, 78);
    assert_int_equal(pd_storage_expand(context, &pd_hls_format, hls, tensor, &again), POLYAD_OK);
    assert_int_equal(again->nnz, tensor->nnz);
    for (uint64_t p = 0; p < tensor->nnz; ++p) {
      double x = pd_tensor_value(tensor, p), y = pd_tensor_value(again, p);
      assert_true(fabs(x - y) <= 0x1p-11 * fabs(x));
    }
    polyad_tensor_destroy(again);
    polyad_tensor_destroy(tensor);
    pd_storage_free(context, &pd_hls_format, hls);
    context_end(context);
  }
}

/* Equation 16 for the tensors of the paper (large ones scaled): within five percent, offsets
 * included, and less than HLS-S and COO as section VII-B says. */
static void bytes_follow_the_formula(void **state) {
  (void)state;
  static const char *const names[] = {"movies", "art", "book", "g1", "g2", "g3"};
  static const double scale[] = {0.05, 1, 1, 0.05, 0.05, 0.05};
  double less_sparse = 0, less_coo = 0;
  for (int k = 0; k < 6; ++k) {
    polyad_context *context = cpu_context(2);
    polyad_generate_options options;
    polyad_generate_options_init(&options);
    options.like = names[k];
    options.scale = scale[k];
    options.type = POLYAD_F32;
    polyad_tensor *tensor = NULL;
    assert_int_equal(polyad_generate(context, &options, &tensor, NULL), POLYAD_OK);
    struct pd_hls *hls = build(context, tensor, POLYAD_COMPUTE_F16, PD_HLS_THRESHOLD_TTMC);
    struct pd_hls *sparse = build(context, tensor, POLYAD_COMPUTE_F16, PD_HLS_ALL_SPARSE);
    double bytes = (double)pd_storage_bytes(&pd_hls_format, hls),
           formula = pd_hls_formula_bytes(hls);
    assert_true(bytes >= formula && bytes <= 1.05 * formula);
    less_sparse += 1 - bytes / (double)pd_storage_bytes(&pd_hls_format, sparse);
    less_coo += 1 - bytes / (16.0 * (double)hls->nnz);
    pd_storage_free(context, &pd_hls_format, sparse);
    pd_storage_free(context, &pd_hls_format, hls);
    polyad_tensor_destroy(tensor);
    context_end(context);
  }
  assert_true(less_sparse / 6 >= 0.19);
  assert_true(less_coo / 6 >= 0.70);
}

static void damage_is_found(void **state) {
  (void)state;
  polyad_context *context = cpu_context(2);
  polyad_tensor *tensor = mixture_tensor(context, &mixtures[0], POLYAD_F32);
  struct pd_hls *hls = build(context, tensor, POLYAD_COMPUTE_F16, 78);
  uint32_t *words[] = {hls->b_bmp, hls->b_vals_ptr + 1, hls->b_inds, hls->nnz_inds};
  for (int k = 0; k < 4; ++k) {
    uint32_t kept = *words[k];
    *words[k] = ~kept;
    fixture_check(context, &pd_hls_format, hls, POLYAD_INTERNAL);
    *words[k] = kept;
  }
  *(uint16_t *)hls->b_vals = 0x7c00;
  fixture_check(context, &pd_hls_format, hls, POLYAD_INTERNAL);
  pd_storage_free(context, &pd_hls_format, hls);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* ---- kernels of the CPU ---------------------------------------------------------------------- */

/* The plan's kernels in every mode against the oracle. Sums and products are in double; one
 * rounding to float at the end. */
static void compare(polyad_context *context, const struct pd_hls *hls, struct hls_problem *problem,
                    bool chain) {
  for (int mode = 0; mode < hls->order; ++mode) {
    size_t columns = hls_problem_columns(problem, mode, chain), rows = (size_t)hls->dims[mode];
    long double *exact = malloc((rows * columns + 1) * sizeof *exact);
    long double *magnitude = malloc((rows * columns + 1) * sizeof *magnitude);
    size_t *terms = malloc((rows + 1) * sizeof *terms);
    double *out = malloc((rows * columns + 1) * sizeof *out);
    const double *const *factors = (const double *const *)problem->factor;
    if (chain)
      oracle_ttmc(&problem->tensor, mode, problem->ranks, factors, exact, magnitude, terms);
    else
      oracle_mttkrp(&problem->tensor, mode, columns, factors, exact, magnitude, terms);
    hls_problem_run(context, &pd_hls_kernels_cpu, hls, hls, problem, mode, chain, out);
    for (size_t k = 0; k < rows * columns; ++k) {
      long double roundings = 2 * hls->order + (long double)terms[k / columns] + 2;
      long double bound = magnitude[k] * oracle_gamma(roundings, DBL_EPSILON / 2);
      if (hls->type == POLYAD_F32) bound += magnitude[k] * oracle_gamma(1, FLT_EPSILON / 2);
      if (!(fabsl((long double)out[k] - exact[k]) <= bound))
        fail_msg("%s, order %d, mode %d, place %zu: %g, expected %Lg within %Lg",
                 chain ? "chain" : "mttkrp", hls->order, mode, k, out[k], exact[k], bound);
    }
    free(exact);
    free(magnitude);
    free(terms);
    free(out);
  }
}

/* All dense, all sparse, mixed, every order, every compute type, two numbers of threads. */
static void kernels_agree_with_the_oracle(void **state) {
  (void)state;
  static const int thresholds[] = {1, 78, PD_HLS_ALL_SPARSE};
  static const uint64_t ranks[] = {1, 8, 16, 17};
  for (int m = 0; m < mixture_count; ++m)
    for (int k = 0; k < 3; ++k) {
      polyad_context *context = cpu_context(1 + 2 * (k % 2));
      polyad_tensor *tensor =
          mixture_tensor(context, &mixtures[m], (m + k) % 2 ? POLYAD_F32 : POLYAD_F64);
      struct pd_hls *hls = build(context, tensor, (polyad_compute)((m + k) % 4), thresholds[k]);
      struct hls_problem problem;
      hls_problem_make(context, hls, ranks[(m + k) % 4], false, &problem);
      compare(context, hls, &problem, false);
      hls_problem_free(&problem);
      hls_problem_make(context, hls, 2, true, &problem);
      compare(context, hls, &problem, true);
      hls_problem_free(&problem);
      pd_storage_free(context, &pd_hls_format, hls);
      polyad_tensor_destroy(tensor);
      context_end(context);
    }
}

/* ---- plans ----------------------------------------------------------------------------------- */

static double fit_of(const char *file, polyad_compute compute, int tune) {
  char path[1024];
  polyad_context *context = cpu_context(2);
  polyad_tensor *tensor = NULL;
  polyad_plan *plan = NULL;
  polyad_ktensor *model = NULL;
  polyad_run_info info = {0};
  polyad_plan_options options;
  polyad_cp_als_options als;
  snprintf(path, sizeof path, "%s/%s", POLYAD_DATA, file);
  polyad_plan_options_init(&options);
  options.format = compute == POLYAD_COMPUTE_NATIVE ? "hls" : "auto"; /* only hls has others */
  options.rank = 4;
  options.compute = compute;
  options.tune = tune;
  if (!tune) options.format = "hls:tile-threshold=8";
  polyad_cp_als_options_init(&als);
  als.rank = 4;
  als.run.max_iterations = 20;
  if (polyad_tensor_read(context, path, NULL, &tensor) != POLYAD_OK ||
      polyad_plan_create(context, tensor, &options, &plan) != POLYAD_OK ||
      polyad_cp_als(context, plan, &als, &model, &info) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(context));
  assert_string_equal(polyad_plan_format(plan), "hls");
  double fit = info.fit;
  polyad_run_info_clear(&info);
  polyad_ktensor_destroy(model);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  context_end(context);
  return fit;
}

/* Rounded values end within 1e-3 of the fit in double, also with a threshold that is measured. */
static void cp_als_ends_near_the_fit_in_double(void **state) {
  (void)state;
  static const char *const files[] = {"aminoacids.tns.gz", "nycflights13.tns.gz"};
  for (int f = 0; f < 2; ++f) {
    double exact = fit_of(files[f], POLYAD_COMPUTE_NATIVE, 0);
    for (int compute = POLYAD_COMPUTE_F16; compute <= POLYAD_COMPUTE_TF32; ++compute)
      assert_true(fabs(fit_of(files[f], (polyad_compute)compute, compute == POLYAD_COMPUTE_F16) -
                       exact) <= 1e-3);
  }
}

/* Formats without kernels for a compute type refuse it in words. */
static void others_refuse_compute_types(void **state) {
  (void)state;
  polyad_context *context = cpu_context(1);
  polyad_tensor *tensor = mixture_tensor(context, &mixtures[1], POLYAD_F64);
  polyad_plan *plan = NULL;
  polyad_plan_options options;
  polyad_plan_options_init(&options);
  options.format = "csf";
  options.compute = POLYAD_COMPUTE_F16;
  assert_int_equal(polyad_plan_create(context, tensor, &options, &plan), POLYAD_UNSUPPORTED);
  assert_non_null(strstr(polyad_last_error(context), "precision"));
  options.compute = (polyad_compute)4;
  assert_int_equal(polyad_plan_create(context, tensor, &options, &plan), POLYAD_INVALID_ARGUMENT);
  options.compute = POLYAD_COMPUTE_NATIVE;
  options.format = "hls:tile-threshold=4098";
  assert_int_equal(polyad_plan_create(context, tensor, &options, &plan), POLYAD_INVALID_ARGUMENT);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(half_precision_rounds_to_nearest),
      cmocka_unit_test(conversions_are_the_oracle_s),
      cmocka_unit_test(packed_numbers_come_back),
      cmocka_unit_test(numbers_without_bits_write_nothing),
      cmocka_unit_test(indices_are_linear),
      cmocka_unit_test(tiles_are_dense_from_the_threshold_on),
      cmocka_unit_test(storages_hold_the_tensor),
      cmocka_unit_test(threads_build_the_same),
      cmocka_unit_test(values_are_scaled_into_half),
      cmocka_unit_test(bytes_follow_the_formula),
      cmocka_unit_test(damage_is_found),
      cmocka_unit_test(kernels_agree_with_the_oracle),
      cmocka_unit_test(cp_als_ends_near_the_fit_in_double),
      cmocka_unit_test(others_refuse_compute_types),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
