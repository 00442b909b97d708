#include "fetchers/answers/hit_builder.h"
#include "fetchers/answers/json_tree.h"

namespace metafuse::fetchers::parsers {
namespace {

/// The place of a column in groonga's header [["_key","ShortText"], ...].
std::optional<std::size_t> column_of(simdjson::dom::array header, std::string_view name) {
  std::size_t index = 0;
  for (const element column : header) {
    element label;
    if (column.at_pointer("/0").get(label) == simdjson::SUCCESS && label.is_string() &&
        std::string_view(label) == name)
      return index;
    ++index;
  }
  return std::nullopt;
}

}  // namespace

/// [[status, start, elapsed, message], [[[count], [[column, type]...], [value...]...]]]
Result<RankedList> parse_groonga_answer(const AnswerRules& rules, std::string_view body,
                                        const AnswerContext& context) {
  const JsonTree tree(body, context);
  if (!tree.root()) return tree.root().error();
  const element root = *tree.root();
  int64_t status = 0;
  if (root.at_pointer("/0/0").get(status) != simdjson::SUCCESS)
    return fail(Code::bad_data, "the answer is no answer of groonga's select");
  if (element message; status != 0) {
    std::optional<PartText> text;
    if (root.at_pointer("/0/3").get(message) == simdjson::SUCCESS) text = text_of(message);
    return fail(Code::bad_data,
                "the engine says: " + (text ? std::string(text->view()) : std::to_string(status)));
  }
  simdjson::dom::array header, rows;
  if (root.at_pointer("/1/0/1").get(header) != simdjson::SUCCESS ||
      root.at_pointer("/1/0").get(rows) != simdjson::SUCCESS)
    return fail(Code::bad_data, "groonga's answer holds no table of results");
  RankedList list;
  std::size_t index = 0;
  for (const element row : rows) {
    if (index++ < 2 || !row.is_array()) continue;
    const PartOf part_of = [&](const std::string& name) -> std::optional<PartText> {
      const auto column = name.empty() ? std::nullopt : column_of(header, name);
      element value;
      if (!column || simdjson::dom::array(row).at(*column).get(value) != simdjson::SUCCESS)
        return std::nullopt;
      return text_of(value);
    };
    append_hit(list, read_raw_hit(rules, part_of, context), rules, context, false);
  }
  return list;
}

}  // namespace metafuse::fetchers::parsers
