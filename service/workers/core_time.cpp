#include "service/workers/core_time.h"

#include <array>
#include <charconv>
#include <cstdint>

#include <fcntl.h>
#include <unistd.h>

namespace metafuse::service {

CoreTimeMeter::CoreTimeMeter() : file_(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) {}

CoreTimeMeter::~CoreTimeMeter() {
  if (file_ >= 0) ::close(file_);
}

CoreTime CoreTimeMeter::read() const {
  std::array<char, 64> text{};
  const auto got = file_ < 0 ? 0 : ::pread(file_, text.data(), text.size(), 0);
  if (got <= 0) return {};
  const char* end = text.data() + got;
  std::int64_t ran = 0;
  std::int64_t waited = 0;
  const auto first = std::from_chars(text.data(), end, ran);
  if (first.ptr < end) std::from_chars(first.ptr + 1, end, waited);
  return {std::chrono::nanoseconds(ran), std::chrono::nanoseconds(waited)};
}

}  // namespace metafuse::service
