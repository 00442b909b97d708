#pragma once

// Documents written in plain characters: HTML, Markdown, reStructuredText, AsciiDoc, text and source code.
// Marks are left out, so that only words are searched and shown. Empty lines separate paragraphs.

#include <string_view>
#include <vector>

#include "core/result.h"
#include "fetchers/documents/source_document.h"

namespace metafuse::fetchers {

/// The title and the main part (readable_page()), and language and date if the page declares them. Any bytes
/// are accepted as a page: libxml2 repairs malformed HTML.
SourceDocument html_document(std::string_view page);

/// The title is that of the front matter, else the first heading, else the first paragraph. Language and date
/// come from the front matter (`language` or `lang`, `date`). HTML inside the text is read as a page;
/// pictures are left out, and rows of very large tables are lines.
/// source: GitHub Flavored Markdown, by cmark-gfm
SourceDocument markdown_document(std::string_view text);

/// The title is the first line, unless that is decoration or no line for people; then there is none.
SourceDocument text_document(std::string_view text);

// Readers for the table of kinds. They accept any bytes.

Result<std::vector<SourceDocument>> read_html(std::string_view bytes);
Result<std::vector<SourceDocument>> read_markdown(std::string_view bytes);
Result<std::vector<SourceDocument>> read_structured_text(std::string_view bytes);
Result<std::vector<SourceDocument>> read_asciidoc(std::string_view bytes);
Result<std::vector<SourceDocument>> read_text_file(std::string_view bytes);
Result<std::vector<SourceDocument>> read_source_code(std::string_view bytes);

}  // namespace metafuse::fetchers
