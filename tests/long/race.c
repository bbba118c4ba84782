/* A loop that is right and one that has a race, for the sanitizer to tell apart.
 * usage: race [planted] */
#include <stdio.h>

enum { COUNT = 100000 };

int main(int arguments, char **argument) {
  (void)argument;
  static double numbers[COUNT];
  double sum = 0;
  long raced = 0;
#pragma omp parallel for num_threads(4) schedule(static)
  for (int i = 0; i < COUNT; ++i)
    numbers[i] = i;
#pragma omp parallel for num_threads(4) schedule(dynamic, 100) reduction(+ : sum)
  for (int i = 0; i < COUNT; ++i)
    sum += numbers[COUNT - 1 - i];
  if (arguments > 1) {
#pragma omp parallel for num_threads(4)
    for (int i = 0; i < COUNT; ++i)
      raced += i;
  }
  printf("%g %ld\n", sum, raced);
  return 0;
}
