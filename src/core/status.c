/* The names of the status codes, and the version. */
#include <polyad/status.h>
#include <polyad/version.h>

#define PD_TEXT2(x) #x
#define PD_TEXT(x) PD_TEXT2(x)

const char *polyad_status_string(polyad_status status) {
  switch (status) {
#define PD_CASE(name, number, sentence)                                                            \
  case POLYAD_##name:                                                                              \
    return sentence;
    POLYAD_STATUS_MAP(PD_CASE)
#undef PD_CASE
  }
  return "unknown status";
}

const char *polyad_status_name(polyad_status status) {
  switch (status) {
#define PD_CASE(name, number, sentence)                                                            \
  case POLYAD_##name:                                                                              \
    return #name;
    POLYAD_STATUS_MAP(PD_CASE)
#undef PD_CASE
  }
  return "UNKNOWN";
}

const char *polyad_version(void) {
  return PD_TEXT(POLYAD_VERSION_MAJOR) "." PD_TEXT(POLYAD_VERSION_MINOR) "." PD_TEXT(
      POLYAD_VERSION_PATCH);
}
