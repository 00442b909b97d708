#include "service/pages/texts.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include <unicode/locid.h>
#include <unicode/plurrule.h>

#include "core/contract.h"
#include "core/yaml_reader.h"
#include "service/http/preferences.h"
#include "service/pages/page.h"

namespace metafuse::service {
namespace {

/// CLDR's rule of a language, for counts that have the category "one".
std::function<bool(std::size_t)> rule_of_one(const std::string& tag) {
  UErrorCode error = U_ZERO_ERROR;
  const std::shared_ptr<const icu::PluralRules> rules(
      icu::PluralRules::forLocale(icu::Locale(tag.c_str()), error));
  require(U_SUCCESS(error) && rules != nullptr, "the language has plural rules");
  return [rules](std::size_t count) {
    return rules->select(static_cast<int32_t>(std::min<std::size_t>(count, 1'000'000'000))) ==
           icu::UnicodeString("one");
  };
}

Texts read_texts(const std::string& tag) {
  const std::string file = tag + ".yaml";
  const auto root = parse_yaml(page_file(file), file);
  require(root && root->is_map(), "a file of texts is a map");
  Texts out{tag, {}, rule_of_one(tag), nullptr};
  for (const auto& [key, value] : root->entries) out.texts.emplace(key.text, value.text);
  return out;
}

std::vector<Texts> read_all() {
  std::vector<Texts> out;
  out.reserve(std::size(kPageLanguages));
  for (const auto& known : kPageLanguages) out.push_back(read_texts(std::string(known.first)));
  for (std::size_t i = 1; i < out.size(); ++i) out[i].english = &out.front();
  return out;
}

}  // namespace

std::string_view Texts::raw(std::string_view key) const {
  const auto at = texts.find(key);
  if (at != texts.end()) return at->second;
  require(english != nullptr, "every text is there in English");
  return english->raw(key);
}

std::string_view Texts::form(std::string_view key, std::size_t count) const {
  const std::string_view both = raw(key);
  const std::size_t bar = both.find('|');
  if (bar == std::string_view::npos) return both;
  return is_one(count) ? both.substr(0, bar) : both.substr(bar + 1);
}

std::span<const Texts> all_texts() {
  static const std::vector<Texts> all = read_all();
  return all;
}

const Texts& texts_in(std::string_view tag) {
  const auto all = all_texts();
  const auto at = std::find_if(all.begin(), all.end(), [&](const Texts& texts) { return texts.tag == tag; });
  return at == all.end() ? all.front() : *at;
}

}  // namespace metafuse::service
