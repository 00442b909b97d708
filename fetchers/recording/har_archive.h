#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "core/keyed_hash.h"
#include "core/query.h"
#include "core/result.h"
#include "fetchers/http/transport.h"

namespace metafuse::fetchers {

/// Identifies a request in a replay: method, URL and body, without secrets. Headers do not count.
std::string exchange_key(const EngineRequest& request);

/// Writes exchanges into a HAR 1.2 file. Each exchange is a line of FILE.part once append() has returned
/// without an error. Several writers of one file, of this process or others, share FILE.part. The last of
/// them to be closed merges it with the previous contents of FILE into a HAR (of equal requests the latest is
/// kept). If that fails, FILE.part remains.
class HarWriter {
 public:
  /// errors: no_input when the folder is not writable
  /// cost:   waits while another writer merges
  static Result<std::unique_ptr<HarWriter>> open(const std::string& path);
  ~HarWriter();

  /// errors: try_again: the line cannot be written, or not all of it; later lines are not affected
  Result<void> append(const EngineRequest& request, const HttpAnswer& answer);
  /// errors: as write_file; bad_data when FILE exists and is not a HAR
  Result<void> close();

 private:
  explicit HarWriter(std::string path) : path_(std::move(path)) {}
  Result<void> merge() const;

  std::string path_;
  std::mutex mutex_;
  int journal_ = -1;
};

/// The recorded answers, found by their requests.
class HarArchive {
 public:
  /// errors: no_input; bad_data with "FILE: ...": not JSON, not a HAR, an entry without request or response.
  ///         If there is a FILE.part, it is read too.
  static Result<HarArchive> read(const std::string& path);

  const HttpAnswer* find(const std::string& key) const;
  std::size_t size() const { return answers_.size(); }

 private:
  TextMap<HttpAnswer> answers_;
};

/// Sends through `inner` and records each exchange; an answer that cannot be recorded becomes a failure,
/// not_recorded. The writer must outlive it.
std::unique_ptr<Transport> make_recording_transport(std::unique_ptr<Transport> inner, HarWriter& writer);
/// Answers from an archive, which must outlive it. A request that is not recorded fails with not_recorded,
/// and the message names it.
std::unique_ptr<Transport> make_replay_transport(const HarArchive& archive);

// Engines that are not behind HTTP are recorded and replayed like others, as exchanges in the forms below.

/// The request that represents a query of such an engine.
EngineRequest embedded_request(std::string_view engine, std::string_view query, int depth, int offset);
HttpAnswer embedded_answer(const Result<RankedList>& list, Duration elapsed);
/// errors: the recorded failure; bad_data: an answer that embedded_answer did not produce
Result<RankedList> read_embedded_answer(const HttpAnswer& answer);

}  // namespace metafuse::fetchers
