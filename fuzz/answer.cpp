#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fetchers/answer_parser.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  using Format = metafuse::fetchers::AnswerRules::Format;
  for (const Format format : {Format::json, Format::xml, Format::html}) {
    metafuse::fetchers::AnswerRules rules;
    rules.format = format;
    rules.results = format == Format::json ? "results" : "//item";
    rules.url = format == Format::json ? "url" : "./link";
    rules.title = format == Format::json ? "title" : "./title";
    rules.content = format == Format::json ? "content" : "./description";
    (void)metafuse::fetchers::parse_answer(rules, text, {"http://engine.example/search", "", ""});
  }
  return 0;
}
