#include "formats/alto/alto_share.h"

/* The longest stretch of a part's rows that no other part touches. Other spans cut it: walks from
 * one end of a span to the next begin. */
static struct pd_alto_span exclusive(const struct pd_alto_share *share, int parts, int mine) {
  struct pd_alto_span all = share[mine].all, best = {all.begin, all.begin};
  for (uint64_t at = all.begin; at < all.end;) {
    uint64_t covered = at, next = all.end;
    for (int t = 0; t < parts; ++t) {
      if (t == mine || share[t].all.end <= at) continue;
      if (share[t].all.begin <= at) {
        if (share[t].all.end > covered) covered = share[t].all.end;
      } else if (share[t].all.begin < next) {
        next = share[t].all.begin;
      }
    }
    if (covered > at) {
      at = covered;
      continue;
    }
    if (next - at > best.end - best.begin) best = (struct pd_alto_span){at, next};
    at = next;
  }
  return best;
}

static void share_between(const struct pd_alto *alto, int mode, int parts, bool direct,
                          struct pd_alto_share *share, struct pd_alto_sharing *sharing) {
  for (int t = 0; t < parts; ++t) {
    int begin = (int)pd_part_begin((uint64_t)alto->segments, t, parts);
    int end = (int)pd_part_begin((uint64_t)alto->segments, t + 1, parts);
    share[t].begin = pd_part_begin(alto->nnz, begin, alto->segments);
    share[t].end = pd_part_begin(alto->nnz, end, alto->segments);
    share[t].all = pd_alto_span_of(alto, begin, end, mode);
  }
  *sharing = (struct pd_alto_sharing){.parts = parts, .direct = direct, .share = share};
  for (int t = 0; t < parts; ++t) {
    share[t].own = exclusive(share, parts, t);
    share[t].first = sharing->rows;
    sharing->rows += pd_alto_share_rows(&share[t], direct);
  }
}

void pd_alto_share_mode(const struct pd_alto *alto, int mode, int threads, bool direct,
                        uint64_t rows_most, struct pd_alto_share *share,
                        struct pd_alto_sharing *sharing) {
  int parts = threads < alto->segments ? threads : alto->segments;
  for (;; parts = (parts + 1) / 2) {
    share_between(alto, mode, parts, direct, share, sharing);
    if (parts == 1 || sharing->rows <= rows_most) return;
  }
}
