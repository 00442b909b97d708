#pragma once

// Collects the words of documents in memory, by word, from which the lists of an index are written.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/keyed_hash.h"
#include "core/result.h"
#include "fetchers/engines/index/analysis.h"
#include "fetchers/engines/index/document_files.h"
#include "fetchers/engines/index/posting_list.h"

namespace metafuse::fetchers {

/// What the lists of an index hold.
struct ListShape {
  std::vector<WordKind> kinds = {WordKind::stems};  ///< an engine uses the first unless it names another
  std::vector<std::string> columns = {"title", "text"};
  std::string language;      ///< of documents that do not say theirs; an ISO 639-1 code or empty
  bool keeps_terms = false;  ///< also keeps the terms of each document, for expansion, but for names of files

  friend bool operator==(const ListShape&, const ListShape&) = default;
};

/// A document that contains a word, with its places in the order of the counts.
struct WordDocument {
  std::uint32_t id = 0;
  ColumnCounts counts;
  std::vector<std::uint32_t> places;
};

/// The field of a document, or an empty text.
std::string_view field_of(const SourceDocument& document, const std::string& column);

/// The language that a document states in its field `language` or `lang`, else that of its text
/// (language_of_text()), as an ISO 639-1 code, else `otherwise`.
std::string language_of(const SourceDocument& document, const std::string& otherwise);

class ListBuilder {
 public:
  /// The number of a word and how often a document contains it.
  using Terms = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

  explicit ListBuilder(const ListShape& shape) : shape_(shape), lengths_(shape.kinds.size()) {}

  /// Requires ascending ids.
  void add(std::uint32_t id, const SourceDocument& document);

  /// The words of the document added last, of the first kind, in ascending order of their numbers.
  Terms terms_of_last();

  std::size_t words() const { return words_.size(); }
  WordKind kind_of(std::size_t word) const { return shape_.kinds[words_[word].kind]; }
  const std::string& text_of(std::size_t word) const { return *words_[word].text; }
  /// Calls `take` with the documents of a word, in ascending order of ids.
  void read(std::size_t word, const std::function<void(const WordDocument& document)>& take) const;
  void forget(std::size_t word) { words_[word].bytes = {}; }

  /// The number of words per document for a kind (by its place in the shape), by id; 0 for ids that
  /// were not added.
  const std::vector<std::uint32_t>& lengths(std::size_t kind) const { return lengths_[kind]; }
  /// How many of the documents were read as texts of each language.
  const std::map<std::string, std::size_t>& languages() const { return languages_; }

 private:
  struct Word {
    const std::string* text = nullptr;
    std::size_t kind = 0;
    std::string bytes;  ///< the occurrences so far, see append()
    std::uint32_t last_id = 0, last_column = 0, last_place = 0;
  };
  struct Forms;  ///< of one language

  std::size_t numbers_of_folded(Forms& forms);
  void add_column(Forms& forms, std::uint32_t id, std::uint32_t column, std::string_view text,
                  bool keeps_terms);
  void add_beside(Forms& forms, std::uint32_t id, std::uint32_t column, std::uint32_t place,
                  std::string_view word);
  void append(Word& word, std::uint32_t id, std::uint32_t column, std::uint32_t place) const;
  std::uint32_t number_of(std::size_t kind, const std::string& text);

  ListShape shape_;
  std::vector<std::vector<std::uint32_t>> lengths_;
  std::vector<Word> words_;
  std::vector<TextMap<std::uint32_t>> numbers_;          ///< of words, by kind
  std::map<std::string, std::shared_ptr<Forms>> forms_;  ///< by language
  std::map<std::string, std::size_t> languages_;
  std::vector<std::uint32_t> last_terms_;
};

}  // namespace metafuse::fetchers
