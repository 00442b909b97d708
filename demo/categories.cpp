#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "demo/home_pages.h"

namespace metafuse::demo {
namespace {

constexpr std::size_t kFewestPrograms = 3;
constexpr std::size_t kFewestKnown = 5;

using Words = std::pair<std::string_view, std::string_view>;

/// What people call a program that is for something (debtags' use::).
constexpr Words kAgents[] = {{"analysing", "analysis"},
                             {"browsing", "browser"},
                             {"calculating", "calculator"},
                             {"chatting", "chat"},
                             {"checking", "checker"},
                             {"comparing", "comparison"},
                             {"compressing", "compression"},
                             {"configuring", "configuration"},
                             {"converting", "converter"},
                             {"downloading", "downloader"},
                             {"editing", "editor"},
                             {"filtering", "filter"},
                             {"gameplaying", "game"},
                             {"learning", "learning"},
                             {"measuring", "measurement"},
                             {"monitor", "monitor"},
                             {"organizing", "organizer"},
                             {"playing", "player"},
                             {"printing", "printing"},
                             {"proxying", "proxy"},
                             {"scanning", "scanner"},
                             {"searching", "search"},
                             {"simulating", "simulator"},
                             {"storing", "storage"},
                             {"synchronizing", "synchronization"},
                             {"text-formatting", "formatter"},
                             {"transmission", "client"},
                             {"typesetting", "typesetting"},
                             {"viewing", "viewer"}};

/// What people call what a program works on (works-with::), where it is not the tag's own word.
constexpr Words kObjects[] = {{"3dmodel", "3d"},
                              {"biological-sequence", "sequence"},
                              {"db", "database"},
                              {"dtp", "publishing"},
                              {"im", "messaging"},
                              {"image:raster", "image"},
                              {"image:vector", "vector graphics"},
                              {"logfile", "log"},
                              {"mail", "email"},
                              {"music-notation", "music"},
                              {"network-traffic", "network traffic"},
                              {"people", "contacts"},
                              {"pim", "calendar"},
                              {"software:package", "package"},
                              {"software:running", "process"},
                              {"software:source", "source code"},
                              {"vcs", "version control"}};

/// Facets of debtags whose values name a kind of program, with what people say before and after the value.
struct Facet {
  std::string_view prefix;
  std::string_view before;
  std::string_view after;
};
constexpr Facet kFacets[] = {{"admin::", "", ""},           {"devel::", "", ""},    {"field::", "", ""},
                             {"game::", "", " game"},       {"hardware::", "", ""}, {"mail::", "mail ", ""},
                             {"network::", "network ", ""}, {"office::", "", ""},   {"security::", "", ""},
                             {"sound::", "audio ", ""},     {"web::", "web ", ""},  {"x11::", "", ""}};

std::string_view called(std::span<const Words> table, std::string_view tag, std::string_view otherwise) {
  const auto at =
      std::find_if(table.begin(), table.end(), [&](const Words& row) { return row.first == tag; });
  return at == table.end() ? otherwise : at->second;
}

/// The words for the tags with a prefix, each once; those without a word are left out.
std::vector<std::string_view> words_of_tags(const HomePage& page, std::string_view prefix,
                                            std::span<const Words> table, bool has_own_word) {
  std::vector<std::string_view> out;
  for (const std::string& tag : page.tags) {
    if (!tag.starts_with(prefix)) continue;
    const std::string_view value = std::string_view(tag).substr(prefix.size());
    const std::string_view word = called(table, value, has_own_word ? value : std::string_view());
    if (!word.empty() && std::find(out.begin(), out.end(), word) == out.end()) out.push_back(word);
  }
  return out;
}

/// Whether a synopsis has the word, in the singular or the plural.
bool says(const HomePage& page, const std::string& word) {
  const std::string other = other_number(word);
  return std::ranges::any_of(page.synopses, [&](const std::string& synopsis) {
    return std::ranges::any_of(words_of(synopsis),
                               [&](const std::string& one) { return one == word || one == other; });
  });
}

/// The categories that a program's tags give, by what people call them.
std::set<std::string> category_words(const HomePage& page) {
  std::set<std::string> out;
  for (const std::string_view agent : words_of_tags(page, "use::", kAgents, false))
    for (const std::string_view object : words_of_tags(page, "works-with::", kObjects, true))
      if (object != "todo") out.insert(std::string(object) + ' ' + std::string(agent));
  for (const std::string& tag : page.tags)
    for (const Facet& facet : kFacets) {
      if (!tag.starts_with(facet.prefix)) continue;
      std::string value = tag.substr(tag.rfind(':') + 1);
      std::ranges::replace(value, '-', ' ');
      out.insert(std::string(facet.before) + value + std::string(facet.after));
    }
  return out;
}

}  // namespace

std::vector<Category> categories_of(const std::vector<HomePage>& pages) {
  std::map<std::string, std::vector<std::size_t>> programs_of;
  for (std::size_t i = 0; i < pages.size(); ++i) {
    const auto& tags = pages[i].tags;
    if (std::find(tags.begin(), tags.end(), "role::program") == tags.end()) continue;
    for (const std::string& words : category_words(pages[i]))
      if (says(pages[i], words.substr(words.rfind(' ') + 1))) programs_of[words].push_back(i);
  }
  std::vector<Category> out;
  for (auto& [words, programs] : programs_of) {
    if (programs.size() < kFewestPrograms) continue;
    std::stable_sort(programs.begin(), programs.end(),
                     [&](std::size_t a, std::size_t b) { return pages[a].known > pages[b].known; });
    if (pages[programs.front()].known < kFewestKnown) continue;
    programs.resize(kAnswersOfCategory);
    std::erase_if(programs, [&](std::size_t page) { return pages[page].known == 0; });
    out.push_back({words, std::move(programs)});
  }
  return out;
}

}  // namespace metafuse::demo
