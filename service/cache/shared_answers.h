#pragma once

#include <optional>
#include <string>

#include "core/deadline.h"
#include "service/config/snapshot.h"
#include "service/search/search_answer.h"
#include "service/search/search_request.h"
#include "service/store/redis_client.h"

namespace metafuse::service {

/// Answers that processes share through Redis, behind each process's own cache. Redis being away costs a
/// search some milliseconds once a second, and never fails it.
class SharedAnswers {
 public:
  SharedAnswers(RedisAddress address, Duration lifetime, const Clock& clock);

  /// in: key - everything that changes the lists, the same in every process
  std::optional<SearchAnswer> find(const std::string& key, const LoadedDomain& domain,
                                   const SearchRequest& request);
  /// Keeps an answer without failed lists and of at most 4 MB.
  void keep(const std::string& key, const SearchAnswer& answer);

  RedisClient& redis() { return redis_; }

 private:
  RedisClient redis_;
  Duration lifetime_;
};

/// What the lists of a request depend on: the domain's templates, the engines' definitions and the request.
/// Digested, so that no query stands in a key.
std::string shared_key(const LoadedDomain& domain, const SearchRequest& request);

}  // namespace metafuse::service
