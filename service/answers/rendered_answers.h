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

/// What is new each time that an answer is sent: the gaps of its frame, by their numbers.
enum class Gap { search_id, request_id, seconds };
using GapFillings = std::vector<std::string>;  ///< one for each of Gap

/// A gap in a body that was just rendered.
struct GapMark {
  Gap gap;
  std::string text;     ///< what stands there, unguessable: no result can hold it
  std::string filling;  ///< what belongs there this time
};

/// An answer as it is sent, to be sent again.
struct RenderedAnswer {
  std::vector<Header> headers;                 ///< the handler's own
  std::shared_ptr<const BodyFrame> frame;      ///< the body, cut at its gaps
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

/// Which rendered answer a request gets.
struct RenderedKey {
  std::string text;        ///< everything of the request that shapes its answer
  std::string request_id;  ///< of a call in JSON-RPC, as JSON
};

/// out: nothing for a request that is no search, or is too long to be looked up
std::optional<RenderedKey> rendered_key(const Exchange& exchange);

/// A body cut at each of its marks; whole without any.
BodyFrame frame_of(std::string_view body, std::span<const GapMark> marks);

/// out: a filling for each gap, those without a mark empty
GapFillings fillings_of(std::span<const GapMark> marks);

/// A time as answers say it: seconds to three decimals.
std::string seconds_text(Duration duration);

/// A text that nobody can guess, to mark a gap with.
std::string new_mark();

}  // namespace metafuse::service
