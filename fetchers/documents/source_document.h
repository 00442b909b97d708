#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/text.h"

namespace metafuse::fetchers {

/// One document of an index.
struct SourceDocument {
  std::string url;
  std::map<std::string, std::string> fields;  ///< title, text and others, one column of the index each
  std::map<std::string, double> numbers;      ///< fields for `order_by`
  std::string place;                          ///< where it was read from: FILE or FILE:LINE
  std::string file;                           ///< that file (see file_key()); empty if it is not from a file
  std::string stamp;                          ///< of that file before it was read; see stamp_of()
  std::string ends_at;  ///< "4 MiB": where the text ends though the file's goes on; empty if it has all
};

/// Sets a field, unless the value is empty.
inline void set_field(SourceDocument& document, const char* name, std::string value) {
  if (!value.empty()) document.fields[name] = std::move(value);
}

/// Of longer texts, documents keep the beginning.
inline constexpr std::size_t kMostDocumentText = std::size_t{4} << 20;

/// Sets the text, or its beginning. One of nearly this size has been cut between two characters.
inline void set_text(SourceDocument& document, std::string_view text) {
  if (text.size() + 4 > kMostDocumentText) document.ends_at = "4 MiB";
  set_field(document, "text", std::string(truncate_utf8(text, kMostDocumentText)));
}

/// The documents in a file's bytes. Their URLs are empty, or "#/N" for the N-th of several.
using ReadDocuments = Result<std::vector<SourceDocument>> (*)(std::string_view bytes);

}  // namespace metafuse::fetchers
