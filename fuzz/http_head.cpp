#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "service/http/head.h"
#include "service/http/message.h"

namespace {

using namespace metafuse::service;

void read(std::string_view text) {
  const std::string_view rest = text.substr(empty_lines_before(text));
  HttpHead head;
  if (const auto end = head_end(rest))
    (void)parse_head(rest.substr(0, *end), 1 << 20, head);
  else
    (void)hopeless_head(rest);
  (void)parse_head(text, 1 << 20, head);
  (void)parse_form(text);
}

/// Whatever a header contains, the answer's head must consist of the expected lines.
void write(std::string_view text) {
  HttpResponse response;
  response.set("X-Value", text);
  response.set(text, "value");
  const std::string head = response_head(response, {});
  const auto lines = std::count(head.begin(), head.end(), '\n');
  if (lines > 5 || head.find("\r\n\r\n") != head.size() - 4) std::abort();
}

}  // namespace

/// The input is the head (or form) of a request, and then the name and the value of a header in an answer.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read(text);
  write(text);
  return 0;
}
