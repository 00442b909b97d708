#include "service/http/message.h"

#include <algorithm>
#include <array>

#include "core/ascii.h"

namespace metafuse::service {
namespace {

std::string_view find_header(const std::vector<Header>& headers, std::string_view name) {
  for (const Header& header : headers)
    if (equal_ignoring_case(header.name, name)) return header.value;
  return {};
}

constexpr std::array<std::pair<int, std::string_view>, 30> kReasons = {{
    {100, "Continue"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {303, "See Other"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {505, "HTTP Version Not Supported"},
}};

}  // namespace

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return ascii_lower(x) == ascii_lower(y); });
}

std::string_view HttpRequest::header(std::string_view name) const {
  return find_header(headers, name);
}

std::string HttpRequest::list(std::string_view name) const {
  std::string out;
  for (const Header& header : headers)
    if (equal_ignoring_case(header.name, name)) out += (out.empty() ? "" : ", ") + header.value;
  return out;
}

std::optional<std::string_view> HttpRequest::parameter(std::string_view name) const {
  for (const auto& [key, value] : query)
    if (key == name) return value;
  return std::nullopt;
}

std::size_t HttpResponse::body_bytes() const {
  if (frame == nullptr) return body.size();
  std::size_t bytes = 0;
  for (const std::size_t filling : frame->gaps) bytes += fillings[filling].size();
  for (const std::string& part : frame->parts) bytes += part.size();
  return bytes;
}

void HttpResponse::set(std::string_view name, std::string_view value) {
  for (Header& header : headers) {
    if (!equal_ignoring_case(header.name, name)) continue;
    header.value = std::string(value);
    return;
  }
  headers.push_back({std::string(name), std::string(value)});
}

std::string_view HttpResponse::header(std::string_view name) const {
  return find_header(headers, name);
}

HttpResponse make_response(int status, std::string_view content_type, std::string body) {
  HttpResponse response;
  response.status = status;
  response.body = std::move(body);
  response.headers.push_back({"Content-Type", std::string(content_type)});
  return response;
}

std::string_view reason_of(int status) {
  const auto at =
      std::find_if(kReasons.begin(), kReasons.end(), [&](const auto& row) { return row.first == status; });
  return at == kReasons.end() ? "Unknown" : at->second;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string media_type(std::string_view content_type) {
  return ascii_lower(trimmed(content_type.substr(0, content_type.find(';'))));
}

}  // namespace metafuse::service
