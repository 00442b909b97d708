#pragma once

#include <span>
#include <string>
#include <string_view>

namespace metafuse {

/// A widely read language, with the names under which engines and pages refer to it.
struct Language {
  std::string_view tag;       ///< ISO 639-1, as in BCP 47: "de"
  std::string_view codes;     ///< ISO 639-2 and -3, separated by blanks: "deu ger"
  std::string_view english;   ///< "German"
  std::string_view own_name;  ///< "Deutsch"
};

/// The thirty languages that are known here.
std::span<const Language> known_languages();

/// Normalises what an engine or a page says about its language to a BCP 47 tag: "EN_us" becomes "en-US",
/// "ger" and "German" become "de". Of a list such as "en, de" or "en;q=0.8" the first counts.
///
/// out:    empty when the text names no single language ("mul", "und", or no valid tag)
std::string language_tag(std::string_view text);

/// Whether a text is one tag or name of a language, such as "de", "pt-BR" or "zh_CN", and not a longer text
/// of which language_tag() takes the beginning.
bool names_language(std::string_view text);

/// A language in its own spelling: "Deutsch", "Português (BR)"; the tag itself when the language is
/// not known.
std::string language_name(std::string_view tag);

}  // namespace metafuse
