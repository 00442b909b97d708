#include "fetchers/engines/index/word_finder.h"

#include <utility>

#include <fmt/format.h>

namespace metafuse::fetchers {

std::string_view tokenizer_arguments(std::string_view tokenizer) {
  if (tokenizer == "trigram") return "trigram";
  return tokenizer == "porter" ? "porter unicode61 remove_diacritics 2" : "unicode61 remove_diacritics 2";
}

Result<WordFinder> WordFinder::make(std::string_view tokenizer) {
  WordFinder finder;
  TRY(auto database, SqliteDatabase::open(":memory:", {.mode = SqliteMode::create}));
  TRY_VOID(
      database.run(fmt::format("CREATE VIRTUAL TABLE texts USING fts5(text, content='', tokenize='{}');"
                               "CREATE VIRTUAL TABLE words USING fts5vocab(texts, instance);",
                               tokenizer_arguments(tokenizer))));
  TRY(finder.insert_, database.prepare("INSERT INTO texts(rowid, text) VALUES(1, ?)", true));
  TRY(finder.select_, database.prepare("SELECT term, count(*) FROM words GROUP BY term", true));
  finder.database_ = std::make_unique<SqliteDatabase>(std::move(database));
  return finder;
}

Result<void> WordFinder::for_each_word(std::string_view text, const Take& take) {
  TRY_VOID(insert_.run(text));
  TRY_VOID(select_.for_each_row([&](const SqliteRow& row) { return take(row.text(0), row.integer(1)); }));
  return database_->run("INSERT INTO texts(texts) VALUES('delete-all');");
}

Result<void> for_each_indexed_word(
    SqliteDatabase& database, const WordOccurrences& occurrences,
    const std::function<Result<void>(const std::string& word, const std::vector<Posting>& postings)>& take) {
  TRY_VOID(database.run("CREATE VIRTUAL TABLE temp.occurrences USING fts5vocab('main', '" +
                        occurrences.table + "', 'instance');"));
  std::string word;
  std::vector<Posting> postings;
  std::size_t seen = 0;
  const auto take_place = [&](const SqliteRow& row) -> Result<void> {
    if (++seen % 4096 == 0) TRY_VOID(check_interrupt(occurrences.is_interrupted));
    if (row.text(0) != word) {
      if (!postings.empty()) TRY_VOID(take(word, postings));
      word = row.text(0);
      postings.clear();
    }
    const auto document = static_cast<std::uint32_t>(row.integer(1));
    if (postings.empty() || postings.back().document != document) postings.push_back({document, 0});
    ++postings.back().count;
    return {};
  };
  {
    TRY(auto rows,
        database.prepare(fmt::format("SELECT term, doc FROM temp.occurrences{}", occurrences.condition)));
    TRY_VOID(rows.for_each_row(take_place));
  }
  if (!postings.empty()) TRY_VOID(take(word, postings));
  return database.run("DROP TABLE temp.occurrences;");
}

}  // namespace metafuse::fetchers
