#include "fetchers/engines/index/sitemap_files.h"

#include <filesystem>
#include <set>

#include <pugixml.hpp>

#include "core/encoding.h"
#include "core/text.h"
#include "core/text_file.h"
#include "core/url.h"
#include "fetchers/answers/answer_text.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMaxSitemapBytes = std::size_t{50} << 20;  ///< the protocol's limit
constexpr int kDeepestSitemap = 4;

/// The text of a child element of an entry, without surrounding white space.
std::string part_of_entry(const pugi::xml_node& entry, std::string_view part) {
  for (const pugi::xml_node& child : entry.children()) {
    if (without_prefix(child.name()) != part) continue;
    return std::string(ascii_trimmed(child.text().as_string()));
  }
  return {};
}

/// The file below `folder` that corresponds to a URL's path; empty if there is none.
std::string file_of_url(const std::filesystem::path& folder, const std::string& url) {
  namespace fs = std::filesystem;
  const auto parts = parts_of_url(url);
  if (!parts) return {};
  const std::size_t begin = url.find('/', url.find("://") + 3);
  std::string path = begin == std::string::npos ? "" : url.substr(begin + 1);
  path.erase(std::min(path.find_first_of("?#"), path.size()));
  path = percent_decoded(path);
  if (path.find('\0') != std::string::npos) return {};
  for (const auto& part : fs::path(path))
    if (part == "..") return {};
  std::error_code error;
  for (const std::string& candidate :
       {path, path + (path.empty() || path.ends_with('/') ? "" : "/") + "index.html", path + ".html"}) {
    const fs::path file = folder / fs::path(candidate).relative_path();
    if (fs::is_regular_file(file, error)) return file.string();
  }
  return {};
}

/// Sitemaps name each other as often as they like; each is entered once.
struct Gathered {
  std::set<std::filesystem::path> entered;
  std::vector<SourceFile> files;
};

Result<void> gather_pages(const std::string& path, int depth, Gathered& gathered,
                          std::vector<std::string>& left_out) {
  std::error_code ignored;
  if (!gathered.entered.insert(std::filesystem::weakly_canonical(path, ignored)).second) return {};
  if (depth > kDeepestSitemap)
    return fail(Code::bad_data,
                path + ": sitemaps are nested more than 4 levels deep; give the inner ones directly");
  TRY(const auto text, read_text(path, kMaxSitemapBytes));
  pugi::xml_document document;
  if (const auto parsed = document.load_buffer(text.data(), text.size()); !parsed)
    return fail(Code::bad_data, path + ": not valid XML: " + parsed.description());
  const std::string_view root = without_prefix(document.document_element().name());
  const bool is_index = root == "sitemapindex";
  if (!is_index && root != "urlset")
    return fail(Code::bad_data,
                path + ": not a sitemap; its root element is neither urlset nor sitemapindex");
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  for (const pugi::xml_node& entry : document.document_element().children()) {
    const std::string url = part_of_entry(entry, "loc");
    if (url.empty()) continue;
    const std::string file = file_of_url(folder, url);
    if (file.empty()) {
      left_out.push_back(url + ": no file for this page below " + (folder.empty() ? "." : folder.string()));
    } else if (is_index) {
      TRY_VOID(gather_pages(file, depth + 1, gathered, left_out));
    } else {
      gathered.files.push_back({file, url, part_of_entry(entry, "lastmod")});
    }
  }
  return {};
}

}  // namespace

Result<std::vector<SourceFile>> files_of_sitemap(const std::string& path,
                                                 std::vector<std::string>& left_out) {
  Gathered gathered;
  TRY_VOID(gather_pages(path, 0, gathered, left_out));
  return std::move(gathered.files);
}

}  // namespace metafuse::fetchers
