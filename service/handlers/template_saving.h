#pragma once

#include <string>
#include <string_view>

#include "service/http/message.h"

namespace metafuse::service {

class App;

/// What became of a wish to save a domain's templates, as an HTTP status and a text.
struct SaveOutcome {
  int status =
      200;  ///< 200 saved, 404 no such domain, 409 cannot be saved here, 412 the file changed, 422 mistakes
  std::string text;  ///< the mistakes, a line each, or what happened
  std::string etag;  ///< of the file as it now stands
};

/// Checks, keeps the version in the store, writes the file and reloads; when anything refuses, the old file
/// stays. One save at a time.
///
/// in:  etag - of the file that was edited; author - name of the key
SaveOutcome save_templates(App& app, const std::string& domain, std::string_view text, std::string_view etag,
                           std::string_view author);

/// The entity tag of If-Match without its quotes, empty when there is none.
std::string wanted_etag(const HttpRequest& request);

/// The outcome as /v1/templates answers it.
HttpResponse saved_response(const SaveOutcome& outcome);

}  // namespace metafuse::service
