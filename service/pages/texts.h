#pragma once

// The texts of the readers' pages, in the languages of service/pages/languages/. Each file is a map from keys
// to texts; English has every text, and stands in for a text that a translation lacks.

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include <fmt/args.h>

namespace metafuse::service {

/// The texts in one language. Immutable after reading.
struct Texts {
  std::string tag;
  std::map<std::string, std::string, std::less<>> texts;
  std::function<bool(std::size_t)> is_one;  ///< whether a count takes the first form of a text
  const Texts* english = nullptr;           ///< nullptr in English itself

  /// The text as the file has it; requires that English has it.
  std::string_view raw(std::string_view key) const;
  /// The form of a text "one|several" for a count, by the language's rule; a text without | has one form.
  std::string_view form(std::string_view key, std::size_t count) const;

  /// The text with each {name} replaced by the argument of that name (fmt::arg).
  template <class... Named>
  std::string say(std::string_view key, const Named&... named) const {
    return fmt::vformat(raw(key), fmt::make_format_args(named...));
  }
  /// The same for a count, which is the argument {count}.
  template <class... Named>
  std::string counted(std::string_view key, std::size_t number, const Named&... named) const {
    const auto count = fmt::arg("count", number);
    return fmt::vformat(form(key, number), fmt::make_format_args(count, named...));
  }
};

/// All languages, in the order of kPageLanguages.
std::span<const Texts> all_texts();

/// in: tag - one of kPageLanguages; English for any other
const Texts& texts_in(std::string_view tag);

}  // namespace metafuse::service
