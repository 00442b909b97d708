#pragma once

// One browser's preferences, kept in one cookie: there are no accounts, and the server stores nothing. The
// same text in a link transfers them to another browser.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "service/http/message.h"

namespace metafuse::service {

/// Most results per page.
inline constexpr int kMaxLimit = 200;
inline constexpr std::size_t kMaxSites = 100;
/// The longest name of a host.
inline constexpr std::size_t kMaxSiteBytes = 253;

/// One user's preferences for sites. A site includes its subdomains.
struct SitePreferences {
  std::vector<std::string> raised;
  std::vector<std::string> lowered;
  std::vector<std::string> blocked;

  bool is_empty() const { return raised.empty() && lowered.empty() && blocked.empty(); }
  friend bool operator==(const SitePreferences&, const SitePreferences&) = default;
};

/// Whether a text may be a site: a host's name, which needs no dot within a company's network, in lower-case
/// letters and digits.
bool is_site(std::string_view text);

/// Sites as one text: "+a.example|-b.example|!c.example". Malformed parts are left out.
SitePreferences read_sites_text(std::string_view text);
std::string sites_text(const SitePreferences& preferences);

/// The languages of the pages for readers, by tag and own name; the first is the default.
inline constexpr std::pair<std::string_view, std::string_view> kPageLanguages[] = {
    {"en", "English"}, {"de", "Deutsch"}, {"es", "Español"}, {"fr", "Français"}, {"zh", "中文"}};

struct Preferences {
  std::string page;      ///< one of kPageLanguages; empty: the browser says
  std::string language;  ///< of results, BCP 47; empty for the engines' default
  int safe_search = 0;
  int results = 0;    ///< results per page; 0 for the default
  std::string theme;  ///< "light", "dark", or empty for the system's theme
  bool opens_new_tab = false;
  SitePreferences sites;
  bool completes_pages = false;  ///< the page's script says that it completes one that began early

  friend bool operator==(const Preferences&, const Preferences&) = default;
};

/// The language of the pages for a reader: the preferred one, else the one of kPageLanguages that the browser
/// likes best.
///
/// in: accept_language - the request's header; at most its first 500 bytes count
std::string_view page_language(const Preferences& preferences, std::string_view accept_language);

/// "page=de&language=de&safe=1&results=50&theme=dark&tab=1&sites=+a.example|-b.example|!c.example", without
/// preferences that are not set; it contains only characters allowed in a cookie.
std::string preferences_text(const Preferences& preferences);

/// Reads such a text. Malformed parts are ignored.
Preferences read_preferences_text(std::string_view text);

/// The preferences in a Cookie header, under "preferences" (over HTTPS "__Host-preferences").
Preferences read_preferences_cookie(std::string_view header);

/// Whether browsers keep the cookie: those with a name and value of more than 4,096 bytes they drop silently.
bool fits_in_cookie(const Preferences& preferences);

/// The Set-Cookie header of preferences.
std::string set_preferences_cookie(const Preferences& preferences, bool is_https);

/// Reads the form of the preferences page.
Preferences read_preferences_form(const Fields& form);

}  // namespace metafuse::service
