#pragma once

#include <string>
#include <string_view>

#include "service/http/message.h"

namespace metafuse::service {

class Reloader;
struct Records;

/// What became of a wish to save a domain's templates, as an HTTP status and a text.
struct SaveOutcome {
  /// 200 saved, 404 no such domain, 409 cannot be saved here, 412 the file changed, 422 mistakes, 503 another
  /// process is saving, or the disk or the store refuses
  int status = 200;
  std::string text;  ///< the mistakes, one per line, or what happened
  std::string etag;  ///< of the file as it now stands
};

/// Checks, keeps the version in the store, writes the file and reloads; when anything refuses, the old file
/// stays. One save at a time, of all processes that lock the file's folder.
///
/// in:  if_match - which file was edited, as If-Match says it, compared with what lies on disk; author - name
///      of the key
SaveOutcome save_templates(Reloader& reloader, Records& records, const std::string& domain,
                           std::string_view text, std::string_view if_match, std::string_view author);

/// Whether If-Match or If-None-Match names an entity tag: "*", or a list of tags with or without quotes.
bool names_etag(std::string_view header, std::string_view etag);

}  // namespace metafuse::service
