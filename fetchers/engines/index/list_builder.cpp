#include "fetchers/engines/index/list_builder.h"

#include <algorithm>
#include <functional>

#include <boost/unordered/unordered_flat_map.hpp>

#include "core/contract.h"
#include "core/languages.h"
#include "fetchers/engines/index/number_bytes.h"
#include "fetchers/engines/index/text_language.h"

namespace metafuse::fetchers {
namespace {

/// Places beyond are counted as this one.
constexpr std::uint32_t kLastPlace = (1U << 22) - 1;
constexpr std::size_t kMostRemembered = 1 << 20;  ///< folded words per language

/// Whether a document is titled by the name of its file, maybe with that of the folder, as read_documents()
/// titles files without a title of their own.
bool is_titled_by_file(const SourceDocument& document) {
  const std::string_view title = field_of(document, "title");
  if (title.find_first_of("./") == std::string_view::npos) return false;
  return document.file.ends_with("/" + std::string(title));
}

}  // namespace

std::string_view field_of(const SourceDocument& document, const std::string& column) {
  const auto found = document.fields.find(column);
  return found == document.fields.end() ? std::string_view() : std::string_view(found->second);
}

std::string language_of(const SourceDocument& document, const std::string& otherwise) {
  const std::string_view stated = field_of(document, "language");
  const std::string tag = language_tag(stated.empty() ? field_of(document, "lang") : stated);
  if (!tag.empty()) return tag.substr(0, tag.find('-'));
  std::string found = language_of_text(field_of(document, "text"));
  return found.empty() ? otherwise : found;
}

/// What becomes of the folded words of one language, for every kind.
struct ListBuilder::Forms {
  std::vector<WordForms> forms;  ///< by kind
  /// Where the numbers of a word's forms begin in `numbers`; kept flat because every word of a text is
  /// looked up.
  boost::unordered_flat_map<std::string, std::size_t, KeyedHash, std::equal_to<>> known;
  std::vector<std::uint32_t> numbers;  ///< of each word and kind: how many forms there are, and their numbers
  std::string folded;
};

/// Where the numbers of the forms of forms.folded begin.
std::size_t ListBuilder::numbers_of_folded(Forms& forms) {
  const auto found = forms.known.find(forms.folded);
  if (found != forms.known.end()) return found->second;
  if (forms.known.size() >= kMostRemembered) {
    forms.known.clear();
    forms.numbers.clear();
  }
  const std::size_t begin = forms.numbers.size();
  forms.known.emplace(forms.folded, begin);
  for (std::size_t kind = 0; kind < shape_.kinds.size(); ++kind) {
    const auto texts = forms.forms[kind].of(forms.folded);
    forms.numbers.push_back(static_cast<std::uint32_t>(texts.size()));
    for (const std::string& text : texts) forms.numbers.push_back(number_of(kind, text));
  }
  return begin;
}

std::uint32_t ListBuilder::number_of(std::size_t kind, const std::string& text) {
  numbers_.resize(shape_.kinds.size());
  const auto [entry, is_new] = numbers_[kind].try_emplace(text, static_cast<std::uint32_t>(words_.size()));
  if (is_new) {
    words_.emplace_back();
    words_.back().text = &entry->first;
    words_.back().kind = kind;
  }
  return entry->second;
}

// The occurrences of a word are numbers. The lowest bit of the first says that a new document begins: the
// rest is the distance of its id, and a second number holds place x columns + column. Otherwise the second
// bit says that the column is the same, and the rest is the distance of the place; without it the rest is
// place x columns + column.
void ListBuilder::append(Word& word, std::uint32_t id, std::uint32_t column, std::uint32_t place) const {
  const auto columns = static_cast<std::uint32_t>(shape_.columns.size());
  const bool is_new = id != word.last_id;
  if (is_new) {
    append_number_bytes(word.bytes, (id - word.last_id) << 1 | 1);
    append_number_bytes(word.bytes, place * columns + column);
  } else if (column == word.last_column) {
    append_number_bytes(word.bytes, (place - word.last_place) << 2 | 2);
  } else {
    append_number_bytes(word.bytes, (place * columns + column) << 2);
  }
  word.last_id = id;
  word.last_column = column;
  word.last_place = place;
}

void ListBuilder::add_column(Forms& forms, std::uint32_t id, std::uint32_t column, std::string_view text,
                             bool keeps_terms) {
  std::uint32_t place = 0;
  for (WordCutter cutter(text); cutter.next(); place = std::min(place + 1, kLastPlace)) {
    forms.folded = cutter.word();
    const std::size_t begin = numbers_of_folded(forms);
    const std::uint32_t* next = forms.numbers.data() + begin;
    if (keeps_terms) last_terms_.push_back(next[1]);
    for (std::size_t kind = 0; kind < shape_.kinds.size(); ++kind) {
      const bool has_places = shape_.kinds[kind] != WordKind::parts;
      const std::uint32_t count = *next++;
      for (std::uint32_t i = 0; i < count; ++i) append(words_[*next++], id, column, has_places ? place : 0);
      lengths_[kind][id] += has_places ? 1 : count;
    }
    if (const auto last = cutter.last_character(); !last.empty()) add_beside(forms, id, column, place, last);
  }
}

/// Adds a word at the place of another, which the document's length has already.
void ListBuilder::add_beside(Forms& forms, std::uint32_t id, std::uint32_t column, std::uint32_t place,
                             std::string_view word) {
  forms.folded = word;
  const std::size_t begin = numbers_of_folded(forms);
  const std::uint32_t* next = forms.numbers.data() + begin;
  for (std::size_t kind = 0; kind < shape_.kinds.size(); ++kind) {
    const std::uint32_t count = *next++;
    if (shape_.kinds[kind] != WordKind::parts) append(words_[*next], id, column, place);
    next += count;
  }
}

void ListBuilder::add(std::uint32_t id, const SourceDocument& document) {
  require(lengths_.empty() || lengths_[0].size() <= id, "documents in ascending order of ids");
  for (auto& lengths : lengths_) lengths.resize(std::size_t{id} + 1);
  last_terms_.clear();
  const std::string language = language_of(document, shape_.language);
  ++languages_[language];
  auto& forms = forms_[language];
  if (forms == nullptr) {
    forms = std::make_shared<Forms>();
    for (const WordKind kind : shape_.kinds) forms->forms.emplace_back(kind, language);
  }
  const bool is_titled = !is_titled_by_file(document);
  for (std::uint32_t column = 0; column < shape_.columns.size(); ++column) {
    const std::string& name = shape_.columns[column];
    // an ending or a number does not tell what a file is about, and many have the same
    const bool keeps_terms = shape_.keeps_terms && (name != "title" || is_titled);
    add_column(*forms, id, column, field_of(document, name), keeps_terms);
  }
}

ListBuilder::Terms ListBuilder::terms_of_last() {
  std::sort(last_terms_.begin(), last_terms_.end());
  Terms terms;
  for (const std::uint32_t number : last_terms_) {
    if (terms.empty() || terms.back().first != number) terms.emplace_back(number, 0);
    ++terms.back().second;
  }
  return terms;
}

void ListBuilder::read(std::size_t word,
                       const std::function<void(const WordDocument& document)>& take) const {
  const auto columns = static_cast<std::uint32_t>(shape_.columns.size());
  const bool has_places = kind_of(word) != WordKind::parts;
  WordDocument document;
  std::uint32_t place = 0;
  std::string_view rest = words_[word].bytes;
  for (std::uint32_t number = 0; !rest.empty();) {
    const bool is_read = take_number_bytes(rest, number);
    std::uint32_t both = number >> 2;
    bool is_same_column = (number & 3) == 2;
    if ((number & 1) != 0) {
      if (!document.counts.empty()) take(document);
      document.id += number >> 1;
      document.counts.clear();
      document.places.clear();
      require(take_number_bytes(rest, both), "a place behind each id");
      is_same_column = false;
    }
    require(is_read && (!is_same_column || !document.counts.empty()), "occurrences as they were appended");
    if (is_same_column) {
      place += both;
    } else {
      place = both / columns;
      document.counts.emplace_back(both % columns, 0);
    }
    ++document.counts.back().second;
    if (has_places) document.places.push_back(place);
  }
  if (!document.counts.empty()) take(document);
}

}  // namespace metafuse::fetchers
