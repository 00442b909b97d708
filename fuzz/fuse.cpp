#include <string>
#include <string_view>

#include "core/contract.h"
#include "core/json.h"
#include "service/api/fusing.h"

/// Requests that fuse callers' lists: the input is one request per line.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace metafuse;
  const std::string answers = service::fuse_lines({reinterpret_cast<const char*>(data), size}, {});
  std::string_view left = answers;
  for (std::size_t end = left.find('\n'); end != std::string_view::npos; end = left.find('\n')) {
    require(parse_json(left.substr(0, end), "answer").has_value(), "an answer is JSON");
    left.remove_prefix(end + 1);
  }
  return 0;
}
