#include "templates/search_template.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/diagnostics.h"
#include "core/text.h"

namespace metafuse::templates {
namespace {

constexpr std::size_t kMostSlotNames = 10;
constexpr std::size_t kDeepestGroup = 16;

}  // namespace

std::string list_label(const Domain& domain, std::string_view template_id, std::string_view engine) {
  for (const SearchTemplate& one : domain.templates) {
    if (one.id != template_id || one.label.empty()) continue;
    return one.engines.size() == 1 ? one.label : one.label + " (" + std::string(engine) + ")";
  }
  return {};
}

std::string label_of(const Slot& slot) {
  if (!slot.label.empty()) return slot.label;
  std::string out = ascii_lower(slot.name);
  std::replace(out.begin(), out.end(), '_', ' ');
  if (!out.empty()) out.front() = ascii_upper(out.front());
  return out;
}

const Slot* Domain::find_slot(std::string_view slot_name) const {
  const auto at =
      std::find_if(slots.begin(), slots.end(), [&](const Slot& slot) { return slot.name == slot_name; });
  return at == slots.end() ? nullptr : &*at;
}

std::string some_slot_names(const Domain& domain) {
  std::string names;
  const std::size_t shown = std::min(domain.slots.size(), kMostSlotNames);
  for (std::size_t i = 0; i < shown; ++i) names += (i == 0 ? "" : ", ") + domain.slots[i].name;
  return shown == domain.slots.size() ? names
                                      : fmt::format("{} and {} more", names, domain.slots.size() - shown);
}

namespace {

std::string filter_names() {
  std::string names;
  for (const Filter& filter : filters()) names += (names.empty() ? "" : ", ") + std::string(filter.name);
  return names;
}

/// Parses the text in one pass, with a stack of open groups.
class TextParser {
 public:
  explicit TextParser(std::string_view text) : text_(text) { open_.push_back({}); }

  TemplateText parse() {
    while (at_ < text_.size()) take_one();
    if (quote_at_ != kNone) mistake(quote_at_, "this quote is not closed; add a second \" after the phrase");
    for (; open_.size() > 1; close_group())
      mistake(open_.back().offset, "this [ is not closed; add ], or write [[ for the character itself");
    return {std::move(open_.front().pieces), std::move(mistakes_)};
  }

 private:
  static constexpr std::size_t kNone = std::string_view::npos;

  struct OpenGroup {
    std::size_t offset = 0;
    bool began_in_quotes = false;
    bool has_slot = false;
    std::vector<Piece> pieces;
  };

  void take_one() {
    const char c = text_[at_];
    const bool is_doubled = at_ + 1 < text_.size() && text_[at_ + 1] == c;
    const bool is_special = c == '{' || c == '}' || c == '[' || c == ']';
    if (is_special && is_doubled) {
      literal(c, 2);
    } else if (c == '{') {
      take_slot();
    } else if (c == '[' && open_.size() > kDeepestGroup) {
      mistake(at_++, "groups nested deeper than 16 levels; remove some brackets");
    } else if (c == '[') {
      open_.push_back({at_, quote_at_ != kNone, false, {}});
      ++at_;
    } else if (c == ']') {
      take_group_end();
    } else if (c == '}') {
      mistake(at_, "} without a { before it; write }} for the character itself");
      ++at_;
    } else {
      if (c == '"') quote_at_ = quote_at_ == kNone ? at_ : kNone;
      literal(c, 1);
    }
  }

  void literal(char c, std::size_t length) {
    std::vector<Piece>& pieces = open_.back().pieces;
    if (pieces.empty() || pieces.back().kind != Piece::Kind::literal) {
      pieces.emplace_back();
      pieces.back().offset = at_;
    }
    pieces.back().literal += c;
    at_ += length;
  }

  void take_group_end() {
    if (open_.size() == 1) {
      mistake(at_, "] without a [ before it; write ]] for the character itself");
    } else {
      const OpenGroup& group = open_.back();
      if (!group.has_slot)
        mistake(group.offset, "no slot inside [...], so it would never be dropped; remove the brackets");
      if (group.began_in_quotes != (quote_at_ != kNone))
        mistake(group.offset,
                "a quote opens or closes inside [...] only; keep both quotes inside or outside");
      close_group();
    }
    ++at_;
  }

  void close_group() {
    OpenGroup group = std::move(open_.back());
    open_.pop_back();
    open_.back().has_slot = open_.back().has_slot || group.has_slot;
    Piece piece;
    piece.kind = Piece::Kind::group;
    piece.offset = group.offset;
    piece.group = std::move(group.pieces);
    open_.back().pieces.push_back(std::move(piece));
  }

  void take_slot() {
    const std::size_t begin = at_ + 1;
    const std::size_t end = text_.find_first_of("{}[]", begin);
    open_.back().has_slot = true;
    if (end == kNone || text_[end] != '}') {
      mistake(at_, "this { is not closed; add }, or write {{ for the character itself");
      at_ = end == kNone ? text_.size() : end;
      return;
    }
    Piece piece;
    piece.kind = Piece::Kind::slot;
    piece.offset = at_;
    piece.slot = slot_use(begin, end);
    open_.back().pieces.push_back(std::move(piece));
    at_ = end + 1;
  }

  SlotUse slot_use(std::size_t begin, std::size_t end) {
    SlotUse use;
    use.in_quotes = quote_at_ != kNone;
    const std::string_view before_end = text_.substr(0, end);  // or each slot would be looked for in all text
    const std::size_t name_end = std::min(before_end.find('|', begin), end);
    use.slot = ascii_trimmed(text_.substr(begin, name_end - begin), " ");
    if (!is_slot_name(use.slot))
      mistake(begin, use.slot.empty() ? "no slot name between the braces"
                                      : "\"" + use.slot + "\" is not a slot name; use letters, digits and _");
    for (std::size_t at = name_end; at < end;) {
      const std::size_t filter_end = std::min(before_end.find('|', at + 1), end);
      add_filter(use, at + 1, filter_end);
      at = filter_end;
    }
    return use;
  }

  void add_filter(SlotUse& use, std::size_t begin, std::size_t end) {
    const std::string_view name = ascii_trimmed(text_.substr(begin, end - begin), " ");
    const Filter* filter = find_filter(name);
    const std::size_t offset = std::min(text_.find_first_not_of(' ', begin), end);
    if (filter == nullptr)
      return mistake(offset,
                     "unknown filter \"" + std::string(name) + "\"; known filters are " + filter_names());
    if (filter->writes_operators && use.in_quotes)
      return mistake(offset, "the filter " + std::string(name) + " is inside quotes; remove the quotes");
    use.filters.push_back(filter);
  }

  void mistake(std::size_t offset, std::string text) {
    if (mistakes_.size() < Diagnostics::kMost) mistakes_.push_back({offset, std::move(text)});
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t quote_at_ = kNone;
  std::vector<OpenGroup> open_;
  std::vector<TextMistake> mistakes_;
};

}  // namespace

bool is_slot_name(std::string_view name) {
  const auto is_part = [](char c) { return is_ascii_letter_or_digit(c) || c == '_'; };
  return !name.empty() && name.size() <= 64 && is_ascii_letter(name.front()) &&
         std::all_of(name.begin(), name.end(), is_part);
}

TemplateText parse_template_text(std::string_view text) {
  return TextParser(text).parse();
}

}  // namespace metafuse::templates
