#include "fuzz/served_app.h"

/// Clicks and judgments. The input is the body; SEARCH in it stands for the id of a search that was answered.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace metafuse;
  using namespace metafuse::service;
  static const std::string id = [] {
    const HttpResponse answer = served(posted("/v1/search", "application/json", R"({"query":"ada"})"));
    return std::string(parse_json(body_of(answer), "answer")->at("search_id").as_string());
  }();
  std::string body(reinterpret_cast<const char*>(data), size);
  if (const std::size_t at = body.find("SEARCH"); at != std::string::npos) body.replace(at, 6, id);
  served(posted("/v1/feedback", "application/json", std::move(body)));
  return 0;
}
