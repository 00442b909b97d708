#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "service/config/snapshot.h"
#include "service/http/exchange.h"
#include "service/http/preferences.h"
#include "service/search/answer_cache.h"
#include "service/search/search_answer.h"

namespace metafuse::service {

/// How many ranks a raised site's results move up and a lowered site's down.
inline constexpr std::size_t kPreferenceRanks = 10;

/// The path of a URL, without query and fragment.
std::string_view path_of(std::string_view url);

/// Where the page of a URL is.
struct PageAddress {
  explicit PageAddress(std::string_view url);

  std::string host;       ///< in ASCII form
  std::string_view path;  ///< of the URL, without query and fragment
};

/// Sites to look pages up in, as read_site() reads them. A site covers its subdomains and what lies below its
/// path. Names longer than a host's are left out.
///
/// cost: contains() - one look-up per label of the host, and a comparison per path that a site of it names
class SiteSet {
 public:
  explicit SiteSet(const std::vector<std::string>& sites);
  bool contains(const PageAddress& page) const;

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> paths_;  ///< by host; "" is all of it
};

/// Which results of an answer are shown, and under which search id.
struct ShownResults {
  std::vector<std::size_t> positions;          ///< in answer.results
  std::size_t first = 0;                       ///< rank of the first shown, from 0
  std::size_t end_of_room = 0;                 ///< results that pages up to this one have room for
  std::size_t total = 0;                       ///< results that could be shown
  std::size_t pages = 0;                       ///< with these
  std::size_t on_first_asked = 0;              ///< ResultPages::seen_by_first()
  std::string search_id;                       ///< empty if nothing is stored
  std::shared_ptr<const StoredSearch> search;  ///< what is stored under search_id
  std::vector<std::string> corrections{};      ///< what was probably meant, if that is not what was typed
  std::string typed{};                         ///< if the answer is that of the correction: what was typed
};

/// The positions of the results that a user sees, in the order of all pages together: blocked sites are left
/// out, raised and lowered ones moved within their window, so that no page changes with what others ask for.
std::vector<std::size_t> seen_positions(const SearchAnswer& answer, const SitePreferences& preferences);

/// What a page of an answer, counted from 1, shows under a user's preferences.
ShownResults shown_results(const SearchAnswer& answer, int page, int limit,
                           const SitePreferences& preferences);

/// Whether the pages after this one may show something.
///
/// in: depth - the domain's
bool may_go_on(const SearchAnswer& answer, const ShownResults& shown, int depth);

/// The answer without blocked sites among what is folded below results. A result alike takes the place of a
/// blocked one, or comes up at the end of its own window; blocked results below which there is none stay, and
/// are not shown.
///
/// out: the same answer if nothing changes
SharedAnswer without_blocked(SharedAnswer answer, const SitePreferences& preferences);

using Vocabularies = std::vector<std::shared_ptr<const IndexVocabulary>>;

/// The vocabularies of those of the domain's indexes that the exchange's key may ask by one of its templates.
Vocabularies usable_vocabularies(const Exchange& exchange, const LoadedDomain& domain);

/// The corrected query; nothing if the vocabularies have no correction. It is sure only if the domain asks
/// one index and nothing else.
///
/// in:   vocabularies - of the domain; typed - the plain query; empty if slots were given
/// cost: as Vocabulary::correct(); a vocabulary is built on first use
std::optional<CorrectedQuery> corrected_query(const LoadedDomain& domain, const Vocabularies& vocabularies,
                                              const std::string& typed);

}  // namespace metafuse::service
