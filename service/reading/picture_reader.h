#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "core/deadline.h"
#include "core/result.h"
#include "fetchers/http/transport.h"
#include "service/base/expiring_cache.h"
#include "service/base/picture_links.h"
#include "service/config/config.h"
#include "service/reading/guarded_transport.h"

namespace metafuse::service {

/// What a picture's first bytes say that it is.
struct PictureType {
  std::string_view media_type;  ///< "image/png"; empty for what is no picture that is passed on
  unsigned width = 0;
  unsigned height = 0;
};

/// PNG, JPEG, GIF, WebP and ICO by their own first bytes, whatever the sender called them. SVG is none: it
/// may hold scripts.
PictureType picture_type(std::string_view bytes);

struct Picture {
  std::string_view media_type;
  std::string bytes;
};
using SharedPicture = std::shared_ptr<const Picture>;

/// Fetches small pictures for readers of results: public addresses alone (the engines' guard checks every
/// socket and every redirect), of at most 64 KiB for icons and 512 KiB for thumbnails, of at most 2048 x 2048
/// pixels, in the types of picture_type(). Nothing of the reader is sent on. Pictures are kept for a day, and
/// that there is none for ten minutes. From any thread.
class PictureReader {
 public:
  /// in: clock - must outlive it; secret - that signs the links; empty: one of this process alone
  PictureReader(const Clock& clock, std::string secret);
  PictureReader(const PictureReader&) = delete;
  PictureReader& operator=(const PictureReader&) = delete;
  ~PictureReader();

  /// What is on, and what may be reached from now on.
  void configure(const PicturesConfig& config);

  PictureLinks links() const;

  /// Blocks until the picture is there.
  ///
  /// errors: no_input: there is none, or none of those that are passed on; try_again: too many are being
  ///         fetched at once
  Result<SharedPicture> read(PictureKind kind, const std::string& url);

 private:
  Result<SharedPicture> fetch(PictureKind kind, const std::string& url);

  const Clock& clock_;
  const std::string secret_;
  std::atomic<int> under_way_{0};
  mutable std::mutex mutex_;
  PicturesConfig config_;
  GuardedTransport transport_;
  ExpiringCache<SharedPicture> pictures_;  ///< nullptr: there is none
};

}  // namespace metafuse::service
