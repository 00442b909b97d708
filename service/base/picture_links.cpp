#include "service/base/picture_links.h"

#include "core/encoding.h"
#include "core/url_text.h"
#include "service/base/digest.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kMaxPictureUrl = 2048;
constexpr std::size_t kSignatureDigits = 24;

}  // namespace

std::string_view name_of(PictureKind kind) {
  return kind == PictureKind::icon ? "icon" : "thumbnail";
}

std::string PictureLinks::signature_of(PictureKind kind, const std::string& text) const {
  return hmac_sha256_hex(secret, "picture " + std::string(name_of(kind)) + ' ' + text)
      .substr(0, kSignatureDigits);
}

std::string PictureLinks::link(PictureKind kind, const std::string& url) const {
  if (!is_on(kind) || url.size() > kMaxPictureUrl) return {};
  const auto parts = parts_of_url(url);
  if (!parts) return {};
  const std::string text = kind == PictureKind::icon ? parts->scheme + "://" + parts->origin() : url;
  return "/picture?" + std::string(name_of(kind)) + '=' + percent_encoded(text) +
         "&sign=" + signature_of(kind, text);
}

std::string PictureLinks::picture_url(PictureKind kind, const std::string& signed_part,
                                      std::string_view signature) const {
  if (!is_on(kind) || !equal_in_constant_time(signature_of(kind, signed_part), signature)) return {};
  return kind == PictureKind::icon ? signed_part + "/favicon.ico" : signed_part;
}

}  // namespace metafuse::service
