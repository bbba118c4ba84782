/* All factor kernels of one instruction set. The includer defines ISA (a string) and TABLE (the
 * table's name) and is compiled with that instruction set's flags. */
#include "linalg/factor_kernels.h"

#define VAL float
#define NAME(x) x##_f32
#include "linalg/factor_kernels_body.h"
#undef VAL
#undef NAME
#define VAL double
#define NAME(x) x##_f64
#include "linalg/factor_kernels_body.h"

const struct pd_factor_kernels TABLE[2] = {
    [POLYAD_F32] = {.name = ISA,
                    .gram = gram_f32,
                    .solve = solve_f32,
                    .multiply = multiply_f32,
                    .column_sums = column_sums_f32,
                    .inner = inner_f32,
                    .scale = scale_f32,
                    .hals = hals_f32},
    [POLYAD_F64] = {.name = ISA,
                    .gram = gram_f64,
                    .solve = solve_f64,
                    .multiply = multiply_f64,
                    .column_sums = column_sums_f64,
                    .inner = inner_f64,
                    .scale = scale_f64,
                    .hals = hals_f64},
};
