#include "fetchers/engines/index/cosine_engine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <mutex>
#include <vector>

#include "core/idle_pool.h"
#include "fetchers/engines/index/cosine_index.h"
#include "fetchers/engines/index/local_engine.h"
#include "fetchers/engines/index/number_bytes.h"
#include "fetchers/engines/index/word_query.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMaxCosineQueryBytes = 4096;
constexpr std::size_t kMaxQueryParts = 2000;

/// Whether a text begins with FTS5's column filter, `column :` or `{a b} :`.
bool names_column(std::string_view rest) {
  const auto skip_blanks = [&] { rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size())); };
  skip_blanks();
  if (rest.empty() || rest.front() == '{') return !rest.empty();
  next_token(rest);
  skip_blanks();
  return rest.starts_with(':');
}

bool is_fts5_operator(std::string_view token) {
  return token == "AND" || token == "OR" || token == "NOT" || token == "NEAR";
}

}  // namespace

CosineQuery read_cosine_query(std::string_view query) {
  CosineQuery out;
  std::string* into = nullptr;  // nullptr: still in the words
  int depth = 0;
  for (std::string_view rest = query; !rest.empty();) {
    const std::string_view token = next_token(rest);
    depth += token == "(" ? 1 : token == ")" ? -1 : 0;
    if (depth == 0 && token == "AND" && (into != nullptr || names_column(rest))) {
      if (!out.required.empty()) out.required += " AND ";
      into = &out.required;
    } else if (depth == 0 && token == "NOT") {
      into = &out.excluded.emplace_back();
    } else if (into != nullptr) {
      *into += token;
    } else if (token.front() == '"' || (is_word_byte(token.front()) && !is_fts5_operator(token))) {
      out.words += (out.words.empty() ? "" : " ") + std::string(token);
    }
  }
  return out;
}

namespace detail {

/// The lengths of all documents' vectors in one version of the index.
struct CosineLengths {
  std::string version;
  std::vector<float> lengths;  ///< at d * kPartKinds + k for document d and kind k

  std::size_t last_id() const { return lengths.size() / kPartKinds - 1; }
};

/// What a search needs to read from the file. Not thread-safe.
struct CosineReader {
  SqliteDatabase database;
  SqliteStatement part;     ///< selects a part by its key
  SqliteStatement matches;  ///< selects ids by an FTS5 query
  ShownPages pages;
  WordFinder words;
  WordFinder stems;
  std::shared_ptr<const CosineLengths> lengths;
};

}  // namespace detail

namespace {

using detail::CosineLengths;
using detail::CosineReader;

Error damaged_cosine(const std::string& path) {
  return fail(Code::bad_data,
              path + ": the cosine tables are damaged; rebuild the index with `metafuse index --cosine`");
}

Result<std::string> cosine_version(SqliteDatabase& database, const std::string& path) {
  TRY(auto row, database.prepare("SELECT value FROM meta WHERE name='cosine'"));
  TRY(const auto found, row.next());
  if (found) return std::string(found->text(0));
  return fail(Code::bad_config,
              path + ": this index has no cosine tables; build it with metafuse index --cosine");
}

Result<std::shared_ptr<const CosineLengths>> read_lengths(SqliteDatabase& database, std::string version,
                                                          const std::string& path) {
  auto out = std::make_shared<CosineLengths>();
  out->version = std::move(version);
  auto rows = database.prepare("SELECT first, lengths FROM cosine_lengths ORDER BY first");
  if (!rows) return damaged_cosine(path);
  TRY_VOID(rows->for_each_row([&](const SqliteRow& row) -> Result<void> {
    const std::size_t documents = out->lengths.size() / kPartKinds;
    if (row.integer(0) != static_cast<std::int64_t>(documents) ||
        !append_numbers(row.bytes(1), out->lengths) || out->lengths.size() % kPartKinds != 0)
      return damaged_cosine(path);
    return {};
  }));
  const bool is_sound =
      !out->lengths.empty() && std::all_of(out->lengths.begin(), out->lengths.end(),
                                           [](float l) { return std::isfinite(l) && l >= 0; });
  if (!is_sound) return damaged_cosine(path);
  return std::shared_ptr<const CosineLengths>(std::move(out));
}

/// A part of the query with its postings.
struct AskedPart {
  std::size_t kind = 0;
  double weight = 0;  ///< its weight in the query
  std::size_t with_part = 0;
  std::vector<Posting> postings;
};

/// The parts of a query's words that occur in the index.
Result<std::vector<AskedPart>> read_parts(CosineReader& reader, std::string_view words,
                                          const std::string& path, const Deadline& deadline) {
  std::map<std::string, TextPart> wanted;
  TRY_VOID(reader.words.for_each_word(
      words.substr(0, kMaxCosineQueryBytes), [&](std::string_view word, std::int64_t count) -> Result<void> {
        TRY(const auto parts, parts_of_word(word, reader.stems));
        for (const TextPart& part : parts) {
          if (wanted.size() >= kMaxQueryParts) return {};
          auto [at, is_new] = wanted.try_emplace(part.key, part);
          const std::uint32_t times = part.count * static_cast<std::uint32_t>(count);
          at->second.count = is_new ? times : at->second.count + times;
        }
        return {};
      }));
  std::vector<AskedPart> out;
  const std::size_t last_id = reader.lengths->last_id();
  for (const auto& [key, part] : wanted) {
    if (deadline.has_passed()) return fail(Code::try_again, path + ": the deadline passed");
    reader.part.bind(key);
    TRY_VOID(reader.part.for_each_row([&](const SqliteRow& row) -> Result<void> {
      AskedPart& asked = out.emplace_back();
      asked.kind = part.kind;
      asked.with_part = static_cast<std::size_t>(std::max<std::int64_t>(1, row.integer(0)));
      asked.weight = part_weight(part.count, last_id, asked.with_part);
      if (!decode_postings(row.bytes(1), static_cast<std::uint32_t>(last_id), asked.postings))
        return damaged_cosine(path);
      return {};
    }));
  }
  return out;
}

/// The mean of the three cosines for each document, indexed by id.
std::vector<double> cosines(const std::vector<AskedPart>& parts, const CosineLengths& lengths) {
  std::array<double, kPartKinds> squares{};
  for (const AskedPart& part : parts) squares[part.kind] += part.weight * part.weight;
  const std::size_t last_id = lengths.last_id();
  std::vector<double> out(last_id + 1);
  for (const AskedPart& part : parts) {
    const double factor = part.weight / (std::sqrt(squares[part.kind]) * static_cast<double>(kPartKinds));
    for (const Posting& posting : part.postings) {
      const double length = lengths.lengths[posting.document * kPartKinds + part.kind];
      if (length > 0)
        out[posting.document] += factor * part_weight(posting.count, last_id, part.with_part) / length;
    }
  }
  return out;
}

/// The documents found by an FTS5 query.
Result<std::vector<bool>> matching(CosineReader& reader, const std::string& query) {
  std::vector<bool> out(reader.lengths->last_id() + 1);
  reader.matches.bind(query);
  TRY_VOID(reader.matches.for_each_row([&](const SqliteRow& row) {
    const auto id = static_cast<std::size_t>(row.integer(0));
    if (id < out.size()) out[id] = true;
  }));
  return out;
}

/// Sets the scores of the documents to 0 that do not meet the query's conditions.
Result<void> drop_unwanted(CosineReader& reader, const CosineQuery& query, std::vector<double>& scores) {
  const auto keep_only = [&](const std::string& condition, bool is_kept) -> Result<void> {
    if (condition.find_first_not_of(' ') == std::string::npos) return {};
    TRY(const auto found, matching(reader, condition));
    for (std::size_t id = 0; id < scores.size(); ++id)
      if (found[id] != is_kept) scores[id] = 0;
    return {};
  };
  TRY_VOID(keep_only(query.required, true));
  for (const std::string& excluded : query.excluded) TRY_VOID(keep_only(excluded, false));
  return {};
}

/// The ids with the best scores above zero, best first.
std::vector<std::size_t> best_ids(const std::vector<double>& scores, std::size_t count) {
  std::vector<std::size_t> ids;
  for (std::size_t id = 0; id < scores.size(); ++id)
    if (scores[id] > 0) ids.push_back(id);
  const std::size_t kept = std::min(count, ids.size());
  std::partial_sort(
      ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(kept), ids.end(),
      [&](std::size_t a, std::size_t b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
  ids.resize(kept);
  return ids;
}

}  // namespace

struct CosineEngine::Shared {
  CosineAccess access;
  IdlePool<std::unique_ptr<CosineReader>> pool;
  std::mutex mutex;
  std::shared_ptr<const CosineLengths> lengths;  ///< of the latest version that was opened

  Result<std::unique_ptr<CosineReader>> open() {
    const std::string& path = access.database;
    TRY(auto database, open_index(path));
    TRY(auto version, cosine_version(database, path));
    TRY(auto here, lengths_of(database, std::move(version)));
    auto part = database.prepare("SELECT documents, postings FROM cosine_parts WHERE part=?", true);
    if (!part) return damaged_cosine(path);
    TRY(auto matches, database.prepare("SELECT rowid FROM documents WHERE documents MATCH ?", true));
    TRY(auto pages, ShownPages::make(database));
    TRY(auto words, WordFinder::make("unicode61"));
    TRY(auto stems, WordFinder::make("porter"));
    return std::make_unique<CosineReader>(CosineReader{std::move(database), std::move(*part),
                                                       std::move(matches), std::move(pages), std::move(words),
                                                       std::move(stems), std::move(here)});
  }

  Result<std::shared_ptr<const CosineLengths>> lengths_of(SqliteDatabase& database, std::string version) {
    const std::lock_guard lock(mutex);
    if (lengths == nullptr || lengths->version != version) {
      TRY(lengths, read_lengths(database, std::move(version), access.database));
    }
    return lengths;
  }

  Result<RankedList> search(CosineReader& reader, const CosineQuery& query, std::size_t first,
                            std::size_t count, const Deadline& deadline) const {
    TRY(const auto parts, read_parts(reader, query.words, access.database, deadline));
    auto scores = cosines(parts, *reader.lengths);
    if (auto done = drop_unwanted(reader, query, scores); !done) {
      if (done.error().code != Code::bad_data) return done.error();
      return fail(Code::bad_data, "the index does not understand the condition: " + done.error().text);
    }
    RankedList list;
    const auto ids = best_ids(scores, first + count);
    for (std::size_t i = first; i < ids.size(); ++i) {
      TRY(const bool is_there, reader.pages.append(static_cast<std::int64_t>(ids[i]), scores[ids[i]], list));
      if (!is_there) return damaged_cosine(access.database);
    }
    return list;
  }
};

CosineEngine::CosineEngine(CosineAccess access) : shared_(std::make_unique<Shared>()) {
  shared_->access = std::move(access);
}

CosineEngine::~CosineEngine() = default;

Result<RankedList> CosineEngine::search(std::string_view text, int depth, int offset,
                                        const Deadline& deadline) {
  const CosineQuery query = read_cosine_query(text);
  if (query.words.empty()) return RankedList{};
  auto reader = shared_->pool.take();
  if (reader == nullptr) {
    TRY(reader, shared_->open());
  }
  reader->database.set_deadline(&deadline);
  auto list = shared_->search(*reader, query, static_cast<std::size_t>(offset),
                              static_cast<std::size_t>(depth), deadline);
  reader->database.set_deadline(nullptr);
  // after a failed search the reader's statements may be in the middle of a row
  if (list) shared_->pool.give_back(std::move(reader));
  return list;
}

}  // namespace metafuse::fetchers
