#include "io/ptn_check.h"
#include "core/isa.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

static uint64_t ptn_check_index_at(const void *array, size_t bytes, uint64_t p) {
  return bytes == 4 ? ((const uint32_t *)array)[p] : ((const uint64_t *)array)[p];
}

static double ptn_check_value_at(const void *array, size_t bytes, uint64_t p) {
  return bytes == 4 ? (double)((const float *)array)[p] : ((const double *)array)[p];
}

/* Names the first entry of [begin, end) that is outside of its range. */
static struct pd_ptn_fault find_outside(const struct pd_ptn_header *header, void *const *array,
                                        int section, uint64_t begin, uint64_t end) {
  struct pd_ptn_fault fault = {.what = PD_PTN_OUT_OF_RANGE, .section = section};
  size_t bytes = pd_ptn_entry_bytes(header, section);
  const void *entries = array[section];
  bool zeros = (header->flags & PD_PTN_ZEROS) != 0;
  for (fault.nonzero = begin; fault.nonzero < end; ++fault.nonzero) {
    if (section < (int)header->order) {
      if (ptn_check_index_at(entries, bytes, fault.nonzero) >= header->dims[section]) break;
    } else {
      double value = ptn_check_value_at(entries, bytes, fault.nonzero);
      if ((value == 0 && !zeros) || !isfinite(value)) break;
    }
  }
  return fault;
}

/* Names the first nonzero from p to `end` that does not come behind the one before it. */
static struct pd_ptn_fault find_disorder(const struct pd_ptn_header *header, void *const *array,
                                         uint64_t p, uint64_t end) {
  struct pd_ptn_fault fault = {.what = PD_PTN_SOUND};
  for (; p < end; ++p) {
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
  return fault;
}

struct pd_ptn_fault pd_ptn_check_pair(const struct pd_ptn_header *header, void *const *array,
                                      uint64_t p) {
  return find_disorder(header, array, p, p + 1);
}

void pd_ptn_check_begin(struct pd_ptn_check *check, const struct pd_ptn_header *header,
                        uint64_t block) {
  uint64_t begin = block * PD_PTN_BLOCK_ENTRIES, rest = header->nnz - begin;
  check->scan = PD_ISA_PICK(const struct pd_ptn_scan, &pd_ptn_scan);
  check->header = header;
  check->block = block;
  check->begin = begin;
  check->end = begin + (rest < PD_PTN_BLOCK_ENTRIES ? rest : PD_PTN_BLOCK_ENTRIES);
  check->disorder = false;
  for (int s = 0; s <= (int)header->order; ++s) {
    check->outside[s] = false;
    pd_wide_hash_begin(&check->hash[s]);
  }
}

/* Checks that the indices of nonzeros [p, p + count) are in range, and that each nonzero comes
 * behind the one before it. */
static void scan_indices(struct pd_ptn_check *check, void *const *array, uint64_t p, size_t count) {
  const struct pd_ptn_header *header = check->header;
  uint32_t tie[PD_PTN_TIES];
  bool tied = true;
  memset(tie, 0xff, count * sizeof *tie);
  for (int n = 0; n < (int)header->order; ++n) {
    const uint32_t *narrow = (const uint32_t *)array[n] + p;
    const uint64_t *wide = (const uint64_t *)array[n] + p;
    uint64_t most;
    if (header->index_bytes[n] == 4)
      most = tied ? check->scan->compare32(narrow, count, tie, &check->disorder, &tied)
                  : check->scan->largest32(narrow, count);
    else
      most = tied ? check->scan->compare64(wide, count, tie, &check->disorder, &tied)
                  : check->scan->largest64(wide, count);
    if (most >= header->dims[n]) check->outside[n] = true;
  }
  check->disorder = check->disorder || tied;
}

/* Checks the range of the indices of a block's first nonzero, which scan_indices() leaves out,
 * since it has no nonzero before it in the block. */
static void check_first(struct pd_ptn_check *check, void *const *array) {
  const struct pd_ptn_header *header = check->header;
  for (int n = 0; n < (int)header->order; ++n)
    if (ptn_check_index_at(array[n], header->index_bytes[n], check->begin) >= header->dims[n])
      check->outside[n] = true;
}

void pd_ptn_check_part(struct pd_ptn_check *check, void *const *array, uint64_t begin,
                       uint64_t end) {
  const struct pd_ptn_header *header = check->header;
  const struct pd_ptn_scan *scan = check->scan;
  int values = (int)header->order;
  bool zeros = (header->flags & PD_PTN_ZEROS) != 0;
  for (int s = 0; s <= values; ++s) {
    size_t bytes = pd_ptn_entry_bytes(header, s);
    pd_wide_hash_add(&check->hash[s], (const char *)array[s] + begin * bytes,
                     (size_t)(end - begin) * bytes);
  }
  if (header->value_bytes == 4
          ? scan->bad32((const uint32_t *)array[values] + begin, (size_t)(end - begin), zeros)
          : scan->bad64((const uint64_t *)array[values] + begin, (size_t)(end - begin), zeros))
    check->outside[values] = true;
  if (begin == check->begin) check_first(check, array);
  for (uint64_t p = begin == check->begin ? begin + 1 : begin; p < end; p += PD_PTN_TIES)
    scan_indices(check, array, p, end - p < PD_PTN_TIES ? (size_t)(end - p) : PD_PTN_TIES);
}

struct pd_ptn_fault pd_ptn_check_end(const struct pd_ptn_check *check, const uint64_t *checksums,
                                     void *const *array) {
  const struct pd_ptn_header *header = check->header;
  uint64_t blocks = pd_ptn_array_blocks(header);
  for (int s = 0; s <= (int)header->order; ++s) {
    uint64_t offset = header->section[s].offset + check->begin * pd_ptn_entry_bytes(header, s);
    if (pd_wide_hash_end(&check->hash[s]) != checksums[(uint64_t)s * blocks + check->block])
      return (struct pd_ptn_fault){.what = PD_PTN_DAMAGED, .section = s, .offset = offset};
    if (check->outside[s]) return find_outside(header, array, s, check->begin, check->end);
  }
  if (check->disorder) return find_disorder(header, array, check->begin + 1, check->end);
  return (struct pd_ptn_fault){.what = PD_PTN_SOUND};
}

struct pd_ptn_fault pd_ptn_check_block(const struct pd_ptn_header *header,
                                       const uint64_t *checksums, void *const *array,
                                       uint64_t block) {
  struct pd_ptn_check check;
  pd_ptn_check_begin(&check, header, block);
  for (uint64_t p = check.begin; p < check.end; p += PD_PTN_PART)
    pd_ptn_check_part(&check, array, p, check.end - p < PD_PTN_PART ? check.end : p + PD_PTN_PART);
  return pd_ptn_check_end(&check, checksums, array);
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
