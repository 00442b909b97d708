#include "service/http/preferences.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <unicode/uenum.h>
#include <unicode/uloc.h>

#include "core/number.h"
#include "service/http/head.h"

namespace metafuse::service {
namespace {

constexpr std::string_view kCookieName = "preferences";
constexpr std::string_view kHostPrefix = "__Host-";
constexpr std::size_t kMostCookieBytes = 8192;
constexpr std::size_t kMostKeptBytes = 4096;
constexpr std::size_t kMostAcceptedBytes = 500;

/// The value of a cookie in a Cookie header, or "".
std::string_view cookie_value(std::string_view header, std::string_view name) {
  while (!header.empty()) {
    std::string_view pair = header.substr(0, header.find(';'));
    header.remove_prefix(std::min(header.size(), pair.size() + 1));
    while (!pair.empty() && pair.front() == ' ') pair.remove_prefix(1);
    if (pair.size() > name.size() && pair.starts_with(name) && pair[name.size()] == '=')
      return pair.substr(name.size() + 1);
  }
  return {};
}

bool is_language(std::string_view text) {
  const auto is_part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  };
  return text.size() >= 2 && text.size() <= 20 && std::all_of(text.begin(), text.end(), is_part);
}

bool is_page_language(std::string_view tag) {
  return std::any_of(std::begin(kPageLanguages), std::end(kPageLanguages),
                     [&](const auto& known) { return known.first == tag; });
}

int number_within(std::string_view text, int low, int high) {
  std::int64_t number = 0;
  return to_integer(text, number) && number >= low && number <= high ? static_cast<int>(number) : 0;
}

void read_preference(std::string_view name, std::string_view value, Preferences& out) {
  if (name == "page" && is_page_language(value)) out.page = value;
  if (name == "language" && is_language(value)) out.language = value;
  if (name == "safe") out.safe_search = number_within(value, 1, 2);
  if (name == "results") out.results = number_within(value, 1, kMaxLimit);
  if (name == "theme" && (value == "light" || value == "dark")) out.theme = value;
  if (name == "tab") out.opens_new_tab = value == "1";
  if (name == "sites") out.sites = read_sites_text(value);
}

}  // namespace

bool is_site(std::string_view text) {
  if (text.empty() || text.size() > kMaxSiteBytes) return false;
  return text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-_:[]") == std::string_view::npos;
}

SitePreferences read_sites_text(std::string_view value) {
  SitePreferences out;
  for (std::size_t count = 0; !value.empty() && count < kMaxSites; ++count) {
    const std::string_view item = value.substr(0, value.find('|'));
    value.remove_prefix(std::min(value.size(), item.size() + 1));
    if (item.size() < 2 || !is_site(item.substr(1))) continue;
    if (item.front() == '+') out.raised.emplace_back(item.substr(1));
    if (item.front() == '-') out.lowered.emplace_back(item.substr(1));
    if (item.front() == '!') out.blocked.emplace_back(item.substr(1));
  }
  return out;
}

std::string sites_text(const SitePreferences& preferences) {
  std::string out;
  const auto add = [&](char mark, const std::vector<std::string>& sites) {
    for (const std::string& site : sites)
      if (is_site(site)) out += (out.empty() ? "" : "|") + std::string(1, mark) + site;
  };
  add('+', preferences.raised);
  add('-', preferences.lowered);
  add('!', preferences.blocked);
  return out;
}

std::string_view page_language(const Preferences& preferences, std::string_view accept_language) {
  const auto named = [](std::string_view tag) {
    const auto* const at = std::find_if(std::begin(kPageLanguages), std::end(kPageLanguages),
                                        [&](const auto& known) { return known.first == tag; });
    return at == std::end(kPageLanguages) ? kPageLanguages[0].first : at->first;
  };
  if (!preferences.page.empty()) return named(preferences.page);
  const std::string header(accept_language.substr(0, kMostAcceptedBytes));
  if (header.empty()) return kPageLanguages[0].first;
  std::vector<const char*> tags;
  for (const auto& known : kPageLanguages) tags.push_back(known.first.data());
  UErrorCode error = U_ZERO_ERROR;
  UEnumeration* const offered =
      uenum_openCharStringsEnumeration(tags.data(), static_cast<int32_t>(tags.size()), &error);
  char best[ULOC_FULLNAME_CAPACITY] = "";
  UAcceptResult outcome = ULOC_ACCEPT_FAILED;
  uloc_acceptLanguageFromHTTP(best, sizeof best, &outcome, header.c_str(), offered, &error);
  uenum_close(offered);
  return U_SUCCESS(error) && outcome != ULOC_ACCEPT_FAILED ? named(best) : kPageLanguages[0].first;
}

std::string preferences_text(const Preferences& preferences) {
  std::string out;
  const auto add = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) out += std::string(out.empty() ? "" : "&") + std::string(name) + '=' + value;
  };
  add("page", preferences.page);
  add("language", preferences.language);
  if (preferences.safe_search > 0) add("safe", std::to_string(preferences.safe_search));
  if (preferences.results > 0) add("results", std::to_string(preferences.results));
  add("theme", preferences.theme);
  if (preferences.opens_new_tab) add("tab", "1");
  add("sites", sites_text(preferences.sites));
  return out;
}

Preferences read_preferences_text(std::string_view text) {
  Preferences out;
  text = text.substr(0, kMostCookieBytes);
  while (!text.empty()) {
    const std::string_view setting = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), setting.size() + 1));
    const std::size_t sign = setting.find('=');
    if (sign != std::string_view::npos)
      read_preference(setting.substr(0, sign), setting.substr(sign + 1), out);
  }
  return out;
}

Preferences read_preferences_cookie(std::string_view header) {
  std::string_view value = cookie_value(header, std::string(kHostPrefix) + std::string(kCookieName));
  if (value.empty()) value = cookie_value(header, kCookieName);
  Preferences out = read_preferences_text(value);
  out.completes_pages = cookie_value(header, "completes") == "1";
  return out;
}

std::string set_preferences_cookie(const Preferences& preferences, bool is_https) {
  return std::string(is_https ? kHostPrefix : std::string_view()) + std::string(kCookieName) + '=' +
         preferences_text(preferences) + "; Path=/; Max-Age=31536000; HttpOnly; SameSite=Strict" +
         (is_https ? "; Secure" : "");
}

bool fits_in_cookie(const Preferences& preferences) {
  return kHostPrefix.size() + kCookieName.size() + preferences_text(preferences).size() <= kMostKeptBytes;
}

Preferences read_preferences_form(const Fields& form) {
  Preferences out;
  for (const std::string_view name : {"page", "language", "safe", "results", "theme", "tab", "sites"})
    read_preference(name, form_value(form, name), out);
  return out;
}

}  // namespace metafuse::service
