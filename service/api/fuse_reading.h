#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "core/tracking_parameters.h"
#include "evaluation/runs/topic_index.h"
#include "service/api/fusing.h"

namespace metafuse::service {

// A request to fuse lists is read in one of two ways. read_fuse_request() reads any request from a tree of
// JSON values and says what is wrong with it. PlainFuseText reads without such a tree, and only requests
// without any mistake; whatever it leaves alone, the other one reads.

inline constexpr std::size_t kMaxFusedIdBytes = 1024;
inline constexpr std::size_t kMaxListNameBytes = 200;
inline constexpr double kMaxListWeight = 1e9;

/// All of a request but its lists, of which there must be a member.
///
/// errors: usage, naming the wrong member
Result<FuseRequest> read_fuse_head(const JsonObject& body);

/// Checks that the lists of a request hold what its method needs, and passes their weights to the method.
///
/// errors: usage
Result<void> check_fused_lists(FuseRequest& request);

/// Adds lists and their results to a request and numbers the documents.
class ListCollector {
 public:
  explicit ListCollector(FuseRequest& request) : request_(request) {}

  bool has_list(std::string_view name) const;
  /// Begins a list, to which the next results belong.
  ///
  /// in: results - how many follow, at most
  void begin(CallerList list, std::size_t results);
  /// Adds the next result, or a notice if the list has named the document already.
  ///
  /// in: id - outlives the request; members - 0, or the result's place in FuseRequest::members plus 1
  void add(std::string_view id, double score, std::uint32_t members);
  /// Fills in the documents' holders once all lists are there.
  void finish();

 private:
  void note_twice(std::uint32_t document);

  /// Documents of all lists per result of the first one, about; growing a table hashes all keys again.
  static constexpr std::size_t kExpectedOfFirst = 4;

  FuseRequest& request_;
  evaluation::IdTable numbers_;
  std::vector<std::uint32_t> last_list_;  ///< by document: the last list that named it, from 1
};

/// A request in its plain form: valid JSON of moderate size and depth, without anything that would have to be
/// refused. A thread has one at a time, because the request's texts lie in a buffer of the thread.
class PlainFuseText {
 public:
  PlainFuseText(std::string_view text, const TrackingParameters& tracking);
  ~PlainFuseText();
  PlainFuseText(const PlainFuseText&) = delete;
  PlainFuseText& operator=(const PlainFuseText&) = delete;

  /// nullptr: the text has another form, is no single request, or has a mistake.
  const FuseRequest* request() const { return request_ ? &*request_ : nullptr; }

 private:
  std::optional<FuseRequest> request_;
};

}  // namespace metafuse::service
