#pragma once

#include <span>
#include <string>
#include <string_view>

namespace metafuse {

/// A language that many people read, with the names under which engines and pages know it.
struct Language {
  std::string_view tag;       ///< ISO 639-1, as BCP 47 wants it: "de"
  std::string_view codes;     ///< ISO 639-2 and -3, separated by blanks: "deu ger"
  std::string_view english;   ///< "German"
  std::string_view own_name;  ///< "Deutsch"
};

/// Thirty languages by their tags.
std::span<const Language> known_languages();

/// What an engine or a page says of its language as a BCP 47 tag: "EN_us" is "en-US", "ger" and "German" are
/// "de"; of "en, de" or "en;q=0.8" the first counts.
///
/// out: empty for what names no one language ("mul", "und", a text that is no tag)
std::string language_tag(std::string_view text);

/// A language as its readers write it: "Deutsch", "Português (BR)"; the tag itself when it is not known.
std::string language_name(std::string_view tag);

}  // namespace metafuse
