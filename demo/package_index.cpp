#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include <fmt/ranges.h>

#include "core/json.h"
#include "core/keyed_hash.h"
#include "core/text.h"
#include "core/text_file.h"
#include "core/url.h"
#include "demo/home_pages.h"

namespace metafuse::demo {
namespace {

void add_once(std::vector<std::string>& list, std::string_view item) {
  if (item.empty() || std::find(list.begin(), list.end(), item) != list.end()) return;
  list.push_back(to_valid_utf8(item));
}

/// Maximal runs of characters that `is_part` accepts, in lower case.
template <class IsPart>
std::vector<std::string> runs_of(std::string_view text, IsPart is_part) {
  std::vector<std::string> out;
  std::string run;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && is_part(text[i])) {
      run += ascii_lower(text[i]);
    } else if (!run.empty()) {
      out.push_back(std::move(run));
      run.clear();
    }
  }
  return out;
}

struct Stanza {
  std::string package;
  std::string source;   ///< empty if the source package has the same name
  std::string depends;  ///< the fields of dependencies, joined by commas
  std::string wishes;   ///< Recommends and Suggests
  std::string priority;
  std::string home_page;
  std::string synopsis;
  std::string section;
  std::string tags;
};

constexpr std::size_t kKnownByTask = 5;
constexpr std::size_t kKnownOnEverySystem = 20;
constexpr std::size_t kDependingPerKnown = 3;

/// Sections without programs that people run.
constexpr std::string_view kPartSections[] = {
    "debug",      "doc",    "fonts",    "gnu-r", "golang",       "haskell", "introspection", "java",
    "javascript", "kernel", "libdevel", "libs",  "lisp",         "ocaml",   "oldlibs",       "perl",
    "php",        "python", "ruby",     "rust",  "localization", "tasks",   "metapackages"};
constexpr std::string_view kPartEndings[] = {"-common", "-data", "-dbg", "-dev", "-doc"};

std::string_view section_of(const Stanza& stanza) {
  return std::string_view(stanza.section).substr(stanza.section.rfind('/') + 1);
}

/// Whether a package is a task or metapackage, which only names others.
bool is_task(const Stanza& stanza) {
  return stanza.package.starts_with("task-") || section_of(stanza) == "metapackages" ||
         section_of(stanza) == "tasks";
}

/// Whether people run what a package holds: by its role or, if nobody noted one, by its section and name.
bool is_program(const Stanza& stanza) {
  if (stanza.tags.find("role::program") != std::string::npos) return true;
  if (stanza.tags.find("role::") != std::string::npos || stanza.package.starts_with("lib")) return false;
  return std::ranges::find(kPartSections, section_of(stanza)) == std::end(kPartSections) &&
         std::ranges::none_of(kPartEndings,
                              [&](std::string_view end) { return stanza.package.ends_with(end); });
}

/// Collects the stanzas of a package index into home pages.
class Collector {
 public:
  void take_line(std::string_view line) {
    if (line.empty()) return end_stanza();
    if (line.front() == ' ' || line.front() == '\t') {
      if (is_in_tags_) stanza_.tags += line;
      return;
    }
    is_in_tags_ = false;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return;
    take_field(line.substr(0, colon), ascii_trimmed(line.substr(colon + 1)));
  }

  void end_stanza() {
    Stanza stanza = std::move(stanza_);
    stanza_ = {};
    is_in_tags_ = false;
    if (stanza.package.empty()) return;
    if (stanza.source.empty()) stanza.source = stanza.package;
    const auto key = is_web(stanza.home_page) ? canonical_url_key(stanza.home_page) : Result<std::string>("");
    add_needs(stanza, key ? *key : "");
    if (!key || key->empty()) return;
    Collected& collected = pages_[*key];
    HomePage& page = collected.page;
    if (page.url.empty()) {
      page.key = *key;
      page.url = stanza.home_page;
    }
    collected.sources.insert(stanza.source);
    collected.synopsis_of.emplace(stanza.package, stanza.synopsis);
    page_of_[stanza.package] = &collected;
    if (is_program(stanza)) {
      programs_.insert(stanza.package);
      const bool is_optional =
          stanza.priority.empty() || stanza.priority == "optional" || stanza.priority == "extra";
      collected.is_on_every_system = collected.is_on_every_system || !is_optional;
    }
    add_once(page.names, stanza.package);
    add_once(page.synopses, stanza.synopsis);
    add_once(page.sections, stanza.section.substr(stanza.section.rfind('/') + 1));
    for (const std::string& tag : runs_of(stanza.tags, [](char c) { return c > ' ' && c != ','; }))
      add_once(page.tags, tag);
  }

  std::vector<HomePage> pages() && {
    count_dependants();
    std::vector<HomePage> out;
    out.reserve(pages_.size());
    for (auto& [key, collected] : pages_) {
      name_project(collected);
      out.push_back(std::move(collected.page));
    }
    return out;
  }

 private:
  struct Collected {
    HomePage page;
    std::set<std::string> sources;
    std::map<std::string, std::string> synopsis_of;  ///< by package
    std::size_t depending = 0;                       ///< source packages of other projects that
                                                     ///< depend on one of its programs
    bool is_on_every_system = false;
  };
  /// The names of what a package needs; `home` is the key of its own home page.
  struct Needs {
    std::string home;
    std::string package;
    bool is_task = false;
    std::vector<std::string> depends;
    std::vector<std::string> wishes;
  };

  static std::vector<std::string> names_in(std::string_view field) {
    std::vector<std::string> out;
    for (std::string_view rest = field; !rest.empty();) {
      const std::size_t end = std::min(rest.find_first_of(",|"), rest.size());
      const std::string_view one = ascii_trimmed(rest.substr(0, end));
      if (!one.empty()) out.emplace_back(one.substr(0, one.find_first_of(" :(")));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return out;
  }

  void add_needs(const Stanza& stanza, const std::string& home) {
    Needs needs{home, stanza.package, is_task(stanza), names_in(stanza.depends), names_in(stanza.wishes)};
    if (!needs.depends.empty() || !needs.wishes.empty()) needs_[stanza.source].push_back(std::move(needs));
  }

  /// Adds the pages of packages that a package of another page needs.
  ///
  /// in: of_programs - only of packages that are programs
  void add_pages(const std::vector<std::string>& packages, const std::string& home, bool of_programs,
                 std::set<Collected*>& out) const {
    for (const std::string& package : packages)
      if (const auto at = page_of_.find(package); at != page_of_.end() && at->second->page.key != home &&
                                                  (!of_programs || programs_.contains(package)))
        out.insert(at->second);
  }

  void count_dependants() {
    for (const auto& [source, all] : needs_) {
      std::set<Collected*> needed, depended, wished;
      for (const Needs& needs : all) {
        add_pages(needs.depends, needs.home, false, needed);
        add_pages(needs.wishes, needs.home, false, needed);
        std::set<Collected*> of_task;
        add_pages(needs.depends, needs.home, true, needs.is_task ? of_task : depended);
        add_pages(needs.wishes, needs.home, true, needs.is_task ? of_task : wished);
        for (Collected* collected : of_task)
          collected->page.known += collected->sources.contains(source) ? 0 : kKnownByTask;
      }
      for (Collected* collected : needed)
        collected->page.dependants += collected->sources.contains(source) ? 0 : 1;
      for (Collected* collected : wished)
        collected->page.known += collected->sources.contains(source) ? 0 : 1;
      for (Collected* collected : depended)
        collected->depending += collected->sources.contains(source) ? 0 : 1;
    }
    for (auto& [key, collected] : pages_)
      collected.page.known +=
          collected.depending / kDependingPerKnown + (collected.is_on_every_system ? kKnownOnEverySystem : 0);
  }

  /// The shortest source package; for a page beside the one that has the package of that name, such as a
  /// translation's, its shortest package.
  void name_project(Collected& collected) const {
    const auto is_shorter = [](const std::string& a, const std::string& b) { return a.size() < b.size(); };
    HomePage& page = collected.page;
    page.project = *std::min_element(collected.sources.begin(), collected.sources.end(), is_shorter);
    if (const auto of = page_of_.find(page.project); of != page_of_.end() && of->second != &collected)
      page.project = *std::min_element(page.names.begin(), page.names.end(), is_shorter);
    const auto own = collected.synopsis_of.find(page.project);
    if (own == collected.synopsis_of.end()) return;
    const std::string synopsis = to_valid_utf8(own->second);
    const auto at = std::find(page.synopses.begin(), page.synopses.end(), synopsis);
    if (at != page.synopses.end()) std::rotate(page.synopses.begin(), at, at + 1);
  }

  static bool is_web(std::string_view url) {
    return url.starts_with("http://") || url.starts_with("https://");
  }

  void take_field(std::string_view name, std::string_view value) {
    if (name == "Package") stanza_.package = value;
    if (name == "Source") stanza_.source = value.substr(0, value.find(' '));
    if (name == "Depends" || name == "Pre-Depends") stanza_.depends.append(",").append(value);
    if (name == "Recommends" || name == "Suggests") stanza_.wishes.append(",").append(value);
    if (name == "Priority") stanza_.priority = value;
    if (name == "Homepage") stanza_.home_page = value;
    if (name == "Description" || name == "Description-en") stanza_.synopsis = value;
    if (name == "Section") stanza_.section = value;
    if (name == "Tag") stanza_.tags = value;
    is_in_tags_ = name == "Tag";
  }

  Stanza stanza_;
  bool is_in_tags_ = false;
  std::map<std::string, Collected> pages_;
  TextMap<Collected*> page_of_;                      ///< by package
  std::set<std::string> programs_;                   ///< packages that people run
  std::map<std::string, std::vector<Needs>> needs_;  ///< by source package
};

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
  return fmt::format("{}", fmt::join(parts, between));
}

}  // namespace

Result<std::vector<HomePage>> read_package_index(const std::string& path) {
  Collector collector;
  TRY_VOID(for_each_line(path, [&](std::string_view line, std::size_t) -> Result<void> {
    collector.take_line(line);
    return {};
  }));
  collector.end_stanza();
  std::vector<HomePage> pages = std::move(collector).pages();
  if (pages.empty())
    return fail(Code::bad_data, path +
                                    ": no package with a home page; run apt-get update, then "
                                    "apt-cache dumpavail > " +
                                    path);
  return pages;
}

std::vector<std::string> url_words(const std::string& key) {
  return runs_of(
      key, [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); });
}

std::string to_documents(const std::vector<HomePage>& pages) {
  std::string out;
  for (const HomePage& page : pages) {
    const JsonObject document{{"url", page.url},
                              {"title", page.project},
                              {"names", joined(page.names, " ")},
                              {"whole", "titlebegins " + page.project + " titleends"},
                              {"text", joined(page.synopses, ". ")},
                              {"sections", joined(page.sections, " ")},
                              {"tags", joined(page.tags, " ")},
                              {"words", joined(url_words(page.key), " ")},
                              {"dependants", page.dependants},
                              {"known", page.known}};
    out += metafuse::to_text(document) + '\n';
  }
  return out;
}

}  // namespace metafuse::demo
