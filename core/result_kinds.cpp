#include "core/result_kinds.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/number.h"

namespace metafuse {
namespace {

constexpr std::array kKindRows = {
    ResultKindRow{ResultKind::page, "page", "default.html"},
    ResultKindRow{ResultKind::image, "image", "images.html"},
    ResultKindRow{ResultKind::video, "video", "videos.html"},
    ResultKindRow{ResultKind::file, "file", "torrent.html"},
    ResultKindRow{ResultKind::map, "map", "map.html"},
    ResultKindRow{ResultKind::music, "music", "videos.html"},
    ResultKindRow{ResultKind::paper, "paper", "paper.html"},
};

constexpr std::array kDetailRows = {
    DetailRow{"image", DetailForm::link, "img_src", "the picture itself"},
    DetailRow{"resolution", DetailForm::text, "resolution", "width x height of the picture or film"},
    DetailRow{"width", DetailForm::number, "", "of the picture, in pixels"},
    DetailRow{"height", DetailForm::number, "", "of the picture, in pixels"},
    DetailRow{"format", DetailForm::text, "img_format", "of the picture or file, such as png"},
    DetailRow{"source", DetailForm::text, "source", "the site or collection that offers it"},
    DetailRow{"embed", DetailForm::link, "iframe_src", "the page that plays it inside another page"},
    DetailRow{"audio", DetailForm::link, "audio_src", "the recording itself"},
    DetailRow{"length", DetailForm::seconds, "length", "how long it plays"},
    DetailRow{"author", DetailForm::text, "author", "who made or published it"},
    DetailRow{"views", DetailForm::text, "views", "how often it was looked at"},
    DetailRow{"size", DetailForm::text, "filesize", "of the file, in bytes or with a unit"},
    DetailRow{"magnet", DetailForm::text, "magnetlink", "magnet link of a torrent"},
    DetailRow{"torrent", DetailForm::link, "torrentfile", "the torrent's file"},
    DetailRow{"seeders", DetailForm::number, "seed", "who offers the torrent"},
    DetailRow{"leechers", DetailForm::number, "leech", "who fetches the torrent"},
    DetailRow{"price", DetailForm::text, "price", "with its currency"},
    DetailRow{"latitude", DetailForm::number, "latitude", "in degrees"},
    DetailRow{"longitude", DetailForm::number, "longitude", "in degrees"},
    DetailRow{"address", DetailForm::text, "address", "of the place"},
    DetailRow{"authors", DetailForm::text, "authors", "of the paper, with semicolons between them"},
    DetailRow{"doi", DetailForm::text, "doi", "of the paper"},
    DetailRow{"journal", DetailForm::text, "journal", "in which it was published"},
    DetailRow{"publisher", DetailForm::text, "publisher", "of the paper or book"},
    DetailRow{"volume", DetailForm::text, "volume", "of the journal"},
    DetailRow{"pages", DetailForm::text, "pages", "of the journal"},
    DetailRow{"isbn", DetailForm::text, "isbn", "of the book"},
    DetailRow{"pdf", DetailForm::link, "pdf_url", "the paper itself"},
    DetailRow{"album", DetailForm::text, "album", "of the music"},
};

}  // namespace

std::span<const ResultKindRow> result_kinds() {
  return kKindRows;
}

std::string_view name_of(ResultKind kind) {
  return kKindRows[static_cast<std::size_t>(kind)].name;
}

std::optional<ResultKind> result_kind_named(std::string_view name) {
  for (const ResultKindRow& row : kKindRows)
    if (row.name == name) return row.kind;
  return std::nullopt;
}

std::span<const DetailRow> result_details() {
  return kDetailRows;
}

const DetailRow* find_detail(std::string_view name) {
  for (const DetailRow& row : kDetailRows)
    if (row.name == name) return &row;
  return nullptr;
}

std::string_view detail(const Details& details, std::string_view name) {
  for (const auto& [own, value] : details)
    if (own == name) return value;
  return {};
}

std::string shown_length(double seconds) {
  if (!(seconds >= 0.5) || seconds > 1e7) return {};
  const long whole = std::lround(seconds);
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

namespace {

/// A number of digits, with decimals or without.
std::optional<double> unsigned_number(std::string_view text) {
  double number = 0;
  if (text.find_first_not_of("0123456789.") != std::string_view::npos || !to_double(text, number))
    return std::nullopt;
  return number;
}

/// Seconds of an ISO 8601 duration behind its P.
std::optional<double> iso_seconds(std::string_view text) {
  std::optional<double> seconds;
  bool is_time = false;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == 'T') {
      is_time = true;
      ++at;
      continue;
    }
    const std::size_t end = text.find_first_not_of("0123456789.", at);
    if (end == std::string_view::npos) return std::nullopt;
    const auto number = unsigned_number(text.substr(at, end - at));
    const char unit = text[end];
    const double factor = unit == 'D'              ? 86400
                          : unit == 'H'            ? 3600
                          : unit == 'M' && is_time ? 60
                          : unit == 'S'            ? 1
                                                   : 0;
    if (!number || factor == 0) return std::nullopt;
    seconds = seconds.value_or(0) + *number * factor;
    at = end + 1;
  }
  return seconds;
}

/// Seconds of up to three numbers: hours, minutes and seconds.
std::optional<double> clock_seconds(std::string_view text) {
  double seconds = 0;
  for (int parts = 1; parts <= 3; ++parts) {
    const std::size_t colon = std::min(text.find(':'), text.size());
    const auto number = unsigned_number(text.substr(0, colon));
    if (!number) return std::nullopt;
    seconds = seconds * 60 + *number;
    if (colon == text.size()) return seconds;
    text.remove_prefix(colon + 1);
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> length_in_seconds(std::string_view text) {
  const auto seconds = text.starts_with('P') ? iso_seconds(text.substr(1)) : clock_seconds(text);
  return seconds && std::isfinite(*seconds) ? seconds : std::nullopt;
}

}  // namespace metafuse
