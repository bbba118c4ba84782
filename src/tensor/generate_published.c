/* Counts of fibers and slices of real tensors.
 *
 * Source: T. Torun, A. Taweel, D. Unat, "A Sparse Tensor Generator with Efficient Feature
 * Extraction", arXiv 2405.04944 (Frontiers in Applied Mathematics and Statistics 11, 2025), with
 * generate_real_tensor_siblings.sh of github.com/sparcityeu/GenTensor. For a tensor of M modes it
 * gives the share of non-empty mode-M fibers (-f: distinct tuples of modes 1 to M - 1), of
 * non-empty slices (-s: of modes 1 to M - 2), the coefficient of variation and the largest value
 * (max / mean - 1) of fibers in a slice (-c, -i) and of nonzeros in a fiber (-v, -b), over those
 * that are not empty. Counts here are these shares of all tuples, rounded; largest values are whole
 * numbers up to the digits printed. Further:
 *  - delicious, flickr and vast: the paper lists the same data without their last modes too, as
 *    tensors of order 3, whose counts are those of the first modes here. As -v is 0 for flickr,
 *    one date belongs to each (user, image, tag); delicious has as many nonzeros with and without
 *    dates. Of vast, -v and -c give what the digits of the shares do not: so many fibers in a
 *    million have two nonzeros.
 *  - chicago-geo: pairs of day and hour are taken to be as usual as in chicago, from the same
 *    reports.
 *
 * Which tuples have children in common, and how often, is ours: the paper counts no other sets of
 * modes. The same words, dates and tags come back with the same paper, bookmark or image as these
 * data are made (FROSTT's descriptions); for the others the shares are such that `uber` has as many
 * nonzeros to a pair of latitude and longitude as the uber pickups of data/, and `chicago` as many
 * to a pair of community and crime type as chicago-crime-2022, allowing for their sizes. */
#include "tensor/generate_published.h"
#include <string.h>

enum { MODE_1 = 1, MODE_2 = 2, MODE_3 = 4, MODE_4 = 8 };

static const struct published_fibers {
  const char *name;
  struct pd_fiber_profile profile;
} all[] = {
    {"vast-3d",
     {{{.tuples = 165427},
       {.tuples = 26021854, .cv = 0.491576, .most = 850},
       {.common = MODE_2, .share = 0.9}}}},
    {"vast",
     {{{.tuples = 165427},
       {.tuples = 26021854, .cv = 0.491576, .most = 850},
       {.tuples = 26021854, .common = MODE_2, .share = 0.9},
       {.tuples = 26021941, .cv = 0.00182847, .most = 2, .common = MODE_2, .share = 0.5},
       {.cv = 0.000392067, .most = 2, .common = MODE_2 | MODE_4, .share = 0.8}}}},
    {"darpa",
     {{{.tuples = 17898},
       {.tuples = 76424, .cv = 13.0705, .most = 2835},
       {.cv = 23.081, .most = 1810667}}}},
    {"delicious-3d",
     {{{.tuples = 532924},
       {.tuples = 47257441, .cv = 2.77251, .most = 25031},
       {.cv = 1.39544, .most = 5695, .common = MODE_2, .share = 0.5}}}},
    {"delicious",
     {{{.tuples = 532924},
       {.tuples = 47257441, .cv = 2.77251, .most = 25031},
       {.tuples = 140126181, .cv = 1.39544, .most = 5695, .common = MODE_2, .share = 0.5},
       {.common = MODE_1 | MODE_2, .share = 1}}}},
    {"flickr-3d",
     {{{.tuples = 319686},
       {.tuples = 28153050, .cv = 3.28995, .most = 25002},
       {.cv = 1.04003, .most = 9544, .common = MODE_1, .share = 0.5}}}},
    {"flickr",
     {{{.tuples = 319686},
       {.tuples = 28153050, .cv = 3.28995, .most = 25002},
       {.tuples = 112890310, .cv = 1.04003, .most = 9544, .common = MODE_1, .share = 0.5},
       {.common = MODE_1 | MODE_2, .share = 1}}}},
    {"nell-2",
     {{{.tuples = 12092},
       {.tuples = 337365, .cv = 3.33216, .most = 2546},
       {.cv = 0.891844, .most = 7117, .common = MODE_2, .share = 0.5}}}},
    {"chicago",
     {{{.tuples = 0},
       {.tuples = 141452},
       {.tuples = 3706818, .cv = 0.405524, .most = 74},
       {.cv = 0.525842, .most = 11, .common = MODE_3, .share = 0.3}}}},
    {"chicago-geo",
     {{{.tuples = 0},
       {.tuples = 141429},
       {.tuples = 5709424},
       {.tuples = 6288590, .cv = 0.303041, .most = 9, .common = MODE_3, .share = 0.9},
       {.cv = 0.0783952, .most = 4, .common = MODE_3 | MODE_4, .share = 0.3}}}},
    {"enron",
     {{{.tuples = 0},
       {.tuples = 151738},
       {.tuples = 31312343, .cv = 4.13054, .most = 41877, .common = MODE_1, .share = 0.5},
       {.cv = 1.81761, .most = 282, .common = MODE_1 | MODE_2, .share = 0.5}}}},
    {"nips",
     {{{.tuples = 0},
       {.tuples = 5873},
       {.tuples = 3101609, .cv = 0.18507, .most = 1358, .common = MODE_1, .share = 1},
       {.common = MODE_1, .share = 1}}}},
    {"uber",
     {{{.tuples = 0},
       {.tuples = 4391},
       {.tuples = 692597, .cv = 0.237467, .most = 256, .common = MODE_1, .share = 0.93},
       {.cv = 1.02074, .most = 36, .common = MODE_3, .share = 0.98}}}},
    {"lbnl-network",
     {{{.tuples = 0},
       {.tuples = 0},
       {.tuples = 22968},
       {.tuples = 39047, .cv = 7.972, .most = 1972},
       {.cv = 26.1939, .most = 94876}}}},
    {"music",
     {{{.tuples = 22660331},
       {.tuples = 98742165, .cv = 24.4205, .most = 409629},
       {.cv = 0.0893693, .most = 6, .common = MODE_2, .share = 0.5}}}},
    {"freebase",
     {{{.tuples = 35471519},
       {.tuples = 139050647, .cv = 23.9764, .most = 409627},
       {.cv = 0.0785975, .most = 6, .common = MODE_2, .share = 0.5}}}},
    {"nell-1",
     {{{.tuples = 2902330},
       {.tuples = 17372409, .cv = 13.6314, .most = 24570},
       {.cv = 7.49825, .most = 42390, .common = MODE_2, .share = 0.5}}}},
};

const struct pd_fiber_profile *pd_published_fibers(const char *name) {
  for (size_t k = 0; k < sizeof all / sizeof *all; ++k)
    if (strcmp(all[k].name, name) == 0) return &all[k].profile;
  return NULL;
}
