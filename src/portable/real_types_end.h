/* Undoes real_types.h. */
#undef REAL
#undef VEC
#undef WIDE
#undef WIDTH
#undef OF_TYPE
