#include "evaluation/runs/lines.h"

namespace metafuse::evaluation {

std::string shown(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  std::string out = "\"";
  for (const char c : text.substr(0, kLongest)) out += static_cast<unsigned char>(c) < ' ' ? '?' : c;
  return out + (text.size() > kLongest ? "...\"" : "\"");
}

Error bad_line(const FileText& file, const char* place, std::string_view what) {
  return fail(Code::bad_data, located(file.path, {file.line_of(place), 0}, what));
}

}  // namespace metafuse::evaluation
