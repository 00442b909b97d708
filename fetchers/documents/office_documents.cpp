#include "fetchers/documents/office_documents.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
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
  std::array<std::string_view, 3> left_out;
};

constexpr TextMarks kWordMarks = {{"t"}, {"p"}, {"tab", "noBreakHyphen"}, {"br"}, {"instrText", "delText"}};
constexpr TextMarks kOpenMarks = {
    {}, {"p", "h", "table-row"}, {"s", "tab"}, {"line-break"}, {"tracked-changes", "annotation", "script"}};

template <std::size_t N>
bool is_named(const std::array<std::string_view, N>& names, std::string_view name) {
  return !name.empty() && std::find(names.begin(), names.end(), name) != names.end();
}

/// Gathers the words of an XML tree in one walk without recursion.
class TextWalker final : public pugi::xml_tree_walker {
 public:
  explicit TextWalker(const TextMarks& marks) : marks_(marks) {}

  bool for_each(pugi::xml_node& node) override {
    while (depth_left_out_ >= 0 && depth() <= depth_left_out_) depth_left_out_ = -1;
    if (depth_left_out_ >= 0) return true;
    const std::string_view name = without_prefix(node.name());
    if (is_named(marks_.left_out, name)) depth_left_out_ = depth();
    if (is_named(marks_.paragraphs, name) && !text.ends_with("\n\n") && !text.empty()) text += "\n\n";
    if (is_named(marks_.blanks, name)) text += ' ';
    if (is_named(marks_.lines, name)) text += '\n';
    const bool is_text = node.type() == pugi::node_pcdata || node.type() == pugi::node_cdata;
    if (is_text && (marks_.words[0].empty() || is_named(marks_.words, without_prefix(node.parent().name()))))
      text += node.value();
    return text.size() < kMostDocumentText;
  }

  std::string text;

 private:
  const TextMarks& marks_;
  int depth_left_out_ = -1;
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

void add_paragraphs(std::string& text, std::string_view more) {
  if (text.size() >= kMostDocumentText) return;
  text += text.empty() || more.empty() ? "" : "\n\n";
  text += more;
}

// Spreadsheets of Office Open XML: cells name their texts in a common table

std::vector<std::string> shared_texts(const ArchiveParts& parts) {
  std::vector<std::string> out;
  pugi::xml_document document;
  if (!load_part(parts, "xl/sharedStrings.xml", document)) return out;
  for (const pugi::xml_node& item : document.document_element().children()) {
    TextWalker walker(kWordMarks);
    pugi::xml_node all = item;
    all.traverse(walker);
    out.push_back(std::move(walker.text));
  }
  return out;
}

std::string text_of_cell(const pugi::xml_node& cell, const std::vector<std::string>& shared) {
  const std::string_view type = cell.attribute("t").as_string();
  if (type == "inlineStr") {
    TextWalker walker(kWordMarks);
    pugi::xml_node all = cell;
    all.traverse(walker);
    return std::move(walker.text);
  }
  const std::string_view value = cell.child("v").text().as_string();
  if (type != "s") return std::string(value);
  std::size_t number = shared.size();
  std::from_chars(value.data(), value.data() + value.size(), number);
  return number < shared.size() ? shared[number] : std::string();
}

Result<std::string> text_of_sheet(const ArchiveParts& parts, const std::string& name,
                                  const std::vector<std::string>& shared) {
  pugi::xml_document document;
  TRY_VOID(load_part(parts, name, document));
  std::string text;
  for (const pugi::xml_node& row : document.document_element().child("sheetData").children("row")) {
    std::string line;
    for (const pugi::xml_node& cell : row.children("c")) {
      const std::string value = text_of_cell(cell, shared);
      if (!value.empty()) line += (line.empty() ? "" : " | ") + value;
      if (text.size() + line.size() > kMostDocumentText) return text;
    }
    if (!line.empty()) text += line + '\n';
  }
  return text;
}

Result<SourceDocument> office_document(const ArchiveParts& parts) {
  SourceDocument document;
  set_properties_of_part(parts, "docProps/core.xml", document);
  std::string text;
  if (parts.contains("word/document.xml")) {
    TRY(text, text_of_part(parts, "word/document.xml", kWordMarks));
  }
  for (const std::string& name : numbered_parts(parts, "ppt/slides/slide")) {
    TRY(const auto slide, text_of_part(parts, name, kWordMarks));
    add_paragraphs(text, slide);
  }
  const auto sheets = numbered_parts(parts, "xl/worksheets/sheet");
  const auto shared = sheets.empty() ? std::vector<std::string>() : shared_texts(parts);
  for (const std::string& name : sheets) {
    TRY(const auto sheet, text_of_sheet(parts, name, shared));
    add_paragraphs(text, sheet);
  }
  set_field(document, "text", std::move(text));
  return document;
}

Result<SourceDocument> open_document(const ArchiveParts& parts) {
  SourceDocument document;
  set_properties_of_part(parts, "meta.xml", document);
  TRY(auto text, text_of_part(parts, "content.xml", kOpenMarks));
  set_field(document, "text", std::move(text));
  return document;
}

// EPUB: META-INF/container.xml names the package, whose spine names the pages in their order

/// The part that a reference in another part means; without "..".
std::string part_named(std::string_view from, std::string_view reference) {
  const std::size_t slash = from.rfind('/');
  const std::string path = percent_decoded(reference.substr(0, reference.find('#')));
  return (slash == std::string_view::npos ? std::string() : std::string(from.substr(0, slash + 1))) + path;
}

Result<SourceDocument> book(const ArchiveParts& parts) {
  pugi::xml_document container, package;
  TRY_VOID(load_part(parts, "META-INF/container.xml", container));
  const pugi::xml_node file = container.document_element().find_node(
      [](const pugi::xml_node& node) { return without_prefix(node.name()) == "rootfile"; });
  const std::string path = file.attribute("full-path").as_string();
  TRY_VOID(load_part(parts, path, package));
  SourceDocument document;
  set_properties(package.document_element(), document);
  std::map<std::string_view, std::string_view> pages;
  std::string text;
  for (const pugi::xml_node& part : package.document_element().children()) {
    for (const pugi::xml_node& item : part.children()) {
      const std::string_view name = without_prefix(item.name());
      if (name == "item") pages[item.attribute("id").as_string()] = item.attribute("href").as_string();
      if (name != "itemref" || text.size() >= kMostDocumentText) continue;
      const auto page = pages.find(item.attribute("idref").as_string());
      const auto bytes = page == pages.end() ? parts.end() : parts.find(part_named(path, page->second));
      if (bytes != parts.end())
        add_paragraphs(text, readable_page(bytes->second, "", "", PageForm::text).text);
    }
  }
  set_field(document, "text", std::move(text));
  return document;
}

bool is_text_part(std::string_view name) {
  constexpr std::array<std::string_view, 6> kNames = {
      "word/document.xml", "docProps/core.xml", "xl/sharedStrings.xml",
      "content.xml",       "meta.xml",          "META-INF/container.xml"};
  constexpr std::array<std::string_view, 4> kPageEndings = {".opf", ".xhtml", ".html", ".htm"};
  return is_named(kNames, name) || name.starts_with("ppt/slides/slide") ||
         name.starts_with("xl/worksheets/sheet") ||
         std::any_of(kPageEndings.begin(), kPageEndings.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

Result<SourceDocument> document_of_parts(const ArchiveParts& parts) {
  if (parts.contains("META-INF/container.xml")) return book(parts);
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
  TRY(auto document, document_of_parts(parts));
  for (auto& [name, value] : document.fields) value = to_valid_utf8(value);
  std::vector<SourceDocument> out;
  out.push_back(std::move(document));
  return out;
}

}  // namespace metafuse::fetchers
