#pragma once

// METAFUSE_CLONES in front of a function compiles it for several SIMD widths; the widest that the processor
// supports is chosen at run time. Builds with Clang, AddressSanitizer or METAFUSE_PLAIN_KERNELS, or for other
// processors than x86-64, compile the default version only. The results are the same.
#if defined(METAFUSE_PLAIN_KERNELS)
#define METAFUSE_CLONES
#elif defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define METAFUSE_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define METAFUSE_CLONES
#endif
