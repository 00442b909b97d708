#pragma once

// Which lists a search asks for at once, in a domain with `select`: those that its model found most
// useful. The others follow, in rounds that each double their number, until the top is settled. Some
// queries explore: all their lists are asked for, so that the choice keeps learning from lists that it
// would leave out.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/query.h"
#include "service/config/snapshot.h"
#include "service/search/search_answer.h"
#include "service/search/search_request.h"

namespace metafuse::service {

/// How many expanded queries one search may send.
inline constexpr std::size_t kMaxExpandedQueries = 64;

/// A request's expanded queries.
struct ListSelection {
  std::vector<ExpandedQuery> first;
  /// Asked for one after another until the top is settled; each doubles the number of lists.
  std::vector<std::vector<ExpandedQuery>> rounds;
  std::vector<ExpandedQuery> never;  ///< more than one search may send
};

/// Whether the domain selects the lists of this request: not if it names lists or engines, or
/// brings variants.
bool is_selective(const LoadedDomain& domain, const SearchRequest& request);

/// Divides the expanded queries. A query explores depending only on its text and the version of the model;
/// all do while nothing is known about the lists. Lists that the model does not know are asked for first.
///
/// in:     queries - of a request for which is_selective()
ListSelection select_lists(const LoadedDomain& domain, const SearchRequest& request,
                           const std::vector<ExpandedQuery>& queries);

/// Whether the first lists of the order, of which the answer is fused, make the others unnecessary: none has
/// failed, and the first result leads the second by so much that for judged and clicked queries the others
/// changed hardly anything.
///
/// in:     rounds - how many were asked after the first lists
bool is_settled(const LoadedDomain& domain, const SearchAnswer& answer, std::size_t rounds);

/// "settled", "deadline" or "limit".
std::string_view name_of(WhyNotAsked why);
inline constexpr WhyNotAsked kWhysNotAsked[] = {WhyNotAsked::settled, WhyNotAsked::deadline,
                                                WhyNotAsked::limit};

/// The lists that were not asked for one reason.
struct NotAskedGroup {
  WhyNotAsked why;
  std::size_t count = 0;
  std::string names;  ///< of the first five
};
std::vector<NotAskedGroup> not_asked_groups(const SearchAnswer& answer);
/// All groups in a line for people; empty if all lists were asked for.
std::string not_asked_text(const SearchAnswer& answer);

}  // namespace metafuse::service
