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

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

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
  std::string source;  ///< empty if the source package has the same name
  std::string needs;   ///< the fields of dependencies, joined by commas
  std::string home_page;
  std::string synopsis;
  std::string section;
  std::string tags;
};

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
    take_field(line.substr(0, colon), trimmed(line.substr(colon + 1)));
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
  };
  /// The names of what a package needs; `home` is the key of its own home page.
  struct Needs {
    std::string home;
    std::vector<std::string> packages;
  };

  void add_needs(const Stanza& stanza, const std::string& home) {
    Needs needs{home, {}};
    for (std::string_view rest = stanza.needs; !rest.empty();) {
      const std::size_t end = std::min(rest.find_first_of(",|"), rest.size());
      const std::string_view one = trimmed(rest.substr(0, end));
      if (!one.empty()) needs.packages.emplace_back(one.substr(0, one.find_first_of(" :(")));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    if (!needs.packages.empty()) needs_[stanza.source].push_back(std::move(needs));
  }

  void count_dependants() {
    for (const auto& [source, all] : needs_) {
      std::set<Collected*> needed;
      for (const Needs& needs : all)
        for (const std::string& package : needs.packages)
          if (const auto at = page_of_.find(package);
              at != page_of_.end() && at->second->page.key != needs.home)
            needed.insert(at->second);
      for (Collected* collected : needed)
        collected->page.dependants += collected->sources.contains(source) ? 0 : 1;
    }
  }

  static void name_project(Collected& collected) {
    const auto is_shorter = [](const std::string& a, const std::string& b) { return a.size() < b.size(); };
    HomePage& page = collected.page;
    page.project = *std::min_element(collected.sources.begin(), collected.sources.end(), is_shorter);
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
    if (name == "Depends" || name == "Pre-Depends" || name == "Recommends" || name == "Suggests")
      stanza_.needs.append(",").append(value);
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
    return fail(
        Code::bad_data,
        path + ": no package with a home page; run apt-get update, then apt-cache dumpavail > " + path);
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
                              {"text", joined(page.synopses, ". ")},
                              {"sections", joined(page.sections, " ")},
                              {"tags", joined(page.tags, " ")},
                              {"words", joined(url_words(page.key), " ")},
                              {"dependants", page.dependants}};
    out += metafuse::to_text(document) + '\n';
  }
  return out;
}

}  // namespace metafuse::demo
