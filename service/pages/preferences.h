#pragma once

// One browser's preferences, kept in one cookie: there are no accounts, and the server stores nothing. The
// same text in a link transfers them to another browser.

#include <string>
#include <string_view>

#include "service/http/message.h"
#include "service/search/shown_results.h"

namespace metafuse::service {

struct Preferences {
  std::string language;  ///< BCP 47; empty for the engines' default
  int safe_search = 0;
  int results = 0;    ///< results per page; 0 for the default
  std::string theme;  ///< "light", "dark", or empty for the system's theme
  bool opens_new_tab = false;
  SitePreferences sites;

  friend bool operator==(const Preferences&, const Preferences&) = default;
};

/// "language=de&safe=1&results=50&theme=dark&tab=1&sites=+a.example|-b.example|!c.example", without
/// preferences that are not set; it contains only characters allowed in a cookie.
std::string preferences_text(const Preferences& preferences);

/// Reads such a text. Malformed parts are ignored.
Preferences read_preferences_text(std::string_view text);

/// The preferences in a Cookie header, under "preferences" (over HTTPS "__Host-preferences").
Preferences read_preferences_cookie(std::string_view header);

/// The Set-Cookie header of preferences.
std::string set_preferences_cookie(const Preferences& preferences, bool is_https);

/// Reads the form of the preferences page.
Preferences read_preferences_form(const Fields& form);

}  // namespace metafuse::service
