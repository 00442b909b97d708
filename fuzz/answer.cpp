#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fetchers/answers/answer_parser.h"

namespace {

using metafuse::fetchers::AnswerRules;
using Format = AnswerRules::Format;

AnswerRules rules_of(Format format) {
  const bool is_json = format == Format::json || format == Format::groonga;
  AnswerRules rules;
  rules.format = format;
  rules.results = is_json ? "results" : "//item";
  rules.url = is_json ? "url" : "./link";
  rules.title = is_json ? "title" : "./title";
  rules.content = is_json ? "content" : "./description";
  rules.suggestion = is_json ? "suggestions" : "//i";
  rules.is_content_html = true;
  return rules;
}

}  // namespace

/// An engine's answer, parsed in every format: the input is the body.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto parse = [&](const AnswerRules& rules, const char* content_type) {
    (void)metafuse::fetchers::parse_answer(rules, text, {"http://engine.example/search", content_type, ""});
  };
  for (const Format format : {Format::json, Format::groonga, Format::xml, Format::html})
    for (const char* content_type :
         {"", "text/x; charset=windows-1251", "text/x; charset=shift_jis", "text/x; charset=utf-16"})
      parse(rules_of(format), content_type);
  AnswerRules starred = rules_of(Format::json);
  starred.results = "$/groups/*/items";
  starred.url = {};
  starred.url_format = "http://engine.example/{@key}/{0}";
  parse(starred, "");
  AnswerRules zipped = rules_of(Format::json);
  zipped.results.clear();
  zipped.url = "$/1/*";
  parse(zipped, "");
  return 0;
}
