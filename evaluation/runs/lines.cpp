#include "evaluation/runs/lines.h"

#include <algorithm>
#include <vector>

namespace metafuse::evaluation {

std::string shown(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  std::string out = "\"";
  for (const char c : text.substr(0, kLongest)) out += static_cast<unsigned char>(c) < ' ' ? '?' : c;
  return out + (text.size() > kLongest ? "...\"" : "\"");
}

Result<void> for_each_record(const std::string& path, const TakeFields& take, Comments comments) {
  constexpr const char* kBlanks = " \t";
  std::vector<std::string_view> fields;
  return for_each_line(path, [&](std::string_view line, std::size_t number) -> Result<void> {
    fields.clear();
    if (line.ends_with('\r')) line.remove_suffix(1);
    for (std::size_t at = line.find_first_not_of(kBlanks); at != std::string_view::npos;
         at = line.find_first_not_of(kBlanks, at)) {
      const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
      fields.push_back(line.substr(at, end - at));
      at = end;
    }
    if (fields.empty() || (comments == Comments::skip && fields[0].starts_with('#'))) return {};
    auto taken = take(fields, number);
    if (!taken) return fail(taken.error().code, located(path, {number, 0}, taken.error().text));
    return {};
  });
}

Error bad_line(const FileText& file, const char* place, std::string_view what) {
  return fail(Code::bad_data, located(file.path, {file.line_of(place), 0}, what));
}

}  // namespace metafuse::evaluation
