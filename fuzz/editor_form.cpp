#include "fuzz/served_app.h"
#include "service/search/template_editing.h"

/// The forms of the template editor and of the page of models: the input is the form.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace metafuse::service;
  const std::string form(reinterpret_cast<const char*>(data), size);
  const std::string_view type = "application/x-www-form-urlencoded";
  served(posted("/templates/pages", type, form), max_preview_answer(size));
  served(posted("/models/pages", type, form));
  return 0;
}
