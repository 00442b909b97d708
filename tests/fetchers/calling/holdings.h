#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>

#include <malloc.h>

namespace metafuse::test {

// clang reports its sanitizers as features, g++ by macros
#ifndef __has_feature
#define __has_feature(x) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
inline constexpr bool kMeasuresMemory = false;  // the sanitizers' own memory would be measured
#else
inline constexpr bool kMeasuresMemory = true;
#endif

inline std::size_t entries_of(const char* folder) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

/// The resources that this process holds now and could leak.
struct Holdings {
  std::size_t descriptors = entries_of("/proc/self/fd");
  std::size_t threads = entries_of("/proc/self/task");
  std::size_t heap_bytes = mallinfo2().uordblks + mallinfo2().hblkhd;
};

/// The peak resident memory since the last reset_peak(), in kilobytes.
inline long peak_kilobytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  long kilobytes = 0;
  while (status >> word)
    if (word == "VmHWM:") status >> kilobytes;
  return kilobytes;
}

inline void reset_peak() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

}  // namespace metafuse::test
