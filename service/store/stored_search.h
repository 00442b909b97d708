#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
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

/// One search as it is kept: enough to compute its features again, and to know what its user saw. An answer
/// that is shown many times is one StoredSearch; each time it is shown it has another search id.
struct StoredSearch {
  std::string id;  ///< 32 hexadecimal digits, not to be guessed
  std::string domain;
  std::string query;  ///< names the base query without saying it, see query_digest()
  BaseQuery slots;    ///< empty when queries are hashed
  UnixTime at = 0;
  std::string model;                   ///< version that ordered the results, empty for none
  std::string challenger;              ///< version it was interleaved with, empty for none
  std::vector<std::string> documents;  ///< canonical URL keys, each once; hashed_document() when hashed
  std::vector<StoredList> lists;       ///< in the order of the domain's features
  std::vector<ShownResult> shown;      ///< best first
  std::uint64_t times = 1;             ///< how often it was shown, 0 to a judge alone; stores add it up

  /// Whether the same was shown, however often.
  friend bool operator==(const StoredSearch& a, const StoredSearch& b) {
    const auto parts = [](const StoredSearch& search) {
      return std::tie(search.id, search.domain, search.query, search.slots, search.at, search.model,
                      search.challenger, search.documents, search.lists, search.shown);
    };
    return parts(a) == parts(b);
  }
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

/// The text by which equal queries are known: NFKC and full case folding (Unicode's NFKC_Casefold), blanks at
/// the ends dropped and inside joined to one. Text that is not UTF-8 is repaired first.
std::string folded_query(std::string_view text);

/// The base query that stands for all that mean the same: values by folded_query(), empty slots dropped, and
/// the slot that a plain query fills named "QUERY", whatever the domain calls it.
///
/// in: plain_slot - Domain's slot for plain queries; empty when it has none
BaseQuery canonical_query(const BaseQuery& slots, std::string_view plain_slot);

/// The same for equal base queries of a domain, and nothing that a reader without the secret could test
/// guesses against: HMAC-SHA-256 of the domain and canonical_query(), 32 hexadecimal digits.
std::string query_digest(std::string_view secret, std::string_view domain, const BaseQuery& slots,
                         std::string_view plain_slot = {});

/// What stands for a document's key where queries are hashed: "#" and 32 hexadecimal digits.
std::string hashed_document(std::string_view secret, std::string_view key);

/// The id of what was shown: equal within one hour for equal searches of one store, so that a cached answer
/// is stored once however often it is shown.
std::string content_id(std::string_view secret, const StoredSearch& search);
/// A random id.
std::string new_search_id();
/// The search id that one client gets for one answer: the StoredSearch's id, 8 digits of its own, and 8 that
/// bind it to the client's address prefix.
std::string delivered_id(std::string_view secret, std::string_view id, std::string_view prefix);
/// The StoredSearch's part of a search id.
std::string_view stored_id(std::string_view id);
/// Whether a text could be a search id, delivered or not.
bool is_search_id(std::string_view text);
/// Whether delivered_id() made it for that prefix.
bool is_delivered_to(std::string_view secret, std::string_view id, std::string_view prefix);

/// {"documents":[key...],"lists":[{"feature","depth","failed","documents":[index...]}],"shown":[index...],
/// "teams":"-ab..."}: what stores keep in one column. Teams are left out when no model was interleaved.
std::string lists_text(const StoredSearch& search);

/// Fills documents, lists and shown.
/// errors: bad_data for what lists_text() does not write
Result<void> read_lists_text(std::string_view text, StoredSearch& search);

/// {"SLOT":"value",...}
std::string slots_text(const BaseQuery& slots);
Result<BaseQuery> read_slots_text(std::string_view text);

}  // namespace metafuse::service
