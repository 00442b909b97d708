#pragma once

#include <string>
#include <string_view>

namespace metafuse::fetchers {

enum class PageForm { markdown, text };

/// What a person would read of a page.
struct ReadablePage {
  std::string title;
  std::string text;  ///< UTF-8, without control characters but line ends
};

/// The readable part of an HTML page: its <main> or only <article> where that holds text, else its body,
/// without navigation, forms' controls, scripts, and whatever the page hides from those who look at it.
/// Markdown keeps headings, lists, quotes, code, tables' rows and links, whose targets become absolute; text
/// keeps the words.
///
/// in:   url - of the page, for its links; any bytes are a page
/// cost: O(bytes); elements nested deeper than 300 are left out
ReadablePage readable_page(std::string_view body, std::string_view content_type, const std::string& url,
                           PageForm form);

/// The same of an answer that is plain text already.
std::string readable_text(std::string_view body, std::string_view content_type);

}  // namespace metafuse::fetchers
