#include "unit/built_cases.h"

const struct mttkrp_case built_cases[] = {
    {"one nonzero", 3, {5, 6, 7}, 1, SHAPE_UNIFORM, false},
    {"vector", 1, {1000}, 777, SHAPE_UNIFORM, true},
    {"short vector", 1, {1}, 3, SHAPE_UNIFORM, false},
    {"matrix", 2, {33, 70000}, 5001, SHAPE_UNIFORM, false},
    {"a mode of length 1", 3, {40, 1, 50}, 1500, SHAPE_UNIFORM, false},
    {"only modes of length 1", 4, {1, 1, 1, 1}, 1, SHAPE_UNIFORM, false},
    {"odd", 3, {20, 30, 41}, 2049, SHAPE_FIBERS, true},
    {"words of marks", 3, {64, 64, 64}, 4096, SHAPE_UNIFORM, false},
    {"heavy", 3, {300, 4000, 50}, 60001, SHAPE_HEAVY, false},
    {"diagonal", 4, {900, 901, 902, 903}, 850, SHAPE_DIAGONAL, false},
    {"four modes", 4, {24, 183, 1140, 171}, 70003, SHAPE_FIBERS, false},
    {"long modes", 3, {1 << 20, 9000, 3}, 40000, SHAPE_UNIFORM, false},
    {"five modes", 5, {10, 200, 3, 2, 500}, 9999, SHAPE_HEAVY, true},
    {"six modes", 6, {11, 7, 13, 5, 1, 17}, 7000, SHAPE_FIBERS, false},
    {"seven modes", 7, {11, 7, 13, 5, 2, 17, 3}, 7000, SHAPE_UNIFORM, false},
    {"keys of 80 bits", 8, {1000, 999, 1001, 700, 900, 800, 1024, 513}, 20001, SHAPE_HEAVY, false},
};
const size_t built_case_count = sizeof built_cases / sizeof *built_cases;
