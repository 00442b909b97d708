#include "core/diagnostics.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "core/contract.h"
#include "core/text.h"

namespace metafuse {
std::string located(std::string_view file, Place place, std::string_view text) {
  std::string out(file);
  if (place.line > 0) out += ':' + std::to_string(place.line);
  if (place.line > 0 && place.column > 0) out += ':' + std::to_string(place.column);
  out += ": ";
  out += text;
  return out;
}

void Diagnostics::error(Place place, std::string_view text) {
  has_more_ = is_full();
  if (!has_more_) errors_.push_back({place, located(file_, place, truncate_utf8(text, kMaxTextBytes))});
}

void Diagnostics::warning(Place place, std::string_view text) {
  if (warnings_.size() < kMost)
    warnings_.push_back(located(file_, place, truncate_utf8(text, kMaxTextBytes)));
}

void Diagnostics::add(const Diagnostics& other) {
  for (const Entry& entry : other.errors_) {
    has_more_ = has_more_ || is_full();
    if (!is_full()) errors_.push_back(entry);
  }
  for (const std::string& warning : other.warnings_)
    if (warnings_.size() < kMost) warnings_.push_back(warning);
}

Error Diagnostics::to_error(Code code) const {
  require(has_errors(), "no error was collected");
  std::vector<Entry> sorted = errors_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.place.line, a.place.column) < std::tie(b.place.line, b.place.column);
  });
  std::string text;
  for (const Entry& entry : sorted) {
    if (!text.empty()) text += '\n';
    text += entry.text;
  }
  if (has_more_) text += '\n' + located(file_, {}, "more mistakes follow; correct these first");
  return fail(code, text);
}

}  // namespace metafuse
