#include "fetchers/engines/sql/connection_text.h"

#include <cctype>

#include "core/encoding.h"
#include "core/text.h"

namespace metafuse::fetchers {
namespace {

/// Whether the next character stands in the account of a URL, or is a parameter's value.
bool is_encoded_place(std::string_view before, std::string_view after) {
  before.remove_prefix(before.find("://") + 3);
  if (before.find('?') != std::string_view::npos) return before.ends_with('=');
  return before.find_first_of("/@") == std::string_view::npos &&
         after.substr(0, after.find_first_of("/?")).find('@') != std::string_view::npos;
}

/// Whether a secret is the whole account of a URL, name and password.
bool is_account(std::string_view before, std::string_view after, const std::string& secret) {
  return before.ends_with("://") && after.starts_with('@') && secret.find(':') != std::string::npos;
}

/// Where in PostgreSQL's "name=value name='value'" a text ends.
struct ValuePlace {
  bool is_value = false;
  bool is_quoted = false;

  explicit ValuePlace(std::string_view text) {
    bool has_begun = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (c == '\\') {
        ++i;
      } else if (c == '\'' && is_value) {
        is_quoted = !is_quoted;
      } else if (c == '=' && !is_value) {
        is_value = true;
        has_begun = false;
        continue;
      } else if (!is_quoted && std::isspace(static_cast<unsigned char>(c)) != 0) {
        if (has_begun) is_value = false;
        continue;
      }
      has_begun = is_value;
    }
  }
};

std::string postgresql_value(std::string_view before, std::string_view after, const std::string& secret) {
  if (before.starts_with("postgresql://") || before.starts_with("postgres://"))
    return is_encoded_place(before, after) && !is_account(before, after, secret) ? percent_encoded(secret)
                                                                                 : secret;
  const ValuePlace place(before);
  if (!place.is_value) return secret;
  if (secret.empty()) return place.is_quoted ? "" : "''";
  std::string out;
  for (const char c : secret) {
    const bool is_blank = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (c == '\'' || c == '\\' || (is_blank && !place.is_quoted)) out += '\\';
    out += c;
  }
  return out;
}

/// Text with every closing brace doubled, as it stands in braces.
std::string in_braces(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '}' ? std::string("}}") : std::string(1, c);
  return out;
}

std::string odbc_value(std::string_view before, std::string_view after, const std::string& secret) {
  if (before.ends_with("={") && after.starts_with('}')) return in_braces(secret);
  const bool is_whole_value = before.ends_with('=') && (after.empty() || after.starts_with(';'));
  const bool needs_braces =
      secret.find_first_of(";{}") != std::string::npos || secret.starts_with(' ') || secret.ends_with(' ');
  return is_whole_value && needs_braces ? '{' + in_braces(secret) + '}' : secret;
}

}  // namespace

std::string connection_value(DatabaseAccess::Server server, std::string_view before, std::string_view after,
                             const std::string& secret) {
  return server == DatabaseAccess::Server::odbc ? odbc_value(before, after, secret)
                                                : postgresql_value(before, after, secret);
}

Result<void> fill_secrets(DatabaseAccess& database, const Engine& engine, const SecretLookup& secret_of) {
  const auto fill = [&](std::string& text, const WriteSecret& write) -> Result<void> {
    TRY(text, with_secrets(text, engine, secret_of, database.secrets, write));
    return {};
  };
  TRY_VOID(fill(database.connection,
                [&](std::string_view before, std::string_view after, const std::string& secret) {
                  return connection_value(database.server, before, after, secret);
                }));
  TRY_VOID(fill(database.username, {}));
  return fill(database.password, {});
}

}  // namespace metafuse::fetchers
