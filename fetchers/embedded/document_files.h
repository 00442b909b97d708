#pragma once

// Documents as people have them: folders of HTML, Markdown and text, sitemaps, tables as CSV, and JSON lines.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/progress.h"
#include "core/result.h"

namespace metafuse::fetchers {

/// One document of an index.
struct SourceDocument {
  std::string url;
  std::map<std::string, std::string> fields;  ///< title, text and others, each a column of the index
  std::map<std::string, double> numbers;      ///< what `order_by` orders by
  std::string place;                          ///< where it was read: FILE or FILE:LINE
};

struct DocumentFileOptions {
  /// What the URL of a file begins with; the rest is its path below the folder. Empty: file://localhost/PATH.
  std::string base_url;
  unsigned threads = 1;
  /// True for a file of a folder or sitemap that needs not be read again; asked on the caller's thread. May
  /// be left out.
  std::function<bool(const std::string& path)> is_known{};
  ProgressReport progress{};  ///< files of a folder or sitemap that were read, of all
};

using TakeDocument = std::function<Result<void>(SourceDocument document)>;

/// Reads the documents of a file or of a folder with all its folders, in the order of their paths.
///
/// A file's ending says what it is: .html and .htm, .md and .markdown, .txt, .csv (the first row names the
/// columns, one of them url), .xml (a sitemap, whose pages are read from files beside it); everything else is
/// JSON lines, plain or compressed, "-" is standard input. In a folder, hidden files, sitemaps, files of
/// other endings and files that cannot be read are left out.
///
/// out:    the files of a folder or sitemap that were left out, as "FILE: why"
/// errors: those of `take`; of a single file no_input and bad_data with its place
/// cost:   the files of a folder are read on `threads` threads, a batch at a time
Result<std::vector<std::string>> read_documents(const std::string& path, const DocumentFileOptions& options,
                                                const TakeDocument& take);

/// Title, text, and language and date where the page names them. The text of scripts, styles and navigation
/// is left out. Any bytes are a page: libxml2 mends what is malformed.
SourceDocument html_document(std::string_view page);

/// The title is the front matter's, else the first heading, else the first line; language and date are the
/// front matter's (`language` or `lang`, `date`).
SourceDocument markdown_document(std::string_view text);

}  // namespace metafuse::fetchers
