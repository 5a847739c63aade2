#pragma once

// Marks a function that both the host compiler and nvcc compile.
#ifdef __CUDACC__
#define HOCKNEY_HOST_DEVICE __host__ __device__
#else
#define HOCKNEY_HOST_DEVICE
#endif
