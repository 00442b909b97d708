#include "fetchers/documents/office_documents.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <pugixml.hpp>

#include "core/encoding.h"
#include "core/text.h"
#include "fetchers/answers/answer_text.h"
#include "fetchers/answers/readable_page.h"
#include "fetchers/documents/archive_parts.h"

namespace metafuse::fetchers {
namespace {

Error bad_part(std::string_view name) {
  return fail(Code::bad_data, "the part " + std::string(name) + " is missing or not XML");
}

Result<void> load_part(const ArchiveParts& parts, std::string_view name, pugi::xml_document& document) {
  const auto part = parts.find(name);
  // no document type: declarations and the entities in them are ignored
  if (part == parts.end() || !document.load_buffer(part->second.data(), part->second.size(),
                                                   pugi::parse_default | pugi::parse_ws_pcdata))
    return bad_part(name);
  return {};
}

/// What an element means for the text.
struct TextMarks {
  std::array<std::string_view, 2> words;  ///< elements whose text counts; empty: the text of all elements
  std::array<std::string_view, 3> paragraphs;
  std::array<std::string_view, 2> blanks;
  std::array<std::string_view, 1> lines;
  std::array<std::string_view, 5> left_out;
};

// Fallback is the same text again for older programs, moveFrom where a moved text was, rPh how it is spoken.
constexpr TextMarks kWordMarks = {
    {"t"}, {"p"}, {"tab", "noBreakHyphen"}, {"br"}, {"instrText", "delText", "Fallback", "moveFrom", "rPh"}};
constexpr TextMarks kOpenMarks = {{},
                                  {"p", "h", "table-row"},
                                  {"s", "tab"},
                                  {"line-break"},
                                  {"tracked-changes", "annotation", "script", "note-citation"}};

template <std::size_t N>
bool is_named(const std::array<std::string_view, N>& names, std::string_view name) {
  return !name.empty() && std::find(names.begin(), names.end(), name) != names.end();
}

/// Gathers the words of an XML tree in one walk without recursion. Paragraphs inside another, such as those
/// of a text box, stand apart from the words around them.
class TextWalker final : public pugi::xml_tree_walker {
 public:
  explicit TextWalker(const TextMarks& marks) : marks_(marks) {}

  bool for_each(pugi::xml_node& node) override {
    while (depth_left_out_ >= 0 && depth() <= depth_left_out_) depth_left_out_ = -1;
    if (depth_left_out_ >= 0) return true;
    for (; !open_.empty() && depth() <= open_.back(); open_.pop_back()) is_apart_ = true;
    const std::string_view name = without_prefix(node.name());
    if (is_named(marks_.left_out, name)) depth_left_out_ = depth();
    if (is_named(marks_.paragraphs, name)) {
      open_.push_back(depth());
      is_apart_ = true;
    }
    if (is_named(marks_.blanks, name)) add(" ");
    if (is_named(marks_.lines, name)) add("\n");
    const bool is_text = node.type() == pugi::node_pcdata || node.type() == pugi::node_cdata;
    if (is_text && (marks_.words[0].empty() || is_named(marks_.words, without_prefix(node.parent().name()))))
      add(node.value());
    return text.size() < kMostDocumentText;
  }

  std::string text;

 private:
  void add(std::string_view words) {
    if (is_apart_ && !text.empty() && !text.ends_with("\n\n")) text += "\n\n";
    is_apart_ = false;
    text += words;
  }

  const TextMarks& marks_;
  int depth_left_out_ = -1;
  std::vector<int> open_;  ///< depths of the paragraphs around a node
  bool is_apart_ = false;  ///< a paragraph has begun or ended since the last words
};

Result<std::string> text_of_part(const ArchiveParts& parts, std::string_view name, const TextMarks& marks) {
  pugi::xml_document document;
  TRY_VOID(load_part(parts, name, document));
  TextWalker walker(marks);
  document.traverse(walker);
  return std::move(walker.text);
}

/// Calls `take` with the name and the text of each child of an element, and of their children.
template <class Take>
void for_each_property(const pugi::xml_node& root, const Take& take) {
  for (const pugi::xml_node& child : root.children()) {
    take(without_prefix(child.name()), child.text().as_string());
    for (const pugi::xml_node& inner : child.children())
      take(without_prefix(inner.name()), inner.text().as_string());
  }
}

/// Sets title, language and date from Dublin Core properties, whichever comes first.
void set_properties(const pugi::xml_node& root, SourceDocument& document) {
  for_each_property(root, [&](std::string_view name, std::string_view value) {
    const auto set = [&](const char* field) {
      if (!document.fields.contains(field)) set_field(document, field, ascii_squeezed(value));
    };
    if (name == "title") set("title");
    if (name == "language") set("language");
    if (name == "date" || name == "modified") set("date");
  });
}

void set_properties_of_part(const ArchiveParts& parts, std::string_view name, SourceDocument& document) {
  pugi::xml_document properties;
  if (load_part(parts, name, properties)) set_properties(properties.document_element(), document);
}

/// The number in a part's name: 12 of "ppt/slides/slide12.xml".
int number_in_name(std::string_view name) {
  int number = 0;
  const std::size_t at = name.find_first_of("0123456789");
  if (at != std::string_view::npos) std::from_chars(name.data() + at, name.data() + name.size(), number);
  return number;
}

/// The names of parts that begin so, in the order of their numbers.
std::vector<std::string> numbered_parts(const ArchiveParts& parts, std::string_view beginning) {
  std::vector<std::string> names;
  for (const auto& [name, bytes] : parts)
    if (name.starts_with(beginning) && name.ends_with(".xml")) names.push_back(name);
  std::stable_sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return number_in_name(a) < number_in_name(b);
  });
  return names;
}

bool is_full_document(const std::string& text) {
  return text.size() >= kMostDocumentText;
}

void add_paragraphs(std::string& text, std::string_view more) {
  if (is_full_document(text)) return;
  text += text.empty() || more.empty() ? "" : "\n\n";
  text += more;
}

// Spreadsheets of Office Open XML: cells name their texts in a common table

std::string words_below(pugi::xml_node node) {
  TextWalker walker(kWordMarks);
  node.traverse(walker);
  return std::move(walker.text);
}

/// Calls `take` with each child of this name, whatever its prefix, until it returns false.
template <class Take>
void for_each_named(const pugi::xml_node& node, std::string_view name, const Take& take) {
  for (const pugi::xml_node& child : node.children())
    if (without_prefix(child.name()) == name && !take(child)) return;
}

pugi::xml_node first_named(const pugi::xml_node& node, std::string_view name) {
  return node.find_child([&](const pugi::xml_node& child) { return without_prefix(child.name()) == name; });
}

std::vector<std::string> shared_texts(const ArchiveParts& parts) {
  std::vector<std::string> out;
  pugi::xml_document document;
  if (!load_part(parts, "xl/sharedStrings.xml", document)) return out;
  for_each_named(document.document_element(), "si", [&](const pugi::xml_node& item) {
    out.push_back(words_below(item));
    return true;
  });
  return out;
}

/// in:     own - holds the text of a cell that has one of its own
std::string_view text_of_cell(const pugi::xml_node& cell, const std::vector<std::string>& shared,
                              std::string& own) {
  const std::string_view type = cell.attribute("t").as_string();
  if (type == "inlineStr") return own = words_below(cell);
  const std::string_view value = first_named(cell, "v").text().as_string();
  if (type != "s") return value;
  std::size_t number = shared.size();
  std::from_chars(value.data(), value.data() + value.size(), number);
  return number < shared.size() ? std::string_view(shared[number]) : std::string_view();
}

/// Adds a line for each row of a sheet, until the text is full.
Result<void> add_sheet(const ArchiveParts& parts, const std::string& name,
                       const std::vector<std::string>& shared, std::string& text) {
  pugi::xml_document document;
  TRY_VOID(load_part(parts, name, document));
  std::string own;
  std::string_view before_row = text.empty() ? "" : "\n";
  for_each_named(first_named(document.document_element(), "sheetData"), "row",
                 [&](const pugi::xml_node& row) {
                   bool is_first = true;
                   for_each_named(row, "c", [&](const pugi::xml_node& cell) {
                     const std::string_view value = text_of_cell(cell, shared, own);
                     if (value.empty()) return true;
                     text += is_first ? before_row : " | ";
                     text += value;
                     is_first = false;
                     return !is_full_document(text);
                   });
                   if (!is_first) text += '\n';
                   if (!is_first) before_row = "";
                   return !is_full_document(text);
                 });
  return {};
}

Result<SourceDocument> office_document(const ArchiveParts& parts) {
  SourceDocument document;
  set_properties_of_part(parts, "docProps/core.xml", document);
  std::string text;
  std::vector<std::string> names;
  for (const char* name : {"word/document.xml", "word/footnotes.xml", "word/endnotes.xml"})
    if (parts.contains(name)) names.emplace_back(name);
  for (std::string& name : numbered_parts(parts, "ppt/slides/slide")) names.push_back(std::move(name));
  for (const std::string& name : names) {
    if (is_full_document(text)) break;
    TRY(const auto more, text_of_part(parts, name, kWordMarks));
    add_paragraphs(text, more);
  }
  const auto sheets = numbered_parts(parts, "xl/worksheets/sheet");
  const auto shared = sheets.empty() ? std::vector<std::string>() : shared_texts(parts);
  for (const std::string& name : sheets) {
    if (is_full_document(text)) break;
    TRY_VOID(add_sheet(parts, name, shared, text));
  }
  set_text(document, text);
  return document;
}

Result<SourceDocument> open_document(const ArchiveParts& parts) {
  SourceDocument document;
  set_properties_of_part(parts, "meta.xml", document);
  TRY(const auto text, text_of_part(parts, "content.xml", kOpenMarks));
  set_text(document, text);
  return document;
}

// EPUB: META-INF/container.xml names the package, whose spine names the pages in their order

constexpr const char* kContainer = "META-INF/container.xml";
constexpr std::size_t kLongestPartName = 4096;
constexpr std::size_t kMostBookPages = 10'000;  ///< an archive may have no more parts

/// The part that a reference in another part means; empty if it is too long or leads out of the archive.
std::string part_named(std::string_view from, std::string_view reference) {
  if (from.size() + reference.size() > kLongestPartName) return {};
  const std::string path = std::string(from.substr(0, from.rfind('/') + 1)) +
                           percent_decoded(reference.substr(0, reference.find('#')));
  std::string name;
  for (std::string_view rest = path; !rest.empty();) {
    const std::string_view step = take_until(rest, '/');
    if (step.empty() || step == ".") continue;
    if (step != "..") {
      name += (name.empty() ? "" : "/") + std::string(step);
      continue;
    }
    if (name.empty()) return {};
    const std::size_t slash = name.rfind('/');
    name.resize(slash == std::string::npos ? 0 : slash);
  }
  return name;
}

/// The parts that are the pages of a book, in the order of its spine.
std::vector<std::string> pages_of(const pugi::xml_node& package, std::string_view path) {
  std::map<std::string_view, std::string> pages;
  std::vector<std::string> out;
  for (const pugi::xml_node& part : package.children()) {
    for (const pugi::xml_node& item : part.children()) {
      const std::string_view name = without_prefix(item.name());
      const std::string_view type = item.attribute("media-type").as_string("html");
      if (name == "item" && type.find("html") != std::string_view::npos &&
          pages.size() + out.size() < kMostBookPages)
        pages[item.attribute("id").as_string()] = part_named(path, item.attribute("href").as_string());
      if (name != "itemref") continue;
      if (auto page = pages.extract(item.attribute("idref").as_string()))
        out.push_back(std::move(page.mapped()));
    }
  }
  return out;
}

Result<SourceDocument> book(std::string_view bytes, const ArchiveParts& parts) {
  pugi::xml_document container, package;
  TRY_VOID(load_part(parts, kContainer, container));
  const pugi::xml_node file = container.document_element().find_node(
      [](const pugi::xml_node& node) { return without_prefix(node.name()) == "rootfile"; });
  const std::string path = file.attribute("full-path").as_string();
  TRY(const auto package_parts, archive_parts(bytes, [&](std::string_view name) { return name == path; }));
  TRY_VOID(load_part(package_parts, path, package));
  SourceDocument document;
  set_properties(package.document_element(), document);
  const auto pages = pages_of(package.document_element(), path);
  const std::set<std::string_view> wanted(pages.begin(), pages.end());
  TRY(auto page_parts, archive_parts(bytes, [&](std::string_view name) { return wanted.contains(name); }));
  std::string text;
  for (const std::string& name : pages) {
    if (is_full_document(text)) break;
    // two pages may name one part, whose text counts once
    if (const auto page = page_parts.extract(name))
      add_paragraphs(text, readable_page(page.mapped(), "", "", PageForm::text).text);
  }
  set_text(document, text);
  return document;
}

bool is_text_part(std::string_view name) {
  constexpr std::array<std::string_view, 8> kNames = {
      "word/document.xml",    "word/footnotes.xml", "word/endnotes.xml", "docProps/core.xml",
      "xl/sharedStrings.xml", "content.xml",        "meta.xml",          kContainer};
  return is_named(kNames, name) || name.starts_with("ppt/slides/slide") ||
         name.starts_with("xl/worksheets/sheet");
}

Result<SourceDocument> document_of_parts(std::string_view bytes, const ArchiveParts& parts) {
  if (parts.contains(kContainer)) return book(bytes, parts);
  if (parts.contains("content.xml")) return open_document(parts);
  const bool is_office =
      parts.contains("word/document.xml") || std::any_of(parts.begin(), parts.end(), [](const auto& part) {
        return part.first.starts_with("ppt/") || part.first.starts_with("xl/");
      });
  if (is_office) return office_document(parts);
  return fail(Code::bad_data, "not an Office, OpenDocument or EPUB file: it lacks their parts");
}

}  // namespace

Result<std::vector<SourceDocument>> read_office_file(std::string_view bytes) {
  TRY(const auto parts, archive_parts(bytes, is_text_part));
  TRY(auto document, document_of_parts(bytes, parts));
  for (auto& [name, value] : document.fields) value = to_valid_utf8(value);
  std::string& text = document.fields["text"];
  text.resize(truncate_utf8(text, kMostDocumentText).size());
  if (ascii_trimmed(text).empty()) return fail(Code::bad_data, "holds no text; it may be pictures");
  std::vector<SourceDocument> out;
  out.push_back(std::move(document));
  return out;
}

}  // namespace metafuse::fetchers
