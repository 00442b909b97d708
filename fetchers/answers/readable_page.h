#pragma once

#include <string>
#include <string_view>

#include "fetchers/answers/work_end.h"

struct _xmlDoc;  // libxml2's tree; only who has one needs to include it

namespace metafuse::fetchers {

enum class PageForm { markdown, text };

/// The part of a page that a person would read.
struct ReadablePage {
  std::string title;    ///< else the first heading of the highest level
  std::string heading;  ///< the first one of any level
  std::string text;     ///< UTF-8; the only control characters are line ends
};

/// Extracts the readable part of an HTML page: its <main> or only <article> if that contains text, else its
/// body, without navigation, form controls, scripts, and content that the page hides from viewers. Markdown
/// keeps headings, lists, quotes, code, table rows and links, whose targets become absolute. The form `text`
/// keeps only the words.
///
/// in:     url - of the page, to resolve its links; any bytes are accepted as a page
///         end - when to stop; the rest of the page is left out then
/// cost:   O(bytes); what follows the 1000th element inside of others, and attributes beyond some hundred of
///         one element, are left out
ReadablePage readable_page(std::string_view body, std::string_view content_type, const std::string& url,
                           PageForm form, WorkEnd end = {});

/// The same for a page that parse_html() has read.
ReadablePage readable_page(const _xmlDoc& document, const std::string& url, PageForm form, WorkEnd end = {});

/// The same for an answer that is already plain text.
std::string readable_text(std::string_view body, std::string_view content_type);

}  // namespace metafuse::fetchers
