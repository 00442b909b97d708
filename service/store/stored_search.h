#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/json.h"
#include "core/keyed_hash.h"
#include "core/query.h"
#include "core/result.h"

namespace metafuse::service {

/// Seconds since 1970-01-01 UTC. Callers pass the time in.
using UnixTime = std::int64_t;

/// Days since 1970-01-01 UTC.
constexpr std::int64_t day_of(UnixTime time) {
  return time / 86400;
}

/// Hours since 1970-01-01 UTC. Equal searches of one hour are stored once, and are interleaved alike.
constexpr std::int64_t hour_of(UnixTime time) {
  return time / 3600;
}

/// Which model placed a result while two models were interleaved.
enum class Team : std::uint8_t { none, champion, challenger };

/// A result as it was shown: its document, and which model placed it.
struct ShownResult {
  std::uint32_t document = 0;  ///< index into StoredSearch::documents
  Team team = Team::none;

  friend bool operator==(const ShownResult&, const ShownResult&) = default;
};

/// One ranked list of a search.
struct StoredList {
  std::string feature;
  int depth = 0;
  bool has_failed = false;
  std::vector<std::uint32_t> documents;  ///< indices into StoredSearch::documents, best first
  std::vector<std::uint32_t> ranks{};    ///< of each document; empty if they are 1, 2, 3 and so on

  /// Adds a document below the others.
  void add(std::uint32_t document, std::uint32_t rank);
  std::uint32_t rank_of(std::size_t position) const {
    return ranks.empty() ? static_cast<std::uint32_t>(position + 1) : ranks[position];
  }

  friend bool operator==(const StoredList&, const StoredList&) = default;
};

/// One search as it is stored: enough to recompute its features and to know what its user saw. An answer that
/// is shown many times is one StoredSearch, but has a different delivered search id each time.
struct StoredSearch {
  std::string id;  ///< 32 hexadecimal digits that cannot be guessed
  std::string domain;
  std::string query;  ///< identifies the base query without revealing it, see query_digest()
  BaseQuery slots;    ///< empty if queries are hashed
  UnixTime at = 0;
  std::string model;       ///< version that ordered the results, empty for none
  std::string challenger;  ///< version it was interleaved with, empty for none
  /// Canonical URL keys, each once; hashed_document() if queries are hashed.
  std::vector<std::string> documents;
  std::vector<StoredList> lists;  ///< in the order of the domain's features
  /// Documents of the lists that were no results of their own: they were folded below one, or did not meet
  /// the query's conditions. Ascending.
  std::vector<std::uint32_t> set_aside;
  std::vector<ShownResult> shown;  ///< best first
  std::uint64_t times = 1;         ///< how often it was shown; 0: only to a judge. Stores add it up

  /// Equality apart from `times`.
  friend bool operator==(const StoredSearch& a, const StoredSearch& b) {
    const auto parts = [](const StoredSearch& search) {
      return std::tie(search.id, search.domain, search.query, search.slots, search.at, search.model,
                      search.challenger, search.documents, search.lists, search.set_aside, search.shown);
    };
    return parts(a) == parts(b);
  }
};

/// The limits of a stored search; fit_to_limits() cuts larger ones.
struct SearchLimits {
  std::size_t documents = 4096;
  std::size_t lists = 128;
  std::size_t shown = 500;
  std::size_t slots = 64;
  std::size_t slot_bytes = 1024;
};

/// Cuts a search to the limits. Documents beyond the limit are removed from its lists, in which the others
/// keep their ranks.
void fit_to_limits(StoredSearch& search, const SearchLimits& limits = {});

/// The normalised text by which equal queries are recognised: NFKC and full case folding (Unicode's
/// NFKC_Casefold), without blanks at the ends, and with runs of blanks joined to one. Text that is not UTF-8
/// is repaired first.
std::string folded_query(std::string_view text);

/// The name of the slot that a plain query fills: the domain's, or "QUERY" if that is empty.
std::string plain_slot_name(std::string_view plain_slot);

/// The canonical form of a base query, the same for all that mean the same: values by folded_query(), without
/// empty slots, and with the slot that a plain query fills named "QUERY", whatever the domain calls it.
///
/// in: plain_slot - the domain's slot for plain queries; empty if it has none
BaseQuery canonical_query(const BaseQuery& slots, std::string_view plain_slot);

/// A digest that is the same for equal base queries of a domain: HMAC-SHA-256 of the domain and
/// canonical_query(), 32 hexadecimal digits. Without the secret nobody can test a guess against it.
std::string query_digest(std::string_view secret, std::string_view domain, const BaseQuery& slots,
                         std::string_view plain_slot = {});

/// What the digests of queries and documents in a store depend on.
struct StoreIdentity {
  std::string_view secret;
  bool are_queries_hashed = false;  ///< the text of slots and documents is left out
  std::string_view plain_slot;      ///< of the domain, see canonical_query()
};

/// What replaces a document's key if queries are hashed: "#" and 32 hexadecimal digits.
std::string hashed_document(std::string_view secret, std::string_view key);
/// A document's key as the store keeps it.
std::string stored_document(const StoreIdentity& identity, std::string_view key);
/// Leaves out of a search the words that the store does not keep.
void hide_words(StoredSearch& search, const StoreIdentity& identity);

/// A StoredSearch's id. It is the same within one hour for equal searches of one store, so that a cached
/// answer is stored once, however often it is shown.
std::string content_id(std::string_view secret, const StoredSearch& search);
/// A random id for a StoredSearch.
std::string new_search_id();
/// The search id that one client gets for one answer: the StoredSearch's id, 8 digits of its own, and 8 that
/// bind it to the client's address prefix.
std::string delivered_id(std::string_view secret, std::string_view id, std::string_view prefix);
/// The StoredSearch's part of a search id.
std::string_view stored_id(std::string_view id);
/// Whether a text could be a search id, delivered or not.
bool is_search_id(std::string_view text);
/// Whether delivered_id() made this id for this prefix.
bool is_delivered_to(std::string_view secret, std::string_view id, std::string_view prefix);

/// {"documents":[key...],"lists":[{"feature","depth","failed","documents":[index...],"ranks":[rank...]}...],
/// "shown":[index...],"set_aside":[index...],"teams":"-ab..."}: the text that stores keep in one column.
/// Without "ranks" they are 1, 2, 3 and so on; "set_aside" is left out if it is empty, and "teams" if nothing
/// was interleaved.
std::string lists_text(const StoredSearch& search);

/// Reads StoredList::ranks.
///
/// in: documents - how many there are; each has a rank, which is greater than the one before
Result<std::vector<std::uint32_t>> read_ranks(const Json& json, std::size_t documents);

/// Reads lists_text() into documents, lists and shown.
///
/// errors: bad_data for text that lists_text() does not write
Result<void> read_lists_text(std::string_view text, StoredSearch& search);

/// Numbers a search's documents in the order in which they are first named, and adds them to it.
class DocumentNumbers {
 public:
  explicit DocumentNumbers(StoredSearch& search) : search_(search) {}

  std::uint32_t of(const std::string& document);

 private:
  StoredSearch& search_;
  TextMap<std::uint32_t> numbers_;
};

/// {"SLOT":"value",...}
JsonObject slots_json(const BaseQuery& slots);
std::string slots_text(const BaseQuery& slots);
/// The values of slots for people: "rivers · Europe".
std::string words_of(const BaseQuery& slots);
Result<BaseQuery> read_slots_text(std::string_view text);

}  // namespace metafuse::service
