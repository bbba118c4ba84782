/* A column is one of amounts where all its labels are numbers, plain ones or such as people write
 * them (1,234.50 or $12), and one of them has a fraction; the last column also without fractions.
 * What is said names the option that reads them as values. */
#include "io/delimited_amounts.h"
#include "core/core.h"
#include "io/delimited_number.h"
#include <math.h>
#include <string.h>

/* What is known of the labels of a mode. */
struct amounts {
  bool all;         /* every label is a number, but for an empty one */
  bool fractions;   /* one is no integer */
  const char *read; /* how they are read (polyad_numbers); "": no option is needed */
};

/* Reads all labels in one way. Most columns of words end at their first label. */
static bool read_amounts(const struct pd_labels *labels, polyad_numbers how,
                         struct amounts *found) {
  found->fractions = false;
  for (uint64_t i = 0; i < labels->count; ++i) {
    struct pd_written_number number;
    const char *text = labels->text + labels->start[i];
    size_t length = (size_t)(labels->start[i + 1] - labels->start[i] - 1);
    if (length == 0) continue;
    if (!pd_written_number_read(how, text, length, &number, NULL)) return false;
    found->fractions |= floor(number.value) != number.value;
  }
  return true;
}

static struct amounts find_amounts(const struct pd_dictionary *mode, polyad_numbers asked) {
  /* What the first way does not read is open to two readings, such as 1,234. */
  static const struct {
    polyad_numbers how;
    const char *read;
  } ways[] = {{POLYAD_NUMBERS_GROUPED, "grouped"},
              {POLYAD_NUMBERS_POINT, "point|comma"},
              {POLYAD_NUMBERS_COMMA, "point|comma"}};
  const struct pd_labels *labels = &mode->labels;
  bool words = labels->start[labels->count] > labels->count; /* there are more than an empty one */
  struct amounts found = {mode->numbers && words, mode->fractions, ""};
  for (size_t k = 0; k < sizeof ways / sizeof *ways && !found.all && words; ++k) {
    if (asked != POLYAD_NUMBERS_PLAIN && asked != ways[k].how) continue;
    found.all = read_amounts(labels, ways[k].how, &found);
    found.read = asked == POLYAD_NUMBERS_PLAIN ? ways[k].read : "";
  }
  return found;
}

void pd_warn_of_amounts(polyad_context *context, const char *path,
                        const polyad_read_options *options, int order, char *const *names,
                        const struct pd_dictionary *modes) {
  if (options->columns != NULL || options->value != NULL || options->pattern) return;
  for (int n = 0; n < order; ++n) {
    struct amounts found = find_amounts(&modes[n], options->numbers);
    bool last = n == order - 1 && n > 0;
    if (!found.all || !(found.fractions || last)) continue;
    char quoted[PD_QUOTE_BYTES];
    const char *name = names[n] != NULL ? names[n] : "";
    (void)pd_quote(quoted, name, strlen(name));
    /* The command, which alone counts from 1, has its options with dashes. */
    bool command = polyad_message_base(context) == 1;
    pd_log(context, POLYAD_LOG_WARNING,
           "%s: column %s has only numbers, and became a mode: rows are counted; if it holds the "
           "values, name it as the value (%s%s%s%s), else name the modes (%scolumns)",
           path, quoted, command ? "--value " : "value=", quoted,
           found.read[0] == '\0' ? ""
           : command             ? " --numbers "
                                 : ", numbers=",
           found.read, command ? "--" : "");
  }
}
