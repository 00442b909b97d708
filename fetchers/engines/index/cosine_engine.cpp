#include "fetchers/engines/index/cosine_engine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <mutex>
#include <vector>

#include "core/file_pool.h"
#include "core/text.h"
#include "fetchers/engines/index/condition.h"
#include "fetchers/engines/index/cosine_index.h"
#include "fetchers/engines/index/local_engine.h"
#include "fetchers/engines/index/number_bytes.h"
#include "fetchers/engines/index/word_lists.h"
#include "fetchers/engines/index/word_query.h"
#include "fetchers/engines/index/word_search.h"

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
  std::vector<float> lengths;  ///< at d * kWordKinds.size() + k for document d and kind k

  std::size_t last_id() const { return lengths.size() / kWordKinds.size() - 1; }
};

/// What a search needs to read from the file. Not thread-safe.
struct CosineReader {
  SqliteDatabase database;
  std::vector<ListReader> lists;  ///< by kind
  std::vector<WordForms> forms;   ///< by kind
  StopWords stop_words;
  ColumnSet columns;
  QueryReader conditions;  ///< in words of the index's first kind
  std::size_t first_kind;
  std::shared_ptr<const DocumentLengths> document_lengths;  ///< in words of that kind
  ShownPages pages;
  std::shared_ptr<const CosineLengths> lengths;
};

}  // namespace detail

namespace {

using detail::CosineLengths;
using detail::CosineReader;

Error damaged_cosine(const std::string& path) {
  return fail(Code::bad_data, path + ": the cosine tables are damaged; " + build_again_with("--cosine"));
}

Result<std::string> cosine_version(SqliteDatabase& database, const std::string& path) {
  TRY(auto row, database.prepare("SELECT value FROM meta WHERE name='cosine'"));
  TRY(const auto found, row.next());
  if (found) return std::string(found->text(0));
  return fail(Code::bad_config, path + ": this index has no cosine tables; " + build_again_with("--cosine"));
}

Result<std::shared_ptr<const CosineLengths>> read_vector_lengths(SqliteDatabase& database,
                                                                 std::string version,
                                                                 const std::string& path) {
  auto out = std::make_shared<CosineLengths>();
  out->version = std::move(version);
  auto rows = database.prepare("SELECT first, lengths FROM cosine_lengths ORDER BY first");
  if (!rows) return damaged_cosine(path);
  TRY_VOID(rows->for_each_row([&](const SqliteRow& row) -> Result<void> {
    const std::size_t documents = out->lengths.size() / kWordKinds.size();
    if (row.integer(0) != static_cast<std::int64_t>(documents) ||
        !append_numbers(row.bytes(1), out->lengths) || out->lengths.size() % kWordKinds.size() != 0)
      return damaged_cosine(path);
    return {};
  }));
  const bool is_sound =
      !out->lengths.empty() && std::all_of(out->lengths.begin(), out->lengths.end(),
                                           [](float l) { return std::isfinite(l) && l >= 0; });
  if (!is_sound) return damaged_cosine(path);
  return std::shared_ptr<const CosineLengths>(std::move(out));
}

/// A word, stem or 4-gram of the query with its postings.
struct AskedPart {
  std::size_t kind = 0;
  double weight = 0;  ///< in the query
  std::vector<Posting> postings;
};

/// How often the query has each word, stem and 4-gram, by kind. Stop words count only if there
/// is nothing else.
std::vector<std::map<std::string, std::uint32_t>> parts_of(CosineReader& reader, std::string_view words) {
  std::vector<std::string> folded, all;
  for (WordCutter cutter(truncate_utf8(words, kMaxCosineQueryBytes)); cutter.next();) {
    all.emplace_back(cutter.word());
    if (!reader.stop_words.contains(cutter.word())) folded.emplace_back(cutter.word());
  }
  std::vector<std::map<std::string, std::uint32_t>> parts(kWordKinds.size());
  std::size_t count = 0;
  for (const std::string& word : folded.empty() ? all : folded)
    for (std::size_t kind = 0; kind < kWordKinds.size() && count < kMaxQueryParts; ++kind)
      for (const std::string& form : reader.forms[kind].of(word)) count += ++parts[kind][form] == 1 ? 1 : 0;
  return parts;
}

/// The parts of a query's words that occur in the index.
Result<std::vector<AskedPart>> read_parts(CosineReader& reader, std::string_view words,
                                          const std::string& path, const Deadline& deadline) {
  std::vector<AskedPart> out;
  const std::size_t last_id = reader.lengths->last_id();
  const auto parts = parts_of(reader, words);
  for (std::size_t kind = 0; kind < parts.size(); ++kind)
    for (const auto& [form, count] : parts[kind]) {
      if (deadline.has_passed()) return fail(Code::try_again, path + ": the deadline passed");
      TRY(const ListedWord listed, reader.lists[kind].find(form));
      if (listed.id == 0) continue;
      TRY(const auto list, reader.lists[kind].list_of(listed.id));
      AskedPart& asked = out.emplace_back();
      asked.kind = kind;
      if (!read_postings(*list, reader.columns, asked.postings)) return damaged_cosine(path);
      if (!asked.postings.empty() && asked.postings.back().document > last_id) return damaged_cosine(path);
      asked.weight = part_weight(count, last_id, std::max<std::size_t>(1, asked.postings.size()));
    }
  return out;
}

/// The mean of the three cosines for each document, indexed by id.
std::vector<double> cosines(const std::vector<AskedPart>& parts, const CosineLengths& lengths) {
  std::array<double, kWordKinds.size()> squares{};
  for (const AskedPart& part : parts) squares[part.kind] += part.weight * part.weight;
  const std::size_t last_id = lengths.last_id();
  std::vector<double> out(last_id + 1);
  for (const AskedPart& part : parts) {
    const double factor =
        part.weight / (std::sqrt(squares[part.kind]) * static_cast<double>(kWordKinds.size()));
    for (const Posting& posting : part.postings) {
      const double length = lengths.lengths[posting.document * kWordKinds.size() + part.kind];
      if (length > 0)
        out[posting.document] += factor * part_weight(posting.count, last_id, part.postings.size()) / length;
    }
  }
  return out;
}

/// The documents that meet a condition.
Result<std::vector<bool>> matching(CosineReader& reader, const std::string& condition,
                                   const Deadline& deadline) {
  std::vector<bool> out(reader.lengths->last_id() + 1);
  TRY(const auto asked, reader.conditions.read(condition));
  TRY(const auto found, find_best(reader.lists[reader.first_kind], *reader.document_lengths, asked, {},
                                  kAllDocuments, deadline));
  for (const ScoredDocument& document : found)
    if (static_cast<std::size_t>(document.id) < out.size()) out[static_cast<std::size_t>(document.id)] = true;
  return out;
}

/// Sets the scores of the documents to 0 that do not meet the query's conditions.
Result<void> drop_unwanted(CosineReader& reader, const CosineQuery& query, std::vector<double>& scores,
                           const Deadline& deadline) {
  const auto keep_only = [&](const std::string& condition, bool is_kept) -> Result<void> {
    if (condition.find_first_not_of(' ') == std::string::npos) return {};
    TRY(const auto found, matching(reader, condition, deadline));
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
  FilePool<std::unique_ptr<CosineReader>> pool{access.database};
  std::mutex mutex{};
  std::shared_ptr<const CosineLengths> lengths{};  ///< of the latest version that was opened
  SharedLengths first_lengths{};

  Result<std::unique_ptr<CosineReader>> open() {
    const std::string& path = access.database;
    TRY(auto database, open_index(path));
    TRY(auto version, cosine_version(database, path));
    TRY(auto here, lengths_of(database, std::move(version)));
    TRY(const auto shape, read_list_shape(database));
    TRY(const auto languages, read_languages(database));
    std::vector<ListReader> lists;
    std::vector<WordForms> forms;
    for (const WordKind kind : kWordKinds) {
      TRY(auto reader, ListReader::open(database, kind));
      lists.push_back(std::move(reader));
      forms.emplace_back(kind, shape.language);
    }
    const WordKind first = shape.kinds.front();
    const auto first_kind = static_cast<std::size_t>(stored_number(first));
    TRY(auto document_lengths, first_lengths.of(database, lists[first_kind]));
    TRY(auto pages, ShownPages::make(database));
    return std::make_unique<CosineReader>(
        CosineReader{std::move(database), std::move(lists), std::move(forms), StopWords(shape.language),
                     cosine_columns(shape), QueryReader(first, languages, shape.columns), first_kind,
                     std::move(document_lengths), std::move(pages), std::move(here)});
  }

  Result<std::shared_ptr<const CosineLengths>> lengths_of(SqliteDatabase& database, std::string version) {
    const std::lock_guard lock(mutex);
    if (lengths == nullptr || lengths->version != version) {
      TRY(lengths, read_vector_lengths(database, std::move(version), access.database));
    }
    return lengths;
  }

  Result<RankedList> search(CosineReader& reader, const CosineQuery& query, std::size_t first,
                            std::size_t count, const Deadline& deadline) const {
    TRY(const auto parts, read_parts(reader, query.words, access.database, deadline));
    auto scores = cosines(parts, *reader.lengths);
    TRY_VOID(drop_unwanted(reader, query, scores, deadline));
    RankedList list;
    const auto ids = best_ids(scores, first + count);
    for (std::size_t i = first; i < ids.size(); ++i) {
      TRY(const bool is_there, reader.pages.append(static_cast<std::int64_t>(ids[i]), scores[ids[i]], list));
      if (!is_there) return damaged_cosine(access.database);
    }
    return list;
  }
};

CosineEngine::CosineEngine(CosineAccess access) : shared_(new Shared{std::move(access)}) {}

CosineEngine::~CosineEngine() = default;

Result<RankedList> CosineEngine::search(std::string_view text, int depth, int offset,
                                        const Deadline& deadline) {
  const CosineQuery query = read_cosine_query(text);
  if (query.words.empty()) return RankedList{};
  TRY(auto taken, shared_->pool.take([&] { return shared_->open(); }));
  auto& reader = taken.handle;
  reader->database.set_deadline(&deadline);
  auto list = shared_->search(*reader, query, static_cast<std::size_t>(offset),
                              static_cast<std::size_t>(depth), deadline);
  reader->database.set_deadline(nullptr);
  // after a failed search the reader's statements may be in the middle of a row
  if (list) shared_->pool.give_back(std::move(taken));
  return list;
}

}  // namespace metafuse::fetchers
