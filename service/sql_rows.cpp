#include "service/sql_rows.h"

namespace metafuse::service {

Result<StoredSearch> read_search_row(SqlRow row) {
  StoredSearch search;
  search.id = text_of(row[0]);
  search.domain = text_of(row[1]);
  search.query = text_of(row[2]);
  auto slots = read_slots_text(text_of(row[3]));
  if (slots.has_error()) return slots.error();
  search.slots = std::move(*slots);
  search.at = integer_of(row[4]);
  search.model = text_of(row[5]);
  search.challenger = text_of(row[6]);
  auto lists = read_lists_text(text_of(row[7]), search);
  if (lists.has_error()) return lists.error();
  return search;
}

Click read_click_row(SqlRow row) {
  Click click;
  click.search = text_of(row[0]);
  click.position = static_cast<std::uint32_t>(integer_of(row[1]));
  click.domain = text_of(row[2]);
  click.team = static_cast<Team>(integer_of(row[3]));
  click.at = integer_of(row[4]);
  click.prefix = text_of(row[5]);
  click.key = text_of(row[6]);
  click.weight = number_of(row[7]);
  return click;
}

StoredJudgment read_judgment_row(SqlRow row) {
  StoredJudgment judgment;
  judgment.domain = text_of(row[0]);
  judgment.query = text_of(row[1]);
  judgment.document = text_of(row[2]);
  judgment.judge = text_of(row[3]);
  judgment.grade = static_cast<int>(integer_of(row[4]));
  judgment.search = text_of(row[5]);
  judgment.at = integer_of(row[6]);
  return judgment;
}

TemplateVersion read_template_row(SqlRow row) {
  TemplateVersion version;
  version.domain = text_of(row[0]);
  version.number = static_cast<std::uint32_t>(integer_of(row[1]));
  version.text = text_of(row[2]);
  version.author = text_of(row[3]);
  version.at = integer_of(row[4]);
  return version;
}

}  // namespace metafuse::service
