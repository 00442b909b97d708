#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "core/query.h"
#include "core/result.h"
#include "service/access/gate.h"
#include "service/api/rendered_answers.h"
#include "service/base/traces.h"
#include "service/http/exchange.h"
#include "service/learning/records.h"
#include "service/router.h"
#include "service/search/answer_cache.h"
#include "service/search/search_answer.h"
#include "service/search/search_pipeline.h"
#include "service/search/search_request.h"
#include "service/search/shown_results.h"
#include "service/search/suggester.h"

namespace metafuse::service {

/// A search as requested in one dialect.
struct WantedSearch {
  SearchRequest search;
  std::size_t first = 0;  ///< rank of the first result to show, from 0
  int limit = 0;  ///< results to show; 0 if the dialect chooses among all results, and then nothing is stored
  SitePreferences sites = {};  ///< blocked results are replaced by asking the engines for more
  bool is_for_judge = false;   ///< in the ranker's order, without what judges and operators decided
};

/// A search that was answered, and the results shown.
struct FoundSearch {
  SharedAnswer answer;
  const LoadedDomain* domain;  ///< of the exchange's snapshot
  ShownResults shown;          ///< with the id for feedback, if it could be stored
  std::string key;             ///< of the answer in AnswerCache
  /// Then `shown` has a search id, unless storing failed or the reader opted out.
  bool is_to_be_stored = false;
  /// Gaps in the rendered answer other than the search id, which marks its own gap.
  std::vector<GapMark> marks = {};
};

/// Callbacks while a search runs.
struct SearchEvents {
  std::function<void()> on_admitted;  ///< the request is valid and within its quota
  PartialAnswer on_partial;  ///< once half of the lists have arrived; the partial answer may be shown
};

/// The parts that a searcher works with; all must outlive it.
struct SearcherParts {
  const Clock& clock;
  Gate& gate;
  Records& records;
  Telemetry& telemetry;
};

/// Answers searches for every dialect. It combines the quota, the cache of rendered answers, the caches of
/// fused answers, the engines and what was learned from feedback. Safe from any thread. Only find(), and
/// serve(), which calls it, block.
class Searcher {
 public:
  /// in: config - used only here
  Searcher(const ServerConfig& config, const SearcherParts& parts);
  Searcher(const Searcher&) = delete;
  Searcher& operator=(const Searcher&) = delete;

  /// Answers a search in one dialect: find(), then `render`, then finish().
  ///
  /// in: render - renders what was found and adds marks for its gaps
  HttpResponse serve(const Exchange& exchange, Dialect dialect, const WantedSearch& wanted,
                     const std::function<HttpResponse(FoundSearch& found)>& render);

  /// The sequence that all dialects share: expands the templates, charges the quota, searches, chooses the
  /// results to show and stores them.
  ///
  /// errors: those of expand_request() by their HTTP status, those of Gate::admit_search()
  OrRefusal<FoundSearch> find(const Exchange& exchange, const WantedSearch& wanted,
                              const SearchEvents& events = {});
  /// Prepares a rendered answer for sending: fills its gaps, and adds a header that names the engines whose
  /// lists are missing. The rendered answer is kept for equal requests if the fused answer behind it is
  /// cached and was requested before.
  HttpResponse finish(const Exchange& exchange, FoundSearch found, HttpResponse rendered);
  /// The answer that was rendered for an equal request; nothing if there is none, or if this process does not
  /// know that the key's quota suffices.
  std::optional<HttpResponse> answer_again(const Exchange& exchange);

  /// Completes the fused answer of callers' lists: orders it by what was learned, counts and stores it.
  ///
  /// in: answer - of a domain of the exchange's snapshot; limit - results to show
  SharedAnswer show_fused(const Exchange& exchange, SharedAnswer answer, std::size_t limit,
                          ShownResults& shown);

  /// Stores an answer as a judge sees it, so that grades can refer to it. It does not count as a search.
  ///
  /// in:  positions - in answer.results, in the order in which the judge sees them
  /// out: without `search` if it could not be stored
  ShownResults show_to_judge(const Exchange& exchange, const LoadedDomain& domain, const SearchAnswer& answer,
                             std::vector<std::size_t> positions);

  /// Completions of the text typed so far: queries that several people asked in the domain, titles and words
  /// of its embedded indexes, and suggestions by engines in the domains that the exchange's key may use.
  std::vector<std::string> suggest(const Exchange& exchange, std::string_view domain,
                                   std::string_view prefix) const;
  void set_asked(const std::string& domain, std::vector<std::string> queries) {
    suggester_.set_asked(domain, std::move(queries));
  }
  UnixTime unix_time() const { return parts_.records.unix_time(); }
  Duration time_since(TimePoint begin) const { return parts_.clock.now() - begin; }
  /// Clears this process's caches of answers.
  void clear();
  const AnswerCache& cache() const { return cache_; }
  const RenderedAnswers& rendered() const { return rendered_; }

 private:
  /// A request, and everything that is computed from it once.
  struct Plan {
    const Exchange& exchange;
    PreparedSearch prepared;
    /// Of everything that changes the lists of its first window; the same in every process.
    std::string digest;
    TimePoint began, expanded;

    SearchRequest at_window(int windows) const;
    std::string shared_key(int windows) const;
    std::string cache_key(int windows) const;  ///< only valid in this process
    bool has_raw() const;
  };

  OrRefusal<Plan> plan_of(const Exchange& exchange, const WantedSearch& wanted) const;
  Result<SharedAnswer> search(const Plan& plan, const SitePreferences& sites,
                              const PartialAnswer& on_partial);
  Result<SharedAnswer> search_window(const Plan& plan, int windows, const PartialAnswer& on_partial);
  Result<SearchAnswer> search_uncached(const Plan& plan, int windows, const PartialAnswer& on_partial);
  Result<SearchAnswer> search_engines(const Plan& plan, int windows, const PartialAnswer& on_partial);
  bool is_interleaving(const Snapshot& snapshot, const LoadedDomain& domain) const;
  std::shared_ptr<const DomainDecisions> decisions_of(const Snapshot& snapshot,
                                                      const LoadedDomain& domain) const;
  /// The answer after what judges and operators decided about its query.
  SharedAnswer decided(const Snapshot& snapshot, const LoadedDomain& domain, SharedAnswer answer) const;
  StoreIdentity identity_of(const Snapshot& snapshot, const LoadedDomain& domain) const;
  std::optional<RenderedKey> key_of(const Exchange& exchange) const;
  SharedAnswer learned_order(const Snapshot& snapshot, const LoadedDomain& domain, std::string_view digest,
                             SharedAnswer answer) const;
  /// Stores what a reader is shown, unless the reader opted out.
  void remember(const Exchange& exchange, const LoadedDomain& domain, const SearchAnswer& answer,
                ShownResults& shown);
  void store_shown(const Exchange& exchange, const LoadedDomain& domain, const SearchAnswer& answer,
                   std::uint64_t times, ShownResults& shown);
  /// Until when a rendered answer may be sent again; nothing if the answer varies or was not
  /// requested before.
  std::optional<TimePoint> may_be_sent_again(const Exchange& exchange, const FoundSearch& found) const;
  /// Adds a search's spans to its request's trace.
  void trace_search(const Plan& plan, const SearchAnswer& answer, bool was_cached, TimePoint began) const;
  /// Counts the engines' outcomes, and logs failures.
  void note_lists(const std::vector<fetchers::FetchedList>& lists);

  const SearcherParts parts_;
  const bool has_cache_;
  AnswerCache cache_;
  RenderedAnswers rendered_;
  std::unique_ptr<SharedAnswers> shared_answers_;
  Suggester suggester_;
  RareEvents engine_failures_;
};

}  // namespace metafuse::service
