#include "core/languages.h"

#include <algorithm>
#include <array>

#include "core/text.h"

namespace metafuse {
namespace {

constexpr std::array kLanguages = {
    Language{"ar", "ara", "Arabic", "العربية"},        Language{"cs", "ces cze", "Czech", "Čeština"},
    Language{"da", "dan", "Danish", "Dansk"},          Language{"de", "deu ger", "German", "Deutsch"},
    Language{"el", "ell gre", "Greek", "Ελληνικά"},    Language{"en", "eng", "English", "English"},
    Language{"es", "spa", "Spanish", "Español"},       Language{"fa", "fas per", "Persian", "فارسی"},
    Language{"fi", "fin", "Finnish", "Suomi"},         Language{"fr", "fra fre", "French", "Français"},
    Language{"he", "heb", "Hebrew", "עברית"},          Language{"hi", "hin", "Hindi", "हिन्दी"},
    Language{"hu", "hun", "Hungarian", "Magyar"},      Language{"id", "ind", "Indonesian", "Indonesia"},
    Language{"it", "ita", "Italian", "Italiano"},      Language{"ja", "jpn", "Japanese", "日本語"},
    Language{"ko", "kor", "Korean", "한국어"},         Language{"la", "lat", "Latin", "Latina"},
    Language{"nb", "nob nor", "Norwegian", "Norsk"},   Language{"nl", "nld dut", "Dutch", "Nederlands"},
    Language{"pl", "pol", "Polish", "Polski"},         Language{"pt", "por", "Portuguese", "Português"},
    Language{"ro", "ron rum", "Romanian", "Română"},   Language{"ru", "rus", "Russian", "Русский"},
    Language{"sv", "swe", "Swedish", "Svenska"},       Language{"th", "tha", "Thai", "ไทย"},
    Language{"tr", "tur", "Turkish", "Türkçe"},        Language{"uk", "ukr", "Ukrainian", "Українська"},
    Language{"vi", "vie", "Vietnamese", "Tiếng Việt"}, Language{"zh", "zho chi cmn", "Chinese", "中文"}};

constexpr std::size_t kMostTagBytes = 35;  // RFC 5646 requires everybody to support this length

/// ISO 639-2 codes for "several languages", "undetermined", "no linguistic content" and "uncoded".
bool names_no_language(std::string_view code) {
  return code == "mul" || code == "und" || code == "zxx" || code == "mis";
}

bool holds_code(std::string_view codes, std::string_view code) {
  for (std::size_t at = 0; at < codes.size(); at += 4)
    if (codes.substr(at, 3) == code) return true;
  return false;
}

/// Capitalises a subtag after the first: "Hant" is a script, "US" a region.
std::string cased_subtag(std::string_view part) {
  std::string out = ascii_lower(part);
  if (part.size() == 2)
    for (char& c : out) c = ascii_upper(c);
  if (part.size() == 4) out[0] = ascii_upper(out[0]);
  return out;
}

}  // namespace

std::span<const Language> known_languages() {
  return kLanguages;
}

std::string language_tag(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t\r\n[\""), text.size());
  text = text.substr(begin, text.find_first_of(",;|/]\"", begin) - begin);
  text = ascii_trimmed(text);
  if (text.size() < 2 || text.size() > kMostTagBytes) return {};
  const std::string first = ascii_lower(text.substr(0, text.find_first_of("-_")));
  std::string out;
  for (const Language& language : kLanguages)
    if (first == language.tag || holds_code(language.codes, first) || first == ascii_lower(language.english))
      out = language.tag;
  if (first == "no") out = "nb";  // of both written forms of Norwegian, nearly always this one is meant
  if (out.empty()) {
    const bool is_code = (first.size() == 2 || first.size() == 3) && !names_no_language(first) &&
                         std::all_of(first.begin(), first.end(), is_ascii_letter);
    if (!is_code) return {};
    out = first;
  }
  for (text.remove_prefix(first.size()); !text.empty();) {
    text.remove_prefix(1);  // the hyphen, or the underscore of locales
    const std::string_view part = text.substr(0, text.find_first_of("-_"));
    const bool is_subtag =
        !part.empty() && part.size() <= 8 && std::all_of(part.begin(), part.end(), is_ascii_letter_or_digit);
    if (!is_subtag) break;
    out += '-' + cased_subtag(part);
    text.remove_prefix(part.size());
  }
  return out;
}

bool names_language(std::string_view text) {
  const auto is_part = [](char c) { return is_ascii_letter_or_digit(c) || c == '-' || c == '_'; };
  return std::all_of(text.begin(), text.end(), is_part) && !language_tag(text).empty();
}

std::string language_name(std::string_view tag) {
  const std::string_view first = tag.substr(0, tag.find('-'));
  for (const Language& language : kLanguages)
    if (first == language.tag)
      return first == tag
                 ? std::string(language.own_name)
                 : std::string(language.own_name) + " (" + std::string(tag.substr(first.size() + 1)) + ")";
  return std::string(tag);
}

}  // namespace metafuse
