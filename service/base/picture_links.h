#pragma once

#include <string>
#include <string_view>

namespace metafuse::service {

/// The kinds of small pictures beside results: a site's icon, a result's own thumbnail.
enum class PictureKind { icon, thumbnail };

/// Makes and checks links to pictures that this server fetches for its readers, so that other sites do not
/// learn of a search. The links are signed, so that nobody can make the server fetch a URL that no
/// result named.
struct PictureLinks {
  std::string secret;
  bool has_icons = false;
  bool has_thumbnails = false;

  /// "/picture?..."; empty if such pictures are off or the URL is not http or https.
  ///
  /// in: url - for an icon the result's URL, for a thumbnail the picture's
  std::string link(PictureKind kind, const std::string& url) const;
  /// The picture's URL that a link's parameters name; empty if such pictures are off or the signature
  /// is wrong.
  std::string picture_url(PictureKind kind, const std::string& signed_part, std::string_view signature) const;

 private:
  bool is_on(PictureKind kind) const { return kind == PictureKind::icon ? has_icons : has_thumbnails; }
  std::string signature_of(PictureKind kind, const std::string& text) const;
};

/// The name of a kind in links.
std::string_view name_of(PictureKind kind);

}  // namespace metafuse::service
