#include "core/isa.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[PD_ISA_COUNT] = {"plain", "avx2", "avx512"};

static atomic_int forced = PD_ISA_COUNT;

bool pd_isa_available(enum pd_isa isa) {
  if (isa == PD_ISA_PLAIN) return true;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (isa == PD_ISA_AVX2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (isa == PD_ISA_AVX512)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
  return false;
}

static enum pd_isa best(void) {
  int isa = PD_ISA_COUNT - 1;
  while (!pd_isa_available((enum pd_isa)isa))
    --isa;
  return (enum pd_isa)isa;
}

/* What the environment asks for: a set, or PD_ISA_COUNT for the best, and the words it used. */
static struct wish {
  enum pd_isa isa;
  bool known; /* the words name something */
  char words[64];
} wish;
static pthread_once_t wish_read = PTHREAD_ONCE_INIT;

static void read_wish(void) {
  const char *text = getenv("POLYAD_ISA");
  wish.isa = PD_ISA_COUNT;
  wish.known = text == NULL || text[0] == '\0' || strcmp(text, "auto") == 0;
  if (wish.known) return;
  snprintf(wish.words, sizeof wish.words, "%s", text);
  for (int isa = 0; isa < PD_ISA_COUNT; ++isa)
    if (strcmp(text, names[isa]) == 0) {
      wish.isa = (enum pd_isa)isa;
      wish.known = true;
    }
}

enum pd_isa pd_isa_current(void) {
  enum pd_isa isa = (enum pd_isa)atomic_load_explicit(&forced, memory_order_relaxed);
  if (isa != PD_ISA_COUNT) return isa;
  (void)pthread_once(&wish_read, read_wish);
  return wish.isa != PD_ISA_COUNT && pd_isa_available(wish.isa) ? wish.isa : best();
}

void pd_isa_force(enum pd_isa isa) { atomic_store(&forced, (int)isa); }

const char *pd_isa_name(enum pd_isa isa) { return names[isa]; }

polyad_status pd_isa_check(polyad_context *context) {
  char there[64] = "auto", quoted[PD_QUOTE_BYTES];
  (void)pthread_once(&wish_read, read_wish);
  if (wish.known && (wish.isa == PD_ISA_COUNT || pd_isa_available(wish.isa))) return POLYAD_OK;
  size_t length = strlen(there);
  for (int isa = 0; isa < PD_ISA_COUNT; ++isa)
    if (pd_isa_available((enum pd_isa)isa))
      length += (size_t)snprintf(there + length, sizeof there - length, ", %s", names[isa]);
  pd_quote(quoted, wish.words, strlen(wish.words));
  PD_EXPECT(context, wish.known,
            "the environment variable POLYAD_ISA is %s, which is no instruction set; "
            "expected one that this processor has: %s",
            quoted, there);
  return pd_fail(context, POLYAD_UNSUPPORTED,
                 "the environment variable POLYAD_ISA is %s, which this processor or build cannot "
                 "run; expected one of %s",
                 quoted, there);
}

bool pd_isa_has_pext(void) {
#if defined(__x86_64__)
  if (pd_isa_current() == PD_ISA_PLAIN || !__builtin_cpu_supports("bmi2")) return false;
  return !__builtin_cpu_is("znver1") && !__builtin_cpu_is("znver2") && !__builtin_cpu_is("bdver4");
#else
  return false;
#endif
}

bool pd_isa_has_byte_permutations(void) {
#if defined(__x86_64__)
  return pd_isa_current() == PD_ISA_AVX512 && __builtin_cpu_supports("avx512vbmi") &&
         __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("bmi2");
#else
  return false;
#endif
}
