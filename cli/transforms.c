/* --log1p, --tf-idf and --scale. */
#include "transforms.h"
#include "json.h"
#include "names.h"
#include "text.h"
#include <string.h>

static const char *const kinds[] = {"log1p", "tf-idf", "scale by norm", "scale by sum",
                                    "scale by max"};

const char *cli_transform_given(const struct cli_transforms *transforms, bool only_whole) {
  if (transforms->log1p && !only_whole) return "--log1p";
  if (transforms->tf_idf != NULL) return "--tf-idf";
  return transforms->scale != NULL ? "--scale" : NULL;
}

/* Names may have a comma or a colon, such as date:week: the last one that leaves two modes counts.
 */
static int tf_idf(const char *text, const polyad_tensor *tensor, polyad_transform *step) {
  char quoted[CLI_QUOTE_BYTES];
  int order = polyad_tensor_order(tensor);
  for (const char *comma = strchr(text, ','); comma != NULL; comma = strchr(comma + 1, ',')) {
    int terms = cli_mode_of(tensor, order, text, (size_t)(comma - text));
    int documents = cli_mode_of(tensor, order, comma + 1, strlen(comma + 1));
    if (terms < 0 || documents < 0 || terms == documents) continue;
    *step = (polyad_transform){POLYAD_TRANSFORM_TF_IDF, terms, documents};
    return 0;
  }
  return cli_usage_error("--tf-idf %s found; expected two modes, that of the terms and that of the "
                         "documents, by number (1 to %d) or name",
                         cli_quote(quoted, text), order);
}

/* MODE or MODE:HOW. */
static bool scale_step(const polyad_tensor *tensor, const char *word, size_t length,
                       polyad_transform *step) {
  static const char *const ways[] = {":norm", ":sum", ":max"};
  int order = polyad_tensor_order(tensor);
  *step =
      (polyad_transform){POLYAD_TRANSFORM_SCALE_NORM, cli_mode_of(tensor, order, word, length), 0};
  for (int k = 0; k < 3 && step->mode < 0; ++k) {
    size_t tail = strlen(ways[k]);
    if (length <= tail || memcmp(word + length - tail, ways[k], tail) != 0) continue;
    step->mode = cli_mode_of(tensor, order, word, length - tail);
    step->kind = (polyad_transform_kind)(POLYAD_TRANSFORM_SCALE_NORM + k);
  }
  return step->mode >= 0;
}

static int scale(struct cli_transforms *transforms, const polyad_tensor *tensor) {
  char quoted[CLI_QUOTE_BYTES];
  for (const char *at = transforms->scale;; ++at) {
    size_t length = strcspn(at, ",");
    polyad_transform *step = &transforms->step[transforms->count];
    bool known = transforms->count < CLI_MOST_TRANSFORMS && scale_step(tensor, at, length, step);
    for (int k = 0; known && k < transforms->count; ++k)
      known = transforms->step[k].kind < POLYAD_TRANSFORM_SCALE_NORM ||
              transforms->step[k].mode != step->mode;
    if (!known)
      return cli_usage_error("--scale %s found; expected different modes by number (1 to %d) or "
                             "name, each alone or with :norm, :sum or :max",
                             cli_quote(quoted, transforms->scale), polyad_tensor_order(tensor));
    ++transforms->count;
    at += length;
    if (*at == '\0') return 0;
  }
}

int cli_transform(polyad_context *context, struct cli_transforms *transforms,
                  polyad_tensor **tensor) {
  int status = 0;
  if (cli_transform_given(transforms, false) == NULL) return 0;
  transforms->count = 0;
  if (transforms->log1p)
    transforms->step[transforms->count++] = (polyad_transform){POLYAD_TRANSFORM_LOG1P, 0, 0};
  if (transforms->tf_idf != NULL)
    status = tf_idf(transforms->tf_idf, *tensor, &transforms->step[transforms->count++]);
  if (status == 0 && transforms->scale != NULL) status = scale(transforms, *tensor);
  if (status != 0) return status;
  polyad_tensor *changed;
  if (polyad_tensor_transform(context, *tensor, transforms->step, transforms->count, &changed) !=
      POLYAD_OK)
    return cli_library_failure(context);
  polyad_tensor_destroy(*tensor);
  *tensor = changed;
  return 0;
}

void cli_json_transforms(cJSON *object, const struct cli_transforms *transforms) {
  cJSON *list = cJSON_AddArrayToObject(object, "transforms");
  for (int k = 0; k < transforms->count; ++k) {
    const polyad_transform *step = &transforms->step[k];
    cJSON *item = cJSON_CreateObject();
    cli_json_text(item, "kind", kinds[step->kind]);
    if (step->kind != POLYAD_TRANSFORM_LOG1P)
      cli_json_count(item, "mode", (uint64_t)step->mode + 1);
    if (step->kind == POLYAD_TRANSFORM_TF_IDF)
      cli_json_count(item, "documents", (uint64_t)step->documents + 1);
    cJSON_AddItemToArray(list, item);
  }
}
