#pragma once

#include <csignal>
#include <cstdint>
#include <stdexcept>

#include <sys/resource.h>

namespace metafuse::test {

/// While it lives, no file of this process grows beyond a size, as on a full disk.
class FullDisk {
 public:
  explicit FullDisk(std::uintmax_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    if (::getrlimit(RLIMIT_FSIZE, &before_) != 0) throw std::runtime_error("no limit of files is known");
    const struct rlimit limit { static_cast<rlim_t>(bytes), before_.rlim_max };
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  struct rlimit before_ {};
  void (*handler_)(int);
};

}  // namespace metafuse::test
