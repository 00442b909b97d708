#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace metafuse {

/// A position in a text file. Lines and columns count from 1; 0 means "the whole file" or "the whole line".
struct Place {
  std::size_t line = 0;
  std::size_t column = 0;

  friend bool operator==(const Place&, const Place&) = default;
};

/// "FILE:LINE:COLUMN: text", without line or column when they are 0.
std::string located(std::string_view file, Place place, std::string_view text);

/// Collects the mistakes of one file, so that a user sees all of them in one run. At most 100 are kept, each
/// cut to 500 bytes, so that a hostile file cannot produce an endless report.
class Diagnostics {
 public:
  static constexpr std::size_t kMost = 100;
  static constexpr std::size_t kMaxTextBytes = 500;

  explicit Diagnostics(std::string file) : file_(std::move(file)) {}

  void error(Place place, std::string_view text);
  void warning(Place place, std::string_view text);
  /// Adds the errors and warnings that another collector found in the same file.
  void add(const Diagnostics& other);

  const std::string& file() const { return file_; }
  /// True when further errors would be dropped, so that a reader may stop looking for them.
  bool is_full() const { return errors_.size() >= kMost; }
  bool has_errors() const { return !errors_.empty(); }
  const std::vector<std::string>& warnings() const { return warnings_; }

  /// All errors in the order of the file, one per line. Requires has_errors().
  Error to_error(Code code) const;

 private:
  struct Entry {
    Place place;
    std::string text;
  };
  std::string file_;
  std::vector<Entry> errors_;
  bool has_more_ = false;
  std::vector<std::string> warnings_;
};

}  // namespace metafuse
