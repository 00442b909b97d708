#pragma once

#include <string>
#include <string_view>

namespace metafuse::service {

/// Small pictures beside results: a site's icon, a result's own.
enum class PictureKind { icon, thumbnail };

/// Links to pictures that this server fetches for its readers, so that no other site hears of a search. They
/// are signed: nobody can have the server fetch what no result named.
struct PictureLinks {
  std::string secret;
  bool has_icons = false;
  bool has_thumbnails = false;

  /// "/picture?..."; empty where such pictures are off, or the URL is no http or https URL.
  ///
  /// in: url - of a result for an icon, of the picture for a thumbnail
  std::string link(PictureKind kind, const std::string& url) const;
  /// The picture that a link's parameters name; empty where it is off or this server did not sign it.
  std::string picture_url(PictureKind kind, const std::string& signed_part, std::string_view signature) const;

 private:
  bool is_on(PictureKind kind) const { return kind == PictureKind::icon ? has_icons : has_thumbnails; }
  std::string signature_of(PictureKind kind, const std::string& text) const;
};

/// The name of a kind in links.
std::string_view name_of(PictureKind kind);

}  // namespace metafuse::service
