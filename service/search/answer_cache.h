#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "core/deadline.h"
#include "core/keyed_hash.h"
#include "core/result.h"
#include "service/base/expiring_cache.h"
#include "service/config/snapshot.h"
#include "service/search/search_answer.h"
#include "service/search/search_request.h"
#include "service/store/redis_client.h"

namespace metafuse::service {

using SharedAnswer = std::shared_ptr<const SearchAnswer>;

/// Roughly how much memory an answer takes, in bytes.
std::size_t memory_of(const SearchAnswer& answer);

/// How far down an answer a request looks.
struct Reach {
  std::size_t results = 0;  ///< which tells its page; 0: anything kept will do
  bool is_first_page = false;
};

/// A cache of recent answers, bounded in number and in bytes; the least recently used is dropped first. Safe
/// from any thread. Of equal requests at the same time one does the work and the others wait for it, each
/// until its own deadline: a request joins only work that must end before that. If that work had clearly less
/// time and lacks lists, the request asks again.
class AnswerCache {
 public:
  AnswerCache(std::size_t entries, Duration lifetime, const Clock& clock,
              std::size_t max_bytes = std::size_t{16} << 20);

  /// The cached answer, or that of `make`. An answer whose first window was cut short is given to the waiting
  /// requests, but not kept. One that lacks only what later windows would have brought is kept, so that the
  /// next page goes on where this one ended; who asks for the same page again, or for a first page, makes
  /// `make` try again.
  ///
  /// in:     end - the caller's deadline; `make` must end by then, too
  /// out:    was_cached - whether `make` was not called
  /// errors: those of `make`, for all waiting requests. An exception from `make` reaches its own caller; the
  ///         others get an error. try_again: another request's work was not done kGrace after `end`.
  Result<SharedAnswer> get(const std::string& key, const std::function<Result<SearchAnswer>()>& make,
                           bool& was_cached, TimePoint end = TimePoint::max(), Reach reach = {});
  /// Until when this answer object is kept; nothing unless it was found in the cache at least once.
  std::optional<TimePoint> popular_until(const std::string& key, const SearchAnswer& answer) const;
  /// Forgets all answers. Those of work under way are not kept either, and later requests do not wait for it.
  void clear();
  std::size_t size() const;
  std::size_t bytes() const;
  /// How many requests wait for another one's work.
  std::size_t waiting() const;

  /// Time for fusing after the last list has arrived.
  static constexpr std::chrono::milliseconds kGrace{250};

 private:
  /// Work under way for which other requests may wait.
  struct Flight {
    TimePoint end;
    Reach reach;
    std::condition_variable done;
    bool is_done = false;
    bool is_outdated = false;  ///< the cache was cleared since it began
    Result<SharedAnswer> outcome = SharedAnswer();
  };

  struct Kept {
    SharedAnswer answer;
    Reach reach;  ///< of the request that made it
  };

  SharedAnswer find(const std::string& key, const Reach& reach);
  std::shared_ptr<Flight> find_flight(const std::string& key, TimePoint end) const;
  void keep(const std::string& key, SharedAnswer answer, const Reach& reach);
  void land(const std::string& key, const std::shared_ptr<Flight>& flight, Result<SharedAnswer> outcome);

  const Duration lifetime_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::size_t waiting_ = 0;
  ExpiringCache<Kept> cache_;
  TextMultimap<std::shared_ptr<Flight>> flights_;
};

/// An answer's lists as JSON, for a cache shared by several processes. It holds what is needed to fuse the
/// lists again, which every process does by its own model. Requires an answer without failed lists.
///
/// {"version":6,"query","not_asked":[[list,engine,why]...],
///  "lists":[{"template","engine","text","suggestions":[...],
///  "hits":[[url,title,snippet,published,thumbnail,key,language,score or null,
///  fingerprint,kind,{details}]...],"windows":[hits...]}...]}
///
/// "windows" is FetchedList::in_window; lists of one window have none.
std::string answer_text(const SearchAnswer& answer);

/// Reads what answer_text() wrote and fuses it.
///
/// in:     request - the one that was cached; windows - of the answer
/// errors: bad_data for any other text, which a cache treats as a miss
Result<SearchAnswer> read_answer_text(std::string_view text, const LoadedDomain& domain,
                                      const SearchRequest& request, int windows);

/// Answers that several processes share through Redis, behind each process's own cache. While Redis is
/// unreachable, a search is delayed by some milliseconds at most once per second, and none fails because
/// of it.
class SharedAnswers {
 public:
  SharedAnswers(RedisAddress address, Duration lifetime, const Clock& clock);

  /// in: key - shared_key() and what else changes the lists; the same in every process; windows - it has
  std::optional<SearchAnswer> find(const std::string& key, const LoadedDomain& domain,
                                   const SearchRequest& request, int windows);
  /// Keeps an answer, if no list failed and its text has at most 4 MiB.
  void keep(const std::string& key, const SearchAnswer& answer);

  RedisClient& redis() { return redis_; }

 private:
  RedisClient redis_;
  Duration lifetime_;
};

/// Appends a part after its length, so that different requests never make the same key.
void append_part(std::string& key, std::string_view part);

/// Digest of everything that a request's lists depend on: the domain's templates, the engines' definitions,
/// what the domain's embedded indexes hold, and the request. It is a digest so that no key reveals a query.
std::string shared_key(const LoadedDomain& domain, const SearchRequest& request);

}  // namespace metafuse::service
