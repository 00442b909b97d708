// A library to preload into a program: its wall clock is CLOCK_AHEAD seconds ahead of the machine's. It asks
// the kernel directly and needs no memory or symbols of other libraries, so it works before any allocator.
#include <cstdlib>
#include <ctime>

#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

namespace {

time_t seconds_ahead() {
  static const char* const text = std::getenv("CLOCK_AHEAD");
  static const time_t ahead = text == nullptr ? 0 : std::strtol(text, nullptr, 10);
  return ahead;
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* out) noexcept {
  const auto status = static_cast<int>(::syscall(SYS_clock_gettime, clock, out));
  if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    out->tv_sec += seconds_ahead();
  return status;
}

extern "C" int gettimeofday(timeval* out, void*) noexcept {
  timespec now{};
  const int status = clock_gettime(CLOCK_REALTIME, &now);
  *out = {now.tv_sec, now.tv_nsec / 1000};
  return status;
}

extern "C" time_t time(time_t* out) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != nullptr) *out = now.tv_sec;
  return now.tv_sec;
}
