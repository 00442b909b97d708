#include "templates/template_file.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>

#include "core/text.h"
#include "core/text_file.h"
#include "core/yaml_reader.h"

namespace metafuse::templates {
namespace {

/// Reads a scalar's source text again and records the position of each byte of its value. Any construct
/// that it does not know makes its value differ from the parser's; the caller then falls back to the
/// scalar's own place.
class Follower {
 public:
  /// in: line_begin - the byte where the scalar's line begins
  Follower(std::string_view source, const YamlNode& scalar, std::size_t line_begin)
      : source_(source),
        wanted_(scalar.text),
        at_(line_begin + scalar.place.column - 1),
        line_(scalar.place.line),
        line_begin_(line_begin) {}

  std::vector<Place> follow() {
    skip_properties();
    const char first = peek();
    if (first == '|' || first == '>') {
      follow_block(first == '>');
    } else {
      const bool is_quoted = first == '\'' || first == '"';
      if (is_quoted) ++at_;
      while (!is_done() && at_ < source_.size()) follow_flow(is_quoted ? first : '\0');
    }
    places_.push_back(here());
    return value_ == wanted_ ? std::move(places_) : std::vector<Place>{};
  }

 private:
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }
  bool is_done() const { return value_.size() >= wanted_.size(); }
  Place here() const { return {line_, at_ - line_begin_ + 1}; }
  bool at_line_end() const { return peek() == '\n' || (peek() == '\r' && peek(1) == '\n'); }

  void take(char c, std::size_t length) {
    value_ += c;
    places_.push_back(here());
    at_ += length;
  }

  void drop_last() {
    value_.pop_back();
    places_.pop_back();
  }

  void next_line() {
    at_ = std::min(source_.find('\n', at_), source_.size() - 1) + 1;
    ++line_;
    line_begin_ = at_;
  }

  void skip_blanks() {
    while (peek() == ' ' || peek() == '\t') ++at_;
  }

  void skip_properties() {
    while (peek() == '&' || peek() == '!') {
      while (at_ < source_.size() && peek() != ' ' && !at_line_end()) ++at_;
      skip_blanks();
    }
  }

  void follow_flow(char quote) {
    if (at_line_end()) return fold();
    if (quote == '\'' && peek() == '\'') return take('\'', 2);
    if (quote == '"' && peek() == '\\') return take_escape();
    take(peek(), 1);
  }

  /// Inside a flow scalar, a single line end stands for a blank, and n + 1 line ends stand for n.
  void fold() {
    while (!value_.empty() && (value_.back() == ' ' || value_.back() == '\t')) drop_last();
    std::size_t line_ends = 0;
    const Place place = here();
    for (; at_line_end(); ++line_ends) {
      next_line();
      skip_blanks();
    }
    value_.append(line_ends == 1 ? 1 : line_ends - 1, line_ends == 1 ? ' ' : '\n');
    places_.resize(value_.size(), place);
  }

  void take_escape() {
    if (peek(1) == '\n' || peek(1) == '\r') {
      next_line();
      return skip_blanks();
    }
    constexpr std::string_view kNames = "0abtnvfre \"/\\";
    constexpr std::string_view kValues("\0\a\b\t\n\v\f\r\x1b \"/\\", 13);
    const std::size_t index = kNames.find(peek(1));
    if (index != std::string_view::npos) return take(kValues[index], 2);
    take_code(peek(1) == 'x' ? 2 : peek(1) == 'u' ? 4 : 8);
  }

  /// Reads \xHH and the like. The bytes of the value are already known; only their number is needed, which
  /// the first byte gives.
  void take_code(std::size_t digits) {
    const auto lead = static_cast<unsigned char>(wanted_[value_.size()]);
    const std::size_t bytes = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    const Place place = here();
    value_ += wanted_.substr(value_.size(), bytes);
    places_.resize(value_.size(), place);
    at_ += 2 + digits;
  }

  void follow_block(bool is_folded) {
    next_line();
    std::size_t indent = 0;
    for (std::size_t begin = at_; begin < source_.size(); begin = source_.find('\n', begin) + 1) {
      const std::size_t text = source_.find_first_not_of(' ', begin);
      indent = text == std::string_view::npos ? 0 : text - begin;
      if (text == std::string_view::npos || (source_[text] != '\n' && source_[text] != '\r')) break;
      if (source_.find('\n', begin) == std::string_view::npos) break;
    }
    while (!is_done() && at_ < source_.size()) {
      for (std::size_t i = 0; i < indent && peek() == ' '; ++i) ++at_;
      while (!is_done() && at_ < source_.size() && !at_line_end()) take(peek(), 1);
      if (is_done()) return;
      is_folded ? fold_block_line() : end_block_line();
    }
  }

  void end_block_line() {
    take('\n', 0);
    next_line();
  }

  void fold_block_line() {
    const Place place = here();
    std::size_t line_ends = 0;
    while (at_line_end()) {
      next_line();
      ++line_ends;
      const std::size_t text = source_.find_first_not_of(' ', at_);
      if (text == std::string_view::npos || source_[text] != '\n') break;
      at_ = text;
    }
    const bool is_last = value_.size() + 1 == wanted_.size() && wanted_.back() == '\n';
    value_.append(line_ends == 1 ? 1 : line_ends - 1, line_ends == 1 && !is_last ? ' ' : '\n');
    places_.resize(value_.size(), place);
  }

  std::string_view source_;
  std::string_view wanted_;
  std::size_t at_;
  std::size_t line_;
  std::size_t line_begin_;
  std::string value_;
  std::vector<Place> places_;
};

/// Finds the positions in a file of the bytes of its scalars.
class ScalarPlaces {
 public:
  explicit ScalarPlaces(std::string_view source) : source_(source), line_begins_{0} {
    for (std::size_t at = source.find('\n'); at != std::string_view::npos; at = source.find('\n', at + 1))
      line_begins_.push_back(at + 1);
  }

  /// The position of every byte of a scalar's value, and of its end. Works for plain, quoted and block
  /// scalars, including escapes and folded lines. If a scalar cannot be followed, all its bytes get the
  /// scalar's own position.
  ///
  /// cost:   O(bytes of the scalar)
  std::vector<Place> of(const YamlNode& scalar) const {
    std::vector<Place> places;
    if (const std::size_t line = scalar.place.line; line > 0 && line <= line_begins_.size())
      places = Follower(source_, scalar, line_begins_[line - 1]).follow();
    if (places.size() != scalar.text.size() + 1) places.assign(scalar.text.size() + 1, scalar.place);
    return places;
  }

 private:
  std::string_view source_;
  std::vector<std::size_t> line_begins_;
};

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 20;
constexpr long long kMaxDepth = 1000;
constexpr std::size_t kMaxLists = 64;
constexpr std::size_t kMaxChoices = 200;

constexpr std::size_t kMaxNameBytes = 64;

bool is_domain_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_ascii_small_or_digit(c) || c == '-'; });
}

bool is_template_id(std::string_view id) {
  const auto is_part = [](char c) { return is_ascii_letter_or_digit(c) || c == '-' || c == '_' || c == '.'; };
  return !id.empty() && id.size() <= kMaxNameBytes && std::all_of(id.begin(), id.end(), is_part) &&
         id.front() != '-' && id.front() != '.';
}

/// The characters that the name and the tag of a run file allow.
bool is_engine_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes && std::none_of(name.begin(), name.end(), [](char c) {
    return c == '@' || c == '/' || static_cast<unsigned char>(c) <= 0x20 || c == 0x7F;
  });
}

class FileReader {
 public:
  FileReader(std::string_view source, std::size_t max_templates, Diagnostics& diagnostics)
      : places_(source), max_templates_(max_templates), diagnostics_(diagnostics) {}

  Domain read(const YamlNode& root) {
    YamlMap map(root, "the file", diagnostics_);
    map.take_required("version");
    map.take_integer("version", 1, 1);
    read_name(map);
    domain_.description = map.take_string("description").value_or("");
    domain_.searches_web = map.take_bool("searches_web").value_or(false);
    domain_.depth = static_cast<int>(map.take_integer("depth", 1, kMaxDepth).value_or(domain_.depth));
    const bool has_lists = root.find("lists") != nullptr;  // then no other key is required
    const YamlNode* slots = has_lists ? map.take("slots") : map.take_required("slots");
    if (slots != nullptr) read_slots(*slots);
    if (slots == nullptr && has_lists) {
      domain_.slots.push_back({"QUERY", true, ""});
      slot_places_.push_back(root.place);
    }
    const YamlNode* templates = has_lists ? map.take("templates") : map.take_required("templates");
    if (templates != nullptr) read_templates(*templates);
    if (has_lists) read_lists(map);
    map.finish();
    return std::move(domain_);
  }

 private:
  void read_name(YamlMap& map) {
    const YamlNode* node = map.take_required("domain");
    if (node == nullptr) return;
    domain_.name = yaml_string(*node, "domain", diagnostics_).value_or("");
    if (node->is_scalar() && !is_domain_name(domain_.name))
      diagnostics_.error(node->place,
                         "the domain \"" + domain_.name + "\" must be 1 to 64 characters of a-z, 0-9 and -");
  }

  void read_slots(const YamlNode& slots) {
    if (!slots.is_map()) return diagnostics_.error(slots.place, "slots must be a map of slot names");
    knows_slots_ = true;
    if (slots.entries.empty()) diagnostics_.error(slots.place, "no slot; a domain needs at least one");
    for (const auto& [key, value] : slots.entries) {
      if (!is_slot_name(key.text))
        diagnostics_.error(
            key.place,
            "\"" + key.text + "\" is not a slot name; use up to 64 letters, digits and _, a letter first");
      Slot slot;
      slot.name = key.text;
      if (!value.is_null()) {
        YamlMap map(value, "slot " + key.text, diagnostics_);
        slot.is_required = map.take_bool("required").value_or(false);
        slot.description = map.take_string("description").value_or("");
        slot.label = map.take_string("label").value_or("");
        slot.values = map.take_strings("values").value_or(std::vector<std::string>{});
        if (slot.values.size() > kMaxChoices)
          diagnostics_.error(value.place,
                             "more than " + std::to_string(kMaxChoices) + " values for one slot");
        if (value.is_map()) map.finish();
      }
      domain_.slots.push_back(std::move(slot));
      slot_places_.push_back(key.place);
    }
  }

  void read_templates(const YamlNode& templates) {
    if (!templates.is_list()) return diagnostics_.error(templates.place, "templates must be a list");
    if (templates.items.empty())
      diagnostics_.error(templates.place, "no template; a domain needs at least one");
    if (templates.items.size() > max_templates_)
      return diagnostics_.error(
          templates.place,
          fmt::format("more than {} templates; divide them between several domains", max_templates_));
    for (const YamlNode& item : templates.items)
      if (!diagnostics_.is_full()) read_template(item);
    warn_about_slots();
  }

  /// Callers' lists are named like engines, so that none can have the name of a template's list, which
  /// contains an @.
  void read_lists(YamlMap& map) {
    const YamlNode& node = *map.take("lists");
    domain_.lists = map.take_strings("lists").value_or(std::vector<std::string>{});
    if (node.is_null() || (node.is_list() && node.items.empty()))
      diagnostics_.error(node.place, "no list; name at least one, or remove the key lists");
    if (domain_.lists.size() > kMaxLists)
      diagnostics_.error(node.place, "more than " + std::to_string(kMaxLists) + " lists");
    check_names(domain_.lists, node, "list");
  }

  /// in:     node - the value that the names were read from; what - "engine" or "list"
  void check_names(const std::vector<std::string>& names, const YamlNode& node, std::string_view what) {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const Place place = node.is_list() && i < node.items.size() ? node.items[i].place : node.place;
      if (!is_engine_name(names[i]))
        diagnostics_.error(
            place, fmt::format("\"{}\" is not {} {} name; use up to 64 characters without blanks, @ and /",
                               names[i], what == "engine" ? "an" : "a", what));
      if (!seen.insert(names[i]).second)
        diagnostics_.error(place, fmt::format("the {} \"{}\" occurs twice; keep one", what, names[i]));
    }
  }

  void read_template(const YamlNode& item) {
    YamlMap map(item, "a template", diagnostics_);
    SearchTemplate search_template;
    if (const YamlNode* id = map.take_required("id")) search_template.id = read_id(*id);
    if (const YamlNode* engine = map.take_required("engine"))
      search_template.engines = read_engines(map, *engine);
    if (const YamlNode* query = map.take_required("query")) search_template.query = read_query(*query);
    if (item.is_map()) map.finish();
    domain_.templates.push_back(std::move(search_template));
  }

  std::string read_id(const YamlNode& node) {
    const std::string id = yaml_string(node, "id", diagnostics_).value_or("");
    if (!node.is_scalar()) return id;
    if (!is_template_id(id))
      diagnostics_.error(
          node.place,
          "the id \"" + id + "\" must be 1 to 64 letters, digits, -, _ and ., a letter or digit first");
    const auto [first, is_new] = ids_.emplace(id, domain_.templates.size() + 1);
    if (!id.empty() && !is_new)
      diagnostics_.error(
          node.place, fmt::format("the id \"{}\" occurs twice (first at template {}); ids must be unique", id,
                                  first->second));
    return id;
  }

  std::vector<std::string> read_engines(YamlMap& map, const YamlNode& node) {
    if (node.is_null()) {
      diagnostics_.error(node.place, "engine is empty; name an engine from the engines file");
      return {};
    }
    const auto names = map.take_strings("engine").value_or(std::vector<std::string>{});
    if (node.is_list() && node.items.empty()) diagnostics_.error(node.place, "no engine; name at least one");
    check_names(names, node, "engine");
    return names;
  }

  std::string read_query(const YamlNode& node) {
    const auto query = yaml_string(node, "query", diagnostics_);
    if (!query) return {};
    const TemplateText text = parse_template_text(*query);
    const std::vector<Place> places = places_.of(node);
    for (const TextMistake& mistake : text.mistakes) diagnostics_.error(places[mistake.offset], mistake.text);
    const std::size_t uses = check_slots(text.pieces, places, false);
    if (uses == 0 && text.mistakes.empty())
      diagnostics_.error(node.place, "no slot in the query; every base query would be the same");
    if (uses > 0 && !always_says_something(text.pieces))
      diagnostics_.warning(
          node.place, "the query is empty when its optional slots are empty; its list will then be empty");
    return *query;
  }

  bool always_says_something(const std::vector<Piece>& pieces) const {
    return std::any_of(pieces.begin(), pieces.end(), [&](const Piece& piece) {
      if (piece.kind == Piece::Kind::literal)
        return piece.literal.find_first_not_of(" \t\r\n") != std::string::npos;
      const Slot* slot = piece.kind == Piece::Kind::slot ? domain_.find_slot(piece.slot.slot) : nullptr;
      return slot != nullptr && slot->is_required;
    });
  }

  /// out: the number of slots in the pieces
  std::size_t check_slots(const std::vector<Piece>& pieces, const std::vector<Place>& places, bool in_group) {
    std::size_t uses = 0;
    for (const Piece& piece : pieces) {
      if (piece.kind == Piece::Kind::group) uses += check_slots(piece.group, places, true);
      if (piece.kind != Piece::Kind::slot) continue;
      ++uses;
      const Place place = places[piece.offset];
      const Slot* slot = domain_.find_slot(piece.slot.slot);
      if (slot == nullptr && knows_slots_ && is_slot_name(piece.slot.slot))
        diagnostics_.error({place.line, place.column + (place.column > 0 ? 1 : 0)},
                           unknown_slot(piece.slot.slot));
      if (slot == nullptr) continue;
      used_.insert(slot->name);
      if (!slot->is_required && !in_group)
        diagnostics_.warning(
            place, "the slot " + slot->name +
                       " may be empty here; put the text that depends on it in [...] so that it is dropped");
    }
    return uses;
  }

  std::string unknown_slot(const std::string& name) const {
    if (domain_.slots.empty()) return fmt::format("unknown slot \"{}\"; the file has no slots", name);
    return fmt::format("unknown slot \"{}\"; known slots are {}", name, some_slot_names(domain_));
  }

  void warn_about_slots() {
    bool takes_plain_query = domain_.find_slot("QUERY") != nullptr;
    for (std::size_t i = 0; i < domain_.slots.size(); ++i) {
      takes_plain_query = takes_plain_query || domain_.slots[i].is_required;
      if (used_.count(domain_.slots[i].name) == 0)
        diagnostics_.warning(slot_places_[i],
                             "the slot " + domain_.slots[i].name + " is not used by any template");
    }
    if (!takes_plain_query && !domain_.slots.empty())
      diagnostics_.warning(slot_places_.front(),
                           "no slot is required or named QUERY, so a plain query has no slot to fill");
  }

  const ScalarPlaces places_;
  std::size_t max_templates_;
  Diagnostics& diagnostics_;
  Domain domain_;
  bool knows_slots_ = false;        // otherwise every use of a slot would be reported as a mistake
  std::vector<Place> slot_places_;  ///< of each slot in domain_.slots
  std::set<std::string> used_;
  std::map<std::string, std::size_t> ids_;
};

}  // namespace

Result<DomainFile> parse_domain_file(std::string_view text, std::string_view name,
                                     const DomainFileLimits& limits) {
  TRY(auto root, parse_yaml(text, name, limits.yaml));
  Diagnostics diagnostics{std::string(name)};
  DomainFile file{FileReader(text, limits.max_templates, diagnostics).read(root), diagnostics.warnings()};
  if (diagnostics.has_errors()) return diagnostics.to_error(Code::bad_config);
  return file;
}

Result<DomainFile> read_domain_file(const std::string& path) {
  auto text = read_text(path, kMaxFileBytes);
  if (!text)
    return text.error().code == Code::bad_data ? fail(Code::bad_config, text.error().text) : text.error();
  return parse_domain_file(*text, path);
}

}  // namespace metafuse::templates
