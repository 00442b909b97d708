#include "core/url.h"

#include <memory>

#include <curl/curl.h>

namespace metafuse {
namespace {

constexpr std::size_t kMaxUrlBytes = 8192;

struct UrlCleanup {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};

std::string part_of(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, 0) != CURLUE_OK) return {};
  std::string out = text;
  curl_free(text);
  return out;
}

}  // namespace

Result<std::string> canonical_url_key(std::string_view text) {
  if (text.size() > kMaxUrlBytes) return fail(Code::bad_data, "a URL longer than 8192 bytes");
  const std::unique_ptr<CURLU, UrlCleanup> url(curl_url());
  if (curl_url_set(url.get(), CURLUPART_URL, std::string(text).c_str(),
                   CURLU_NON_SUPPORT_SCHEME | CURLU_URLENCODE) != CURLUE_OK)
    return fail(Code::bad_data, "not an absolute URL: " + std::string(text.substr(0, 200)));
  std::string host = part_of(url.get(), CURLUPART_HOST);
  if (host.starts_with("www.")) host.erase(0, 4);
  const std::string port = part_of(url.get(), CURLUPART_PORT);
  std::string path = part_of(url.get(), CURLUPART_PATH);
  while (path.ends_with('/')) path.pop_back();
  const std::string query = part_of(url.get(), CURLUPART_QUERY);
  std::string key = host;
  if (!port.empty()) key += ':' + port;
  key += path;
  if (!query.empty()) key += '?' + query;
  return key;
}

}  // namespace metafuse
