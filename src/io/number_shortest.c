/* The shortest decimal of a binary floating-point number, by the Schubfach algorithm (R. Giulietti,
 * The Schubfach way to render doubles, 2020), whose one table is computed at its first use.
 *
 * A number v = c 2^q is what every decimal between the midpoints to its neighbours reads back as.
 * With k = floor(log10 2^q), multiples of 10^k lie closer together than this interval is wide, and
 * multiples of 10^(k+1) further apart. So one of the two multiples of 10^(k+1) beside v is the
 * answer when it is inside the interval, and else one of the two multiples of 10^k beside v. The
 * interval's ends and v are scaled by 10^-k, which the table has as 128-bit numbers rounded up; a
 * product keeps whether bits behind the point were not zero ("rounded to odd"), which is enough for
 * every comparison to be exact. */
#include "io/number_shortest.h"
#include <assert.h>
#include <pthread.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

/* Powers of ten that occur as 10^-k. */
enum { LEAST_POWER = -292, MOST_POWER = 324, POWERS = MOST_POWER - LEAST_POWER + 1 };

/* 10^p as a number from 2^127 to 2^128 - 1, rounded up, times a power of two. */
static struct power { uint64_t high, low; } powers[POWERS];
static pthread_once_t powers_made = PTHREAD_ONCE_INIT;

/* ---- the table --------------------------------------------------------------------------------
 */

/* Long integers, the least significant limb of 32 bits first. 2^LONG_BITS / 10^292 has more than
 * 128 bits, and 10^324 has 1077. */
enum { LIMBS = 36, LONG_BITS = LIMBS * 32 - 1 };

static void multiply_by_ten(uint32_t limb[LIMBS]) {
  uint64_t carry = 0;
  for (int i = 0; i < LIMBS; ++i) {
    carry += (uint64_t)limb[i] * 10;
    limb[i] = (uint32_t)carry;
    carry >>= 32;
  }
  assert(carry == 0);
}

/* Returns whether there was a remainder. */
static bool divide_by_ten(uint32_t limb[LIMBS]) {
  uint64_t rest = 0;
  for (int i = LIMBS - 1; i >= 0; --i) {
    rest = rest << 32 | limb[i];
    limb[i] = (uint32_t)(rest / 10);
    rest %= 10;
  }
  return rest != 0;
}

/* The highest 128 bits; one more where `inexact` or a lower bit is set. */
static struct power round_up(const uint32_t limb[LIMBS], bool inexact) {
  int top = LIMBS - 1;
  while (limb[top] == 0)
    --top;
  int shift = __builtin_clz(limb[top]);
  wide bits = 0;
  for (int i = top; i > top - 5; --i) { /* 160 bits, of which the first `shift` are zero */
    uint32_t next = i >= 0 ? limb[i] : 0;
    int take = i == top ? 32 - shift : i == top - 4 ? shift : 32;
    bits = take == 0 ? bits : bits << take | next >> (i == top - 4 ? 32 - take : 0);
    if (i == top - 4 && take < 32) inexact = inexact || (uint32_t)(next << take) != 0;
  }
  for (int i = top - 5; i >= 0; --i)
    inexact = inexact || limb[i] != 0;
  bits += inexact;
  return (struct power){(uint64_t)(bits >> 64), (uint64_t)bits};
}

static void make_powers(void) {
  uint32_t limb[LIMBS] = {1};
  for (int p = 0; p <= MOST_POWER; ++p) {
    powers[p - LEAST_POWER] = round_up(limb, false);
    if (p < MOST_POWER) multiply_by_ten(limb);
  }
  memset(limb, 0, sizeof limb);
  limb[LIMBS - 1] = UINT32_C(1) << 31;
  bool inexact = false; /* what is divided off once is never whole again */
  for (int p = -1; p >= LEAST_POWER; --p) {
    inexact = divide_by_ten(limb) || inexact;
    powers[p - LEAST_POWER] = round_up(limb, inexact);
  }
}

/* ---- the algorithm ----------------------------------------------------------------------------
 */

/* floor(log10(2^q)), or of 3/4 2^q, for |q| < 1100. */
static int floor_log10_power_of_two(int q, bool three_quarters) {
  return (q * 1262611 - (three_quarters ? 524031 : 0)) >> 22;
}

/* floor(log2(10^p)), for |p| < 400. */
static int floor_log2_power_of_ten(int p) { return (p * 1741647) >> 19; }

/* factor times the power, in units of 2^128: the whole part, its last bit set where the rest is not
 * zero. (The power was rounded up by less than one: a lowest bit alone says nothing.) */
static uint64_t number_shortest_multiply(struct power power, uint64_t factor) {
  wide low = (wide)power.low * factor;
  wide high = (wide)power.high * factor + (uint64_t)(low >> 64);
  return (uint64_t)(high >> 64) | ((uint64_t)high > 1);
}

static struct pd_decimal without_zeros(uint64_t digits, int exponent) {
  while (digits % 100000000 == 0) {
    digits /= 100000000;
    exponent += 8;
  }
  while (digits % 10 == 0) {
    digits /= 10;
    ++exponent;
  }
  return (struct pd_decimal){digits, exponent};
}

/* The shortest decimal of c 2^q. `closer`: c is a power of two and not the smallest one, so that
 * the neighbour below is half as far as the one above. */
static struct pd_decimal shortest(uint64_t c, int q, bool closer) {
  bool even = c % 2 == 0; /* then the midpoints read back as v too */
  int k = floor_log10_power_of_two(q, closer);
  int shift = q + floor_log2_power_of_ten(-k) + 1;
  struct power power = powers[-k - LEAST_POWER];
  uint64_t below = number_shortest_multiply(power, (4 * c - 2 + closer) << shift) + !even;
  uint64_t here = number_shortest_multiply(power, (4 * c) << shift);
  uint64_t above = number_shortest_multiply(power, (4 * c + 2) << shift) - !even;
  uint64_t s = here / 4;
  if (s >= 10) {
    uint64_t tens = s / 10;
    bool down = below <= 40 * tens, up = 40 * tens + 40 <= above;
    if (down != up) return without_zeros(tens + up, k + 1);
  }
  bool down = below <= 4 * s, up = 4 * s + 4 <= above;
  if (down != up) return without_zeros(s + up, k);
  uint64_t middle = 4 * s + 2;
  bool round = here > middle || (here == middle && s % 2 == 1);
  return without_zeros(s + round, k);
}

struct pd_decimal pd_shortest_decimal(double value, bool single) {
  uint64_t bits;
  pthread_once(&powers_made, make_powers);
  if (single) {
    float narrow = (float)value;
    uint32_t half;
    memcpy(&half, &narrow, sizeof half);
    uint32_t fraction = half & 0x7fffff, biased = half >> 23 & 0xff;
    return biased == 0
               ? shortest(fraction, 1 - 150, false)
               : shortest(fraction | 0x800000, (int)biased - 150, fraction == 0 && biased > 1);
  }
  memcpy(&bits, &value, sizeof bits);
  uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1), biased = bits >> 52 & 0x7ff;
  return biased == 0 ? shortest(fraction, 1 - 1075, false)
                     : shortest(fraction | UINT64_C(1) << 52, (int)biased - 1075,
                                fraction == 0 && biased > 1);
}
