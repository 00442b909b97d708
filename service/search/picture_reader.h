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
#include "service/base/signed_links.h"
#include "service/config/config.h"
#include "service/search/guarded_transport.h"

namespace metafuse::service {

/// A picture's type and size by its first bytes.
struct PictureType {
  std::string_view media_type;  ///< "image/png"; empty for anything that is not passed on
  unsigned width = 0;
  unsigned height = 0;
};

/// Recognises PNG, JPEG, GIF, WebP and ICO by their first bytes, whatever type the sender named. SVG is not
/// accepted, because it may contain scripts.
PictureType picture_type(std::string_view bytes);

struct Picture {
  std::string_view media_type;
  std::string bytes;
};
using SharedPicture = std::shared_ptr<const Picture>;

/// Fetches small pictures for readers of results. It fetches only from public addresses (the engines' guard
/// checks every socket and every redirect), only the types of picture_type(), at most 64 KiB for icons and
/// 512 KiB for thumbnails, and at most 2048 x 2048 pixels. Nothing about the reader is passed on. Pictures
/// are cached for a day, the absence of one for ten minutes. Safe from any thread.
class PictureReader {
 public:
  /// in: clock - must outlive it; secret - signs the links; empty: a random one of this process
  PictureReader(const Clock& clock, std::string secret);
  PictureReader(const PictureReader&) = delete;
  PictureReader& operator=(const PictureReader&) = delete;
  ~PictureReader();

  /// Sets which pictures are on and what may be reached from now on.
  void configure(const PicturesConfig& config);

  PictureLinks links() const;

  /// Reads a picture, from the cache or from its site. Blocks until it has arrived.
  ///
  /// errors: no_input: there is none, or its type or size is not passed on; try_again: too many are being
  ///         fetched at once
  Result<SharedPicture> read(PictureKind kind, const std::string& url);

 private:
  Result<SharedPicture> fetch(PictureKind kind, const std::string& url);

  const Clock& clock_;
  const std::string secret_;
  std::atomic<std::size_t> under_way_{0};
  mutable std::mutex mutex_;
  PicturesConfig config_;
  GuardedTransport transport_;
  ExpiringCache<SharedPicture> pictures_;  ///< nullptr: there is none
};

}  // namespace metafuse::service
