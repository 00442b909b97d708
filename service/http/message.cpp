#include "service/http/message.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/text.h"

namespace metafuse::service {
namespace {

std::string_view find_header(const std::vector<Header>& headers, std::string_view name) {
  for (const Header& header : headers)
    if (equal_ignoring_case(header.name, name)) return header.value;
  return {};
}

constexpr std::array<std::pair<int, std::string_view>, 29> kReasons = {{
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

bool is_safe(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

bool is_safe(const Header& header) {
  return !header.name.empty() && is_safe(header.name) && header.name.find(':') == std::string::npos &&
         is_safe(header.value);
}

void append_decimal(std::string& out, std::size_t value, int base = 10) {
  std::array<char, 24> digits{};
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), value, base);
  out.append(digits.data(), written.ptr);
}

}  // namespace

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

HttpResponse json_response(const JsonObject& body) {
  return make_response(200, "application/json", to_text(body));
}

HttpResponse problem_response(int status, std::string_view text) {
  const JsonObject body{
      {"type", "about:blank"}, {"title", reason_of(status)}, {"status", status}, {"detail", text}};
  return make_response(status, "application/problem+json", to_text(body) + "\n");
}

HttpResponse html_response(std::string page, int status) {
  return make_response(status, "text/html; charset=utf-8", std::move(page));
}

std::string_view reason_of(int status) {
  const auto at =
      std::find_if(kReasons.begin(), kReasons.end(), [&](const auto& row) { return row.first == status; });
  return at == kReasons.end() ? "Unknown" : at->second;
}

std::string_view trimmed(std::string_view text) {
  return ascii_trimmed(text, " \t");
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) out.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

std::string media_type(std::string_view content_type) {
  return ascii_lower(trimmed(content_type.substr(0, content_type.find(';'))));
}

Result<JsonObject> json_body(const HttpRequest& request) {
  JsonLimits limits;
  limits.max_depth = 32;
  TRY(auto value, parse_json(request.body, "body", Code::usage, limits));
  if (!value.is_object()) return fail(Code::usage, "the body must be a JSON object");
  return std::move(value.as_object());
}

bool has_body(int status) {
  return status != 204 && status != 304;
}

bool names_etag(std::string_view header, std::string_view etag, EtagComparison comparison) {
  while (!header.empty()) {
    std::string_view item = trimmed(take_until(header, ','));
    if (item == "*") return true;
    if (comparison == EtagComparison::weak && item.starts_with("W/")) item.remove_prefix(2);
    if (item.size() >= 2 && item.front() == '"' && item.back() == '"') item = item.substr(1, item.size() - 2);
    if (item == etag) return true;
  }
  return false;
}

void set_etag(const HttpRequest& request, std::string_view etag, HttpResponse& response) {
  response.set("ETag", '"' + std::string(etag) + '"');
  if (!names_etag(request.list("If-None-Match"), etag, EtagComparison::weak)) return;
  response.status = 304;
  response.body.clear();
}

std::string response_head(const HttpResponse& response, const ResponseFraming& framing) {
  std::string out;
  out.reserve(1024);
  out += "HTTP/1.1 ";
  append_decimal(out, static_cast<std::size_t>(response.status));
  out += ' ';
  out += reason_of(response.status);
  out += "\r\n";
  for (const Header& header : response.headers) {
    if (!is_safe(header)) continue;
    out += header.name;
    out += ": ";
    out += header.value;
    out += "\r\n";
  }
  if (framing.is_piecewise) {
    if (!framing.is_http_1_0) out += "Transfer-Encoding: chunked\r\n";
  } else if (has_body(response.status)) {
    out += "Content-Length: ";
    append_decimal(out, response.body_bytes());
    out += "\r\n";
  }
  if (!framing.keeps_alive)
    out += "Connection: close\r\n";
  else if (framing.is_http_1_0)
    out += "Connection: keep-alive\r\n";
  return out += "\r\n";
}

std::string chunk_of(std::string piece) {
  std::string out;
  out.reserve(piece.size() + 24);
  append_decimal(out, piece.size(), 16);
  out += "\r\n";
  out += piece;
  return out += "\r\n";
}

}  // namespace metafuse::service
