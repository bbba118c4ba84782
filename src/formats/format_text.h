/* A format as users write it: NAME[:VARIANT][:KEY=VALUE...]. */
#ifndef PD_FORMAT_TEXT_H
#define PD_FORMAT_TEXT_H

#include "formats/format.h"

enum { PD_FORMAT_NAME_BYTES = 32, PD_VARIANT_BYTES = 64 };

/** What such a text says. */
struct pd_format_text {
  const struct polyad_format *format; /* NULL: auto */
  char variant[PD_VARIANT_BYTES];     /* "" where the text names none */
  int parameter[PD_PARAMETERS_MAX];   /* in the order of the format's table; 0: not given */
};

/** Reads a text. Fails with POLYAD_INVALID_ARGUMENT and what is allowed for a format, a key or a
 *  value that does not exist; a variant is not looked up. */
polyad_status pd_format_text_read(polyad_context *context, const char *text,
                                  struct pd_format_text *read);

/** Number of a parameter in the format's table; -1: it has none of that name. */
int pd_parameter_find(const struct polyad_format *format, const char *name, size_t length);

/** Whether a parameter can have a value. */
bool pd_parameter_allows(const struct pd_parameter *parameter, int value);

#endif
