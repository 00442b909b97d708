#include "service/answers/view.h"

#include <memory>

#include <ctemplate/template.h>
#include <ctemplate/template_cache.h>
#include <ctemplate/template_dictionary.h>

#include "core/contract.h"
#include "service/answers/page_files.h"

namespace metafuse::service {
namespace {

/// The pages, parsed once. ctemplate knows from the HTML around a value how it must be escaped, and replaces
/// URLs of other schemes than http, https, ftp and mailto.
const ctemplate::TemplateCache& parsed_pages() {
  static const std::unique_ptr<ctemplate::TemplateCache> cache = [] {
    auto made = std::make_unique<ctemplate::TemplateCache>();
    const std::string head(page_file("layout_head.html"));
    const std::string foot(page_file("layout_foot.html"));
    for (const PageFile& file : page_files()) {
      if (!file.name.ends_with(".html") || file.name.starts_with("layout_")) continue;
      const std::string name(file.name.substr(0, file.name.size() - 5));
      const std::string text = "{{%AUTOESCAPE context=\"HTML\"}}" + head + std::string(file.content) + foot;
      const bool is_parsed = made->StringToTemplateCache(name, text, ctemplate::STRIP_WHITESPACE);
      require(is_parsed, "a page's template does not parse");
    }
    made->Freeze();
    return made;
  }();
  return *cache;
}

void fill(const View& view, ctemplate::TemplateDictionary& dictionary) {
  for (const auto& [name, value] : view.values) dictionary.SetValue(name, value);
  for (const auto& [name, part] : view.parts) fill(part, *dictionary.AddSectionDictionary(name));
}

}  // namespace

std::string_view page_file(std::string_view name) {
  for (const PageFile& file : page_files())
    if (file.name == name) return file.content;
  return {};
}

std::string render_page(std::string_view page, const View& view) {
  ctemplate::TemplateDictionary dictionary("page");
  fill(view, dictionary);
  std::string out;
  const bool is_done =
      parsed_pages().ExpandNoLoad(std::string(page), ctemplate::STRIP_WHITESPACE, &dictionary, nullptr, &out);
  require(is_done, "no such page");
  return out;
}

}  // namespace metafuse::service
