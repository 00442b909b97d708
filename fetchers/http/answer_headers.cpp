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

}  // namespace

std::string next_link(std::string_view header) {
  while (!header.empty()) {
    const std::size_t open = header.find('<');
    const std::size_t close = header.find('>', open);
    if (open == std::string_view::npos || close == std::string_view::npos) return {};
    const std::size_t end = std::min(header.find('<', close), header.size());
    const std::string parameters = ascii_lower(header.substr(close + 1, end - close - 1));
    if (parameters.find("rel=\"next\"") != std::string::npos ||
        parameters.find("rel=next") != std::string::npos)
      return std::string(header.substr(open + 1, close - open - 1));
    header.remove_prefix(end);
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
