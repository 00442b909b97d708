#pragma once

// What one browser prefers, in one cookie: no account, nothing on the server. The same text, in a link,
// takes the preferences to another browser.

#include <string>
#include <string_view>

#include "service/http/message.h"
#include "service/search/shown_results.h"

namespace metafuse::service {

struct Preferences {
  std::string language;  ///< BCP 47; empty for the engines' own
  int safe_search = 0;
  int results = 0;    ///< a page; 0 for the usual number
  std::string theme;  ///< "light", "dark", or empty for the system's
  bool opens_new_tab = false;
  SitePreferences sites;

  friend bool operator==(const Preferences&, const Preferences&) = default;
};

/// "language=de&safe=1&results=50&theme=dark&tab=1&sites=+a.example|-b.example|!c.example", what is not
/// preferred left out; only characters that a cookie may hold.
std::string preferences_text(const Preferences& preferences);

/// Damaged parts are left out.
Preferences read_preferences_text(std::string_view text);

/// The preferences in a Cookie header, under "preferences" (over HTTPS "__Host-preferences").
Preferences read_preferences_cookie(std::string_view header);

/// The Set-Cookie header of preferences.
std::string set_preferences_cookie(const Preferences& preferences, bool is_https);

/// What the form of the page of preferences says.
Preferences read_preferences_form(const Fields& form);

}  // namespace metafuse::service
