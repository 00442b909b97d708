#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "service/exchange.h"
#include "service/expiring_cache.h"
#include "service/http_message.h"
#include "service/stored_search.h"

namespace metafuse::service {

/// An answer as it is sent, to be sent again: only its search id is new each time.
struct RenderedAnswer {
  std::vector<Header> headers;                 ///< the handler's own
  std::shared_ptr<const BodyFrame> frame;      ///< the body, cut where the search id stands
  std::shared_ptr<const StoredSearch> search;  ///< what feedback refers to; nullptr without a store
  std::size_t expanded_queries = 0;            ///< what a quota is charged
  std::string domain;
  std::string method;
};

/// Answers in the bytes of their dialect, behind everything of the request that shapes them. They are kept
/// from the second request on, as long as the fused answer that they were made of.
class RenderedAnswers {
 public:
  RenderedAnswers(std::size_t max_bytes, const Clock& clock)
      : cache_(kMaxEntries, max_bytes), clock_(clock) {}

  std::shared_ptr<const RenderedAnswer> find(std::string_view key);
  void keep(std::string key, RenderedAnswer answer, TimePoint until);
  void clear();
  std::size_t size() const;
  std::size_t bytes() const;

 private:
  static constexpr std::size_t kMaxEntries = 100'000;

  mutable std::mutex mutex_;
  ExpiringCache<std::shared_ptr<const RenderedAnswer>> cache_;
  const Clock& clock_;
};

/// Everything of a request that shapes its answer, as the bytes that came; nothing for a request whose answer
/// is not the same twice, or is too long to be looked up.
std::optional<std::string> rendered_key(const Exchange& exchange);

/// A body cut at each place where the search id stands; whole when there is no id.
BodyFrame frame_of(std::string_view body, std::string_view search_id);

}  // namespace metafuse::service
