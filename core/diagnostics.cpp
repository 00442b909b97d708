#include "core/diagnostics.h"

#include <algorithm>
#include <tuple>

#include "core/contract.h"

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
  errors_.push_back({place, located(file_, place, text)});
}

void Diagnostics::warning(Place place, std::string_view text) {
  warnings_.push_back(located(file_, place, text));
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
