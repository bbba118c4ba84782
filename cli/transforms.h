/* --log1p, --tf-idf and --scale: values changed after reading, and what records say of it. */
#ifndef CLI_TRANSFORMS_H
#define CLI_TRANSFORMS_H

#include <cjson/cJSON.h>
#include <polyad/polyad.h>
#include <stdbool.h>

enum { CLI_MOST_TRANSFORMS = 2 + POLYAD_MAX_ORDER };

struct cli_transforms {
  bool log1p; /* the options: what was asked for */
  const char *tf_idf, *scale;
  int count; /* the steps, once the tensor is read and its modes have names */
  polyad_transform step[CLI_MOST_TRANSFORMS];
};

/** Options that expand inside a cli_option table of a type `t` with a member `session`. */
#define CLI_TRANSFORM_OPTIONS(t)                                                                   \
  CLI_HEADING("values, in this order"),                                                            \
      CLI_OPTION(t, FLAG, session.transforms.log1p, "log1p", NULL,                                 \
                 "take ln(1 + x) of every value"),                                                 \
      CLI_OPTION(t, TEXT, session.transforms.tf_idf, "tf-idf", "TERMS,DOCS",                       \
                 "weigh indices of mode TERMS less, the more indices of\n"                         \
                 "mode DOCS they occur with (modes: numbers or names)"),                           \
      CLI_OPTION(t, TEXT, session.transforms.scale, "scale", "MODE[:HOW],...",                     \
                 "divide each slice of a mode by its norm (default),\nsum or max")

/** The name of the first of these options that is given, or NULL; `only_whole` leaves out what
 *  changes each value by itself. */
const char *cli_transform_given(const struct cli_transforms *transforms, bool only_whole);
/** Changes the values of a tensor as the options say; an own copy takes its place. 0, or an exit
 *  status after a message. */
int cli_transform(polyad_context *context, struct cli_transforms *transforms,
                  polyad_tensor **tensor);
/** Adds the array "transforms" of what was done, in its order. */
void cli_json_transforms(cJSON *object, const struct cli_transforms *transforms);

#endif
