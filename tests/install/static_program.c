/* Links the static library with what pkg-config --static says. */
#include <polyad/polyad.h>
#include <stdio.h>

int main(void) {
  polyad_context *context = NULL;
  if (polyad_context_create(&context) != POLYAD_OK) return 1;
  printf("static: polyad %s, %d formats\n", polyad_version(), polyad_format_count());
  polyad_context_destroy(context);
  return 0;
}
