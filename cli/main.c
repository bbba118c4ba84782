#include <polyad/polyad.h>
#include <stdio.h>

int main(void) {
  printf("polyad %s\n", polyad_version());
  return 0;
}
