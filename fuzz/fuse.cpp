#include "core/contract.h"
#include "core/json.h"
#include "service/api/fusing.h"

/// Requests that fuse callers' lists: the input is one request per line.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace metafuse;
  std::string lines = service::fuse_lines({reinterpret_cast<const char*>(data), size}, {});
  for (std::size_t end = lines.find('\n'); end != std::string::npos; end = lines.find('\n')) {
    require(parse_json(lines.substr(0, end), "answer").has_value(), "an answer is JSON");
    lines.erase(0, end + 1);
  }
  return 0;
}
