#include "core/kind_text.h"

#include "core/number.h"

namespace metafuse {

std::span<const std::string_view> told_details(ResultKind kind) {
  static constexpr std::string_view kOfImage[] = {"resolution", "format", "source"};
  static constexpr std::string_view kOfFilm[] = {"author", "album", "views"};
  static constexpr std::string_view kOfFile[] = {"size", "format"};
  static constexpr std::string_view kOfPlace[] = {"address"};
  static constexpr std::string_view kOfPaper[] = {"authors", "journal", "publisher", "doi"};
  switch (kind) {
    case ResultKind::image:
      return kOfImage;
    case ResultKind::video:
    case ResultKind::music:
      return kOfFilm;
    case ResultKind::file:
      return kOfFile;
    case ResultKind::map:
      return kOfPlace;
    case ResultKind::paper:
      return kOfPaper;
    default:
      return {};
  }
}

std::string length_of(const Hit& hit) {
  double seconds = 0;
  return to_double(detail(hit.details, "length"), seconds) ? shown_length(seconds) : std::string();
}

std::string picture_of(const Hit& hit) {
  const bool is_picture = hit.thumbnail.empty() && hit.kind == ResultKind::image;
  return is_picture ? std::string(detail(hit.details, "image")) : hit.thumbnail;
}

std::string kind_text(const Hit& hit) {
  if (hit.kind == ResultKind::page) return {};
  std::string out(name_of(hit.kind));
  auto add = [&, before = ": "](std::string_view text) mutable {
    if (text.empty()) return;
    out.append(before).append(text);
    before = ", ";
  };
  add(length_of(hit));
  for (const std::string_view name : told_details(hit.kind)) add(detail(hit.details, name));
  for (const std::string_view name : {"price", "latitude", "longitude", "image", "audio", "pdf", "torrent"})
    add(detail(hit.details, name));
  return out;
}

}  // namespace metafuse
