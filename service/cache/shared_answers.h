#pragma once

#include <optional>
#include <string>

#include "core/deadline.h"
#include "service/config/snapshot.h"
#include "service/search/search_answer.h"
#include "service/search/search_request.h"
#include "service/store/redis_client.h"

namespace metafuse::service {

/// Answers that several processes share through Redis, behind each process's own cache. While Redis is
/// unreachable, a search is delayed by some milliseconds at most once per second, and none fails because
/// of it.
class SharedAnswers {
 public:
  SharedAnswers(RedisAddress address, Duration lifetime, const Clock& clock);

  /// in: key - shared_key() and what else changes the lists; the same in every process
  std::optional<SearchAnswer> find(const std::string& key, const LoadedDomain& domain,
                                   const SearchRequest& request);
  /// Keeps an answer, if no list failed and its text has at most 4 MiB.
  void keep(const std::string& key, const SearchAnswer& answer);

  RedisClient& redis() { return redis_; }

 private:
  RedisClient redis_;
  Duration lifetime_;
};

/// Digest of everything that a request's lists depend on: the domain's templates, the engines' definitions
/// and the request. It is a digest so that no key reveals a query.
std::string shared_key(const LoadedDomain& domain, const SearchRequest& request);

}  // namespace metafuse::service
