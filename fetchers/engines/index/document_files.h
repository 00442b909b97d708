#pragma once

// Reads documents from the files that people have: folders of HTML, Markdown and text, sitemaps, CSV tables,
// and JSON lines.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/progress.h"
#include "core/result.h"

namespace metafuse::fetchers {

/// One document of an index.
struct SourceDocument {
  std::string url;
  std::map<std::string, std::string> fields;  ///< title, text and others, one column of the index each
  std::map<std::string, double> numbers;      ///< fields for `order_by`
  std::string place;                          ///< where it was read from: FILE or FILE:LINE
};

struct DocumentFileOptions {
  /// The beginning of a file's URL; its path below the folder is appended. Empty: file://localhost/PATH.
  std::string base_url;
  unsigned threads = 1;
  /// True for a file of a folder or sitemap that need not be read again. Called on the caller's
  /// thread; optional.
  std::function<bool(const std::string& path)> is_known{};
  ProgressReport progress{};  ///< counts the files of a folder or sitemap
};

using TakeDocument = std::function<Result<void>(SourceDocument document)>;

/// Reads the documents of a file, or of a folder and all folders below it, in the order of their paths.
///
/// A file's ending determines its format: .html and .htm; .md and .markdown; .txt; .csv (the first row names
/// the columns, one of which is url); .xml (a sitemap, whose pages are read from files beside it). Everything
/// else is read as JSON lines, plain or compressed; "-" is standard input. Inside a folder, hidden files,
/// sitemaps, files with other endings and unreadable files are skipped.
///
/// out:    the files of a folder or sitemap that were skipped, as "FILE: why"
/// errors: those of `take`; for a single file also no_input and bad_data, with its place
/// cost:   the files of a folder are read on `threads` threads, one batch at a time
Result<std::vector<std::string>> read_documents(const std::string& path, const DocumentFileOptions& options,
                                                const TakeDocument& take);

/// Reads a document of a JSON object: its url, its texts and its numbers.
///
/// in:     place - of the object, for errors
/// errors: bad_data: a member that is neither a text nor a number
Result<SourceDocument> json_document(const JsonObject& object, const std::string& place);

/// Extracts title and text, and language and date if the page declares them. Scripts, styles and navigation
/// are left out. Any bytes are accepted as a page: libxml2 repairs malformed HTML.
SourceDocument html_document(std::string_view page);

/// The title is that of the front matter, else the first heading, else the first line. Language and date come
/// from the front matter (`language` or `lang`, `date`).
SourceDocument markdown_document(std::string_view text);

}  // namespace metafuse::fetchers
