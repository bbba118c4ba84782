// All public headers as C++, in the order that the test puts them into HEADERS_FILE, and a program.
#include HEADERS_FILE
#include <cstdio>

int main() {
  polyad_context *context = nullptr;
  if (polyad_context_create(&context) != POLYAD_OK) return 1;
  std::printf("C++: polyad %s, %d threads\n", polyad_version(), polyad_threads(context));
  polyad_context_destroy(context);
  return 0;
}
