#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/result.h"
#include "fetchers/http/transport.h"

namespace metafuse::fetchers {

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
  /// FILE.part
  ///         beside it is read too.
  static Result<HarArchive> read(const std::string& path);

  const HttpAnswer* find(const std::string& key) const;
  std::size_t size() const { return answers_.size(); }

 private:
  std::unordered_map<std::string, HttpAnswer> answers_;
};

}  // namespace metafuse::fetchers
