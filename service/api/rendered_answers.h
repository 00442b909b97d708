#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "service/base/expiring_cache.h"
#include "service/http/exchange.h"
#include "service/http/message.h"
#include "service/store/stored_search.h"

namespace metafuse::service {

/// The parts of an answer that are new each time it is sent. The values number the gaps of its frame.
enum class Gap { search_id, request_id, seconds };
using GapFillings = std::vector<std::string>;  ///< one text per Gap

/// A gap in a body that was just rendered.
struct GapMark {
  Gap gap;
  std::string text;     ///< the random placeholder, which no result can contain
  std::string filling;  ///< what replaces it this time
};

/// A rendered answer that can be sent again.
struct RenderedAnswer {
  std::vector<Header> headers;             ///< those that the handler set
  std::shared_ptr<const BodyFrame> frame;  ///< the body, cut at its gaps
  /// The stored search that feedback refers to; nullptr without a store.
  std::shared_ptr<const StoredSearch> search;
  std::size_t expanded_queries = 0;  ///< how many are charged to a quota
  std::string domain;
  std::string method;
};

/// Answers in the bytes of their dialect, by everything in the request that shapes them. An answer is kept
/// from the second request on, for as long as the fused answer behind it. Safe from any thread.
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

/// Identifies the rendered answer that fits a request.
struct RenderedKey {
  std::string text;        ///< everything in the request that shapes its answer
  std::string request_id;  ///< id of a JSON-RPC call, as JSON
};

/// out: nothing for a request that is not a search or is too long to be a key
std::optional<RenderedKey> rendered_key(const Exchange& exchange);

/// A body cut at each of its marks; one part if it has none.
BodyFrame frame_of(std::string_view body, std::span<const GapMark> marks);

/// out: one filling per gap; empty for gaps without a mark
GapFillings fillings_of(std::span<const GapMark> marks);

/// A duration as answers give it: seconds with three decimals.
std::string seconds_text(Duration duration);

/// A random text that nobody can guess, to mark a gap.
std::string new_mark();

}  // namespace metafuse::service
