#include "service/search/picture_reader.h"

#include <array>
#include <optional>
#include <utility>

#include "core/digest.h"
#include "core/url.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kMaxIconBytes = 64 * 1024;
constexpr std::size_t kMaxThumbnailBytes = 512 * 1024;
constexpr unsigned kMaxPixels = 2048;
constexpr std::chrono::seconds kPictureTime{3};
constexpr std::chrono::hours kPictureFor{24};
constexpr std::chrono::minutes kNoPictureFor{10};
constexpr std::size_t kMostPicturesAtOnce = 16;
constexpr std::size_t kMostKeptPictures = 4000;
constexpr std::size_t kKeptPictureBytes = std::size_t{16} << 20;

unsigned byte_at(std::string_view bytes, std::size_t at) {
  return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0;
}

unsigned big_endian(std::string_view bytes, std::size_t at, int count) {
  unsigned out = 0;
  for (int i = 0; i < count; ++i) out = out << 8 | byte_at(bytes, at + static_cast<std::size_t>(i));
  return out;
}

unsigned little_endian(std::string_view bytes, std::size_t at, int count) {
  unsigned out = 0;
  for (int i = count; i-- > 0;) out = out << 8 | byte_at(bytes, at + static_cast<std::size_t>(i));
  return out;
}

/// The size is in the first "start of frame" segment (ITU T.81, B.2.2); without one it is no picture.
PictureType jpeg_type(std::string_view bytes) {
  for (std::size_t at = 2; at + 9 < bytes.size() && byte_at(bytes, at) == 0xff;) {
    const unsigned marker = byte_at(bytes, at + 1);
    const bool is_frame =
        marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
    if (is_frame) return {"image/jpeg", big_endian(bytes, at + 7, 2), big_endian(bytes, at + 5, 2)};
    const unsigned length = big_endian(bytes, at + 2, 2);
    if (length < 2) break;
    at += 2 + length;
  }
  return {};
}

/// WebP by RFC 9649, 2.5 to 2.7.
PictureType webp_type(std::string_view bytes) {
  const std::string_view form = bytes.substr(12, 4);
  if (form == "VP8X" && bytes.size() >= 30)
    return {"image/webp", little_endian(bytes, 24, 3) + 1, little_endian(bytes, 27, 3) + 1};
  if (form == "VP8L" && bytes.size() >= 25 && byte_at(bytes, 20) == 0x2f) {
    const unsigned bits = little_endian(bytes, 21, 4);
    return {"image/webp", (bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1};
  }
  if (form == "VP8 " && bytes.size() >= 30)
    return {"image/webp", little_endian(bytes, 26, 2) & 0x3fff, little_endian(bytes, 28, 2) & 0x3fff};
  return {};
}

/// An ICO file is a directory of small pictures, each of at most 256 x 256.
PictureType ico_type(std::string_view bytes) {
  const unsigned count = little_endian(bytes, 4, 2);
  if (count == 0 || count > 64 || bytes.size() < 6 + 16 * std::size_t{count}) return {};
  return {"image/x-icon", 256, 256};
}

fetchers::EngineRequest picture_request(PictureKind kind, const std::string& url, const UrlParts& parts) {
  fetchers::EngineRequest request =
      guarded_request("picture", url, parts, "image/png, image/jpeg, image/gif, image/webp, image/x-icon");
  request.timeout = kPictureTime;
  request.max_bytes = kind == PictureKind::icon ? kMaxIconBytes : kMaxThumbnailBytes;
  request.max_connections = 2;
  return request;
}

std::string kept_name(PictureKind kind, const std::string& url) {
  return std::string(name_of(kind)) + ' ' + url;
}

}  // namespace

PictureType picture_type(std::string_view bytes) {
  using namespace std::string_view_literals;
  if (bytes.size() >= 24 && bytes.starts_with("\x89PNG\r\n\x1a\n"sv) && bytes.substr(12, 4) == "IHDR")
    return {"image/png", big_endian(bytes, 16, 4), big_endian(bytes, 20, 4)};
  if (bytes.size() >= 10 && (bytes.starts_with("GIF87a") || bytes.starts_with("GIF89a")))
    return {"image/gif", little_endian(bytes, 6, 2), little_endian(bytes, 8, 2)};
  if (bytes.starts_with("\xff\xd8\xff"sv)) return jpeg_type(bytes);
  if (bytes.size() >= 16 && bytes.starts_with("RIFF") && bytes.substr(8, 4) == "WEBP")
    return webp_type(bytes);
  if (bytes.starts_with("\0\0\1\0"sv)) return ico_type(bytes);
  return {};
}

PictureReader::PictureReader(const Clock& clock, std::string secret)
    : clock_(clock),
      secret_(secret.empty() ? random_hex(32) : std::move(secret)),
      pictures_(kMostKeptPictures, kKeptPictureBytes) {}

PictureReader::~PictureReader() = default;

void PictureReader::configure(const PicturesConfig& config) {
  const std::lock_guard lock(mutex_);
  if (config == config_) return;
  config_ = config;
  transport_.set_allowed(config.allow_private);
  pictures_.clear();
}

PictureLinks PictureReader::links() const {
  const std::lock_guard lock(mutex_);
  return {secret_, config_.has_icons, config_.has_thumbnails};
}

Result<SharedPicture> PictureReader::fetch(PictureKind kind, const std::string& url) {
  const auto parts = parts_of_url(url);
  if (!parts) return fail(Code::no_input, "the URL must be http or https");
  fetchers::HttpAnswer answer =
      std::move(answers_to(*transport_.get(), {picture_request(kind, url, *parts)}).front());
  if (answer.failure != fetchers::Failure::none || answer.status != 200)
    return fail(Code::no_input, "there is no picture");
  const PictureType type = picture_type(answer.body);
  if (type.media_type.empty() || type.width == 0 || type.height == 0 || type.width > kMaxPixels ||
      type.height > kMaxPixels)
    return fail(Code::no_input, "the picture's type or size is not supported");
  return std::make_shared<const Picture>(Picture{type.media_type, std::move(answer.body)});
}

Result<SharedPicture> PictureReader::read(PictureKind kind, const std::string& url) {
  const std::string name = kept_name(kind, url);
  {
    const std::lock_guard lock(mutex_);
    if (const auto* kept = pictures_.find(name, clock_.now())) {
      if (kept->value == nullptr) return fail(Code::no_input, "there is no picture");
      return kept->value;
    }
  }
  const UnderWay counted(under_way_);
  if (counted.before >= kMostPicturesAtOnce) return fail(Code::try_again, "too many pictures at once");
  auto picture = fetch(kind, url);
  const std::lock_guard lock(mutex_);
  pictures_.keep(name, picture ? *picture : nullptr,
                 clock_.now() + (picture ? Duration(kPictureFor) : Duration(kNoPictureFor)),
                 name.size() + sizeof(Picture) + (picture ? (*picture)->bytes.size() : 0));
  return picture;
}

}  // namespace metafuse::service
