#include "service/search/bangs.h"

#include <algorithm>
#include <set>

#include "core/languages.h"
#include "core/text.h"
#include "service/http/message.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kMostMarks = 8;

/// The engines that a domain's templates ask.
std::set<std::string> engines_asked_by(const LoadedDomain& domain) {
  std::set<std::string> out;
  for (const templates::SearchTemplate& item : domain.domain.templates)
    out.insert(item.engines.begin(), item.engines.end());
  return out;
}

/// An engine's name or category as people type it after "!".
std::string typed_name(std::string_view name) {
  std::string out = ascii_lower(name);
  std::replace(out.begin(), out.end(), ' ', '_');
  return out;
}

/// The engines that a mark names: one by its shortcut or its name, or all of a category.
std::vector<std::string> engines_named(const Snapshot& snapshot, const std::string& mark) {
  std::vector<std::string> of_category;
  for (const std::string& name : snapshot.engines.names) {
    const auto at = snapshot.engines.traits.find(name);
    if (typed_name(name) == mark) return {name};
    if (at == snapshot.engines.traits.end()) continue;
    if (ascii_lower(at->second.shortcut) == mark) return {name};
    for (const std::string& category : at->second.categories)
      if (typed_name(category) == mark) of_category.push_back(name);
  }
  return of_category;
}

/// The language of a mark such as "de" or "de-CH"; "" if it is none that is known.
std::string language_named(std::string_view mark) {
  const std::string tag = language_tag(mark);
  const std::string_view language = std::string_view(tag).substr(0, tag.find('-'));
  const auto known = known_languages();
  const bool is_known =
      std::any_of(known.begin(), known.end(), [&](const Language& one) { return one.tag == language; });
  return is_known && mark.substr(0, language.size()) == language ? tag : std::string();
}

/// Chooses a domain that asks the named engines, and leaves out those that it does not ask.
void keep_asked(const Snapshot& snapshot, const std::string& wanted, const KeyConfig* key, ReadBangs& out) {
  const std::string name = out.domain.empty() ? wanted : out.domain;
  const auto asked_of = [&](const LoadedDomain& domain) {
    const auto asked = engines_asked_by(domain);
    std::vector<std::string> engines = out.engines;
    std::erase_if(engines, [&](const std::string& engine) { return !asked.contains(engine); });
    return engines;
  };
  const LoadedDomain* domain = snapshot.find_domain_for(key, name);
  std::vector<std::string> engines = domain == nullptr ? std::vector<std::string>() : asked_of(*domain);
  if (engines.empty() && name.empty())
    for (const LoadedDomain* other : snapshot.domains_for(key))
      if (engines = asked_of(*other); !engines.empty()) {
        out.domain = other->domain.name;
        break;
      }
  out.engines = std::move(engines);
}

/// Whether a word is a mark; notes what it asks for.
bool take_mark(const Snapshot& snapshot, const std::string& word, const KeyConfig* key, ReadBangs& out) {
  if (word.size() < 2) return false;
  const std::string mark = ascii_lower(std::string_view(word).substr(1));
  if (word.front() == ':') {
    const std::string language = language_named(mark);
    if (language.empty()) return false;
    out.language = language;
    return true;
  }
  if (word.front() != '!') return false;
  const auto engines = engines_named(snapshot, mark);
  out.engines.insert(out.engines.end(), engines.begin(), engines.end());
  if (!engines.empty()) return true;
  if (!snapshot.domains.contains(mark) || (key != nullptr && !key->may_use_domain(mark))) return false;
  out.domain = mark;
  return true;
}

}  // namespace

ReadBangs read_bangs(std::string_view text, const Snapshot& snapshot, const std::string& domain,
                     const KeyConfig* key) {
  ReadBangs out;
  std::size_t marks = 0;
  if (text.find_first_of("!:") == std::string_view::npos) {
    out.text = text;
    return out;
  }
  for (const std::string& word : split(text, ' ')) {
    if (marks < kMostMarks && take_mark(snapshot, word, key, out))
      ++marks;
    else
      out.text += (out.text.empty() ? "" : " ") + word;
  }
  if (marks == 0 || out.text.empty()) return ReadBangs{std::string(text), {}, {}, {}};
  if (!out.engines.empty()) {
    keep_asked(snapshot, domain, key, out);
    if (out.engines.empty()) return ReadBangs{std::string(text), {}, {}, {}};
  }
  return out;
}

}  // namespace metafuse::service
