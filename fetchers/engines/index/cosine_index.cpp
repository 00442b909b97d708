#include "fetchers/engines/index/cosine_index.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/contract.h"
#include "core/text.h"
#include "fetchers/engines/index/local_engine.h"
#include "fetchers/engines/index/number_bytes.h"

namespace metafuse::fetchers {
namespace {

constexpr std::array<char, kPartKinds> kKindLetters = {'w', 's', 'g'};
constexpr std::size_t kGramCharacters = 4;
constexpr std::size_t kMaxPartWordBytes = 64;  ///< longer ones are hardly words
constexpr std::size_t kLengthsPerRow = 4096;

std::string part_key(std::size_t kind, std::string_view part) {
  return kKindLetters[kind] + std::string(part);
}

/// The character n-grams of a word with a blank before and after it; the whole text if it is shorter than n.
std::vector<std::string> grams_of(std::string_view word) {
  const std::string text = ' ' + std::string(word) + ' ';
  std::vector<std::size_t> begins;
  for (std::size_t at = 0; at < text.size(); next_code_point(text, at)) begins.push_back(at);
  begins.push_back(text.size());
  std::vector<std::string> grams;
  const std::size_t characters = begins.size() - 1;
  if (characters <= kGramCharacters) return {text};
  for (std::size_t i = 0; i + kGramCharacters <= characters; ++i)
    grams.push_back(text.substr(begins[i], begins[i + kGramCharacters] - begins[i]));
  return grams;
}

/// Writes the tables of the cosine engine.
class CosineWriter {
 public:
  static Result<CosineWriter> make(SqliteDatabase& database, std::size_t last_id) {
    CosineWriter writer;
    writer.documents_ = last_id;
    writer.squares_.resize((last_id + 1) * kPartKinds);
    TRY(writer.insert_, database.prepare("INSERT INTO cosine_parts VALUES(?, ?, ?)"));
    return writer;
  }

  Result<void> write(std::size_t kind, const std::string& key, const std::vector<Posting>& postings) {
    for (const Posting& posting : postings) {
      const double weight = part_weight(posting.count, documents_, postings.size());
      squares_[posting.document * kPartKinds + kind] += weight * weight;
    }
    return insert_.run(key, postings.size(), SqliteBytes{encoded_postings(postings)});
  }

  /// Writes the lengths of all vectors, some thousand documents per row.
  Result<void> write_lengths(SqliteDatabase& database) const {
    TRY(auto row, database.prepare("INSERT INTO cosine_lengths VALUES(?, ?)"));
    double sum = 0;
    for (std::size_t begin = 0; begin <= documents_; begin += kLengthsPerRow) {
      const std::size_t end = std::min(begin + kLengthsPerRow, documents_ + 1);
      std::vector<float> lengths;
      for (std::size_t i = begin * kPartKinds; i < end * kPartKinds; ++i) {
        lengths.push_back(static_cast<float>(std::sqrt(squares_[i])));
        sum += lengths.back() * static_cast<double>(i % 1009 + 1);
      }
      TRY_VOID(row.run(begin, SqliteBytes{bytes_of<float>(lengths)}));
    }
    TRY(auto meta, database.prepare("INSERT OR REPLACE INTO meta VALUES('cosine', ?)"));
    return meta.run(fmt::format("{} {:.17g}", documents_, sum));
  }

 private:
  std::size_t documents_ = 0;
  std::vector<double> squares_;
  SqliteStatement insert_;
};

std::vector<Posting> as_list(const std::map<std::uint32_t, std::uint32_t>& sum) {
  std::vector<Posting> out;
  for (const auto& [document, count] : sum) out.push_back({document, count});
  return out;
}

/// Writes the words into the table of parts.
///
/// out:    every word that was written
Result<std::vector<std::string>> write_words(SqliteDatabase& database, const std::string& words_table,
                                             CosineWriter& writer, const IsInterrupted& is_interrupted) {
  std::vector<std::string> words;
  const auto take = [&](const std::string& word, const std::vector<Posting>& postings) -> Result<void> {
    if (word.size() > kMaxPartWordBytes) return {};
    words.push_back(word);
    return writer.write(0, part_key(0, word), postings);
  };
  TRY_VOID(for_each_indexed_word(database, {words_table, " WHERE col='title' OR col='text'", is_interrupted},
                                 take));
  return words;
}

/// For each stem or n-gram, the words that contain it (by position) and how often.
using PartWords = std::map<std::string, std::vector<std::pair<std::uint32_t, std::uint32_t>>, std::less<>>;

Result<PartWords> parts_of_words(const std::vector<std::string>& words) {
  PartWords parts;
  TRY(auto stems, WordFinder::make("porter"));
  for (std::size_t i = 0; i < words.size(); ++i) {
    TRY(const auto found, parts_of_word(words[i], stems));
    for (const TextPart& part : found)
      if (part.kind > 0) parts[part.key].emplace_back(static_cast<std::uint32_t>(i), part.count);
  }
  return parts;
}

}  // namespace

Result<std::vector<TextPart>> parts_of_word(std::string_view word, WordFinder& stems) {
  std::vector<TextPart> parts{{0, part_key(0, word), 1}};
  TRY_VOID(stems.for_each_word(word, [&](std::string_view stem, std::int64_t) -> Result<void> {
    parts.push_back({1, part_key(1, stem), 1});
    return {};
  }));
  std::map<std::string, std::uint32_t> grams;
  for (const std::string& gram : grams_of(word)) ++grams[gram];
  for (const auto& [gram, count] : grams) parts.push_back({2, part_key(2, gram), count});
  return parts;
}

std::string encoded_postings(const std::vector<Posting>& postings) {
  std::string out;
  std::uint32_t last = 0;
  for (const Posting& posting : postings) {
    append_number_bytes(out, posting.document - last);
    append_number_bytes(out, posting.count);
    last = posting.document;
  }
  return out;
}

bool decode_postings(std::string_view bytes, std::uint32_t last_id, std::vector<Posting>& out) {
  out.clear();
  std::uint64_t document = 0;
  while (!bytes.empty()) {
    std::uint32_t step = 0;
    std::uint32_t count = 0;
    if (!take_number_bytes(bytes, step) || !take_number_bytes(bytes, count)) return false;
    document += step;
    if (step == 0 || count == 0 || document > last_id) return false;
    out.push_back({static_cast<std::uint32_t>(document), count});
  }
  return true;
}

double part_weight(std::uint32_t count, std::size_t documents, std::size_t with_part) {
  return (1 + std::log(static_cast<double>(count))) *
         std::log1p(static_cast<double>(documents) / static_cast<double>(with_part));
}

Result<void> write_cosine(SqliteDatabase& database, const std::string& words_table, std::size_t last_id,
                          const IsInterrupted& is_interrupted) {
  TRY_VOID(drop_cosine(database));
  TRY_VOID(database.run(
      "CREATE TABLE cosine_parts(part TEXT PRIMARY KEY, documents INTEGER NOT NULL, postings BLOB NOT NULL) "
      "WITHOUT ROWID;"
      "CREATE TABLE cosine_lengths(first INTEGER PRIMARY KEY, lengths BLOB NOT NULL);"));
  TRY(auto writer, CosineWriter::make(database, last_id));
  TRY(const auto words, write_words(database, words_table, writer, is_interrupted));
  TRY(const auto parts, parts_of_words(words));
  TRY(auto select, database.prepare("SELECT postings FROM cosine_parts WHERE part=?", true));
  std::vector<Posting> postings;
  for (const auto& [key, of_words] : parts) {
    TRY_VOID(check_interrupt(is_interrupted));
    std::map<std::uint32_t, std::uint32_t> sum;
    for (const auto& [word, times] : of_words) {
      select.bind(part_key(0, words[word]));
      TRY(const auto row, select.next());
      require(row && decode_postings(row->bytes(0), static_cast<std::uint32_t>(last_id), postings),
              "a word that was written can be read");
      select.reset();
      for (const Posting& posting : postings) sum[posting.document] += posting.count * times;
    }
    TRY_VOID(writer.write(key.front() == kKindLetters[1] ? 1 : 2, key, as_list(sum)));
  }
  return writer.write_lengths(database);
}

bool has_cosine(SqliteDatabase& database) {
  return finds_row(database, "SELECT 1 FROM meta WHERE name='cosine'");
}

Result<void> drop_cosine(SqliteDatabase& database) {
  return database.run(
      "DROP TABLE IF EXISTS cosine_parts; DROP TABLE IF EXISTS cosine_lengths; DELETE FROM meta WHERE "
      "name='cosine';");
}

}  // namespace metafuse::fetchers
