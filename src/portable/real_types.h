/* The type that kernels are compiled for: PD_F64 is 0 (float) or 1 (double). Undone by
 * real_types_end.h. */
#if PD_F64
#define REAL double
#define VEC vec_f64
#define WIDE wide_f64
#define WIDTH PD_WIDTH_f64
#define OF_TYPE(x) x##_f64
#else
#define REAL float
#define VEC vec_f32
#define WIDE wide_f32
#define WIDTH PD_WIDTH_f32
#define OF_TYPE(x) x##_f32
#endif
