#pragma once

#include <cstring>
#include <string>
#include <string_view>

#include "core/diagnostics.h"
#include "core/number.h"
#include "core/result.h"
#include "core/text_file.h"

namespace metafuse::evaluation {

/// Walks over the blank-separated fields of one line. Any byte below 33 ends a field; only blanks, tabs and a
/// CR before the line end may stand between fields, so that a binary file is noticed without a pass of its
/// own.
class LineParser {
 public:
  LineParser(const char* at, const char* end) : at_(at), end_(end) {}

  /// The next field, empty when there is none left.
  std::string_view field() {
    skip_blanks();
    const char* const from = at_;
    while (at_<end_&& static_cast<unsigned char>(*at_)> ' ') ++at_;
    return {from, static_cast<std::size_t>(at_ - from)};
  }

  /// Nothing but blanks is left on the line.
  bool at_line_end() {
    skip_blanks();
    if (at_ < end_ && *at_ == '\r' && (at_ + 1 == end_ || at_[1] == '\n')) ++at_;
    return at_ == end_ || *at_ == '\n';
  }

  /// Behind the line's end. Requires at_line_end().
  const char* next_line() const { return at_ == end_ ? end_ : at_ + 1; }

  /// Leaves the rest of the line unread.
  void skip_line() {
    const void* end = std::memchr(at_, '\n', static_cast<std::size_t>(end_ - at_));
    at_ = end == nullptr ? end_ : static_cast<const char*>(end);
  }

  const char* at() const { return at_; }
  void move_to(const char* at) { at_ = at; }

 private:
  void skip_blanks() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\t')) ++at_;
  }

  const char* at_;
  const char* end_;
};

/// A shortened, printable copy of a piece of a file, for errors.
std::string shown(std::string_view text);

/// "FILE:LINE: what" of code bad_data, for the line that holds `place`.
Error bad_line(const FileText& file, const char* place, std::string_view what);

}  // namespace metafuse::evaluation
