#pragma once

// Reads documents from the files that people have: folders, single files, sitemaps, and tables.

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/progress.h"
#include "core/result.h"
#include "fetchers/documents/source_document.h"
#include "fetchers/documents/table_documents.h"

namespace metafuse::fetchers {

struct DocumentFileOptions {
  /// The beginning of a file's URL; its path below the folder is appended. Empty: file://localhost/PATH.
  /// Relative addresses in tables continue it too.
  std::string base_url;
  unsigned threads = 1;
  /// What was left out of a file, named by its file_key(), that has been read with this stamp and need not be
  /// read again (empty: nothing); nullopt for a file to read. Called on the caller's thread; optional.
  std::function<std::optional<std::string>(const std::string& key, const std::string& stamp)> known{};
  ProgressReport progress{};  ///< counts the files of a folder or sitemap
};

/// Checks that documents' URLs can begin so, because a search shows no result with any other.
/// in:     base - empty for the default; place - where it is written, for errors
/// errors: usage: not http://, https:// or file://, no host, or with ? or #
Result<void> check_base_url(const std::string& base, std::string_view place);

/// Checks that a document with this address can be a result: it has a key (core/url.h).
/// in:     place - of the document, for errors
/// errors: bad_data
Result<void> check_address(const std::string& url, std::string_view place);

/// What a file is known by whichever path it is named by: its absolute path, without "." and "..".
std::string file_key(const std::string& path);

/// What tells a file from what it was before: its size and time, and `about`, which its documents depend on
/// besides. Empty, so that it will be read again, if there is no such file, or if it has changed so recently
/// that another change could leave the same time.
std::string stamp_of(const std::string& path, std::string_view about = {});

/// A file that is not in the index, or some rows of it, or the end of its text.
struct LeftOutFile {
  std::string path;
  std::string kind;  ///< its name in file_kinds()
  std::string why;
  /// The file's stamp, if the same would be left out of it when it is read again; else empty.
  std::string stamp{};
};

/// What was read, and what was not.
struct ReadReport {
  std::map<std::string, std::size_t> files;  ///< read, by the name of their kind
  std::vector<LeftOutFile> left_out;

  void add(const ReadReport& other);
};

/// Reads the documents of a file, or of a folder and all folders below it, in the order of their paths.
///
/// A file's kind (file_kinds.h) is told by the ending of its name, else by its content; .gz, .xz and .zst are
/// decompressed. A sitemap's pages are read from files beside it. "-" is standard input with JSON lines, and
/// so is a single file of no known kind that begins with "{". Inside a folder, a CSV file without a column
/// url is a text, and these are skipped: hidden files, symbolic links, sitemaps, what is more than 100
/// folders deep, files of kinds that are left out, files and folders that cannot be read, and configurations
/// of metafuse with their keys: every folder below with a metafuse.yaml, and if the folder itself has one,
/// its YAML files. Of a table, the rows are left out that are malformed or have an address that no result can
/// have; of all files the documents that `take` refuses with bad_data; of a text that is too long, the end.
///
/// errors: those of `take`; for a single file also no_input, unless it is empty, and bad_data, with its place
/// cost:   the files of a folder are read on `threads` threads, one batch at a time
Result<ReadReport> read_documents(const std::string& path, const DocumentFileOptions& options,
                                  const TakeDocument& take);

}  // namespace metafuse::fetchers
