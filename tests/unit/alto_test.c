/* Format "alto" without its kernels: keys and how they are coded, storages, the shares of threads,
 * and damage that its check must see. */
#include "harness.h"

#include "core/isa.h"
#include "core/random.h"
#include "formats/alto/alto_build.h"
#include "formats/alto/alto_code.h"
#include "formats/alto/alto_share.h"
#include "formats/tables.h"
#include "unit/format_fixture.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const variants[] = {"auto",          "fields-pull", "keys-pull", "keys-atomic",
                                       "keys-adaptive", "coo-pull",    "coo-atomic"};
enum { VARIANTS = sizeof variants / sizeof *variants, COUNT = 300 };

static uint64_t draw(uint64_t trial, uint64_t what, uint64_t which) {
  return pd_random_u64(trial, what, which);
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* Modes that take turns, none with more than 64 bits, of exactly `bits` bits together. */
static void dims_of_bits(uint64_t trial, int order, int bits, uint64_t *dims) {
  int width[POLYAD_MAX_ORDER] = {0};
  for (int k = 0; k < bits;) {
    int n = (int)(draw(trial, 1, (uint64_t)k * 64 + (uint64_t)width[0]) % (uint64_t)order);
    while (width[n] == 63)
      n = (n + 1) % order;
    ++width[n];
    ++k;
  }
  for (int n = 0; n < order; ++n) { /* 2^(width - 1) < dim <= 2^width */
    uint64_t half = width[n] == 0 ? 0 : UINT64_C(1) << (width[n] - 1);
    dims[n] = width[n] == 0 ? 1 : half + 1 + draw(trial, 2, (uint64_t)n) % half;
  }
}

static void the_longest_side_is_halved_first(void **state) {
  (void)state;
  static const uint64_t dims[3] = {16, 4, 8};
  static const int turns[9] = {0, 0, 2, 0, 1, 2, 0, 1, 2}; /* from the highest bit down */
  struct pd_alto_mode mode[3];
  assert_int_equal(pd_alto_interleave(3, dims, mode), 9);
  for (int b = 0; b < 9; ++b)
    for (int n = 0; n < 3; ++n)
      assert_int_equal(mode[n].mask[0] >> (8 - b) & 1, n == turns[b]);
  static const uint64_t uneven[3] = {9, 15, 1}; /* of equal bits the fuller mode first */
  assert_int_equal(pd_alto_interleave(3, uneven, mode), 8);
  assert_int_equal(mode[0].mask[0], 0x55);
  assert_int_equal(mode[1].mask[0], 0xAA);
  assert_int_equal(mode[2].mask[0], 0);
}

/* Every bit of the key belongs to one mode, every mode has as many as its length needs, and going
 * down no mode gets a bit while another has more left. */
static void bits_are_dealt_once(void **state) {
  (void)state;
  for (uint64_t trial = 0; trial < 2000; ++trial) {
    int order = 1 + (int)(trial % POLYAD_MAX_ORDER);
    int most = 63 * order < 128 ? 63 * order : 128;
    int bits = (int)(draw(trial, 3, 0) % (uint64_t)(most + 1));
    uint64_t dims[POLYAD_MAX_ORDER], used[2] = {0, 0};
    struct pd_alto_mode mode[POLYAD_MAX_ORDER];
    dims_of_bits(trial, order, bits, dims);
    assert_int_equal(pd_alto_interleave(order, dims, mode), bits);
    int left[POLYAD_MAX_ORDER];
    for (int n = 0; n < order; ++n) {
      assert_int_equal(left[n] = mode[n].bits, pd_index_bits(dims[n]));
      for (int w = 0; w < 2; ++w) {
        assert_int_equal(used[w] & mode[n].mask[w], 0);
        used[w] |= mode[n].mask[w];
      }
    }
    assert_true(used[0] == pd_low_mask(bits < 64 ? bits : 64));
    assert_true(used[1] == pd_low_mask(bits < 64 ? 0 : bits - 64));
    for (int b = bits - 1; b >= 0; --b) {
      int taken = 0, longest = 0;
      for (int n = 0; n < order; ++n) {
        if (mode[n].mask[b / 64] >> (b % 64) & 1) taken = n;
        if (left[n] > longest) longest = left[n];
      }
      assert_int_equal(left[taken]--, longest);
    }
  }
}

static void too_many_bits_are_counted(void **state) {
  (void)state;
  uint64_t dims[3] = {UINT64_C(1) << 50, UINT64_C(1) << 50, (UINT64_C(1) << 28) + 1};
  struct pd_alto_mode mode[3];
  char reason[PD_REASON_BYTES];
  struct pd_traits traits = {.order = 3, .nnz = 1, .dims = {dims[0], dims[1], dims[2]}};
  struct pd_request request = {.variant = "auto", .device = &pd_cpu_device};
  assert_int_equal(pd_alto_interleave(3, dims, mode), 129);
  assert_false(pd_alto_format.supports(&traits, &request, reason));
  assert_string_equal(reason, "its keys would have 129 bits; expected at most 128");
  --traits.dims[2];
  assert_true(pd_alto_format.supports(&traits, &request, reason));
}

/* Indices of `order` modes as a storage with nothing but keys, coded by `coder`. */
struct coded {
  struct pd_alto alto;
  uint64_t index[POLYAD_MAX_ORDER][COUNT], low[COUNT], high[COUNT];
};

static void code(uint64_t trial, int order, int bits, const struct pd_alto_coder *coder,
                 struct coded *coded) {
  memset(coded, 0, sizeof *coded);
  struct pd_alto *alto = &coded->alto;
  struct pd_request request = {.variant = "keys-pull"};
  uint64_t dims[POLYAD_MAX_ORDER];
  dims_of_bits(trial, order, bits, dims);
  assert_true(pd_alto_shape(order, dims, COUNT, &request, alto));
  assert_int_equal(alto->bits, bits);
  const void *index[POLYAD_MAX_ORDER];
  uint32_t narrow[POLYAD_MAX_ORDER][COUNT];
  int bytes[POLYAD_MAX_ORDER];
  for (int n = 0; n < order; ++n) {
    for (uint64_t p = 0; p < COUNT; ++p) { /* the last index is among them */
      coded->index[n][p] =
          p == 0 ? dims[n] - 1 : draw(trial, 5, p * POLYAD_MAX_ORDER + (uint64_t)n) % dims[n];
      narrow[n][p] = (uint32_t)coded->index[n][p];
    }
    bytes[n] = dims[n] <= UINT64_C(1) << 32 ? 4 : 8;
    index[n] = bytes[n] == 4 ? (const void *)narrow[n] : coded->index[n];
  }
  coder->encode(order, alto->mode, index, bytes, COUNT, coded->low, bits > 64 ? coded->high : NULL);
}

/* The words as they are stored: of 4 bytes where that is enough. */
static void narrow(struct coded *coded) {
  struct pd_alto *alto = &coded->alto;
  uint64_t *word[2] = {coded->low, coded->high};
  int bytes[2] = {alto->low_bytes, alto->high_bytes};
  for (int w = 0; w < 2; ++w)
    if (bytes[w] == 4)
      for (uint64_t p = 0; p < COUNT; ++p) {
        uint32_t half = (uint32_t)word[w][p];
        memcpy((char *)word[w] + 4 * p, &half, 4);
      }
  alto->low = coded->low;
  alto->high = coded->high;
}

static void assert_decodes(const struct coded *coded, const struct pd_alto_coder *coder) {
  uint64_t index[COUNT];
  for (int n = 0; n < coded->alto.order; ++n)
    for (uint64_t first = 0; first < 3; ++first) {
      coder->decode(&coded->alto, n, first, COUNT - first, index);
      assert_memory_equal(index, coded->index[n] + first, (COUNT - first) * sizeof *index);
    }
}

/* Every number of bits up to 128 in every order that can have it, both ways of coding. */
static void keys_round_trip(void **state) {
  (void)state;
  const struct pd_alto_coder *coder[2] = {&pd_alto_coder_shifts, NULL};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("bmi2")) coder[1] = &pd_alto_coder_pext;
#endif
  struct coded *coded = calloc(2, sizeof *coded);
  assert_non_null(coded);
  for (int order = 1; order <= POLYAD_MAX_ORDER; ++order)
    for (int bits = 0; bits <= 128 && bits <= 63 * order; ++bits) {
      uint64_t trial = (uint64_t)(order * 1000 + bits);
      for (int c = 0; c < 2 && coder[c] != NULL; ++c) {
        code(trial, order, bits, coder[c], &coded[c]);
        assert_memory_equal(coded[c].low, coded[0].low, sizeof coded[c].low);
        assert_memory_equal(coded[c].high, coded[0].high, sizeof coded[c].high);
      }
      narrow(&coded[0]);
      for (int c = 0; c < 2 && coder[c] != NULL; ++c)
        assert_decodes(&coded[0], coder[c]);
      if (order <= 2 || bits % 16 == 0) { /* one nonzero at a time */
        for (uint64_t p = 0; p < COUNT; ++p)
          for (int n = 0; n < order; ++n)
            assert_true(
                pd_alto_extract(&coded[0].alto.mode[n], pd_alto_words_at(&coded[0].alto, p)) ==
                coded[0].index[n][p]);
      }
    }
  free(coded);
}

/* Fields: every index in one run of bits where it can be, in two at most, none over another. */
static void fields_lie_side_by_side(void **state) {
  (void)state;
  for (uint64_t trial = 0; trial < 2000; ++trial) {
    int order = 1 + (int)(trial % POLYAD_MAX_ORDER), most = 63 * order < 128 ? 63 * order : 128;
    int bits = (int)(draw(trial, 3, 0) % (uint64_t)(most + 1)), cut = 0;
    uint64_t dims[POLYAD_MAX_ORDER], used[2] = {0, 0};
    struct pd_alto_mode mode[POLYAD_MAX_ORDER];
    dims_of_bits(trial, order, bits, dims);
    pd_alto_concatenate(order, dims, bits <= 64 ? 0 : 64, mode);
    for (int n = 0; n < order; ++n) {
      assert_int_equal(mode[n].bits, pd_index_bits(dims[n]));
      assert_int_equal(__builtin_popcountll(mode[n].mask[0]) +
                           __builtin_popcountll(mode[n].mask[1]),
                       mode[n].bits);
      cut += mode[n].runs > 1;
      for (int w = 0; w < 2; ++w) {
        assert_int_equal(used[w] & mode[n].mask[w], 0);
        used[w] |= mode[n].mask[w];
      }
      for (uint64_t k = 0; k < 20; ++k) {
        uint64_t index = k == 0 ? dims[n] - 1 : draw(trial, 7, k) % dims[n];
        struct pd_alto_key words = {{0, 0}};
        pd_alto_deposit(&mode[n], index, &words);
        assert_true(pd_alto_extract(&mode[n], words) == index);
      }
    }
    assert_true(cut <= (bits > 64));
  }
}

/* The longest field is placed first, of equally long ones that of the first mode. */
static void the_longest_field_is_placed_first(void **state) {
  (void)state;
  static const uint64_t dims[4] = {16, 256, 16, 200};
  static const uint64_t masks[4] = {0xF0000, 0xFF, 0xF00000, 0xFF00};
  struct pd_alto_mode mode[4];
  pd_alto_concatenate(4, dims, 0, mode);
  for (int n = 0; n < 4; ++n)
    assert_int_equal(mode[n].mask[0], masks[n]);
}

/* A mode of 64 bits lies in one word or in both. */
static void whole_words_round_trip(void **state) {
  (void)state;
  static const uint64_t dims[2] = {UINT64_MAX, UINT64_MAX};
  for (int order = 1; order <= 2; ++order) {
    struct pd_alto_mode mode[2];
    assert_int_equal(pd_alto_interleave(order, dims, mode), 64 * order);
    for (uint64_t p = 0; p < 200; ++p) {
      uint64_t index[2] = {draw(p, 1, 1), draw(p, 2, 2)};
      struct pd_alto_key key = {{0, 0}};
      for (int n = 0; n < order; ++n)
        pd_alto_deposit(&mode[n], index[n], &key);
      for (int n = 0; n < order; ++n)
        assert_true(pd_alto_extract(&mode[n], key) == index[n]);
    }
  }
}

/* ---- storages -------------------------------------------------------------------------------- */

static const struct shape {
  int order;
  uint64_t dims[8], nnz;
} shapes[] = {{1, {40}, 60},
              {2, {300, 5}, 900},
              {3, {1, 1, 1}, 1},
              {3, {6, 7, 8}, 0},
              {3, {100, 200, 300}, 5000},
              {4, {2, 4000, 31, 33}, 3000},
              {3, {UINT64_C(1) << 40, UINT64_C(1) << 19, 3}, 400},
              {3, {UINT64_C(1) << 40, UINT64_C(1) << 35, UINT64_C(1) << 15}, 700},
              {3, {UINT64_C(1) << 40, UINT64_C(1) << 45, UINT64_C(1) << 43}, 700},
              {8, {3, 2, 4, 2, 3, 2, 3, 2}, 700}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void storages_hold_the_tensor(void **state) {
  (void)state;
  static const int partitions[] = {0, 1, 3, 6000};
  polyad_context *context = cpu_context(3);
  for (int s = 0; s < SHAPES; ++s)
    for (int v = 0; v < VARIANTS; ++v)
      for (int k = 0; k < 4; ++k) {
        polyad_tensor *tensor =
            fixture_tensor(context, shapes[s].order, shapes[s].dims, shapes[s].nnz, k % 2 == 1,
                           v % 2 == 0 ? POLYAD_F32 : POLYAD_F64);
        struct pd_alto *alto =
            fixture_build(context, &pd_alto_format, variants[v], partitions[k], tensor);
        polyad_tensor *back = NULL;
        assert_int_equal(pd_storage_expand(context, &pd_alto_format, alto, tensor, &back),
                         POLYAD_OK);
        assert_true(polyad_tensor_hash(back) == polyad_tensor_hash(tensor));
        polyad_tensor_destroy(back);
        pd_storage_free(context, &pd_alto_format, alto);
        polyad_tensor_destroy(tensor);
      }
  context_end(context);
}

/* Both ways of coding build the same storage. */
static void coders_build_the_same(void **state) {
  (void)state;
  polyad_context *context = cpu_context(2);
  for (int s = 0; s < SHAPES; ++s) {
    polyad_tensor *tensor =
        fixture_tensor(context, shapes[s].order, shapes[s].dims, shapes[s].nnz, false, POLYAD_F64);
    const char *variant = s % 2 == 0 ? "fields-pull" : "keys-pull";
    struct pd_alto *best = fixture_build(context, &pd_alto_format, variant, 0, tensor);
    pd_isa_force(PD_ISA_PLAIN);
    assert_ptr_equal(pd_alto_coder_current(), &pd_alto_coder_shifts);
    struct pd_alto *plain = fixture_build(context, &pd_alto_format, variant, 0, tensor);
    pd_isa_force(PD_ISA_COUNT);
    assert_int_equal(best->low_bytes, plain->low_bytes);
    assert_int_equal(best->high_bytes, plain->high_bytes);
    assert_memory_equal(best->low, plain->low, best->nnz * (uint64_t)best->low_bytes);
    if (best->high_bytes > 0)
      assert_memory_equal(best->high, plain->high, best->nnz * (uint64_t)best->high_bytes);
    assert_memory_equal(best->values, plain->values, best->nnz * 8);
    pd_storage_free(context, &pd_alto_format, best);
    pd_storage_free(context, &pd_alto_format, plain);
    polyad_tensor_destroy(tensor);
  }
  context_end(context);
}

static void descriptions_name_edition_and_bytes(void **state) {
  (void)state;
  static const char *const expected[] = {
      "fields-pull, keys of 24 bits in 4 bytes",   "fields-pull, keys of 24 bits in 4 bytes",
      "keys-pull, keys of 24 bits in 4 bytes",     "keys-atomic, keys of 24 bits in 4 bytes",
      "keys-adaptive, keys of 24 bits in 4 bytes", "coo-pull, indices of together 6 bytes",
      "coo-atomic, indices of together 6 bytes"};
  polyad_context *context = cpu_context(1);
  polyad_tensor *tensor = fixture_tensor(context, 3, shapes[4].dims, 500, false, POLYAD_F64);
  for (int v = 0; v < VARIANTS; ++v) {
    char text[PD_REASON_BYTES];
    struct pd_alto *alto = fixture_build(context, &pd_alto_format, variants[v], 0, tensor);
    pd_alto_format.describe(alto, 1, text);
    assert_string_equal(text, expected[v]);
    pd_storage_free(context, &pd_alto_format, alto);
  }
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* ---- shares of threads ----------------------------------------------------------------------- */

/* Whether nonzeros of a share, but no other, are in these rows; and no other share's. */
static void assert_share(const struct pd_alto *alto, int mode,
                         const struct pd_alto_sharing *sharing, int mine) {
  const struct pd_alto_share *share = &sharing->share[mine];
  pd_alto_decode_function *decode = pd_alto_decoder(alto);
  assert_true(share->all.begin <= share->own.begin && share->own.end <= share->all.end);
  for (uint64_t p = 0; p < alto->nnz; ++p) {
    uint64_t i;
    decode(alto, mode, p, 1, &i);
    if (p >= share->begin && p < share->end)
      assert_true(i >= share->all.begin && i < share->all.end);
    else
      assert_false(i >= share->own.begin && i < share->own.end);
  }
}

static void shares_cover_all_nonzeros_once(void **state) {
  (void)state;
  polyad_context *context = cpu_context(2);
  for (int s = 0; s < SHAPES; ++s) {
    polyad_tensor *tensor =
        fixture_tensor(context, shapes[s].order, shapes[s].dims, shapes[s].nnz, false, POLYAD_F32);
    struct pd_alto *alto = fixture_build(context, &pd_alto_format, "auto", 37, tensor);
    struct pd_alto_share share[9];
    struct pd_alto_sharing sharing;
    for (int threads = 1; threads <= 9; ++threads)
      for (int k = 0; k < 2 * alto->order; ++k) {
        bool direct = k % 2 == 1;
        pd_alto_share_mode(alto, k / 2, threads, direct, UINT64_MAX, share, &sharing);
        assert_true(sharing.parts <= threads);
        uint64_t at = 0, rows = 0, least = UINT64_MAX, most = 0;
        for (int t = 0; t < sharing.parts; ++t) {
          uint64_t size = share[t].end - share[t].begin;
          assert_true(share[t].begin == at && share[t].first == rows);
          at = share[t].end;
          rows += pd_alto_share_rows(&share[t], direct);
          least = size < least ? size : least;
          most = size > most ? size : most;
          assert_share(alto, k / 2, &sharing, t);
        }
        assert_true(at == alto->nnz && rows == sharing.rows);
        /* A part has one segment more than another at most, and each segment one nonzero. */
        uint64_t segments = (uint64_t)alto->segments;
        assert_true(most - least <= alto->nnz / segments + 1 + segments);
      }
    pd_storage_free(context, &pd_alto_format, alto);
    polyad_tensor_destroy(tensor);
  }
  context_end(context);
}

/* Fewer parts where temporaries would be too many; one part remains in any case. */
static void temporaries_are_limited(void **state) {
  (void)state;
  static const uint64_t dims[3] = {100, 200, 300};
  polyad_context *context = cpu_context(2);
  polyad_tensor *tensor = fixture_tensor(context, 3, dims, 5000, false, POLYAD_F32);
  struct pd_alto *alto = fixture_build(context, &pd_alto_format, "auto", 0, tensor);
  struct pd_alto_share share[8];
  struct pd_alto_sharing sharing;
  uint64_t before = UINT64_MAX;
  for (uint64_t limit = 1200; limit > 0; limit -= 100) {
    pd_alto_share_mode(alto, 1, 8, false, limit, share, &sharing);
    assert_true(sharing.parts == 1 || sharing.rows <= limit);
    assert_true((uint64_t)sharing.parts <= before);
    before = (uint64_t)sharing.parts;
  }
  assert_int_equal(before, 1);
  pd_storage_free(context, &pd_alto_format, alto);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* Four nonzeros a row in the mean, rounded down, are few; more are not. Other variants have one
 * edition. */
static void editions_follow_reuse(void **state) {
  (void)state;
  static const uint64_t dims[3] = {1000, 1001, 4999};
  polyad_context *context = cpu_context(2);
  polyad_tensor *tensor = fixture_tensor(context, 3, dims, 5000, false, POLYAD_F32);
  const uint64_t nnz = polyad_tensor_nnz(tensor);
  for (int v = 0; v < VARIANTS; ++v) {
    struct pd_alto *alto = fixture_build(context, &pd_alto_format, variants[v], 0, tensor);
    const bool atomic = strstr(variants[v], "atomic") != NULL,
               rule = strcmp(variants[v], "keys-adaptive") == 0;
    for (int n = 0; n < 3; ++n)
      assert_int_equal(pd_alto_adds_atomically(alto, n), atomic || (rule && nnz < 5 * dims[n]));
    pd_storage_free(context, &pd_alto_format, alto);
  }
  assert_true(nnz >= 5 * dims[0] && nnz < 5 * dims[1]);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* Flips bits of a number: the check must fail. */
#define DAMAGE(number, bits)                                                                       \
  do {                                                                                             \
    (number) ^= (bits);                                                                            \
    fixture_check(context, &pd_alto_format, alto, POLYAD_INTERNAL);                                \
    (number) ^= (bits);                                                                            \
  } while (0)

static void damage_is_found(void **state) {
  (void)state;
  static const uint64_t dims[3] = {3000, 20, 300};
  polyad_context *context = cpu_context(2);
  polyad_tensor *tensor = fixture_tensor(context, 3, dims, 2000, false, POLYAD_F32);
  struct pd_alto *keys = fixture_build(context, &pd_alto_format, "keys-pull", 0, tensor);
  struct pd_alto *coo = fixture_build(context, &pd_alto_format, "coo-pull", 0, tensor),
                 *alto = keys;
  uint32_t *low = keys->low;
  assert_int_equal(keys->low_bytes, 4);
  for (uint64_t p = 0; p < keys->nnz; p += 97) {
    DAMAGE(low[p], UINT32_C(1) << 31); /* a bit of no mode */
    uint32_t twin = p > 0 ? low[p] ^ low[p - 1] : 1;
    if (p > 0) DAMAGE(low[p], twin);
  }
  for (int s = 0; s < keys->segments; s += 5) {
    DAMAGE(keys->span[s * 3].begin, UINT64_C(1));
    DAMAGE(keys->span[s * 3 + 2].end, UINT64_C(2));
  }
  alto = coo;
  uint16_t *index = coo->index[1];
  for (uint64_t p = 0; p < coo->nnz; p += 97)
    DAMAGE(index[p], (uint16_t)0x8000);
  fixture_check(context, &pd_alto_format, keys, POLYAD_OK);
  fixture_check(context, &pd_alto_format, coo, POLYAD_OK);
  pd_storage_free(context, &pd_alto_format, keys);
  pd_storage_free(context, &pd_alto_format, coo);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_longest_side_is_halved_first),
      cmocka_unit_test(bits_are_dealt_once),
      cmocka_unit_test(too_many_bits_are_counted),
      cmocka_unit_test(keys_round_trip),
      cmocka_unit_test(whole_words_round_trip),
      cmocka_unit_test(fields_lie_side_by_side),
      cmocka_unit_test(the_longest_field_is_placed_first),
      cmocka_unit_test(storages_hold_the_tensor),
      cmocka_unit_test(coders_build_the_same),
      cmocka_unit_test(descriptions_name_edition_and_bytes),
      cmocka_unit_test(shares_cover_all_nonzeros_once),
      cmocka_unit_test(temporaries_are_limited),
      cmocka_unit_test(editions_follow_reuse),
      cmocka_unit_test(damage_is_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
