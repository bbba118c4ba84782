#include "replay_compare.h"
#include <stdio.h>
#include <string.h>

struct comparing {
  struct cli_comparison *to;
  const cJSON *files_was, *files_is; /* outputs of the manifests */
  bool circumstance;                 /* of the member that is looked at */
};

enum { WHAT_BYTES = 160 };

static bool is_among(const char *key, const char *const *keys) {
  while (*keys != NULL && strcmp(key, *keys) != 0)
    ++keys;
  return *keys != NULL;
}

/* Whether a member is a time, follows from times, or is memory as the system counts it. */
static bool is_measured(const char *key) {
  static const char *const keys[] = {"peak_bytes", "device_peak_bytes", "device_memory",
                                     "gflops",     "gbytes_per_second", "bound_share",
                                     "best",       "efficiency",        NULL};
  static const char suffix[] = "_seconds";
  size_t length = strlen(key), ending = sizeof suffix - 1;
  return strncmp(key, "seconds", strlen("seconds")) == 0 || is_among(key, keys) ||
         (length > ending && strcmp(key + length - ending, suffix) == 0);
}

/* Whether a member of the whole object says how a run was made, and is no result. */
static bool is_circumstance(const char *key) {
  static const char *const keys[] = {"format",  "variant",      "device",      "precision",
                                     "threads", "seed",         "streamed",    "stream",
                                     "team",    "processes",    "commit",      "driver",
                                     "version", "bytes_format", "device_name", NULL};
  return is_among(key, keys);
}

static const char *text_of(const cJSON *object, const char *key) {
  return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

/* Adds a copy of what was found; NULL becomes null. Numbers are written by cli_json_real(), since
 * cJSON would write two that differ in their last bit with the same digits. */
static void add_found(cJSON *row, const char *key, const cJSON *found) {
  if (cJSON_IsNumber(found))
    cli_json_real(row, key, found->valuedouble);
  else
    cJSON_AddItemToObject(row, key,
                          found == NULL ? cJSON_CreateNull() : cJSON_Duplicate(found, true));
}

static void add_difference(struct comparing *with, const char *what, const cJSON *was,
                           const cJSON *is) {
  cJSON *row = cJSON_CreateObject();
  cli_json_text(row, "what", what);
  add_found(row, "was", was);
  add_found(row, "is", is);
  cJSON_AddItemToArray(with->to->differences, row);
  if (!with->circumstance) with->to->same = false;
}

/* Whether two texts name the same output of the two runs. */
static bool is_same_output(const struct comparing *with, const cJSON *was, const cJSON *is) {
  int count = cJSON_GetArraySize(with->files_was);
  if (!cJSON_IsString(was) || !cJSON_IsString(is)) return false;
  for (int k = 0; k < count; ++k) {
    const char *then = text_of(cJSON_GetArrayItem(with->files_was, k), "file");
    const char *now = text_of(cJSON_GetArrayItem(with->files_is, k), "file");
    if (then != NULL && now != NULL && strcmp(was->valuestring, then) == 0 &&
        strcmp(is->valuestring, now) == 0)
      return true;
  }
  return false;
}

static void compare(struct comparing *with, const char *what, const cJSON *was, const cJSON *is);

/* Compares the members that either of two objects has; `prefix` stands before their names. */
static void compare_objects(struct comparing *with, const char *prefix, const cJSON *was,
                            const cJSON *is) {
  char what[WHAT_BYTES];
  const cJSON *one;
  cJSON_ArrayForEach(one, was) {
    if (is_measured(one->string)) continue;
    snprintf(what, sizeof what, "%s%s", prefix, one->string);
    compare(with, what, one, cJSON_GetObjectItemCaseSensitive(is, one->string));
  }
  cJSON_ArrayForEach(one, is) {
    if (is_measured(one->string) || cJSON_GetObjectItemCaseSensitive(was, one->string) != NULL)
      continue;
    snprintf(what, sizeof what, "%s%s", prefix, one->string);
    compare(with, what, NULL, one);
  }
}

/* Of rows only the first that differs is of interest, but of files all that do. */
static void compare_rows(struct comparing *with, const char *what, const cJSON *was,
                         const cJSON *is) {
  int before = cJSON_GetArraySize(with->to->differences), row = 0;
  bool files = strcmp(what, "inputs") == 0 || strcmp(what, "outputs") == 0;
  const cJSON *then = was->child, *now = is->child;
  for (; then != NULL && now != NULL; then = then->next, now = now->next) {
    char name[WHAT_BYTES];
    snprintf(name, sizeof name, "%s %d", strcmp(what, "trace") == 0 ? "iteration" : what, ++row);
    compare(with, name, then, now);
    if (!files && cJSON_GetArraySize(with->to->differences) > before) return;
  }
  if (then == NULL && now == NULL) return;
  char number[WHAT_BYTES];
  snprintf(number, sizeof number, "number of %s", what);
  cJSON *counts[] = {cJSON_CreateNumber(cJSON_GetArraySize(was)),
                     cJSON_CreateNumber(cJSON_GetArraySize(is))};
  add_difference(with, number, counts[0], counts[1]);
  cJSON_Delete(counts[0]);
  cJSON_Delete(counts[1]);
}

/* Whether two values that are no objects are the same. Numbers are compared as they were read, for
 * 17 digits tell all doubles apart; cJSON_Compare() takes two neighbouring doubles for equal. */
static bool is_same_value(const cJSON *was, const cJSON *is) {
  if (cJSON_IsNumber(was) && cJSON_IsNumber(is)) return was->valuedouble == is->valuedouble;
  if (!cJSON_IsArray(was) || !cJSON_IsArray(is)) return cJSON_Compare(was, is, true);
  const cJSON *then = was->child, *now = is->child;
  while (then != NULL && now != NULL && is_same_value(then, now)) {
    then = then->next;
    now = now->next;
  }
  return then == NULL && now == NULL;
}

static void compare(struct comparing *with, const char *what, const cJSON *was, const cJSON *is) {
  char prefix[WHAT_BYTES];
  if (cJSON_IsObject(was) && cJSON_IsObject(is)) {
    snprintf(prefix, sizeof prefix, "%s: ", what);
    compare_objects(with, prefix, was, is);
  } else if (cJSON_IsArray(was) && cJSON_IsArray(is) &&
             (cJSON_IsObject(was->child) || cJSON_IsObject(is->child))) {
    compare_rows(with, what, was, is);
  } else if (!is_same_value(was, is) && !is_same_output(with, was, is)) {
    add_difference(with, what, was, is);
  }
}

static void compare_members(struct comparing *with, const cJSON *was, const cJSON *is,
                            const char *const *keys) {
  for (; *keys != NULL; ++keys) {
    const cJSON *then = cJSON_GetObjectItemCaseSensitive(was, *keys);
    const cJSON *now = cJSON_GetObjectItemCaseSensitive(is, *keys);
    if (then != NULL || now != NULL) compare(with, *keys, then, now);
  }
}

/* Whether a manifest has this hash: 0 stands for a tensor or model that the run did not have, or
 * did not hash. */
static bool has_hash(const cJSON *manifest, const char *key) {
  const char *hash = text_of(manifest, key);
  return hash != NULL && strspn(hash, "0") != strlen(hash);
}

/* Compares the results but for the model and the files. */
static void compare_told(struct comparing *with, const cJSON *was, const cJSON *is) {
  const cJSON *one;
  cJSON_ArrayForEach(one, was) {
    const char *key = one->string;
    /* bench's command line as it was typed */
    if (is_measured(key) || strcmp(key, "manifest") == 0 || strcmp(key, "command") == 0) continue;
    with->circumstance = is_circumstance(key);
    compare(with, key, one, cJSON_GetObjectItemCaseSensitive(is, key));
  }
}

void cli_compare_runs(const cJSON *was, const cJSON *is, struct cli_comparison *comparison) {
  static const char *const made_of[] = {"version",     "device_name", "capability",
                                        "tensor_hash", "inputs",      NULL};
  static const char *const made[] = {"outputs", "model_hash", NULL};
  const cJSON *then = cJSON_GetObjectItemCaseSensitive(was, "manifest");
  const cJSON *now = cJSON_GetObjectItemCaseSensitive(is, "manifest");
  struct comparing with = {.to = comparison,
                           .files_was = cJSON_GetObjectItemCaseSensitive(then, "outputs"),
                           .files_is = cJSON_GetObjectItemCaseSensitive(now, "outputs"),
                           .circumstance = true};
  *comparison = (struct cli_comparison){
      .differences = cJSON_CreateArray(), .same = true, .has_model = has_hash(then, "model_hash")};
  compare_members(&with, then, now, made_of);
  compare_told(&with, was, is);
  with.circumstance = false;
  compare_members(&with, then, now, made);
  comparison->same_model = cJSON_Compare(cJSON_GetObjectItemCaseSensitive(then, "model_hash"),
                                         cJSON_GetObjectItemCaseSensitive(now, "model_hash"), true);
}
