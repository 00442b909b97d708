#pragma once

#include <cstddef>
#include <cstdint>
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
#include "service/learning/search_log.h"

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

/// What a search's rendered answer needs to be sent again.
struct Repeat {
  std::vector<GapMark> marks;
  std::optional<TimePoint> until;          ///< nothing: it must not be sent again
  TimePoint found;                         ///< when rendering began
  std::shared_ptr<RepeatedSearch> search;  ///< to which feedback refers; nullptr if nothing is stored
  std::size_t expanded_queries = 0;        ///< how many are charged to a quota
  std::string domain;
  std::string method;
};

/// A rendered answer that can be sent again.
struct RenderedAnswer {
  std::vector<Header> headers;             ///< those that the handler set
  std::shared_ptr<const BodyFrame> frame;  ///< the body, cut at its gaps
  std::shared_ptr<const Repeat> repeat;
};

/// Answers in the bytes of their dialect, by everything in the request that shapes them. Fusing and rendering
/// again would take several times as long as everything else. An answer is kept from the second request on,
/// for as long as the fused answer behind it. Safe from any thread.
class RenderedAnswers {
 public:
  RenderedAnswers(std::size_t max_bytes, const Clock& clock)
      : cache_(kMaxEntries, max_bytes), clock_(clock) {}

  /// The answer that was rendered for an equal request, except that its gaps are not filled; nullptr if there
  /// is none. Notes in the exchange what finish() needs.
  ///
  /// in: decisions - Decisions::changes(), because answers from before a change are not sent again
  std::shared_ptr<const RenderedAnswer> find(Exchange& exchange, std::uint64_t decisions = 0);
  /// Fills the gaps of a handler's answer, and keeps it for equal requests if it is a search that may be
  /// repeated for them.
  HttpResponse finish(const Exchange& exchange, HttpResponse response);
  /// Forgets all answers, and does not keep those whose rendering has begun.
  void clear();
  std::size_t size() const;
  std::size_t bytes() const;

 private:
  static constexpr std::size_t kMaxEntries = 100'000;

  mutable std::mutex mutex_;
  ExpiringCache<std::shared_ptr<const RenderedAnswer>> cache_;
  const Clock& clock_;
  TimePoint cleared_ = TimePoint::min();
};

/// A rendered answer sent again.
///
/// in: search_id - under which it is stored this time; seconds - since the request arrived
HttpResponse repeated_response(const RenderedAnswer& answer, const Exchange& exchange, std::string search_id,
                               Duration since);

/// Everything in a request that shapes its rendered answer; "" for a request that is not a search or is too
/// long. Keeps the body of a tool call as JSON in the exchange.
std::string rendered_key(Exchange& exchange);

/// A body cut at each of its marks; one part if it has none.
BodyFrame frame_of(std::string_view body, std::span<const GapMark> marks);

/// out: one filling per gap; empty for gaps without a mark
GapFillings fillings_of(std::span<const GapMark> marks);

/// A duration as answers give it: seconds with three decimals.
std::string seconds_text(Duration duration);

/// A random text that nobody can guess, to mark a gap.
std::string new_mark();

}  // namespace metafuse::service
