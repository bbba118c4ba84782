/* Labels and the numbers they get, in the order in which they first appear; sorted at the end. */
#ifndef PD_DELIMITED_DICTIONARY_H
#define PD_DELIMITED_DICTIONARY_H

#include "tensor/tensor.h"

struct pd_dictionary {
  polyad_context *context;
  uint64_t seed; /* of the hash, so that nobody can choose labels that collide */
  struct pd_labels labels;
  uint64_t text_capacity, label_capacity;
  uint64_t *hash; /* of each label */
  uint32_t *slot; /* number of a label + 1, or 0 */
  uint64_t slots; /* a power of two */
  uint32_t last;  /* the label found last */
  bool numbers;   /* sorted: all labels are numbers, but for an empty one */
  bool fractions; /* sorted: and one is no integer */
};

polyad_status pd_dictionary_open(polyad_context *context, uint64_t seed,
                                 struct pd_dictionary *dictionary);
void pd_dictionary_close(struct pd_dictionary *dictionary);

/** The number of a label, a new one where it was not seen before. */
polyad_status pd_dictionary_number(struct pd_dictionary *dictionary, const char *label,
                                   size_t length, uint32_t *number);

/** Hash of a label in this dictionary. */
uint64_t pd_dictionary_hash(const struct pd_dictionary *dictionary, const char *label,
                            size_t length);
/** The number of a label that is there; false when it is not. Any number of threads may look
 *  while none adds. */
bool pd_dictionary_find(const struct pd_dictionary *dictionary, const char *label, size_t length,
                        uint64_t hash, uint32_t *number);

/** Sorts the labels: by value where all (but the empty one, which comes first) are numbers, else
 *  by their bytes. place[number] is the new place of a label. */
polyad_status pd_dictionary_sort(struct pd_dictionary *dictionary, uint32_t *place);

#endif
