#pragma once

// What a page says about the lists behind a result: badges with its ranks, a legend of the badges, and why
// the result has its place.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "service/pages/page.h"
#include "service/pages/texts.h"
#include "service/search/list_fusion.h"
#include "service/search/reasons.h"
#include "service/search/search_answer.h"

namespace metafuse::service {

/// The places that all results would have without one of the lists, computed when first asked for.
class WithoutLists {
 public:
  WithoutLists(const LoadedDomain& domain, const SearchAnswer& answer);

  /// The place, from 1; 0 for a result that no other list holds; nothing if the place stays the same or is
  /// not known, because the answer is too long.
  std::optional<std::size_t> place_without(std::size_t result, const std::string& feature);

 private:
  const LoadedDomain& domain_;
  const SearchAnswer& answer_;
  bool is_affordable_ = false;
  std::optional<JoinedLists> joined_;
  std::map<std::string, std::vector<std::size_t>> places_;  ///< by feature
};

class ResultLists {
 public:
  /// in: shown - results on the page; all must outlive it
  ResultLists(const LoadedDomain& domain, const SearchAnswer& answer, const Texts& texts, std::size_t shown);

  /// Adds the best rank under each badge, best first: at most three badges, then how many more there are.
  void add_badges(const FusedResult& result, View& view) const;
  /// Adds each badge with the lists that it stands for.
  void add_legend(View& page) const;
  /// Adds why a result has its place: in a sentence or two, and as a table.
  ///
  /// cost: a fusion per list, once per page
  void add_reasons(std::size_t at, View& view);

 private:
  std::string name_of_list(const std::string& feature) const;
  /// How many rows each explanation may have.
  std::size_t rows_each(std::size_t shown) const;
  /// The reasons whose weight is more than a trace.
  std::vector<Reason> telling_reasons(const FusedResult& result) const;
  std::string in_words(std::size_t at, const std::vector<Reason>& reasons);

  const LoadedDomain& domain_;
  const SearchAnswer& answer_;
  const Texts& texts_;
  std::vector<std::string> badges_;             ///< of each list
  std::map<std::string, std::size_t> colours_;  ///< by badge
  std::map<std::string, std::string> names_;    ///< of lists, by feature
  WithoutLists without_;
  std::size_t rows_ = 0;
};

}  // namespace metafuse::service
