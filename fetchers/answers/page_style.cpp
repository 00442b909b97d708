#include "fetchers/answers/page_style.h"

#include <algorithm>

#include "core/number.h"
#include "core/text.h"

namespace metafuse::fetchers {
namespace {

constexpr std::string_view kCssBlanks = " \t\r\n\f";
constexpr std::size_t kMostClasses = 10'000;

/// CSS in lower case, without comments and with escapes resolved.
std::string plain_css(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text.substr(at).starts_with("/*")) {
      const std::size_t end = text.find("*/", at + 2);
      at = end == std::string_view::npos ? text.size() : end + 2;
      continue;
    }
    if (text[at] != '\\') {
      out += ascii_lower(text[at++]);
      continue;
    }
    char32_t code = 0;
    const std::size_t first = ++at;
    while (at < text.size() && at < first + 6 && hex_value(text[at]) >= 0)
      code = code * 16 + static_cast<char32_t>(hex_value(text[at++]));
    if (at > first && at < text.size() && kCssBlanks.find(text[at]) != std::string_view::npos) ++at;
    if (code > 0 && code < 0x80) out += ascii_lower(static_cast<char>(code));
  }
  return out;
}

/// The number that a value begins with; false if it begins with none.
bool leading_number(std::string_view value, double& number) {
  const std::size_t end = std::min(value.find_first_not_of("+-.0123456789"), value.size());
  const std::size_t begin = value.starts_with('+') ? 1 : 0;
  return end > begin && to_double(value.substr(begin, end - begin), number);
}

bool is_hiding(std::string_view name, std::string_view value) {
  double number = 0;
  const bool is_number = leading_number(value, number);
  if (name == "display") return value.starts_with("none");
  if (name == "visibility") return value.starts_with("hidden") || value.starts_with("collapse");
  if (name == "opacity") return is_number && number < 0.05;
  if (name == "font-size") return is_number && (value.find("px") < value.size() ? number < 2 : number < 0.1);
  if (name == "height" || name == "width" || name == "max-height" || name == "max-width")
    return is_number && number == 0;
  if (name == "left" || name == "top" || name == "right" || name == "bottom" || name == "text-indent" ||
      name.starts_with("margin-"))
    return is_number && number <= -900;
  if (name == "color") return value.starts_with("transparent");
  if (name == "clip-path")
    return value.starts_with("inset(50%") || value.starts_with("inset(100%") || value.starts_with("circle(0");
  if (name == "clip") return value.starts_with("rect(0") || value.starts_with("rect(1px");
  return name == "transform" && value.starts_with("scale(0)");
}

bool hides_plain(std::string_view declarations) {
  while (!declarations.empty()) {
    std::string_view value = take_until(declarations, ';');
    const std::string_view name = ascii_trimmed(take_until(value, ':'), kCssBlanks);
    if (is_hiding(name, ascii_trimmed(value, kCssBlanks))) return true;
  }
  return false;
}

/// The position behind the block that opens at `open`.
std::size_t behind_block(std::string_view css, std::size_t open) {
  int depth = 0;
  for (std::size_t at = open; at < css.size(); ++at) {
    if (css[at] == '{') ++depth;
    if (css[at] == '}' && --depth == 0) return at + 1;
  }
  return css.size();
}

}  // namespace

bool hides(std::string_view declarations) {
  return hides_plain(plain_css(declarations));
}

void add_hidden_classes(std::string_view sheet, TextSet& classes) {
  const std::string css = plain_css(sheet);
  std::string_view rest = css;
  while (!rest.empty() && classes.size() < kMostClasses) {
    const std::size_t open = std::min(rest.find_first_of("{;"), rest.size());
    const std::string_view selector = ascii_trimmed(rest.substr(0, open), kCssBlanks);
    if (open == rest.size() || rest[open] == ';') {  // @import and the like
      rest.remove_prefix(std::min(open + 1, rest.size()));
      continue;
    }
    const std::size_t end = behind_block(rest, open);
    std::string_view list = selector;
    if (!selector.starts_with('@') && hides_plain(rest.substr(open + 1, end - open - 1)))
      while (!list.empty()) {
        const std::string_view one = ascii_trimmed(take_until(list, ','), kCssBlanks);
        if (one.starts_with('.') && one.find_first_of(" .:>+~#[*", 1) == std::string_view::npos)
          classes.emplace(one.substr(1));
      }
    rest.remove_prefix(end);
  }
}

}  // namespace metafuse::fetchers
