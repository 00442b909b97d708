#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/system/result.hpp>

#include "core/deadline.h"
#include "core/query.h"
#include "core/result.h"
#include "service/access/gate.h"
#include "service/answers/rendered_answers.h"
#include "service/base/log.h"
#include "service/base/metrics.h"
#include "service/base/traces.h"
#include "service/cache/answer_cache.h"
#include "service/cache/shared_answers.h"
#include "service/http/exchange.h"
#include "service/learning/records.h"
#include "service/router.h"
#include "service/search/search_answer.h"
#include "service/search/search_pipeline.h"
#include "service/search/search_request.h"
#include "service/search/shown_results.h"
#include "service/search/suggester.h"

namespace metafuse::service {

/// A search as one dialect's reader asks for it.
struct WantedSearch {
  SearchRequest search;
  std::size_t first = 0;  ///< rank of the first result to show, from 0
  int limit = 0;  ///< results to show; 0 when the dialect chooses among all, and then nothing is stored
  SitePreferences sites = {};  ///< results that they block are made up for by asking the engines further
};

/// A search that was answered, and what its reader is shown.
struct FoundSearch {
  SharedAnswer answer;
  const LoadedDomain* domain;       ///< of the exchange's snapshot
  ShownResults shown;               ///< with the id that feedback refers to, when it could be stored
  std::string key;                  ///< of the answer in the cache
  bool is_to_be_stored = false;     ///< then `shown` has a search id unless that failed or is not wished
  std::vector<GapMark> marks = {};  ///< gaps of what is rendered, beyond the search id, which is its own mark
};

/// What a search may tell while it runs.
struct SearchEvents {
  std::function<void()> on_admitted;  ///< nothing is wrong with the request, and its quota holds it
  PartialAnswer on_partial;           ///< from half of the lists on; it may be shown at once
};

/// What a searcher works with; all must outlive it.
struct SearcherOptions {
  const ServerConfig& config;  ///< read while the searcher is made
  const Clock& clock;
  Gate& gate;
  Records& records;
  Metrics& metrics;
  Log& log;
  Traces* traces = nullptr;  ///< nullptr where none are made
};

/// Answers searches: quota, what was rendered before, the caches, the engines, what the learning adds. From
/// any thread; only find() blocks.
class Searcher {
 public:
  explicit Searcher(const SearcherOptions& options);
  Searcher(const Searcher&) = delete;
  Searcher& operator=(const Searcher&) = delete;

  /// Answers a search in one dialect: find(), what it renders, finish().
  ///
  /// in: render - writes what was found, and marks its gaps
  HttpResponse serve(const Exchange& exchange, Dialect dialect, const WantedSearch& wanted,
                     const std::function<HttpResponse(FoundSearch& found)>& render);

  using Found = boost::system::result<FoundSearch, AccessRefusal>;

  /// The sequence of every dialect: expands the templates, charges the quota, searches, chooses what is shown
  /// and stores it.
  ///
  /// errors: those of expand_request() by their HTTP status, those of Gate::admit_search()
  Found find(const Exchange& exchange, const WantedSearch& wanted, const SearchEvents& events = {});
  /// Makes a search's rendered answer ready to be sent: fills its gaps, and names in a header the engines
  /// whose lists are missing. It is kept for equal requests when the fused answer behind it is cached and was
  /// asked for before.
  HttpResponse finish(const Exchange& exchange, FoundSearch found, HttpResponse rendered);
  /// The answer that was rendered for an equal request; nothing when there is none, or the key's quota does
  /// not surely hold it.
  std::optional<HttpResponse> answer_again(const Exchange& exchange);

  /// Makes the fused answer of callers' lists what its reader is shown: ordered by what was learned,
  /// stored, counted.
  ///
  /// in: answer - of a domain of the exchange's snapshot; limit - results to show
  SharedAnswer show_fused(const Exchange& exchange, SharedAnswer answer, std::size_t limit,
                          ShownResults& shown);

  /// Stores an answer as a judge sees it, so that grades can refer to it; it counts as nobody's search.
  ///
  /// in:  positions - in answer.results, in the order in which the judge sees them
  /// out: without `search` where it could not be stored
  ShownResults show_to_judge(const Exchange& exchange, const LoadedDomain& domain, const SearchAnswer& answer,
                             std::vector<std::size_t> positions);

  /// Completions of what is being typed: what several people asked in the domain, titles and words of its
  /// embedded indexes, and what engines suggested in the domains that the exchange's key may use.
  std::vector<std::string> suggest(const Exchange& exchange, std::string_view domain,
                                   std::string_view prefix) const;
  void set_asked(const std::string& domain, std::vector<std::string> queries) {
    suggester_.set_asked(domain, std::move(queries));
  }
  UnixTime unix_time() const { return records_.unix_time(); }
  Duration time_since(TimePoint begin) const { return clock_.now() - begin; }
  /// Forgets all answers.
  void clear();
  const AnswerCache& cache() const { return cache_; }
  const RenderedAnswers& rendered() const { return rendered_; }

 private:
  /// A request with what is made of it once.
  struct Plan {
    const Exchange& exchange;
    PreparedSearch prepared;
    std::string digest;  ///< of everything that changes the lists of its first window, in every process
    TimePoint began, expanded;

    SearchRequest at_window(int windows) const;
    std::string shared_key(int windows) const;
    std::string cache_key(int windows) const;  ///< in this process
    bool has_raw() const;
  };

  boost::system::result<Plan, AccessRefusal> plan_of(const Exchange& exchange, SearchRequest request) const;
  Result<SharedAnswer> search(const Plan& plan, const SitePreferences& sites,
                              const PartialAnswer& on_partial);
  Result<SharedAnswer> search_window(const Plan& plan, int windows, const PartialAnswer& on_partial);
  Result<SearchAnswer> search_uncached(const Plan& plan, int windows, const PartialAnswer& on_partial);
  Result<SearchAnswer> search_engines(const Plan& plan, int windows, const PartialAnswer& on_partial);
  bool is_interleaving(const Snapshot& snapshot, const LoadedDomain& domain) const;
  SharedAnswer learned_order(const Snapshot& snapshot, const LoadedDomain& domain, std::string_view digest,
                             SharedAnswer answer) const;
  /// Stores what somebody is shown, unless they do not wish it.
  void remember(const Exchange& exchange, const LoadedDomain& domain, const SearchAnswer& answer,
                ShownResults& shown);
  void store_shown(const Exchange& exchange, const LoadedDomain& domain, const SearchAnswer& answer,
                   std::uint64_t times, ShownResults& shown);
  /// Until when; nothing for an answer that is not the same twice, or that nobody asked for before.
  std::optional<TimePoint> may_be_sent_again(const Exchange& exchange, const FoundSearch& found) const;
  /// What a request's trace shows of its search.
  void trace_search(const Plan& plan, const SearchAnswer& answer, bool was_cached, TimePoint began) const;
  /// Counts what the engines did, and says in the log which failed.
  void note_lists(const std::vector<fetchers::FetchedList>& lists);

  const bool has_cache_;
  const Clock& clock_;
  Gate& gate_;
  Records& records_;
  Metrics& metrics_;
  Log& log_;
  Traces* const traces_;
  AnswerCache cache_;
  RenderedAnswers rendered_;
  std::unique_ptr<SharedAnswers> shared_answers_;
  Suggester suggester_;
  RareEvents engine_failures_;
};

}  // namespace metafuse::service
