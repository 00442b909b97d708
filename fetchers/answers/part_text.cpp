#include "fetchers/answers/part_text.h"

#include <algorithm>
#include <map>
#include <memory>

#include <re2/re2.h>

#include "core/encoding.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMaxPatternBytes = 500;
constexpr std::size_t kMostPatterns = 256;  ///< kept compiled per thread
constexpr int kMostGroups = 10;

RE2::Options pattern_options() {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(1 << 20);
  options.set_dot_nl(true);
  return options;
}

/// Compiled once per thread: a definition's pattern is applied to every result.
const RE2& compiled_pattern(const std::string& text) {
  thread_local std::map<std::string, std::unique_ptr<const RE2>> known;
  auto at = known.find(text);
  if (at != known.end()) return *at->second;
  if (known.size() >= kMostPatterns) known.clear();
  return *known.emplace(text, std::make_unique<const RE2>(text, pattern_options())).first->second;
}

/// An identifier as a part of a path: what has a meaning there stays, what would end the path does not.
std::string path_encoded(std::string_view text) {
  constexpr std::string_view kKept = "/:@!$&'()*+,;=";
  std::string out;
  for (const char c : text)
    out += kKept.find(c) != std::string_view::npos ? std::string(1, c) : percent_encoded({&c, 1});
  return out;
}

re2::StringPiece piece(std::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

Result<void> check_pattern(const std::string& pattern) {
  const RE2 compiled(pattern, pattern_options());
  if (pattern.size() > kMaxPatternBytes)
    return fail(Code::bad_config, "a regular expression of more than 500 bytes");
  if (!compiled.ok())
    return fail(Code::bad_config,
                "\"" + pattern + "\" is not a regular expression of RE2: " + compiled.error());
  if (compiled.NumberOfCapturingGroups() > kMostGroups)
    return fail(Code::bad_config, "\"" + pattern + "\" has more than 10 groups");
  return {};
}

Result<void> check_rewrite(const std::string& pattern, const std::string& rewrite) {
  std::string why;
  if (!RE2(pattern, pattern_options()).CheckRewriteString(rewrite, &why))
    return fail(Code::bad_config, "\"" + rewrite + "\": " + why);
  return {};
}

bool changes_text(const PartRule& rule) {
  return !rule.pattern.empty() || !rule.replaced.empty() || !rule.values.empty();
}

std::optional<std::string> changed_text(const PartRule& rule, std::string_view given) {
  std::string text(given);
  for (const auto& [pattern, replacement] : rule.replaced)
    RE2::GlobalReplace(&text, compiled_pattern(pattern), replacement);
  if (!rule.pattern.empty()) {
    const RE2& pattern = compiled_pattern(rule.pattern);
    const std::string taken = !rule.taken.empty()                     ? rule.taken
                              : pattern.NumberOfCapturingGroups() > 0 ? "\\1"
                                                                      : "\\0";
    std::string out;
    if (!RE2::Extract(piece(text), pattern, taken, &out)) return std::nullopt;
    text = std::move(out);
  }
  const auto value = std::find_if(rule.values.begin(), rule.values.end(),
                                  [&](const auto& one) { return one.first == text; });
  return value == rule.values.end() ? text : value->second;
}

std::optional<std::string> filled_format(
    std::string_view format, const std::function<std::string_view(const std::string& path)>& part_of) {
  std::string out;
  for (std::size_t at = 0; at < format.size();) {
    const std::size_t end = format[at] == '{' ? format.find('}', at) : std::string::npos;
    if (end == std::string::npos) {
      out += format[at++];
      continue;
    }
    std::string path(format.substr(at + 1, end - at - 1));
    at = end + 1;
    const bool has_underscores = path.ends_with("|_");
    const bool is_raw = path.ends_with("|raw");
    if (has_underscores || is_raw) path.erase(path.rfind('|'));
    std::string value(part_of(path));
    if (value.empty()) return std::nullopt;
    if (has_underscores) std::replace(value.begin(), value.end(), ' ', '_');
    out += is_raw ? path_encoded(value) : percent_encoded(value);
  }
  return out;
}

std::optional<std::vector<std::string>> matched_groups(const std::string& pattern, std::string_view text) {
  const RE2& compiled = compiled_pattern(pattern);
  re2::StringPiece found[kMostGroups + 1];
  const int groups = std::min(compiled.NumberOfCapturingGroups(), kMostGroups);
  if (!compiled.Match(piece(text), 0, text.size(), RE2::UNANCHORED, found, groups + 1)) return std::nullopt;
  std::vector<std::string> out;
  for (int i = 1; i <= groups; ++i) out.emplace_back(found[i].data() == nullptr ? "" : found[i].as_string());
  return out;
}

}  // namespace metafuse::fetchers
