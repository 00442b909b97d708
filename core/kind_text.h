#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/query.h"

// What people and programs are told of a result's kind, beside its title and snippet.

namespace metafuse {

/// The names of the details that are told of a result besides its picture, length and addresses.
std::span<const std::string_view> told_details(ResultKind kind);

/// "3:42"; empty if it is not known how long the result plays.
std::string length_of(const Hit& hit);

/// The address of the result's picture: a small one, or the one that it is about.
std::string picture_of(const Hit& hit);

/// "video: 3:42, Ada": the kind and the details that are told, with the address of the picture, recording,
/// paper or torrent itself, and the place on the map. Empty for a page.
std::string kind_text(const Hit& hit);

}  // namespace metafuse
