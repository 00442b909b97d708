#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/tracking_parameters.h"

// What an operator decided about single queries of a domain: results that are pinned, hidden or added, and
// words that mean the same.

namespace metafuse::service {

struct CuratedResult {
  std::string url;
  std::string title{};    ///< of an added result
  std::string snippet{};  ///< of an added result
  std::string key{};      ///< canonical_url_key() of the URL

  friend bool operator==(const CuratedResult&, const CuratedResult&) = default;
};

struct CuratedQuery {
  std::string query;                    ///< as a plain query
  std::vector<CuratedResult> pinned{};  ///< come first, in this order, where an engine finds them
  std::vector<CuratedResult> added{};   ///< come after these, whether or not an engine finds them
  std::vector<CuratedResult> hidden{};

  friend bool operator==(const CuratedQuery&, const CuratedQuery&) = default;
};

/// Words or phrases that mean the same, folded by folded_query().
using Synonyms = std::vector<std::vector<std::string>>;

struct Curation {
  std::vector<CuratedQuery> queries;
  Synonyms synonyms;

  friend bool operator==(const Curation&, const Curation&) = default;
};

inline constexpr std::size_t kMaxCurationBytes = std::size_t{1} << 20;

/// The text of a domain without curation.
inline constexpr std::string_view kNoCuration = "{\"queries\":[],\"synonyms\":[]}";

/// Reads {"queries":[{"query","pinned":[URL],"added":[{"url","title","snippet"}],"hidden":[URL]}],
/// "synonyms":[[words]]}. Each query may occur once; every list may be left out.
///
/// errors: bad_data that says which entry is wrong
Result<Curation> parse_curation(std::string_view text, const TrackingParameters& tracking);
/// The same as text, for people to edit.
std::string curation_text(const Curation& curation);

/// Queries that mean the same: the query with one of its phrases replaced by a synonym.
///
/// out: at most kMostAlternatives
std::vector<std::string> alternatives_of(const Synonyms& synonyms, std::string_view query);
inline constexpr std::size_t kMostAlternatives = 3;

}  // namespace metafuse::service
