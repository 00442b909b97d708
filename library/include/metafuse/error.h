#pragma once

// How the C++ headers of libmetafuse report failures: a status of metafuse.h becomes an exception.

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <metafuse.h>

namespace metafuse {
// The headers are entirely inline: a program shares only the C interface with the library, so the two may be
// built by different compilers.
inline namespace library_0 {

/// A failure of the library; what() says what was wrong, where, and what to do.
class Error : public std::runtime_error {
 public:
  Error(int status, const char* text) : std::runtime_error(text), status_(status) {}
  /// A value of metafuse_status.
  int status() const { return status_; }

 private:
  int status_;
};

/// Options by name, as on the command line but without dashes.
using Options = std::map<std::string, std::string>;

/// Receives the progress of long work. Returning false stops it, which throws an Error of
/// status METAFUSE_STOPPED.
using Progress = std::function<bool(std::size_t done, std::size_t total)>;

namespace detail {

/// Throws this thread's last error unless the status is METAFUSE_OK.
inline void check(int status) {
  if (status != METAFUSE_OK) throw Error(status, metafuse_last_error());
}

struct Free {
  void operator()(metafuse_run* handle) const { metafuse_run_free(handle); }
  void operator()(metafuse_qrels* handle) const { metafuse_qrels_free(handle); }
  void operator()(metafuse_model* handle) const { metafuse_model_free(handle); }
  void operator()(metafuse_evaluation* handle) const { metafuse_evaluation_free(handle); }
  void operator()(char* text) const { metafuse_text_free(text); }
};

template <class Handle>
using Owned = std::unique_ptr<Handle, Free>;

/// The text that `make(char**)` writes, freed after copying.
template <class Make>
std::string text_of(Make make) {
  char* text = nullptr;
  check(make(&text));
  const Owned<char> owned(text);
  return owned.get();
}

/// Options in the form of metafuse.h; valid as long as the map lives.
class OptionList {
 public:
  explicit OptionList(const Options& options) {
    for (const auto& [name, value] : options) rows_.push_back({name.c_str(), value.c_str()});
  }
  const metafuse_option* data() const { return rows_.data(); }
  std::size_t size() const { return rows_.size(); }

 private:
  std::vector<metafuse_option> rows_;
};

inline int call_progress(void* context, std::size_t done, std::size_t total) {
  const auto& progress = *static_cast<const Progress*>(context);
  try {
    return progress(done, total) ? 0 : 1;
  } catch (...) {
    return 1;
  }
}

}  // namespace detail
}  // namespace library_0
}  // namespace metafuse
