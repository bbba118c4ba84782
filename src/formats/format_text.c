/* Reading NAME[:VARIANT][:KEY=VALUE...]: words between colons, the first a format, a second without
 * an equals sign a variant, the others keys and values of the format's table. */
#include "formats/format_text.h"
#include <stdio.h>
#include <string.h>

int pd_parameter(const struct pd_request *request, int which, int usual) {
  return request->parameter[which] > 0 ? request->parameter[which] : usual;
}

int pd_parameter_find(const struct polyad_format *format, const char *name, size_t length) {
  for (int k = 0; k < format->parameter_count; ++k) {
    const char *known = format->parameters[k].about.name;
    if (strlen(known) == length && memcmp(known, name, length) == 0) return k;
  }
  return -1;
}

bool pd_parameter_allows(const struct pd_parameter *parameter, int value) {
  return value >= parameter->about.least && value <= parameter->about.most;
}

static polyad_status fail_format(polyad_context *context, const char *name, size_t length) {
  char quoted[PD_QUOTE_BYTES], names[256] = "auto";
  size_t at = strlen(names);
  for (int f = 0; f < pd_format_count() && at < sizeof names; ++f)
    at += (size_t)snprintf(names + at, sizeof names - at, ", %s", pd_format_at(f)->name);
  return pd_fail(context, POLYAD_INVALID_ARGUMENT, "format %s found; expected %s",
                 pd_quote(quoted, name, length), names);
}

static polyad_status read_name(polyad_context *context, const char *text, size_t length,
                               struct pd_format_text *read) {
  char name[PD_FORMAT_NAME_BYTES];
  if (length >= sizeof name) return fail_format(context, text, length);
  memcpy(name, text, length);
  name[length] = '\0';
  if (strcmp(name, "auto") == 0) return POLYAD_OK;
  read->format = pd_format_find(name);
  return read->format == NULL ? fail_format(context, text, length) : POLYAD_OK;
}

/* "'kappa' found; expected a value: kappa=N, from 1 to 4096". */
static polyad_status fail_without_value(polyad_context *context,
                                        const struct pd_parameter *parameter, const char *word,
                                        size_t length) {
  char quoted[PD_QUOTE_BYTES];
  return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                 "%s found; expected a value: %s=N, an integer from %d to %d",
                 pd_quote(quoted, word, length), parameter->about.name, parameter->about.least,
                 parameter->about.most);
}

static polyad_status format_text_read_variant(polyad_context *context, const char *word,
                                              size_t length, struct pd_format_text *read) {
  char quoted[PD_QUOTE_BYTES];
  int key = read->format == NULL ? -1 : pd_parameter_find(read->format, word, length);
  if (key >= 0) return fail_without_value(context, &read->format->parameters[key], word, length);
  PD_EXPECT(context, length != 0 && length < sizeof read->variant,
            "variant %s found; expected %s%s", pd_quote(quoted, word, length),
            read->format == NULL ? "the name of a variant" : "one of: ",
            read->format == NULL ? "" : read->format->variants);
  memcpy(read->variant, word, length);
  read->variant[length] = '\0';
  return POLYAD_OK;
}

/* "flycoo has kappa=N and block-columns=N", or that it has none. */
static polyad_status fail_key(polyad_context *context, const struct polyad_format *format,
                              const char *word, size_t length) {
  char quoted[PD_QUOTE_BYTES], keys[256];
  PD_EXPECT(context, format != NULL && format->parameter_count != 0,
            "%s found; format %s has no parameters", pd_quote(quoted, word, length),
            format == NULL ? "auto" : format->name);
  size_t at = 0;
  for (int k = 0; k < format->parameter_count && at < sizeof keys; ++k)
    at += (size_t)snprintf(keys + at, sizeof keys - at, "%s%s=N", k == 0 ? "" : " or ",
                           format->parameters[k].about.name);
  return pd_fail(context, POLYAD_INVALID_ARGUMENT, "%s found; expected a parameter of %s: %s",
                 pd_quote(quoted, word, length), format->name, keys);
}

/* Digits only; false for anything else, and for what no int holds. */
static bool read_integer(const char *text, size_t length, int *value) {
  int sum = 0;
  for (size_t k = 0; k < length; ++k)
    if (text[k] < '0' || text[k] > '9' || __builtin_mul_overflow(sum, 10, &sum) ||
        __builtin_add_overflow(sum, text[k] - '0', &sum))
      return false;
  *value = sum;
  return length > 0;
}

static polyad_status read_parameter(polyad_context *context, const char *word, size_t length,
                                    struct pd_format_text *read) {
  char quoted[PD_QUOTE_BYTES];
  const char *equals = memchr(word, '=', length);
  size_t key = equals == NULL ? length : (size_t)(equals - word);
  int which = read->format == NULL ? -1 : pd_parameter_find(read->format, word, key), value;
  if (which < 0) return fail_key(context, read->format, word, length);
  const struct pd_parameter *parameter = &read->format->parameters[which];
  if (equals == NULL) return fail_without_value(context, parameter, word, length);
  PD_EXPECT(context, read->parameter[which] == 0, "%s found; %s has been given before",
            pd_quote(quoted, word, length), parameter->about.name);
  PD_EXPECT(context,
            read_integer(equals + 1, length - key - 1, &value) &&
                pd_parameter_allows(parameter, value),
            "%s found; expected an integer from %d to %d", pd_quote(quoted, word, length),
            parameter->about.least, parameter->about.most);
  read->parameter[which] = value;
  return POLYAD_OK;
}

polyad_status pd_format_text_read(polyad_context *context, const char *text,
                                  struct pd_format_text *read) {
  *read = (struct pd_format_text){0};
  size_t length = strcspn(text, ":");
  PD_TRY(read_name(context, text, length, read));
  for (bool second = true; text[length] == ':'; second = false) {
    text += length + 1;
    length = strcspn(text, ":");
    if (second && memchr(text, '=', length) == NULL)
      PD_TRY(format_text_read_variant(context, text, length, read));
    else
      PD_TRY(read_parameter(context, text, length, read));
  }
  return POLYAD_OK;
}

polyad_status polyad_format_check(polyad_context *context, const char *format) {
  struct pd_format_text read;
  PD_ENTER(context);
  PD_EXPECT(context, format != NULL, "the format is NULL");
  return pd_format_text_read(context, format, &read);
}

polyad_status polyad_format_parameter_describe(int format, int which,
                                               polyad_format_parameter *about) {
  const struct polyad_format *found = pd_format_at(format);
  if (about == NULL || found == NULL || which < 0 || which >= found->parameter_count)
    return POLYAD_INVALID_ARGUMENT;
  *about = found->parameters[which].about;
  return POLYAD_OK;
}
