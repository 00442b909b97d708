// Brings the lists of an index up to date: of each word that a changed document has or had, the parts in
// which these documents are.

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fetchers/engines/index/list_filler.h"
#include "fetchers/engines/index/posting_list.h"
#include "fetchers/engines/index/word_lists.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kNoWord = ~std::size_t{0};
constexpr std::uint64_t kShortList = 64;  ///< documents up to which a list is written again as a whole

/// A word that changed documents have or had.
struct ChangedWord {
  std::string text;
  std::int64_t id = 0;            ///< 0: it is new
  std::size_t before = kNoWord;   ///< its number among the words that the documents had
  std::size_t renewed = kNoWord;  ///< its number among those that they have
};

/// The statements that an update of one kind of list runs for each word.
struct ListStatements {
  SqliteStatement find, codes, parts, insert_word, update_word, remove_word, write_part, remove_part;

  static Result<ListStatements> make(SqliteDatabase& database) {
    ListStatements out;
    TRY(out.find,
        database.prepare("SELECT id FROM list_words INDEXED BY list_words_by_word WHERE kind=? AND word=?"));
    TRY(out.codes, database.prepare("SELECT codes FROM list_words WHERE id=?"));
    TRY(out.parts, database.prepare("SELECT id, postings, places FROM list_parts WHERE id BETWEEN ? AND ? "
                                    "ORDER BY id DESC"));
    TRY(out.insert_word, database.prepare("INSERT INTO list_words VALUES(?, ?, ?, ?, ?)"));
    TRY(out.update_word, database.prepare("UPDATE list_words SET documents=?, codes=? WHERE id=?"));
    TRY(out.remove_word, database.prepare("DELETE FROM list_words WHERE id=?"));
    TRY(out.write_part, database.prepare("INSERT OR REPLACE INTO list_parts VALUES(?, ?, ?)"));
    TRY(out.remove_part, database.prepare("DELETE FROM list_parts WHERE id=?"));
    return out;
  }
};

/// The update of the lists of one kind.
class KindUpdate {
 public:
  KindUpdate(const ListBuilder& before, const ListBuilder& renewed, const DocumentLengths& lengths,
             const std::vector<bool>& is_changed, ListStatements statements)
      : before_(before),
        renewed_(renewed),
        is_changed_(is_changed),
        statements_(std::move(statements)),
        filler_(lengths.lengths) {}

  /// Renews the list of a word. Sets the id of a word that is new.
  Result<void> renew(ChangedWord& word, WordKind kind, std::int64_t& last_id) {
    read_documents(word);
    TRY_VOID(fill(word.id));
    const PostingBytes list = filler_.finish(orders_codes_);
    TRY_VOID(remove_parts(word.id, list));
    if (list.documents == 0) return word.id == 0 ? Result<void>() : statements_.remove_word.run(word.id);
    if (word.id != 0) {
      TRY_VOID(statements_.update_word.run(list.documents, SqliteBytes{list.codes}, word.id));
    } else {
      word.id = ++last_id;
      TRY_VOID(statements_.insert_word.run(word.id, stored_number(kind), word.text, list.documents,
                                           SqliteBytes{list.codes}));
    }
    return insert_parts(statements_.write_part, word.id, list);
  }

 private:
  /// The documents that have the word now, and the windows of all that have or had it.
  void read_documents(const ChangedWord& word) {
    documents_.clear();
    windows_.clear();
    const auto note = [&](const WordDocument& document) {
      windows_.push_back(document.id / PostingList::kWindow);
    };
    if (word.before != kNoWord) before_.read(word.before, note);
    if (word.renewed != kNoWord)
      renewed_.read(word.renewed, [&](const WordDocument& document) {
        note(document);
        documents_.push_back(document);
      });
    std::sort(windows_.begin(), windows_.end());
    next_ = documents_.begin();
  }

  /// Reads the parts of a list in which the windows are. What is before the first part becomes
  /// a part of it.
  /// out:    whether these are all parts of the list
  Result<bool> read_parts(std::int64_t word) {
    parts_.clear();
    std::optional<std::int64_t> passed;  // the part that was passed over last
    bool is_whole = true;
    auto behind = windows_.end();  // of the windows that are in no part so far
    const auto take = [&](const SqliteRow& row) {
      parts_.push_back(
          {first_window_of(row.integer(0)), std::string(row.bytes(1)), std::string(row.bytes(2))});
    };
    statements_.parts.bind(part_id(word, 0), part_id(word + 1, 0) - 1);
    TRY_VOID(statements_.parts.for_each_row([&](const SqliteRow& row) {
      is_whole = is_whole && !passed;
      const auto here = std::lower_bound(windows_.begin(), behind, first_window_of(row.integer(0)));
      passed = here == behind ? std::optional(row.integer(0)) : std::nullopt;
      if (!passed) take(row);
      behind = here;
    }));
    if (passed && behind != windows_.begin()) {
      statements_.parts.bind(*passed, *passed);
      TRY_VOID(statements_.parts.for_each_row(take));
      passed.reset();
    }
    std::reverse(parts_.begin(), parts_.end());
    return is_whole && !passed;
  }

  /// Fills in the parts that have to be written again, and the renewed documents between.
  Result<void> fill(std::int64_t word) {
    TRY(const bool is_whole, read_parts(word));
    TRY_VOID(read_list(word));
    orders_codes_ = is_whole && list_.documents_in(kAllColumns) <= kShortList;
    filler_.writer.start_with(list_.codes);
    PostingCursor cursor(list_);
    PlaceCursor places({});
    auto part = parts_.end();
    for (std::uint32_t window = 0;; window = cursor.window() + 1) {
      if (!cursor.advance(window)) return damaged_lists("word lists");
      if (cursor.is_at_end()) break;
      const auto here = parts_.begin() + static_cast<std::ptrdiff_t>(cursor.part());
      if (here != part) {
        part = here;
        if (part != parts_.begin()) take_until(part->first_window * PostingList::kWindow);
        filler_.writer.end_part();
        places = PlaceCursor(part->places);
      }
      const bool has_places = !part->places.empty();
      if (has_places && !places.advance(cursor.block())) return damaged_lists("word lists");
      TRY_VOID(fill_block(cursor, has_places ? &places : nullptr));
    }
    take_until(~std::uint32_t{0});
    return {};
  }

  /// Reads the codes of a list, and adds the parts that were read.
  Result<void> read_list(std::int64_t word) {
    std::string codes(1, '\0');
    statements_.codes.bind(word);
    TRY_VOID(statements_.codes.for_each_row([&](const SqliteRow& row) { codes = row.bytes(0); }));
    auto list = PostingList::read(codes);
    if (!list) return damaged_lists("word lists");
    list_ = std::move(*list);
    for (const PostingPart& part : parts_)
      if (!list_.add_part(part.first_window, part.postings)) return damaged_lists("word lists");
    return {};
  }

  /// Fills in what is kept of a block. One without changed documents is copied.
  Result<void> fill_block(const PostingCursor& cursor, PlaceCursor* places) {
    if (!orders_codes_ && !std::binary_search(windows_.begin(), windows_.end(), cursor.window())) {
      take_until(cursor.window() * PostingList::kWindow);
      filler_.writer.add_block(cursor, places == nullptr ? std::string_view() : places->block());
      return {};
    }
    if (!cursor.read(postings_)) return damaged_lists("word lists");
    for (const auto& [place, code] : postings_) {
      const std::uint32_t id = cursor.window() * PostingList::kWindow + place;
      std::string_view taken;
      if ((places != nullptr && !places->take(list_.codes[code].places, taken)) || id >= is_changed_.size())
        return damaged_lists("word lists");
      filler_.writer.take_out(code);
      if (is_changed_[id]) continue;
      take_until(id);
      filler_.writer.add(id, code, taken);
    }
    return {};
  }

  /// Removes the parts that were read and are not written again.
  Result<void> remove_parts(std::int64_t word, const PostingBytes& list) {
    for (const PostingPart& part : parts_) {
      const bool is_written = std::any_of(list.parts.begin(), list.parts.end(), [&](const PostingPart& one) {
        return one.first_window == part.first_window;
      });
      if (!is_written) TRY_VOID(statements_.remove_part.run(part_id(word, part.first_window)));
    }
    return {};
  }

  void take_until(std::uint32_t id) {
    for (; next_ != documents_.end() && next_->id < id; ++next_) filler_.add(*next_);
  }

  const ListBuilder& before_;
  const ListBuilder& renewed_;
  const std::vector<bool>& is_changed_;
  ListStatements statements_;
  ListFiller filler_;
  std::vector<WordDocument> documents_;
  std::vector<WordDocument>::const_iterator next_;
  std::vector<std::uint32_t> windows_;  ///< ascending
  std::vector<PostingPart> parts_;      ///< that were read
  PostingList list_;                    ///< of these parts
  bool orders_codes_ = false;           ///< all of the list is written again
  std::vector<PostingCursor::Posting> postings_;
};

/// One update of the lists of an index.
class ListUpdate {
 public:
  ListUpdate(SqliteDatabase& database, const ListShape& shape, const ChangedDocuments& changed)
      : database_(database), shape_(shape), changed_(changed), renewed_(shape) {}

  Result<void> run(const IsInterrupted& is_interrupted) {
    TRY(auto insert_terms, database_.prepare("INSERT INTO terms VALUES(?, ?)"));
    TRY_VOID(forget_terms());
    std::vector<std::pair<std::uint32_t, ListBuilder::Terms>> terms;
    for (const std::uint32_t id : changed_.renewed) {
      TRY(const SourceDocument document, changed_.read(id));
      renewed_.add(id, document);
      if (shape_.keeps_terms) terms.emplace_back(id, renewed_.terms_of_last());
    }
    ids_of_words_.resize(renewed_.words());
    for (std::size_t i = 0; i < shape_.kinds.size(); ++i) {
      TRY_VOID(check_interrupt(is_interrupted));
      TRY_VOID(update_kind(i, is_interrupted));
    }
    for (auto& [id, of_document] : terms) {
      for (auto& [word, count] : of_document) word = ids_of_words_.at(word) - 1;
      std::sort(of_document.begin(), of_document.end());
      TRY_VOID(write_terms(insert_terms, id, of_document));
    }
    return {};
  }

 private:
  Result<void> forget_terms() {
    TRY(auto remove, database_.prepare("DELETE FROM terms WHERE id=?"));
    for (const std::uint32_t id : changed_.renewed) TRY_VOID(remove.run(id));
    for (const auto& [id, document] : changed_.before) TRY_VOID(remove.run(id));
    return {};
  }

  Result<DocumentLengths> new_lengths(std::size_t kind) {
    TRY(const auto reader, ListReader::open(database_, shape_.kinds[kind]));
    TRY(auto lengths, reader.read_lengths(database_));
    const auto& renewed = renewed_.lengths(kind);
    lengths.lengths.resize(std::max(lengths.lengths.size(), renewed.size()));
    is_changed_.assign(lengths.lengths.size(), false);
    for (const auto& [id, document] : changed_.before) {
      if (id >= lengths.lengths.size()) return damaged_lists("document lengths");
      lengths.lengths[id] = 0;
      is_changed_[id] = true;
      --lengths.documents;
    }
    for (const std::uint32_t id : changed_.renewed) {
      lengths.lengths[id] = renewed[id];
      is_changed_[id] = true;
      ++lengths.documents;
    }
    lengths.words = 0;
    for (const std::uint32_t length : lengths.lengths) lengths.words += length;
    return lengths;
  }

  /// The words of a kind that changed documents have or had, in the order of their ids; new ones at the end.
  Result<std::vector<ChangedWord>> words_of(std::size_t kind, const ListBuilder& before,
                                            SqliteStatement& find) {
    std::map<std::string_view, ChangedWord> by_text;
    for (std::size_t word = 0; word < before.words(); ++word) by_text[before.text_of(word)].before = word;
    for (std::size_t word = 0; word < renewed_.words(); ++word)
      if (renewed_.kind_of(word) == shape_.kinds[kind]) by_text[renewed_.text_of(word)].renewed = word;
    std::vector<ChangedWord> words;
    for (auto& [text, word] : by_text) {
      word.text = text;
      find.bind(stored_number(shape_.kinds[kind]), text);
      TRY_VOID(find.for_each_row([&](const SqliteRow& row) { word.id = row.integer(0); }));
      words.push_back(std::move(word));
    }
    const auto place = [](const ChangedWord& word) { return static_cast<std::uint64_t>(word.id) - 1; };
    std::stable_sort(words.begin(), words.end(),
                     [&](const ChangedWord& a, const ChangedWord& b) { return place(a) < place(b); });
    return words;
  }

  Result<void> update_kind(std::size_t kind, const IsInterrupted& is_interrupted) {
    TRY(auto lengths, new_lengths(kind));
    ListShape one = shape_;
    one.kinds = {shape_.kinds[kind]};
    one.keeps_terms = false;
    ListBuilder before(one);
    for (const auto& [id, document] : changed_.before) before.add(id, document);
    TRY(auto statements, ListStatements::make(database_));
    TRY(auto words, words_of(kind, before, statements.find));
    TRY(auto last, database_.prepare("SELECT coalesce(max(id), 0) FROM list_words"));
    TRY(const auto row, last.next());
    std::int64_t last_id = row->integer(0);
    last.reset();
    KindUpdate update(before, renewed_, lengths, is_changed_, std::move(statements));
    for (ChangedWord& word : words) {
      TRY_VOID(check_interrupt(is_interrupted));
      TRY_VOID(update.renew(word, shape_.kinds[kind], last_id));
      if (word.renewed != kNoWord) ids_of_words_[word.renewed] = static_cast<std::uint32_t>(word.id);
    }
    return write_lengths(database_, shape_.kinds[kind], std::move(lengths));
  }

  SqliteDatabase& database_;
  const ListShape& shape_;
  const ChangedDocuments& changed_;
  ListBuilder renewed_;
  std::vector<bool> is_changed_;             ///< by id
  std::vector<std::uint32_t> ids_of_words_;  ///< by their numbers in renewed_
};

}  // namespace

Result<void> update_lists(SqliteDatabase& database, const ListShape& shape, const ChangedDocuments& changed,
                          const IsInterrupted& is_interrupted) {
  if (changed.renewed.empty() && changed.before.empty()) return {};
  return ListUpdate(database, shape, changed).run(is_interrupted);
}

}  // namespace metafuse::fetchers
