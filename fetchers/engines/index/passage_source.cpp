#include "fetchers/engines/index/passage_source.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/file_pool.h"
#include "core/text.h"
#include "core/url.h"
#include "fetchers/engines/index/analysis.h"
#include "fetchers/engines/index/local_engine.h"
#include "fetchers/engines/index/packed_text.h"
#include "fetchers/engines/index/passages.h"
#include "fetchers/engines/index/word_lists.h"

namespace metafuse::fetchers {

namespace detail {

/// A connection and what looking up texts and the rarity of words needs.
struct TextConnection {
  SqliteDatabase database;
  SqliteStatement text;
  ListReader lists;
  std::uint64_t documents = 0;
  std::string language;  ///< of documents that do not state theirs
  std::vector<StopWords> stop_words;
};

}  // namespace detail

namespace {

using detail::TextConnection;

constexpr std::size_t kMostAskedWords = 64;
constexpr std::size_t kMostSimilarUrls = 100;

/// The table in which documents are found by their addresses; nullopt for some indexes of older programs.
std::optional<std::string_view> table_by_url(SqliteDatabase& index) {
  if (finds_row(index, "SELECT 1 FROM sqlite_master WHERE name='sources'")) return "sources";
  if (finds_row(index, "SELECT 1 FROM sqlite_master WHERE name='pages_by_url'")) return "pages";
  return std::nullopt;
}

Result<std::unique_ptr<TextConnection>> connect_to_texts(const std::string& path) {
  TRY(auto database, open_index(path));
  TRY(const auto shape, read_list_shape(database));
  TRY(const auto languages, read_languages(database));
  TRY(auto lists, ListReader::open(database, shape.kinds.front()));
  TRY(auto text, database.prepare("SELECT text FROM texts WHERE id=?", true));
  TRY(auto count, database.prepare("SELECT count(*) FROM pages"));
  std::uint64_t documents = 0;
  TRY_VOID(count.for_each_row(
      [&](const SqliteRow& row) { documents = static_cast<std::uint64_t>(row.integer(0)); }));
  std::vector<StopWords> stop_words(languages.begin(), languages.end());
  return std::make_unique<TextConnection>(TextConnection{std::move(database), std::move(text),
                                                         std::move(lists), documents, shape.language,
                                                         std::move(stop_words)});
}

/// The words of a query; stop words only if there are no others.
std::vector<std::string> asked_words(std::string_view text, const std::vector<StopWords>& stop_words) {
  std::vector<std::string> all, telling;
  for (WordCutter cutter(text); cutter.next() && all.size() < kMostAskedWords;) {
    all.emplace_back(cutter.word());
    const bool is_stop_word = std::any_of(stop_words.begin(), stop_words.end(), [&](const StopWords& words) {
      return words.contains(cutter.word());
    });
    if (!is_stop_word) telling.emplace_back(cutter.word());
  }
  return telling.empty() ? all : telling;
}

/// Words with their inverse document frequencies.
Result<PassageWords> weighted_words(TextConnection& connection, const std::vector<std::string>& words,
                                    const std::string& language) {
  WordForms forms(connection.lists.kind(), language);
  std::vector<PassageWord> weighted;
  for (const std::string& word : words) {
    const std::string form = forms.of(word).front();
    TRY(const auto listed, connection.lists.find(form));
    const double share =
        (static_cast<double>(listed.documents) + 0.5) / (static_cast<double>(connection.documents) + 1);
    weighted.push_back({word, std::max(0.1, -std::log2(std::min(share, 1.0)))});
  }
  return PassageWords(weighted, language);
}

/// The text that a hit's passage is taken from.
///
/// in: id - the hit's in the index
Result<std::string> text_of_hit(TextConnection& connection, const Hit& hit, std::int64_t id) {
  connection.text.bind(id);
  std::optional<Result<std::string>> found;
  TRY_VOID(connection.text.for_each_row(
      [&](const SqliteRow& row) { found = unpacked_text(row.bytes(0), kKeptTextBytes); }));
  return found ? std::move(*found) : Result<std::string>(hit.snippet);
}

Result<std::vector<Passage>> passages_of(TextConnection& connection, std::string_view asked,
                                         std::span<const Hit* const> hits, const TrackingParameters& tracking,
                                         const Deadline& deadline) {
  std::vector<std::string> urls;
  for (const Hit* const hit : hits) urls.push_back(hit->url);
  TRY(const auto ids, ids_of_results(connection.database, urls, tracking));
  const auto words = asked_words(asked, connection.stop_words);
  std::map<std::string, PassageWords> by_language;
  std::vector<Passage> out(hits.size());
  for (std::size_t i = 0; i < hits.size() && !deadline.has_passed(); ++i) {
    const std::string& stated = hits[i]->language;
    const std::string language = stated.empty() ? connection.language : stated.substr(0, stated.find('-'));
    auto found = by_language.find(language);
    if (found == by_language.end()) {
      TRY(auto weighted, weighted_words(connection, words, language));
      found = by_language.emplace(language, std::move(weighted)).first;
    }
    TRY(const std::string text, text_of_hit(connection, *hits[i], ids[i]));
    out[i] = best_passage(text, found->second);
  }
  return out;
}

}  // namespace

Result<std::vector<std::int64_t>> ids_of_urls(SqliteDatabase& index, std::span<const std::string> urls) {
  std::vector<std::int64_t> ids(urls.size(), 0);
  if (const auto table = table_by_url(index)) {
    TRY(auto find, index.prepare(fmt::format("SELECT id FROM {} WHERE url=?", *table)));
    for (std::size_t i = 0; i < urls.size(); ++i) {
      find.bind(urls[i]);
      TRY_VOID(find.for_each_row([&](const SqliteRow& row) { ids[i] = row.integer(0); }));
    }
    return ids;
  }
  std::multimap<std::string_view, std::size_t> wanted;
  for (std::size_t i = 0; i < urls.size(); ++i) wanted.emplace(urls[i], i);
  TRY(auto pages, index.prepare("SELECT id, url FROM pages"));
  TRY_VOID(pages.for_each_row([&](const SqliteRow& row) {
    const auto [begin, end] = wanted.equal_range(row.text(1));
    for (auto one = begin; one != end; ++one) ids[one->second] = row.integer(0);
  }));
  return ids;
}

Result<std::vector<std::int64_t>> ids_of_results(SqliteDatabase& index, std::span<const std::string> urls,
                                                 const TrackingParameters& tracking) {
  TRY(auto ids, ids_of_urls(index, urls));
  const auto table = table_by_url(index);
  if (!table || std::find(ids.begin(), ids.end(), 0) == ids.end()) return ids;
  TRY(auto find, index.prepare(fmt::format("SELECT id, url FROM {} WHERE url>=? AND url<? LIMIT {}", *table,
                                           kMostSimilarUrls)));
  for (std::size_t i = 0; i < urls.size(); ++i) {
    const auto key = ids[i] == 0 ? canonical_url_key(urls[i], tracking) : Result<std::string>(std::string());
    if (ids[i] != 0 || !key) continue;
    const std::string page = urls[i].substr(0, urls[i].find_first_of("?#"));
    find.bind(page + '?', page + static_cast<char>('?' + 1));
    TRY_VOID(find.for_each_row([&](const SqliteRow& row) {
      if (ids[i] != 0) return;
      if (const auto other = canonical_url_key(row.text(1), tracking); other && *other == *key)
        ids[i] = row.integer(0);
    }));
  }
  return ids;
}

Result<std::vector<std::optional<KeptText>>> kept_texts(const std::string& database,
                                                        std::span<const std::string> urls,
                                                        const TrackingParameters& tracking,
                                                        const Deadline& deadline) {
  TRY(auto index, open_index(database));
  index.set_deadline(&deadline);
  TRY(const auto ids, ids_of_results(index, urls, tracking));
  TRY(auto page, index.prepare("SELECT title, snippet FROM pages WHERE id=?"));
  TRY(auto text, index.prepare("SELECT text FROM texts WHERE id=?"));
  std::vector<std::optional<KeptText>> out(urls.size());
  for (std::size_t i = 0; i < urls.size(); ++i) {
    if (ids[i] == 0) continue;
    page.bind(ids[i]);
    TRY_VOID(page.for_each_row([&](const SqliteRow& row) {
      out[i] = KeptText{std::string(row.text(0)), std::string(row.text(1))};
    }));
    if (!out[i]) continue;
    text.bind(ids[i]);
    TRY_VOID(text.for_each_row([&](const SqliteRow& row) -> Result<void> {
      TRY(out[i]->text, unpacked_text(row.bytes(0), kKeptTextBytes));
      return {};
    }));
  }
  return out;
}

struct PassageSource::Shared {
  std::string database;
  TrackingParameters tracking;
  FilePool<std::unique_ptr<TextConnection>> pool{database};
};

PassageSource::PassageSource(std::string database, TrackingParameters tracking)
    : shared_(new Shared{std::move(database), std::move(tracking)}) {}

PassageSource::~PassageSource() = default;

Result<std::vector<Passage>> PassageSource::passages(std::string_view words, std::span<const Hit* const> hits,
                                                     const Deadline& deadline) {
  TRY(auto taken, shared_->pool.take([&] { return connect_to_texts(shared_->database); }));
  auto& connection = taken.handle;
  connection->database.set_deadline(&deadline);
  auto found = passages_of(*connection, words, hits, shared_->tracking, deadline);
  connection->database.set_deadline(nullptr);
  if (found) shared_->pool.give_back(std::move(taken));
  return found;
}

}  // namespace metafuse::fetchers
