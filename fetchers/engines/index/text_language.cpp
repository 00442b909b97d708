#include "fetchers/engines/index/text_language.h"

#include <array>
#include <cstdio>  // CLD2's header needs it and does not include it
#include <utility>

#include <cld2/public/compact_lang_det.h>

#include "core/text.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kFewestBytes = 100;
constexpr std::size_t kMostLookedAt = 4096;
constexpr int kLeastPercent = 80;
constexpr int kLeastPercentAmongOthers = 40;  ///< for scripts of their own, beside names in Latin letters

/// What ISO 639-1 calls a language for which CLD2 has an older or a regional code.
std::string modern_code(std::string code) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kOlder = {
      {{"iw", "he"}, {"no", "nb"}, {"jw", "jv"}}};
  code = code.substr(0, code.find('-'));
  for (const auto& [older, newer] : kOlder)
    if (code == older) return std::string(newer);
  return code.size() == 2 ? code : std::string();
}

}  // namespace

std::string language_of_text(std::string_view text) {
  if (text.size() < kFewestBytes) return {};
  text = truncate_utf8(text, kMostLookedAt);
  const std::string valid = to_valid_utf8(text);
  std::array<CLD2::Language, 3> languages{};
  std::array<int, 3> percent{};
  int bytes = 0;
  bool is_reliable = false;
  CLD2::DetectLanguageSummary(valid.data(), static_cast<int>(valid.size()), true, languages.data(),
                              percent.data(), &bytes, &is_reliable);
  const std::string code = modern_code(CLD2::LanguageCode(languages[0]));
  const bool has_own_script = code == "zh" || code == "ja" || code == "ko";
  const bool is_clear =
      is_reliable && percent[0] >= (has_own_script ? kLeastPercentAmongOthers : kLeastPercent);
  return is_clear ? code : std::string();
}

}  // namespace metafuse::fetchers
