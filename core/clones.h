#pragma once

// METAFUSE_CLONES before a function compiles it for several widths of SIMD, one of which is chosen at run
// time. Sanitizers and clang do not take part in the choice; the results are the same.
#if defined(METAFUSE_PLAIN_KERNELS)
#define METAFUSE_CLONES
#elif defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define METAFUSE_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define METAFUSE_CLONES
#endif
