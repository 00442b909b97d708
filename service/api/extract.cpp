#include <chrono>
#include <string>
#include <vector>

#include "core/encoding.h"
#include "core/json.h"
#include "service/access/gate.h"
#include "service/api/handlers.h"
#include "service/base/dates.h"
#include "service/base/signed_links.h"
#include "service/http/json_fields.h"
#include "service/http/message.h"
#include "service/search/indexed_pages.h"
#include "service/search/picture_reader.h"

// What the server fetches or reads for others: web pages as text (/extract in Tavily's dialect), the pictures
// beside results, and local files that are results.

namespace metafuse::service {
namespace {

/// What a request to /extract in Tavily's dialect asks for.
struct Extraction {
  std::vector<std::string> urls;
  fetchers::PageForm form = fetchers::PageForm::markdown;
  double seconds = 10;
  bool wants_favicon = false;
};

Result<Extraction> read_extraction(const JsonObject& body) {
  JsonFields fields(body);
  Extraction out;
  const Json* urls = body.if_contains("urls");
  if (urls != nullptr && urls->is_string())
    out.urls.push_back(fields.text("urls", PageReader::kMaxUrlBytes).value_or(""));
  else
    out.urls = fields.texts("urls", PageReader::kMostPages, PageReader::kMaxUrlBytes);
  if (out.urls.empty()) fields.set_mistake("urls is missing: give a URL, or a list of up to 20.");
  const std::string format = fields.text("format", 20).value_or("markdown");
  if (format != "markdown" && format != "text") fields.set_mistake("Invalid format: \"" + format + "\"");
  out.form = format == "text" ? fetchers::PageForm::text : fetchers::PageForm::markdown;
  const std::string depth = fields.text("extract_depth", 20).value_or("basic");
  if (depth != "basic" && depth != "advanced") fields.set_mistake("Invalid extract_depth: \"" + depth + "\"");
  out.seconds = fields.number("timeout", 1, 60).value_or(depth == "advanced" ? 30 : 10);
  out.wants_favicon = fields.flag("include_favicon").value_or(false);
  if (fields.has_failed()) return fields.error();
  return out;
}

}  // namespace

Answered handle_extract(PageReader& pages, Gate& gate, const Clock& clock, const Exchange& exchange) {
  if (const auto access = check_page_access(exchange.snapshot->config.pages, exchange.key != nullptr);
      !access)
    return refusal(403, access.error().text);
  TRY(const auto body, json_body(exchange.request));
  TRY(const auto wanted, read_extraction(body));
  if (auto refused = gate.admit_more(exchange, static_cast<double>(wanted.urls.size()) - 1))
    return std::move(*refused);
  const auto read = read_pages(pages, exchange, wanted.urls, wanted.form, duration_of(wanted.seconds));
  JsonArray results;
  JsonArray failed;
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (!read[i]) {
      failed.push_back(JsonObject{{"url", wanted.urls[i]}, {"error", read[i].error().text}});
      continue;
    }
    JsonObject result{{"url", wanted.urls[i]}, {"raw_content", (*read[i])->text}, {"images", JsonArray{}}};
    if (!(*read[i])->title.empty()) result["title"] = (*read[i])->title;
    if (wanted.wants_favicon) result["favicon"] = nullptr;
    results.push_back(std::move(result));
  }
  JsonObject out;
  out["results"] = std::move(results);
  out["failed_results"] = std::move(failed);
  out["response_time"] = std::chrono::duration<double>(clock.now() - exchange.arrived).count();
  return json_response(out);
}

Answered handle_picture(PictureReader& pictures, const Exchange& exchange) {
  const PictureLinks links = pictures.links();
  for (const PictureKind kind : {PictureKind::icon, PictureKind::thumbnail}) {
    const auto text = exchange.request.parameter(name_of(kind));
    if (!text) continue;
    const std::string url =
        links.picture_url(kind, std::string(*text), exchange.request.parameter("sign").value_or(""));
    if (url.empty()) break;
    const auto picture = pictures.read(kind, url);
    if (!picture && picture.error().code == Code::try_again) return refusal(503, picture.error().text);
    HttpResponse response =
        picture ? make_response(200, (*picture)->media_type, (*picture)->bytes)
                : make_response(404, "text/plain; charset=utf-8", "there is no such picture\n");
    response.set("Cache-Control", picture ? "private, max-age=86400" : "private, max-age=600");
    return response;
  }
  return refusal(404, "pictures are off, or this server did not make the link");
}

Answered handle_file(PictureReader& pictures, const Exchange& exchange) {
  const FileLinks links{pictures.links().secret, exchange.snapshot->config.files};
  const std::string path(exchange.request.parameter("path").value_or(""));
  if (!links.has_signed(exchange.path_values.front(), path, exchange.request.parameter("sign").value_or("")))
    return refusal(404, "files are not handed out, or this server did not make the link");
  TRY(auto file, read_local_file(links.folders, path));
  HttpResponse response = make_response(200, file.media_type, std::move(file.bytes));
  const std::string name = percent_encoded(file.name);
  response.set("Content-Disposition",
               (file.is_shown ? "inline; filename*=UTF-8''" : "attachment; filename*=UTF-8''") + name);
  // A page from the folder runs no scripts, loads nothing, and has an opaque origin.
  response.set(
      "Content-Security-Policy",
      "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'");
  response.set("Cache-Control", "private, no-cache");
  return response;
}

}  // namespace metafuse::service
