#include "service/http/scan.h"

namespace metafuse::service {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kHeadEnd = "\r\n\r\n";

}  // namespace

std::size_t empty_lines_before(std::string_view text) {
  std::size_t bytes = 0;
  while (bytes < 2 * kLineEnd.size() && text.substr(bytes).starts_with(kLineEnd)) bytes += kLineEnd.size();
  return bytes;
}

std::optional<std::size_t> head_end(std::string_view text) {
  const std::size_t end = text.substr(0, kMaxHeadBytes).find(kHeadEnd);
  if (end == std::string_view::npos) return std::nullopt;
  return end + kHeadEnd.size();
}

std::optional<Refusal> hopeless_head(std::string_view text) {
  if (text.size() >= kMaxHeadBytes) {
    if (text.find(kLineEnd) > kMaxTargetBytes) return Refusal{414, "the request line is too long"};
    return Refusal{431, "the header is larger than 16 KiB"};
  }
  if (!text.empty() && (text.front() < 'A' || text.front() > 'z')) return Refusal{400, "no request line"};
  for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1))
    if (at == 0 || text[at - 1] != '\r') return Refusal{400, "a line does not end with CR LF"};
  return std::nullopt;
}

}  // namespace metafuse::service
