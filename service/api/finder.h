#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/deadline.h"
#include "core/result.h"
#include "service/access/gate.h"
#include "service/api/rendered_answers.h"
#include "service/base/traces.h"
#include "service/http/exchange.h"
#include "service/learning/records.h"
#include "service/search/answer_source.h"
#include "service/search/search_request.h"
#include "service/search/shown_results.h"

namespace metafuse::service {

/// Whether a query that was probably mistyped is corrected: not at all, by telling the reader, or also by
/// answering the corrected query if that is surely meant or if the typed one has no results.
enum class Correction { none, told, asked };

/// The correction for a request, which may ask for exactly what was typed.
constexpr Correction correction_for(bool is_verbatim) {
  return is_verbatim ? Correction::told : Correction::asked;
}

/// A search as requested in one dialect.
struct WantedSearch {
  SearchRequest search;
  int limit =
      0;  ///< results on its page; 0 if the dialect chooses among all results, and then nothing is stored
  SitePreferences sites = {};  ///< blocked results are replaced by asking the engines for more
  Correction correction = Correction::none;
  bool is_stored = true;  ///< false for a search that must not be learned from
  /// In the ranker's order, without what judges and operators decided, and of all lists.
  bool is_for_judge = false;
};

/// A search that was answered, and the results shown.
struct FoundSearch {
  SharedAnswer answer;
  const LoadedDomain* domain;         ///< of the exchange's snapshot
  ShownResults shown;                 ///< with the id for feedback, if it could be stored
  std::optional<TimePoint> repeated;  ///< until when equal requests may get this answer as it is rendered
  TimePoint found;

  /// The response to the search: names the engines whose lists are missing, and notes what is needed to send
  /// it again.
  ///
  /// in: marks - the gaps in the rendered body other than the search id
  HttpResponse response(HttpResponse rendered, std::vector<GapMark> marks = {}) const;
};

/// Callbacks while a search runs.
struct SearchEvents {
  std::function<void()> on_admitted;  ///< the request is valid and within its quota
  PartialAnswer on_partial;  ///< once half of the lists have arrived; the partial answer may be shown
};

/// Finds what every dialect shows. It joins the quota, the source of fused answers and what was learned from
/// feedback. Safe from any thread; find() blocks.
class Finder {
 public:
  /// All must outlive it.
  Finder(Gate& gate, AnswerSource& source, Records& records, Telemetry& telemetry, const Clock& clock)
      : gate_(gate), source_(source), records_(records), telemetry_(telemetry), clock_(clock) {}

  /// Expands the templates, charges the quota, searches, chooses the results to show and stores them.
  ///
  /// errors: those of plan_search() and Gate::admit_search()
  OrRefusal<FoundSearch> find(const Exchange& exchange, const WantedSearch& wanted,
                              const SearchEvents& events = {});
  /// Completes the fused answer of callers' lists: orders it by what was learned, counts and stores it.
  ///
  /// in: answer - of a domain of the exchange's snapshot, with the request's least relevance; limit - results
  ///     to show
  SharedAnswer show_fused(const Exchange& exchange, SharedAnswer answer, std::size_t limit,
                          ShownResults& shown);
  UnixTime unix_time() const { return records_.unix_time(); }

 private:
  std::optional<FoundSearch> find_corrected(const Exchange& exchange, const WantedSearch& wanted,
                                            const std::string& corrected, const SearchEvents& events);
  OrRefusal<FoundSearch> find_typed(const Exchange& exchange, const WantedSearch& wanted,
                                    const SearchEvents& events);
  Result<SharedAnswer> search(const SearchPlan& plan, const WantedSearch& wanted,
                              const PartialAnswer& on_partial);
  bool wants_further(const SearchPlan& plan, const WantedSearch& wanted, SharedAnswer answer);
  SharedAnswer for_reader(const SearchPlan& plan, const WantedSearch& wanted, SharedAnswer answer);
  void charge_further_lists(const SearchPlan& plan, const SearchAnswer& answer);
  bool may_be_repeated(const SearchPlan& plan) const;

  Gate& gate_;
  AnswerSource& source_;
  Records& records_;
  Telemetry& telemetry_;
  const Clock& clock_;
};

}  // namespace metafuse::service
