#include "fuzz/served_app.h"
#include "service/search/template_editing.h"

/// An edited template file in an administrator's preview: the input is the file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace metafuse::service;
  const std::string text = metafuse::to_valid_utf8({reinterpret_cast<const char*>(data), size});
  for (const bool is_live : {false, true}) {
    std::string body =
        metafuse::to_text(metafuse::JsonObject{{"text", text}, {"query", "ada lovelace"}, {"live", is_live}});
    const std::size_t most = max_preview_answer(body.size());
    served(posted("/v1/templates/pages/preview", "application/json", std::move(body)), most);
  }
  return 0;
}
