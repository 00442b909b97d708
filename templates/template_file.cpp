#include "templates/template_file.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>

#include "core/text.h"
#include "core/yaml_reader.h"

namespace metafuse::templates {
namespace {

/// Where a byte of a scalar's value stands in its file: the word there, or its first 64 bytes, is looked for
/// in the source, from the scalar's own place on. Escapes and folded lines do not matter, because words are
/// written as they are.
///
/// out:    the scalar's own place if the word is not found
/// cost:   O(bytes of the source), at most 64 comparisons for each
Place place_of_byte(std::string_view source, const YamlNode& scalar, std::size_t offset) {
  const std::string_view value = scalar.text;
  const std::string_view rest = value.substr(offset, 64);
  const std::string_view word = rest.substr(0, std::max<std::size_t>(rest.find_first_of(" \t\r\n'\"\\"), 1));
  Place place = scalar.place;
  std::size_t line_begin = 0;
  for (std::size_t line = 1; line < place.line; ++line) line_begin = source.find('\n', line_begin) + 1;
  std::size_t at = line_begin + place.column - 1;
  if (place.line == 0 || word.empty() || at >= source.size()) return place;
  if (source[at] == '\'' || source[at] == '"') ++at;
  at = source.find(word, at);
  for (std::size_t same = value.find(word); same < offset; same = value.find(word, same + 1))
    at = at == std::string_view::npos ? at : source.find(word, at + 1);
  if (at == std::string_view::npos) return place;
  const std::string_view between = source.substr(line_begin, at - line_begin);
  place.line += static_cast<std::size_t>(std::count(between.begin(), between.end(), '\n'));
  place.column = between.size() - (between.rfind('\n') + 1) + 1;
  return place;
}

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 20;
constexpr long long kMaxDepth = 1000;
constexpr double kMaxRrfK = 1000;
constexpr std::size_t kMaxLists = 64;
constexpr std::size_t kMaxSlots = 200;
constexpr std::size_t kMaxChoices = 200;
constexpr std::size_t kMaxExamples = 12;

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
constexpr std::string_view kLikeTop = "like-top";
constexpr std::size_t kMaxRerankers = 8;
constexpr int kMostReranked = 200;
constexpr int kMostFirstLists = 63;  // of the 64 queries that a search may send

bool is_engine_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes && std::none_of(name.begin(), name.end(), [](char c) {
    return c == '@' || c == '/' || static_cast<unsigned char>(c) <= 0x20 || c == 0x7F;
  });
}

class FileReader {
 public:
  FileReader(std::string_view source, std::size_t max_templates, Diagnostics& diagnostics)
      : source_(source), max_templates_(max_templates), diagnostics_(diagnostics) {}

  Domain read(const YamlNode& root) {
    YamlMap map(root, "the file", diagnostics_);
    map.take_required("version");
    map.take_integer("version", 1, 1);
    read_name(map);
    domain_.description = map.take_string("description").value_or("");
    domain_.examples = read_examples(map);
    domain_.searches_web = map.take_bool("searches_web").value_or(false);
    domain_.depth = static_cast<int>(map.take_integer("depth", 1, kMaxDepth).value_or(domain_.depth));
    read_group(map);
    const YamlNode* select = map.take("select");
    if (select != nullptr) read_select(*select);
    domain_.rrf_k = map.take_number("rrf_k", 0, kMaxRrfK).value_or(domain_.rrf_k);
    const bool has_lists = root.find("lists") != nullptr;  // then no other key is required
    const YamlNode* slots = has_lists ? map.take("slots") : map.take_required("slots");
    if (slots != nullptr) read_slots(*slots);
    if (slots == nullptr && has_lists) {
      domain_.slots.push_back({"QUERY", true, ""});
      slot_places_.push_back(root.place);
    }
    const YamlNode* templates = has_lists ? map.take("templates") : map.take_required("templates");
    if (templates != nullptr) read_templates(*templates);
    if (const YamlNode* rerank = map.take("rerank")) read_rerank(*rerank);
    if (has_lists) read_lists(map);
    if (select != nullptr) warn_about_select(select->place);
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

  std::vector<std::string> read_examples(YamlMap& map) {
    auto examples = map.take_strings("examples").value_or(std::vector<std::string>{});
    if (examples.size() > kMaxExamples)
      diagnostics_.error(map.place(), fmt::format("more than {} examples", kMaxExamples));
    for (const std::string& example : examples) check_length("an example", example, map.place());
    return examples;
  }

  void check_length(std::string_view what, const std::string& text, const Place& place) {
    if (text.size() > kMaxNameBytes)
      diagnostics_.error(place, fmt::format("{} is longer than {} bytes; shorten it", what, kMaxNameBytes));
  }

  void read_group(YamlMap& map) {
    const YamlNode* node = map.take("group");
    if (node == nullptr) return;
    domain_.groups_sites = yaml_string(*node, "group", diagnostics_).value_or("") == "site";
    if (!domain_.groups_sites) diagnostics_.error(node->place, "group must be site");
  }

  void read_select(const YamlNode& node) {
    YamlMap map(node, "select", diagnostics_);
    Selection& select = domain_.select.emplace();
    select.first = static_cast<int>(map.take_integer("first", 1, kMostFirstLists).value_or(select.first));
    select.explore = map.take_number("explore", 0, 1).value_or(select.explore);
    select.may_lose = map.take_number("may_lose", 0, 1).value_or(select.may_lose);
    if (node.is_map()) map.finish();
  }

  void warn_about_select(const Place& place) {
    std::size_t lists = 0;
    for (const SearchTemplate& item : domain_.templates) lists += item.engines.size();
    if (static_cast<std::size_t>(domain_.select->first) >= lists)
      diagnostics_.warning(place,
                           fmt::format("select asks {} lists first, and the domain has {}: nothing is saved",
                                       domain_.select->first, lists));
    if (domain_.select->explore == 0)
      diagnostics_.warning(place, "explore is 0, so lists that are left out are never tried again");
  }

  void read_slots(const YamlNode& slots) {
    if (!slots.is_map()) return diagnostics_.error(slots.place, "slots must be a map of slot names");
    if (slots.entries.size() > kMaxSlots)
      return diagnostics_.error(slots.place, fmt::format("more than {} slots; remove some", kMaxSlots));
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

  /// "like-top", one reranker, or a list of these.
  void read_rerank(const YamlNode& node) {
    const std::vector<YamlNode> one = {node};
    const auto& items = node.is_list() ? node.items : one;
    if (items.size() > kMaxRerankers)
      return diagnostics_.error(node.place, fmt::format("more than {} rerankers", kMaxRerankers));
    for (const YamlNode& item : items) {
      RerankList list = item.is_scalar() ? RerankList{item.text, "", RerankList().top} : read_reranker(item);
      if (list.engine.empty() && list.id != kLikeTop)
        diagnostics_.error(item.place,
                           "rerank must be like-top, or {id, engine, top} with the name of an "
                           "engine of the type rerank");
      const auto is_same = [&](const RerankList& other) {
        return other.feature_name() == list.feature_name();
      };
      if (std::any_of(domain_.rerank.begin(), domain_.rerank.end(), is_same))
        diagnostics_.error(item.place, "the reranker \"" + list.feature_name() + "\" occurs twice; keep one");
      domain_.rerank.push_back(std::move(list));
    }
  }

  RerankList read_reranker(const YamlNode& item) {
    YamlMap map(item, "a reranker", diagnostics_);
    RerankList list;
    if (const YamlNode* id = map.take_required("id")) list.id = read_id(*id);
    list.engine = map.take_string("engine").value_or("");
    list.top = static_cast<int>(map.take_integer("top", 1, kMostReranked).value_or(list.top));
    if (!list.engine.empty() && !is_engine_name(list.engine))
      diagnostics_.error(item.place, fmt::format("\"{}\" is not an engine name", list.engine));
    if (item.is_map()) map.finish();
    return list;
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
    search_template.label = map.take_string("label").value_or("");
    check_length("the label", search_template.label, item.place);
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
    for (const TextMistake& mistake : text.mistakes)
      diagnostics_.error(place_in(node, mistake.offset), mistake.text);
    const std::size_t uses = check_slots(text.pieces, node, false);
    if (uses == 0 && text.mistakes.empty())
      diagnostics_.error(node.place, "no slot in the query; every base query would be the same");
    if (uses > 0 && !always_says_something(text.pieces))
      diagnostics_.warning(
          node.place, "the query is empty when its optional slots are empty; its list will then be empty");
    return *query;
  }

  /// As place_of_byte, but no more often than places are shown, because each look-up reads the file.
  Place place_in(const YamlNode& query, std::size_t offset) {
    return ++looked_up_ > 2 * Diagnostics::kMost ? query.place : place_of_byte(source_, query, offset);
  }

  bool always_says_something(const std::vector<Piece>& pieces) const {
    return std::any_of(pieces.begin(), pieces.end(), [&](const Piece& piece) {
      if (piece.kind == Piece::Kind::literal)
        return piece.literal.find_first_not_of(" \t\r\n") != std::string::npos;
      if (piece.kind == Piece::Kind::group) return has_required_slots(piece.group);
      return is_required_slot(piece);
    });
  }

  bool is_required_slot(const Piece& piece) const {
    const Slot* slot = piece.kind == Piece::Kind::slot ? domain_.find_slot(piece.slot.slot) : nullptr;
    return slot != nullptr && slot->is_required;
  }

  /// Whether a group has slots and all are required, so that only their filters can drop it.
  bool has_required_slots(const std::vector<Piece>& group) const {
    const auto is_slot = [](const Piece& piece) { return piece.kind == Piece::Kind::slot; };
    return std::any_of(group.begin(), group.end(), is_slot) &&
           std::all_of(group.begin(), group.end(),
                       [&](const Piece& piece) { return !is_slot(piece) || is_required_slot(piece); });
  }

  /// out: the number of slots in the pieces
  std::size_t check_slots(const std::vector<Piece>& pieces, const YamlNode& query, bool in_group) {
    std::size_t uses = 0;
    for (const Piece& piece : pieces) {
      if (piece.kind == Piece::Kind::group) uses += check_slots(piece.group, query, true);
      if (piece.kind != Piece::Kind::slot) continue;
      ++uses;
      const Slot* slot = domain_.find_slot(piece.slot.slot);
      if (slot == nullptr && knows_slots_ && is_slot_name(piece.slot.slot)) {
        const Place place = place_in(query, piece.offset);
        // An error beyond the last that is kept only says that there are more.
        diagnostics_.error({place.line, place.column + (place.column > 0 ? 1 : 0)},
                           diagnostics_.is_full() ? "unknown slots" : unknown_slot(piece.slot.slot));
      }
      if (slot == nullptr) continue;
      used_.insert(slot->name);
      if (!slot->is_required && !in_group)
        diagnostics_.warning(
            place_in(query, piece.offset),
            "the slot " + slot->name +
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

  std::string_view source_;
  std::size_t max_templates_;
  Diagnostics& diagnostics_;
  Domain domain_;
  std::size_t looked_up_ = 0;       ///< places inside queries
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
  TRY(const auto text, read_config_text(path, kMaxFileBytes));
  return parse_domain_file(text, path);
}

}  // namespace metafuse::templates
