#include "service/store/sql_rows.h"

namespace metafuse::service {

Result<StoredSearch> read_search_row(SqlRow row) {
  StoredSearch search;
  search.id = text_of(row[0]);
  search.domain = text_of(row[1]);
  search.query = text_of(row[2]);
  TRY(auto slots, read_slots_text(text_of(row[3])));
  search.slots = std::move(slots);
  search.at = integer_of(row[4]);
  search.model = text_of(row[5]);
  search.challenger = text_of(row[6]);
  TRY_VOID(read_lists_text(text_of(row[7]), search));
  search.times = static_cast<std::uint64_t>(integer_of(row[8]));
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

Result<void> write_judgment(SqlSession& session, const StoredJudgment& judgment) {
  return session.run(
      "INSERT INTO judgments (domain, query, document, judge, grade, search, at) "
      "VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (domain, query, document, judge) "
      "DO UPDATE SET grade = excluded.grade, search = excluded.search, at = excluded.at",
      {judgment.domain, judgment.query, judgment.document, judgment.judge, std::int64_t{judgment.grade},
       judgment.search, judgment.at});
}

TakeRow into(std::string& text) {
  return [&text](SqlRow row) -> Result<void> {
    text = text_of(row[0]);
    return {};
  };
}
TakeRow into(std::int64_t& value) {
  return [&value](SqlRow row) -> Result<void> {
    value = integer_of(row[0]);
    return {};
  };
}
TakeRow into(double& value) {
  return [&value](SqlRow row) -> Result<void> {
    value = number_of(row[0]);
    return {};
  };
}

Result<std::int64_t> count_rows(SqlSession& session, std::string_view sql,
                                std::initializer_list<SqlValue> values) {
  std::int64_t rows = 0;
  TRY_VOID(session.run(sql, values, [&](SqlRow) -> Result<void> {
    ++rows;
    return {};
  }));
  return rows;
}

}  // namespace metafuse::service
