#include "fetchers/http/robots.h"

#include <algorithm>

#include "core/text.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMaxRobotsBytes = 500 * 1024;
constexpr std::size_t kMostRules = 1000;
constexpr std::size_t kMaxPattern = 512;
constexpr std::size_t kMostStars = 16;  // of one rule
constexpr std::size_t kMaxPath = 2048;

/// Normalises a path so that equal paths become equal texts (RFC 9309, 2.2.2): %41 becomes A, other escapes
/// get capital digits, and characters that must be escaped are.
std::string normal_path(std::string_view path) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  const auto escape = [&](unsigned char byte) {
    out += '%';
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  };
  for (std::size_t i = 0; i < path.size(); ++i) {
    const int high = path[i] == '%' && i + 2 < path.size() ? hex_value(path[i + 1]) : -1;
    const int low = high >= 0 ? hex_value(path[i + 2]) : -1;
    if (low >= 0) {
      const auto byte = static_cast<unsigned char>(high * 16 + low);
      const char c = static_cast<char>(byte);
      if (is_ascii_letter_or_digit(c) || c == '-' || c == '.' || c == '_' || c == '~')
        out += c;
      else
        escape(byte);
      i += 2;
    } else if (static_cast<unsigned char>(path[i]) >= 0x80) {
      escape(static_cast<unsigned char>(path[i]));
    } else {
      out += path[i];
    }
  }
  return out;
}

/// Extracts "metafuse" from "Metafuse/1.0 (...)".
std::string product_of(std::string_view value) {
  std::size_t end = 0;
  while (end < value.size() && value[end] != '/' && value[end] != ' ' && value[end] != '(') ++end;
  return ascii_lower(value.substr(0, end));
}

}  // namespace

std::optional<RobotsRules::Rule> RobotsRules::rule_of(std::string_view pattern, bool is_allowing) {
  Rule rule;
  rule.is_allowing = is_allowing;
  rule.is_anchored = pattern.ends_with('$');
  if (rule.is_anchored) pattern.remove_suffix(1);
  const std::string path = normal_path(pattern);
  rule.length = path.size();
  std::size_t stars = 0;
  for (const char c : path) {
    if (c == '*' && rule.pattern.ends_with('*')) continue;
    if (c == '*' && ++stars > kMostStars) {
      if (is_allowing) return std::nullopt;
      rule.is_anchored = false;
      break;
    }
    rule.pattern += c;
  }
  rule.pattern.shrink_to_fit();
  return rule;
}

std::size_t RobotsRules::bytes() const {
  std::size_t sum = rules_.capacity() * sizeof(Rule);
  for (const Rule& rule : rules_) sum += rule.pattern.capacity() + 1;
  return sum;
}

RobotsRules RobotsRules::parse(std::string_view text, std::string_view product) {
  RobotsRules own;
  RobotsRules of_all;
  bool is_own = false;
  bool is_of_all = false;
  bool has_own_group = false;
  bool in_agents = false;
  text = text.substr(0, kMaxRobotsBytes);
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    line = line.substr(0, line.find('#'));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string key = ascii_lower(ascii_trimmed(line.substr(0, colon)));
    const std::string_view value = ascii_trimmed(line.substr(colon + 1));
    if (key == "user-agent") {
      if (!in_agents) is_own = is_of_all = false;
      in_agents = true;
      const std::string agent = product_of(value);
      is_own = is_own || agent == product;
      is_of_all = is_of_all || agent == "*";
      has_own_group = has_own_group || agent == product;
      continue;
    }
    if (key != "allow" && key != "disallow") continue;
    in_agents = false;
    if (value.empty() || value.size() > kMaxPattern) continue;
    auto rule = rule_of(value, key == "allow");
    if (rule && is_own && own.rules_.size() < kMostRules) own.rules_.push_back(*rule);
    if (rule && is_of_all && of_all.rules_.size() < kMostRules) of_all.rules_.push_back(std::move(*rule));
  }
  RobotsRules& out = has_own_group ? own : of_all;
  out.rules_.shrink_to_fit();
  return std::move(out);
}

bool RobotsRules::fits(const Rule& rule, std::string_view path) {
  std::string_view rest = rule.pattern;
  bool has_more = rest.find('*') != std::string_view::npos;
  const std::string_view first = take_until(rest, '*');
  if (!path.starts_with(first)) return false;
  std::size_t at = first.size();
  while (has_more) {
    has_more = rest.find('*') != std::string_view::npos;
    const std::string_view part = take_until(rest, '*');
    if (rule.is_anchored && !has_more) return path.size() >= at + part.size() && path.ends_with(part);
    const std::size_t found = path.find(part, at);
    if (found == std::string_view::npos) return false;
    at = found + part.size();
  }
  return !rule.is_anchored || at == path.size();
}

bool RobotsRules::may_read(std::string_view path_and_query) const {
  const std::string path = normal_path(path_and_query.substr(0, kMaxPath));
  if (path == "/robots.txt") return true;
  const Rule* best = nullptr;
  for (const Rule& rule : rules_) {
    const bool is_better =
        best == nullptr || rule.length > best->length || (rule.length == best->length && rule.is_allowing);
    if (is_better && fits(rule, path)) best = &rule;
  }
  return best == nullptr || best->is_allowing;
}

}  // namespace metafuse::fetchers
