#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/json.h"
#include "core/query.h"
#include "core/result.h"
#include "fetchers/http/transport.h"

namespace metafuse::fetchers {

/// A recorded answer and what it answers.
struct Exchange {
  std::string key;  ///< of the request
  HttpAnswer answer;
};

/// What makes two requests the same for a replay: method, URL and body, without secrets; headers never count.
std::string exchange_key(const HttpRequest& request);

/// An entry of HAR 1.2, in one line. Secrets and cookies are replaced, bytes that are not UTF-8 are kept as
/// base64, a failure as `_failure`.
std::string har_entry(const HttpRequest& request, const HttpAnswer& answer);

/// in:     place - for errors, "FILE:LINE" or the like
/// errors: bad_data: no request or response, content that is no base64
Result<Exchange> read_har_entry(const Json& json, const std::string& place);

/// Writes exchanges into a HAR 1.2 file. What was recorded stands in FILE.part, a line each, as soon as
/// append() returns; close() makes the HAR of it, together with what FILE held before (the newest of equal
/// requests stays). FILE.part stays where that fails.
class HarWriter {
 public:
  /// errors: no_input when the folder may not be written
  static Result<std::unique_ptr<HarWriter>> open(const std::string& path);
  ~HarWriter();

  void append(const HttpRequest& request, const HttpAnswer& answer);
  /// errors: as write_file; bad_data when FILE exists and is no HAR
  Result<void> close();

 private:
  explicit HarWriter(std::string path) : path_(std::move(path)) {}
  std::string path_;
  std::mutex mutex_;
  int journal_ = -1;
};

/// The recorded answers by their requests.
class HarArchive {
 public:
  /// errors: no_input; bad_data with "FILE: ...": no JSON, no HAR, an entry without request or response. A
  ///         FILE.part beside it is read too.
  static Result<HarArchive> read(const std::string& path);

  const HttpAnswer* find(const std::string& key) const;
  std::size_t size() const { return answers_.size(); }

 private:
  std::unordered_map<std::string, HttpAnswer> answers_;
};

/// Sends through `inner` and records. The writer must outlive it.
std::unique_ptr<Transport> make_recording_transport(std::unique_ptr<Transport> inner, HarWriter& writer);
/// Answers from an archive, which must outlive it; what is not there fails with not_recorded and names
/// the request.
std::unique_ptr<Transport> make_replay_transport(const HarArchive& archive);

// Engines that are not behind HTTP are recorded and replayed like the others, as exchanges of their own.

/// The request that stands for a query of such an engine.
HttpRequest embedded_request(std::string_view engine, std::string_view query, int depth, int offset);
HttpAnswer embedded_answer(const Result<RankedList>& list, Duration elapsed);
/// errors: the failure that was recorded; bad_data: an answer that embedded_answer did not make
Result<RankedList> read_embedded_answer(const HttpAnswer& answer);

}  // namespace metafuse::fetchers
