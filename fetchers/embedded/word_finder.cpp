#include "fetchers/embedded/word_finder.h"

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
  const std::string sql = fmt::format(
      "CREATE VIRTUAL TABLE texts USING fts5(text, content='', tokenize='{}');"
      "CREATE VIRTUAL TABLE words USING fts5vocab(texts, instance);",
      tokenizer_arguments(tokenizer));
  TRY_VOID(database.run(sql.c_str()));
  TRY(auto insert, database.prepare("INSERT INTO texts(rowid, text) VALUES(1, ?)", true));
  TRY(auto select, database.prepare("SELECT term, count(*) FROM words GROUP BY term", true));
  finder.database_ = std::make_unique<SqliteDatabase>(std::move(database));
  finder.insert_ = std::move(insert);
  finder.select_ = std::move(select);
  return finder;
}

Result<void> WordFinder::for_each_word(std::string_view text, const Take& take) {
  insert_.bind(1, text);
  TRY_VOID(insert_.step());
  insert_.reset();
  while (true) {
    TRY(const bool has_row, select_.step());
    if (!has_row) break;
    TRY_VOID(take(select_.text(0), select_.integer(1)));
  }
  select_.reset();
  return database_->run("INSERT INTO texts(texts) VALUES('delete-all');");
}

}  // namespace metafuse::fetchers
