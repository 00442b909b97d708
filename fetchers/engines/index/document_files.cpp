#include "fetchers/engines/index/document_files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/encoding.h"
#include "core/json.h"
#include "core/parallel.h"
#include "core/text.h"
#include "core/text_file.h"
#include "core/url.h"
#include "fetchers/answers/html_tree.h"
#include "fetchers/engines/index/sitemap_files.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{16} << 20;
constexpr std::size_t kMaxTitleBytes = 200;
constexpr std::size_t kFilesPerBatch = 256;
constexpr std::string_view kBlanks = " \t\r\n\f\v";

enum class SourceKind { html, markdown, text, csv, json_lines, sitemap, other };

constexpr std::pair<std::string_view, SourceKind> kEndings[] = {
    {".html", SourceKind::html},         {".htm", SourceKind::html},
    {".xhtml", SourceKind::html},        {".md", SourceKind::markdown},
    {".markdown", SourceKind::markdown}, {".txt", SourceKind::text},
    {".csv", SourceKind::csv},           {".xml", SourceKind::sitemap},
    {".jsonl", SourceKind::json_lines},  {".ndjson", SourceKind::json_lines}};

SourceKind kind_of_source(const std::string& path) {
  const std::string ending = ascii_lower(std::filesystem::path(path).extension().string());
  for (const auto& [known, kind] : kEndings)
    if (ending == known) return kind;
  for (const std::string_view compressed : {".gz", ".xz", ".zst"})
    if (ending == compressed) return kind_of_source(path.substr(0, path.size() - ending.size()));
  return SourceKind::other;
}

void set_field(SourceDocument& document, const char* name, std::string value) {
  if (!value.empty()) document.fields[name] = std::move(value);
}

// HTML

/// What a page says, collected in one walk over its tree.
struct PageText {
  std::string title;
  std::string heading;
  std::string language;
  std::string date;
  std::string text;
};

bool is_left_out(std::string_view element) {
  constexpr std::array<std::string_view, 8> kLeftOut = {"script",   "style", "nav",    "noscript",
                                                        "template", "svg",   "iframe", "head"};
  return std::find(kLeftOut.begin(), kLeftOut.end(), element) != kLeftOut.end();
}

bool is_inline(std::string_view element) {
  constexpr std::array<std::string_view, 16> kInline = {"a",    "abbr",   "b",   "bdi", "cite", "code",
                                                        "em",   "font",   "i",   "kbd", "mark", "q",
                                                        "span", "strong", "sub", "sup"};
  return std::find(kInline.begin(), kInline.end(), element) != kInline.end();
}

void gather_text(xmlNode* node, std::string& text) {
  for (; node != nullptr; node = node->next) {
    if (node->type == XML_TEXT_NODE || node->type == XML_CDATA_SECTION_NODE) {
      if (node->content != nullptr) text += reinterpret_cast<const char*>(node->content);
      continue;
    }
    if (node->type != XML_ELEMENT_NODE || is_left_out(tag_name(*node))) continue;
    gather_text(node->children, text);
    if (!is_inline(tag_name(*node))) text += '\n';
  }
}

void gather_facts(xmlNode* node, PageText& page) {
  for (; node != nullptr; node = node->next) {
    if (node->type != XML_ELEMENT_NODE) continue;
    const std::string_view name = tag_name(*node);
    if (name == "html") page.language = ascii_squeezed(attribute_of(*node, "lang"));
    if (name == "title" && page.title.empty()) gather_text(node->children, page.title);
    if (name == "h1" && page.heading.empty()) gather_text(node->children, page.heading);
    if (name == "meta" && page.date.empty()) {
      const std::string key =
          ascii_squeezed(attribute_of(*node, "property")) + ascii_squeezed(attribute_of(*node, "name"));
      if (key == "article:published_time" || key == "date" || key == "dcterms.date")
        page.date = ascii_squeezed(attribute_of(*node, "content"));
    }
    gather_facts(node->children, page);
  }
}

// Markdown

/// A line without the marks of headings, lists, quotes and emphasis; of links, only the text remains.
std::string without_marks(std::string_view line) {
  line = ascii_trimmed(line, kBlanks);
  const std::size_t begin = line.find_first_not_of("#>*-+ ");
  if (begin == std::string_view::npos) return {};
  const std::size_t last_link = line.rfind("](");
  const std::size_t last_end = line.rfind(')');
  const auto is_before = [&](std::size_t i, std::size_t last) {
    return last != std::string_view::npos && i < last;
  };
  std::string out;
  for (std::size_t i = begin; i < line.size(); ++i) {
    if (line[i] == '`' || line[i] == '*' || (line[i] == '[' && is_before(i, last_link))) continue;
    if (line[i] == ']' && i + 1 < line.size() && line[i + 1] == '(' && is_before(i, last_end)) {
      i = line.find(')', i);
      continue;
    }
    out += line[i];
  }
  return out;
}

/// Removes the front matter (between two lines of ---) and returns it.
std::string_view take_front_matter(std::string_view& text) {
  if (!text.starts_with("---\n")) return {};
  const std::size_t end = text.find("\n---", 3);
  if (end == std::string_view::npos) return {};
  const std::string_view matter = text.substr(3, end - 3 + 1);
  text.remove_prefix(std::min(text.size(), end + 4));
  return matter;
}

/// The value of "name: value" in front matter, without quotation marks.
std::string matter_value(std::string_view matter, const std::string& name) {
  const std::size_t at = matter.find('\n' + name + ':');
  if (at == std::string_view::npos) return {};
  const std::size_t begin = matter.find(':', at) + 1;
  std::string value = ascii_squeezed(matter.substr(begin, matter.find('\n', begin) - begin));
  if (value.size() > 1 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front())
    value = value.substr(1, value.size() - 2);
  return value;
}

SourceDocument text_document(std::string_view text) {
  SourceDocument document;
  const std::string_view content = ascii_trimmed(text, kBlanks);
  const std::string line = ascii_squeezed(content.substr(0, content.find('\n')));
  set_field(document, "title", std::string(truncate_utf8(line, kMaxTitleBytes)));
  set_field(document, "text", std::string(content));
  return document;
}

// CSV (RFC 4180)

/// Reads one row from `text`, starting at byte `at`.
/// out:    its cells; `at` and `line` are moved past it
Result<std::vector<std::string>> read_csv_row(std::string_view text, std::size_t& at, std::size_t& line,
                                              const std::string& path) {
  std::vector<std::string> cells(1);
  const std::size_t first_line = line;
  bool is_quoted = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\n') ++line;
    if (is_quoted) {
      if (c != '"') {
        cells.back() += c;
      } else if (at + 1 < text.size() && text[at + 1] == '"') {
        cells.back() += text[++at];
      } else {
        is_quoted = false;
      }
    } else if (c == '"') {
      is_quoted = true;
    } else if (c == ',') {
      cells.emplace_back();
    } else if (c == '\n') {
      ++at;
      return cells;
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  if (is_quoted)
    return fail(Code::bad_data,
                fmt::format("{}:{}: a quoted cell has no closing \"; add it", path, first_line));
  return cells;
}

Result<void> read_csv(const std::string& path, const TakeDocument& take) {
  TRY(const auto bytes, read_text(path, kMaxFileBytes * 64));
  const std::string text = to_valid_utf8(bytes);
  std::size_t at = 0;
  std::size_t line = 1;
  TRY(const auto names, read_csv_row(text, at, line, path));
  if (std::find(names.begin(), names.end(), "url") == names.end())
    return fail(
        Code::bad_data,
        path + ":1: there is no column url; the first row must name the columns, such as url,title,text");
  while (at < text.size()) {
    const std::size_t row = line;
    TRY(auto cells, read_csv_row(text, at, line, path));
    if (cells.size() == 1 && cells[0].empty()) continue;
    SourceDocument document;
    document.place = fmt::format("{}:{}", path, row);
    if (cells.size() != names.size())
      return fail(Code::bad_data, fmt::format("{}: {} cells, but the first row names {} columns",
                                              document.place, cells.size(), names.size()));
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == "url")
        document.url = std::move(cells[i]);
      else
        set_field(document, names[i].c_str(), std::move(cells[i]));
    }
    TRY_VOID(take(std::move(document)));
  }
  return {};
}

// JSON lines

Result<void> read_json_lines(const std::string& path, const TakeDocument& take) {
  return for_each_line(path, [&](std::string_view line, std::size_t number) -> Result<void> {
    if (line.find_first_not_of(" \t") == std::string_view::npos) return {};
    JsonLimits limits;
    limits.first_line = number;
    TRY(const auto json, parse_json(line, path, Code::bad_data, limits));
    const std::string place = path + ":" + std::to_string(number);
    const JsonObject* object = json.if_object();
    if (object == nullptr)
      return fail(Code::bad_data, place + ": not a JSON object; write {\"url\":...,\"title\":...}");
    TRY(auto document, json_document(*object, place));
    return take(std::move(document));
  });
}

// Folders

/// The URL of a file: the base, followed by the file's path with each part percent-encoded.
std::string url_of_file(const std::filesystem::path& path, const std::filesystem::path& folder,
                        const std::string& base_url) {
  std::error_code error;
  const auto shown = base_url.empty() ? std::filesystem::absolute(path, error).lexically_normal()
                                      : path.lexically_relative(folder);
  std::string url = base_url.empty() ? "file://localhost" : base_url;
  if (url.ends_with('/')) url.pop_back();
  for (const auto& part : shown)
    if (part != "/") url += '/' + percent_encoded(part.string());
  return url;
}

/// Reads a whole file as one document, for formats that hold one.
Result<SourceDocument> one_document(const std::string& path, SourceKind kind) {
  TRY(const auto bytes, read_text(path, kMaxFileBytes));
  SourceDocument document = kind == SourceKind::html       ? html_document(bytes)
                            : kind == SourceKind::markdown ? markdown_document(to_valid_utf8(bytes))
                                                           : text_document(to_valid_utf8(bytes));
  document.place = path;
  if (document.fields["title"].empty())
    document.fields["title"] = std::filesystem::path(path).filename().string();
  return document;
}

bool is_hidden(const std::filesystem::path& path) {
  return path.filename().string().starts_with('.');
}

/// The files below a folder that hold documents, in the order of their paths. The others are reported
/// in `left_out`.
Result<std::vector<std::string>> files_below(const std::string& folder, std::vector<std::string>& left_out) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<std::string> files;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (is_hidden(at->path())) {
      if (at->is_directory()) at.disable_recursion_pending();
    } else if (at->is_regular_file()) {
      const std::string path = at->path().string();
      // A sitemap must be given by name: inside a folder, its files would be read twice.
      if (const SourceKind kind = kind_of_source(path);
          kind == SourceKind::other || kind == SourceKind::sitemap)
        left_out.push_back(path + ": unsupported file extension; use .html, .md, .txt, .csv or .jsonl");
      else
        files.push_back(path);
    }
  }
  if (error) return fail(Code::no_input, folder + ": " + error.message());
  std::sort(files.begin(), files.end());
  return files;
}

Result<void> read_rows(const std::string& path, SourceKind kind, const TakeDocument& take) {
  return kind == SourceKind::csv ? read_csv(path, take) : read_json_lines(path, take);
}

bool holds_rows(SourceKind kind) {
  return kind == SourceKind::csv || kind == SourceKind::json_lines || kind == SourceKind::other;
}

/// Reads files on several threads, one batch at a time, and passes their documents on in order.
Result<void> read_files(std::vector<SourceFile> files, const DocumentFileOptions& options,
                        const TakeDocument& take, std::vector<std::string>& left_out) {
  if (options.is_known)
    std::erase_if(files, [&](const SourceFile& file) { return options.is_known(file.path); });
  for (std::size_t begin = 0; begin < files.size(); begin += kFilesPerBatch) {
    const std::size_t count = std::min(kFilesPerBatch, files.size() - begin);
    std::vector<std::optional<Result<SourceDocument>>> read(count);
    parallel_for(count, options.threads, [&](std::size_t i) {
      const SourceKind kind = kind_of_source(files[begin + i].path);
      if (!holds_rows(kind)) read[i] = one_document(files[begin + i].path, kind);
    });
    for (std::size_t i = 0; i < count; ++i) {
      const SourceFile& file = files[begin + i];
      if (!read[i]) {
        TRY_VOID(read_rows(file.path, kind_of_source(file.path), take));
      } else if (!*read[i]) {
        left_out.push_back(read[i]->error().text);
      } else {
        SourceDocument document = std::move(**read[i]);
        document.url = file.url;
        if (!file.date.empty()) document.fields.emplace("date", file.date);
        TRY_VOID(take(std::move(document)));
      }
    }
    if (options.progress) options.progress(begin + count, files.size());
  }
  return {};
}

}  // namespace

SourceDocument html_document(std::string_view page) {
  SourceDocument document;
  // Undeclared bytes would be read as windows-1252, but files without a declaration are UTF-8 today.
  const bool is_declared = page.substr(0, 4096).find("charset") != std::string_view::npos;
  const HtmlDocument tree = is_declared ? parse_html(page, "") : parse_html(to_valid_utf8(page), "");
  if (!tree) return document;
  PageText found;
  xmlNode* root = xmlDocGetRootElement(tree.get());
  gather_facts(root, found);
  gather_text(root, found.text);
  const std::string title = ascii_squeezed(found.title.empty() ? found.heading : found.title);
  set_field(document, "title", std::string(truncate_utf8(title, kMaxTitleBytes)));
  set_field(document, "text", ascii_squeezed(found.text));
  set_field(document, "language", found.language);
  set_field(document, "date", found.date);
  return document;
}

SourceDocument markdown_document(std::string_view text) {
  SourceDocument document;
  const std::string_view matter = take_front_matter(text);
  std::string title = matter_value(matter, "title");
  std::string words;
  std::string first_line;
  while (!text.empty()) {
    const std::string_view line = take_until(text, '\n');
    if (line.starts_with("```")) continue;
    const std::string content = without_marks(line);
    if (content.empty()) continue;
    if (title.empty() && line.starts_with("#")) title = ascii_squeezed(content);
    if (first_line.empty()) first_line = ascii_squeezed(content);
    words += (words.empty() ? "" : " ") + content;
  }
  set_field(document, "title",
            std::string(truncate_utf8(title.empty() ? first_line : title, kMaxTitleBytes)));
  set_field(document, "text", std::move(words));
  const std::string language = matter_value(matter, "language");
  set_field(document, "language", language.empty() ? matter_value(matter, "lang") : language);
  set_field(document, "date", matter_value(matter, "date"));
  return document;
}

Result<std::vector<std::string>> read_documents(const std::string& path, const DocumentFileOptions& options,
                                                const TakeDocument& take) {
  namespace fs = std::filesystem;
  std::vector<std::string> left_out;
  std::error_code error;
  if (path != "-" && fs::is_directory(path, error)) {
    TRY(const auto files, files_below(path, left_out));
    std::vector<SourceFile> sources;
    for (const std::string& file : files)
      sources.push_back({file, url_of_file(file, path, options.base_url), ""});
    TRY_VOID(read_files(std::move(sources), options, take, left_out));
    return left_out;
  }
  const SourceKind kind = path == "-" ? SourceKind::json_lines : kind_of_source(path);
  if (kind == SourceKind::sitemap) {
    TRY(auto sources, files_of_sitemap(path, left_out));
    TRY_VOID(read_files(std::move(sources), options, take, left_out));
    return left_out;
  }
  if (holds_rows(kind)) {
    TRY_VOID(read_rows(path, kind, take));
    return left_out;
  }
  TRY(auto document, one_document(path, kind));
  document.url = url_of_file(path, fs::path(path).parent_path(), options.base_url);
  TRY_VOID(take(std::move(document)));
  return left_out;
}

Result<SourceDocument> json_document(const JsonObject& object, const std::string& place) {
  SourceDocument document;
  document.place = place;
  for (const auto& [key, value] : object) {
    if (value.is_null()) continue;
    if (value.is_number() && key != "url") {
      document.numbers.emplace(key, value.to_number<double>());
      continue;
    }
    if (!value.is_string())
      return fail(Code::bad_data, fmt::format("{}: the field \"{}\" is neither a text nor a number", place,
                                              std::string_view(key)));
    if (key == "url")
      document.url = std::string(value.as_string());
    else
      document.fields.emplace(key, std::string(value.as_string()));
  }
  return document;
}

}  // namespace metafuse::fetchers
