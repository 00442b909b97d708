#include "fuzz/served_app.h"

/// Messages in both forms of the Model Context Protocol: the input is the body.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace metafuse::service;
  const std::string body(reinterpret_cast<const char*>(data), size);
  served(posted("/mcp", "application/json", body));
  HttpRequest stateless = posted("/mcp", "application/json", body);
  stateless.headers.push_back({"MCP-Protocol-Version", "2026-07-28"});
  stateless.headers.push_back({"Mcp-Method", "tools/call"});
  stateless.headers.push_back({"Mcp-Name", "web_search"});
  served(std::move(stateless));
  return 0;
}
