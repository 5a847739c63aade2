#pragma once

// Include before any Highway header: every file of the kernels must compile the same targets. Those
// left out add compile time; without AVX2, which servers have had since 2013, the reference kernel
// still works.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
