#pragma once

#include <string>
#include <string_view>

#include "service/http/message.h"

namespace metafuse::service {

class Reloader;
struct Records;

/// The outcome of saving a domain's templates, as an HTTP status and a text.
struct SaveOutcome {
  /// 200 saved; 404 no such domain; 409 cannot be saved here; 412 the file changed; 422 mistakes; 503 another
  /// process is saving, or the disk or the store failed
  int status = 200;
  std::string text;  ///< the mistakes, one per line, or what happened
  std::string etag;  ///< of the file as it is now
};

/// Checks the text, keeps the version in the store, writes the file and reloads. If any step fails, the old
/// file stays. A lock on the file's folder allows one save at a time among all processes.
///
/// in: if_match - the If-Match header: the version that was edited, compared with the file on disk; author -
///     name of the key
SaveOutcome save_templates(Reloader& reloader, Records& records, const std::string& domain,
                           std::string_view text, std::string_view if_match, std::string_view author);

/// Whether If-Match or If-None-Match names an entity tag: "*", or a list of tags with or without quotes.
bool names_etag(std::string_view header, std::string_view etag);

}  // namespace metafuse::service
