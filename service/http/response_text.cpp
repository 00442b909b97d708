#include "service/http/response_text.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace metafuse::service {
namespace {

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

bool has_body(int status) {
  return status != 204 && status != 304;
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
