/* Sorting of many small sets, each by one thread, without allocating. */
#ifndef PD_GENERATE_SORT_H
#define PD_GENERATE_SORT_H

#include <stdbool.h>
#include <stdint.h>

/** Whether item a comes before item b; items of several words compare word by word. */
bool pd_item_before(const uint64_t *a, const uint64_t *b, int words);

/** Sorts `count` items of 1 to 16 words each; `spare` is as large. `bits`: items of one word are
 *  below 2^bits. */
void pd_sort_items(uint64_t *items, uint64_t *spare, uint64_t count, int words, int bits);

#endif
