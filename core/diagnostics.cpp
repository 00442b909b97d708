#include "core/diagnostics.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "core/contract.h"
#include "core/utf8.h"

namespace metafuse {
namespace {

constexpr std::size_t kMaxMistakes = 100;
constexpr std::size_t kMaxMistakeBytes = 500;

/// A mistake may quote what the file holds, so its length is bounded too.
std::string shortened(std::string text) {
  if (text.size() <= kMaxMistakeBytes) return text;
  return std::string(truncate_utf8(text, kMaxMistakeBytes)) + "...";
}

}  // namespace

std::string located(std::string_view file, Place place, std::string_view text) {
  std::string out(file);
  if (place.line > 0) out += ':' + std::to_string(place.line);
  if (place.line > 0 && place.column > 0) out += ':' + std::to_string(place.column);
  out += ": ";
  out += text;
  return out;
}

void Diagnostics::error(Place place, std::string_view text) {
  if (errors_.size() > kMaxMistakes) return;
  if (errors_.size() == kMaxMistakes) {  // sorts behind all others
    constexpr std::size_t kLast = std::numeric_limits<std::size_t>::max();
    errors_.push_back({{kLast, kLast}, located(file_, {}, "more mistakes follow; correct these first")});
    return;
  }
  errors_.push_back({place, shortened(located(file_, place, text))});
}

void Diagnostics::warning(Place place, std::string_view text) {
  if (warnings_.size() < kMaxMistakes) warnings_.push_back(shortened(located(file_, place, text)));
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
  return fail(code, text);
}

}  // namespace metafuse
