#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/query.h"
#include "core/result.h"

namespace metafuse::service {

/// Seconds since 1970-01-01 UTC. Callers pass the time in.
using UnixTime = std::int64_t;

/// Days since 1970-01-01 UTC.
constexpr std::int64_t day_of(UnixTime time) {
  return time / 86400;
}

/// Whose pick a result was while two models were interleaved.
enum class Team : std::uint8_t { none, champion, challenger };

/// A result as it was shown: its document, and who placed it.
struct ShownResult {
  std::uint32_t document = 0;  ///< in StoredSearch::documents
  Team team = Team::none;

  friend bool operator==(const ShownResult&, const ShownResult&) = default;
};

/// One ranked list of a search.
struct StoredList {
  std::string feature;
  int depth = 0;
  bool has_failed = false;
  std::vector<std::uint32_t> documents;  ///< in StoredSearch::documents, best first

  friend bool operator==(const StoredList&, const StoredList&) = default;
};

/// One search as it is kept: enough to compute its features again, and to know what its user saw.
struct StoredSearch {
  std::string id;  ///< 32 hexadecimal digits, not to be guessed
  std::string domain;
  std::string query;  ///< names the base query without saying it, see query_digest()
  BaseQuery slots;    ///< empty when queries are hashed
  UnixTime at = 0;
  std::string model;                   ///< version that ordered the results, empty for none
  std::string challenger;              ///< version it was interleaved with, empty for none
  std::vector<std::string> documents;  ///< canonical URL keys, each once
  std::vector<StoredList> lists;       ///< in the order of the domain's features
  std::vector<ShownResult> shown;      ///< best first

  friend bool operator==(const StoredSearch&, const StoredSearch&) = default;
};

/// What bounds a stored search; larger ones are cut to it by fit_to_limits().
struct SearchLimits {
  std::size_t documents = 4096;
  std::size_t lists = 128;
  std::size_t shown = 500;
  std::size_t slots = 64;
  std::size_t slot_bytes = 1024;
};

/// Cuts a search to the limits: documents beyond are left out of its lists.
void fit_to_limits(StoredSearch& search, const SearchLimits& limits = {});

/// The same for equal base queries of a domain, and nothing that a reader without the secret could test
/// guesses against: HMAC-SHA-256 of domain and slots, 32 hexadecimal digits.
std::string query_digest(std::string_view secret, std::string_view domain, const BaseQuery& slots);

/// {"documents":[key...],"lists":[{"feature","depth","failed","documents":[index...]}],"shown":[index...],
/// "teams":"-ab..."}: what stores keep in one column. Teams are left out when no model was interleaved.
std::string lists_text(const StoredSearch& search);

/// Fills documents, lists and shown. errors: bad_data for what lists_text() does not write
Result<void> read_lists_text(std::string_view text, StoredSearch& search);

/// {"SLOT":"value",...}
std::string slots_text(const BaseQuery& slots);
Result<BaseQuery> read_slots_text(std::string_view text);

}  // namespace metafuse::service
