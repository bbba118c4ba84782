#include "io/ptn_check.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <xxhash.h>

enum { ORDER_CHUNK = 2048 };

static uint64_t largest32(const uint32_t *index, uint64_t begin, uint64_t end) {
  uint32_t most = 0;
  for (uint64_t p = begin; p < end; ++p)
    most = index[p] > most ? index[p] : most;
  return most;
}

static uint64_t largest64(const uint64_t *index, uint64_t begin, uint64_t end) {
  uint64_t most = 0;
  for (uint64_t p = begin; p < end; ++p)
    most = index[p] > most ? index[p] : most;
  return most;
}

static uint64_t ptn_check_index_at(const void *array, size_t bytes, uint64_t p) {
  return bytes == 4 ? ((const uint32_t *)array)[p] : ((const uint64_t *)array)[p];
}

static double ptn_check_value_at(const void *array, size_t bytes, uint64_t p) {
  return bytes == 4 ? (double)((const float *)array)[p] : ((const double *)array)[p];
}

/* Number of values that are infinite, no number or, unless zeros are allowed, zero, told by their
 * bits. */
static uint64_t bad_values(const void *array, size_t bytes, uint64_t begin, uint64_t end,
                           bool zeros) {
  uint64_t bad = 0;
  if (bytes == 4) {
    const uint32_t *bits = array;
    for (uint64_t p = begin; p < end; ++p)
      bad += ((bits[p] << 1) == 0 && !zeros) | ((bits[p] & 0x7f800000U) == 0x7f800000U);
  } else {
    const uint64_t infinity = UINT64_C(0x7ff) << 52;
    const uint64_t *bits = array;
    for (uint64_t p = begin; p < end; ++p)
      bad += ((bits[p] << 1) == 0 && !zeros) | ((bits[p] & infinity) == infinity);
  }
  return bad;
}

static struct pd_ptn_fault check_range(const struct pd_ptn_header *header, void *const *array,
                                       int section, uint64_t begin, uint64_t end) {
  struct pd_ptn_fault fault = {.what = PD_PTN_SOUND, .section = section};
  size_t bytes = pd_ptn_entry_bytes(header, section);
  const void *entries = array[section];
  if (section == (int)header->order) {
    bool zeros = (header->flags & PD_PTN_ZEROS) != 0;
    if (bad_values(entries, bytes, begin, end, zeros) == 0) return fault;
    for (fault.nonzero = begin; fault.nonzero < end; ++fault.nonzero) {
      double value = ptn_check_value_at(entries, bytes, fault.nonzero);
      if ((value == 0 && !zeros) || !isfinite(value)) break;
    }
  } else {
    uint64_t dim = header->dims[section];
    uint64_t most = bytes == 4 ? largest32(entries, begin, end) : largest64(entries, begin, end);
    if (most < dim) return fault;
    fault.nonzero = begin;
    while (ptn_check_index_at(entries, bytes, fault.nonzero) < dim)
      ++fault.nonzero;
  }
  fault.what = PD_PTN_OUT_OF_RANGE;
  return fault;
}

/* One mode after the other over a chunk: `tie[i]` stays 1 while nonzero p + i has the same
 * indices as the one before it. Returns whether some pair is the wrong way round. */
static unsigned compare32(const uint32_t *index, size_t count, unsigned char *tie) {
  unsigned wrong = 0;
  for (size_t i = 0; i < count; ++i) {
    wrong |= (unsigned)(tie[i] & (index[i] < index[(ptrdiff_t)i - 1]));
    tie[i] = (unsigned char)(tie[i] & (index[i] == index[(ptrdiff_t)i - 1]));
  }
  return wrong;
}

static unsigned compare64(const uint64_t *index, size_t count, unsigned char *tie) {
  unsigned wrong = 0;
  for (size_t i = 0; i < count; ++i) {
    wrong |= (unsigned)(tie[i] & (index[i] < index[(ptrdiff_t)i - 1]));
    tie[i] = (unsigned char)(tie[i] & (index[i] == index[(ptrdiff_t)i - 1]));
  }
  return wrong;
}

static bool chunk_in_order(const struct pd_ptn_header *header, void *const *array, uint64_t begin,
                           size_t count) {
  unsigned char tie[ORDER_CHUNK];
  memset(tie, 1, count);
  unsigned wrong = 0;
  for (uint32_t n = 0; n < header->order; ++n)
    wrong |= header->index_bytes[n] == 4
                 ? compare32((const uint32_t *)array[n] + begin, count, tie)
                 : compare64((const uint64_t *)array[n] + begin, count, tie);
  return !wrong && memchr(tie, 1, count) == NULL;
}

/* Names the first wrong pair of a chunk. */
static struct pd_ptn_fault find_disorder(const struct pd_ptn_header *header, void *const *array,
                                         uint64_t p) {
  struct pd_ptn_fault fault = {.what = PD_PTN_SOUND};
  for (;; ++p) {
    uint32_t n = 0;
    uint64_t before = 0, here = 0;
    for (; n < header->order && before == here; ++n) {
      before = ptn_check_index_at(array[n], header->index_bytes[n], p - 1);
      here = ptn_check_index_at(array[n], header->index_bytes[n], p);
    }
    if (before < here) continue;
    fault.what = before == here ? PD_PTN_REPEATED : PD_PTN_UNSORTED;
    fault.nonzero = p;
    return fault;
  }
}

struct pd_ptn_fault pd_ptn_check_order(const struct pd_ptn_header *header, void *const *array,
                                       uint64_t begin, uint64_t end) {
  for (uint64_t p = begin; p < end; p += ORDER_CHUNK) {
    size_t count = end - p < ORDER_CHUNK ? (size_t)(end - p) : ORDER_CHUNK;
    if (!chunk_in_order(header, array, p, count)) return find_disorder(header, array, p);
  }
  return (struct pd_ptn_fault){.what = PD_PTN_SOUND};
}

struct pd_ptn_fault pd_ptn_check_block(const struct pd_ptn_header *header,
                                       const uint64_t *checksums, void *const *array,
                                       uint64_t block) {
  uint64_t begin = block * PD_PTN_BLOCK_ENTRIES;
  uint64_t end =
      header->nnz - begin < PD_PTN_BLOCK_ENTRIES ? header->nnz : begin + PD_PTN_BLOCK_ENTRIES;
  uint64_t blocks = pd_ptn_array_blocks(header);
  struct pd_ptn_fault fault = {.what = PD_PTN_SOUND};
  for (int s = 0; s <= (int)header->order; ++s) {
    size_t bytes = pd_ptn_entry_bytes(header, s);
    const char *from = (const char *)array[s] + begin * bytes;
    if (XXH3_64bits(from, (size_t)(end - begin) * bytes) != checksums[(uint64_t)s * blocks + block])
      return (struct pd_ptn_fault){.what = PD_PTN_DAMAGED,
                                   .section = s,
                                   .offset = header->section[s].offset + begin * bytes};
    fault = check_range(header, array, s, begin, end);
    if (fault.what != PD_PTN_SOUND) return fault;
  }
  return pd_ptn_check_order(header, array, begin + 1, end);
}

polyad_status pd_ptn_fault_fail(polyad_context *context, const char *path,
                                const struct pd_ptn_header *header, void *const *array,
                                const struct pd_ptn_fault *fault) {
  char name[32];
  const char *section = pd_ptn_section_name(name, header, fault->section);
  size_t bytes = pd_ptn_entry_bytes(header, fault->section);
  uint64_t number = fault->first + fault->nonzero;
  switch (fault->what) {
  case PD_PTN_DAMAGED:
    return pd_fail_at(context, POLYAD_PARSE, path, 0, 0,
                      "%s: the block at byte %" PRIu64 " is damaged: its checksum does not match",
                      section, fault->offset);
  case PD_PTN_OUT_OF_RANGE:
    if (fault->section == (int)header->order)
      return pd_fail_at(context, POLYAD_PARSE, path, 0, 0,
                        "nonzero %" PRIu64 ": value %g; expected a finite number other than zero",
                        number + 1,
                        ptn_check_value_at(array[fault->section], bytes, fault->nonzero));
    return pd_fail_at(context, POLYAD_PARSE, path, 0, 0,
                      "nonzero %" PRIu64 ": mode %d index %" PRIu64 " outside 1..%" PRIu64,
                      number + 1, fault->section + 1,
                      ptn_check_index_at(array[fault->section], bytes, fault->nonzero) + 1,
                      header->dims[fault->section]);
  case PD_PTN_UNSORTED:
    return pd_fail_at(context, POLYAD_PARSE, path, 0, 0,
                      "nonzero %" PRIu64 " comes before the one in front of it; expected nonzeros "
                      "sorted by their indices",
                      number + 1);
  case PD_PTN_REPEATED:
    return pd_fail_at(context, POLYAD_PARSE, path, 0, 0,
                      "nonzeros %" PRIu64 " and %" PRIu64
                      " have the same indices; expected each coordinate once",
                      number, number + 1);
  default:
    return pd_fail(context, POLYAD_INTERNAL, "a fault without a name");
  }
}

polyad_status pd_ptn_check_checksums(polyad_context *context, const char *path,
                                     const struct pd_ptn_header *header,
                                     const uint64_t *checksums) {
  struct pd_ptn_header sealed = *header;
  pd_ptn_seal(&sealed, checksums);
  for (int s = (int)sealed.section_count - 1; s >= 0; --s) {
    char name[32];
    if (sealed.section[s].checksum == header->section[s].checksum) continue;
    return pd_fail_at(context, POLYAD_PARSE, path, 0, 0,
                      "checksums of the %s, in the section at byte %" PRIu64 ", are damaged",
                      pd_ptn_section_name(name, &sealed, s),
                      sealed.section[sealed.section_count - 1].offset);
  }
  return POLYAD_OK;
}
