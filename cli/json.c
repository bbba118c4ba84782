#include "json.h"
#include "manifest.h"
#include "phases.h"
#include "progress.h"
#include "text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Text from outside may be no UTF-8; JSON must be. Bad bytes become U+FFFD. */
static char *valid_utf8(const char *text) {
  char *out = malloc(3 * strlen(text) + 1), *to = out;
  if (out == NULL) return NULL;
  for (const unsigned char *s = (const unsigned char *)text; *s != '\0';) {
    unsigned char c = *s;
    size_t need = c < 0x80                 ? 1
                  : c >= 0xc2 && c <= 0xdf ? 2
                  : (c & 0xf0) == 0xe0     ? 3
                  : c >= 0xf0 && c <= 0xf4 ? 4
                                           : 0;
    bool good = need > 0;
    for (size_t i = 1; good && i < need; ++i)
      good = (s[i] & 0xc0) == 0x80;
    if (good && ((c == 0xe0 && s[1] < 0xa0) || (c == 0xed && s[1] >= 0xa0) ||
                 (c == 0xf0 && s[1] < 0x90) || (c == 0xf4 && s[1] >= 0x90)))
      good = false;
    if (good) {
      memcpy(to, s, need);
      to += need;
      s += need;
    } else {
      memcpy(to, "\xef\xbf\xbd", 3);
      to += 3;
      ++s;
    }
  }
  *to = '\0';
  return out;
}

cJSON *cli_json_text_item(const char *text) {
  char *clean = text == NULL ? NULL : valid_utf8(text);
  cJSON *item = clean == NULL ? cJSON_CreateNull() : cJSON_CreateString(clean);
  free(clean);
  return item;
}

void cli_json_text(cJSON *object, const char *key, const char *text) {
  cJSON_AddItemToObject(object, key, cli_json_text_item(text));
}

static cJSON *count_item(uint64_t value) {
  char text[24];
  snprintf(text, sizeof text, "%llu", (unsigned long long)value);
  return cJSON_CreateRaw(text); /* doubles would round above 2^53 */
}

static cJSON *real_item(double value) {
  if (!isfinite(value)) return cJSON_CreateNull();
  char text[40];
  snprintf(text, sizeof text, "%.17g", value);
  /* the shorter form when it is the same number */
  char brief[40];
  snprintf(brief, sizeof brief, "%.15g", value);
  return cJSON_CreateRaw(strtod(brief, NULL) == value ? brief : text);
}

void cli_json_count(cJSON *object, const char *key, uint64_t value) {
  cJSON_AddItemToObject(object, key, count_item(value));
}

void cli_json_count_above_0(cJSON *object, const char *key, uint64_t value) {
  cJSON_AddItemToObject(object, key, value > 0 ? count_item(value) : cJSON_CreateNull());
}

void cli_json_real(cJSON *object, const char *key, double value) {
  cJSON_AddItemToObject(object, key, real_item(value));
}

void cli_json_bool(cJSON *object, const char *key, bool value) {
  cJSON_AddItemToObject(object, key, cJSON_CreateBool(value));
}

void cli_json_counts(cJSON *object, const char *key, const uint64_t *values, int count) {
  cJSON *array = cJSON_AddArrayToObject(object, key);
  for (int k = 0; k < count; ++k)
    cJSON_AddItemToArray(array, count_item(values[k]));
}

void cli_json_modes(cJSON *object, const char *key, uint32_t modes, int order) {
  uint64_t numbers[POLYAD_MAX_ORDER];
  int count = 0;
  for (int n = 0; n < order; ++n)
    if (modes >> n & 1) numbers[count++] = (uint64_t)n + 1;
  cli_json_counts(object, key, numbers, count);
}

void cli_json_reals(cJSON *object, const char *key, const double *values, int count) {
  cJSON *array = cJSON_AddArrayToObject(object, key);
  for (int k = 0; k < count; ++k)
    cJSON_AddItemToArray(array, real_item(values[k]));
}

int cli_json_write(struct cli_session *session, cJSON *object) {
  if (session->json == NULL) {
    cJSON_Delete(object);
    return 0;
  }
  /* That takes its time, which belongs to the run. Processes of a team are still connected. */
  if (session->team == NULL) polyad_devices_close();
  cli_json_manifest(object, session);
  cli_json_phases(object);
  char *text = cJSON_Print(object);
  cJSON_Delete(object);
  if (text == NULL) return cli_failure("out of memory");
  int status = 0;
  if (strcmp(session->json, "-") == 0) {
    cli_progress_clear();
    puts(text);
    status = cli_finish_output();
  } else {
    size_t length = strlen(text);
    char *line = realloc(text, length + 2);
    if (line == NULL) {
      free(text);
      return cli_failure("out of memory");
    }
    text = line;
    memcpy(text + length, "\n", 2);
    if (polyad_text_write(session->context, session->json, text, length + 1) != POLYAD_OK)
      status = cli_library_failure(session->context);
  }
  cJSON_free(text);
  return status;
}
