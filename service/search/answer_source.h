#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "core/result.h"
#include "service/base/log.h"
#include "service/base/traces.h"
#include "service/search/answer_cache.h"
#include "service/search/search_plan.h"
#include "service/search/suggester.h"

namespace metafuse::service {

/// The part of the cache's bytes for rendered answers. Each is much smaller than the lists behind it.
std::size_t rendered_bytes(const CacheConfig& config);

/// Chooses the searches whose lists are compared with earlier ones: all of a sender's until there are many,
/// and then some per second. Comparing takes as long as half of a search, and engines do not change that
/// fast. Every search has the same chance, whatever is in its lists, because engines are judged by shares.
/// Safe from any thread.
class ComparedSearches {
 public:
  static constexpr double kAtOnce = 128;
  static constexpr double kPerSecond = 8;

  bool take(std::string_view sender, TimePoint now);

 private:
  struct Sender {  // or several that hash alike
    double left = kAtOnce;
    TimePoint at;
  };
  std::mutex mutex_;
  std::array<Sender, 64> senders_;
};

/// Where fused answers come from: this process's cache, the one that processes share, or the engines. It
/// counts what it does and learns the engines' suggestions. Safe from any thread; window() blocks.
class AnswerSource {
 public:
  /// in: config - used only here; the others must outlive it
  AnswerSource(const ServerConfig& config, const Clock& clock, Telemetry& telemetry, Suggester& suggester);

  /// The fused answer of a search with so many windows of its lists.
  ///
  /// errors: those of another request's search for which this one waited
  Result<SharedAnswer> window(const SearchPlan& plan, int windows, const PartialAnswer& on_partial = {});
  /// Until when window() gives this answer again; nothing if it was not asked for before.
  std::optional<TimePoint> popular_until(const SearchPlan& plan, const SearchAnswer& answer) const {
    return cache_.popular_until(plan.cache_key(1), answer);
  }
  void clear() { cache_.clear(); }
  const AnswerCache& cache() const { return cache_; }

 private:
  Result<SearchAnswer> uncached(const SearchPlan& plan, int windows, const PartialAnswer& on_partial);
  Result<SearchAnswer> from_engines(const SearchPlan& plan, int windows, const PartialAnswer& on_partial);
  /// Compares the engines' lists with their earlier ones, and marks those of engines that are broken.
  void judge_lists(const SearchPlan& plan, SearchAnswer& answer);
  /// Adds a search's spans to its request's trace.
  void trace(const SearchPlan& plan, const SearchAnswer& answer, bool was_cached, TimePoint began) const;
  /// Counts the engines' outcomes and requests, and logs failures.
  void note_lists(const std::vector<fetchers::FetchedList>& lists, const LoadedEngines& engines);

  const Clock& clock_;
  Telemetry& telemetry_;
  Suggester& suggester_;
  AnswerCache cache_;
  std::unique_ptr<SharedAnswers> shared_;
  RareEvents engine_failures_;
  ComparedSearches compared_;
};

}  // namespace metafuse::service
