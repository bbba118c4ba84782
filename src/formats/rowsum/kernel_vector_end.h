/* Takes back the names of kernel_vector.h, so that the next instance can have them. */
#undef WIDE
#undef HALF
#undef VEC
#undef PD_NAME
#undef PD_PASTE
#undef PD_PASTE2
#undef PD_EACH_VECTOR
#undef PD_WIDEN
