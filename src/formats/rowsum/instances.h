/* All instances of KERNEL_BODY for one type VAL and full vectors of FULL_LANES lanes; shorter
 * vectors serve ranks below FULL_LANES (lanes_for() in weights_body.h): two of 4 lanes ranks 4 to
 * 7, two of 8 lanes ranks 8 to 15, and one to three single numbers the ranks below, of which there
 * is one where full vectors have two lanes. Where SHORTER, the table of another instruction set, is
 * defined, short vectors are its. Ends with the table of them: each is a struct INSTANCE. */

#ifndef SHORTER
#define LANES 1
#define VECTORS 1
#include KERNEL_BODY
#undef VECTORS
#if FULL_LANES > 2
#define VECTORS 2
#include KERNEL_BODY
#undef VECTORS
#define VECTORS 3
#include KERNEL_BODY
#undef VECTORS
#endif
#undef LANES
#if FULL_LANES > 4
#define LANES 4
#define VECTORS 1
#include KERNEL_BODY
#undef VECTORS
#define VECTORS 2
#include KERNEL_BODY
#undef VECTORS
#undef LANES
#endif
#endif
#define LANES FULL_LANES
#define VECTORS 1
#include KERNEL_BODY
#undef VECTORS
#define VECTORS 2
#include KERNEL_BODY
#undef VECTORS
#define VECTORS 3
#include KERNEL_BODY
#undef VECTORS
#define VECTORS 4
#include KERNEL_BODY
#undef VECTORS
#define VECTORS 5
#include KERNEL_BODY
#undef VECTORS
#define VECTORS 6
#include KERNEL_BODY
#undef VECTORS
#define VECTORS 7
#include KERNEL_BODY
#undef VECTORS
#define VECTORS 8
#include KERNEL_BODY
#undef VECTORS
#undef LANES

#define PD_OF_TYPE3(name, type) name##type
#define PD_OF_TYPE(name, type) PD_OF_TYPE3(name, type)
#define PD_RUN3(lanes, vectors, type) instance_##lanes##x##vectors##type
#define PD_RUN(lanes, vectors, type) PD_RUN3(lanes, vectors, type)

static const struct INSTANCE *PD_OF_TYPE(pick_, VAL)(int lanes, int vectors) {
  static const struct INSTANCE *const full[] = {
      &PD_RUN(FULL_LANES, 1, VAL), &PD_RUN(FULL_LANES, 2, VAL), &PD_RUN(FULL_LANES, 3, VAL),
      &PD_RUN(FULL_LANES, 4, VAL), &PD_RUN(FULL_LANES, 5, VAL), &PD_RUN(FULL_LANES, 6, VAL),
      &PD_RUN(FULL_LANES, 7, VAL), &PD_RUN(FULL_LANES, 8, VAL)};
  if (lanes == FULL_LANES) return full[vectors - 1];
#ifdef SHORTER
  return SHORTER.pick(sizeof(VAL) == 4 ? POLYAD_F32 : POLYAD_F64, lanes, vectors);
#else
#if FULL_LANES > 4
  static const struct INSTANCE *const four[] = {&PD_RUN(4, 1, VAL), &PD_RUN(4, 2, VAL)};
  if (lanes == 4) return four[vectors - 1];
#endif
#if FULL_LANES > 2
  static const struct INSTANCE *const one[] = {&PD_RUN(1, 1, VAL), &PD_RUN(1, 2, VAL),
                                               &PD_RUN(1, 3, VAL)};
#else
  static const struct INSTANCE *const one[] = {&PD_RUN(1, 1, VAL)};
#endif
  return one[vectors - 1];
#endif
}
