#include "fetchers/http/answer_headers.h"

#include <algorithm>
#include <chrono>

#include <curl/curl.h>

#include "core/number.h"
#include "core/text.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMostCookies = 50;
constexpr std::size_t kMaxCookieBytes = 4096;
constexpr double kMostSeconds = 1e7;  ///< a longer pause is taken for a mistake

constexpr std::string_view kLinkBlanks = " \t";

void skip_link_blanks(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kLinkBlanks), text.size()));
}

/// Takes the value of a link's parameter, with or without quotation marks.
std::string_view take_value(std::string_view& text) {
  const bool is_quoted = text.starts_with('"');
  if (is_quoted) text.remove_prefix(1);
  std::size_t end = 0;
  while (end < text.size() &&
         (is_quoted ? text[end] != '"' : std::string_view(";, \t").find(text[end]) == std::string_view::npos))
    end += is_quoted && text[end] == '\\' ? 2 : 1;
  end = std::min(end, text.size());
  const std::string_view value = text.substr(0, end);
  text.remove_prefix(std::min(is_quoted ? end + 1 : end, text.size()));
  return value;
}

/// Takes the parameters of a link up to the next link. True if one of its relations is "next".
bool take_next_relation(std::string_view& text) {
  bool is_next = false;
  for (skip_link_blanks(text); text.starts_with(';'); skip_link_blanks(text)) {
    text.remove_prefix(1);
    skip_link_blanks(text);
    const std::size_t end = std::min(text.find_first_of("=;, \t"), text.size());
    const std::string name = ascii_lower(text.substr(0, end));
    text.remove_prefix(end);
    skip_link_blanks(text);
    if (!text.starts_with('=')) continue;
    text.remove_prefix(1);
    skip_link_blanks(text);
    std::string_view relations = take_value(text);
    while (name == "rel" && !relations.empty())
      is_next = is_next || equal_ignoring_case(take_until(relations, ' '), "next");
  }
  return is_next;
}

}  // namespace

std::string next_link(const StringPairs& headers) {
  for (const auto& [name, value] : headers) {
    std::string_view rest = name == "link" ? std::string_view(value) : std::string_view();
    while (!rest.empty()) {
      const std::size_t open = rest.find('<');
      const std::size_t close = rest.find('>', open);
      if (open == std::string_view::npos || close == std::string_view::npos) break;
      const std::string_view target = rest.substr(open + 1, close - open - 1);
      rest.remove_prefix(close + 1);
      if (take_next_relation(rest)) return std::string(target);
    }
  }
  return {};
}

std::optional<std::time_t> sent_at(const HttpAnswer& answer) {
  const std::time_t at = curl_getdate(std::string(answer.header("date")).c_str(), nullptr);
  return at < 0 ? std::nullopt : std::optional(at);
}

std::optional<Duration> retry_after(const HttpAnswer& answer) {
  const std::string text(answer.header("retry-after"));
  if (text.empty()) return std::nullopt;
  double seconds = -1;
  if (!to_double(text, seconds)) {
    const std::time_t date = curl_getdate(text.c_str(), nullptr);
    const auto sent = sent_at(answer);
    if (date < 0 || !sent) return std::nullopt;
    seconds = std::difftime(date, *sent);
  }
  if (!(seconds >= 0 && seconds < kMostSeconds)) return std::nullopt;
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

void add_cookies(StringPairs& headers, const StringPairs& cookies) {
  if (cookies.empty()) return;
  std::string cookie;
  for (const auto& [name, value] : cookies) cookie += (cookie.empty() ? "" : "; ") + name + "=" + value;
  const auto own = std::find_if(headers.begin(), headers.end(), [](const auto& header) {
    return equal_ignoring_case(header.first, "cookie");
  });
  if (own == headers.end())
    headers.emplace_back("Cookie", cookie);
  else
    own->second += "; " + cookie;
}

void note_cookies(StringPairs& cookies, const StringPairs& headers) {
  for (const auto& [header, value] : headers) {
    const std::size_t end = std::min(value.find(';'), value.size());
    const std::size_t equals = value.find('=');
    if (header != "set-cookie" || equals == 0 || equals >= end || end > kMaxCookieBytes) continue;
    const std::string name = value.substr(0, equals);
    std::erase_if(cookies, [&](const auto& cookie) { return cookie.first == name; });
    if (cookies.size() < kMostCookies) cookies.emplace_back(name, value.substr(equals + 1, end - equals - 1));
  }
}

}  // namespace metafuse::fetchers
