#include "templates/template_file.h"

#include <algorithm>
#include <set>

#include "core/text_file.h"
#include "core/yaml_reader.h"
#include "templates/scalar_places.h"
#include "templates/template_text.h"

namespace metafuse::templates {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 20;
constexpr long long kMaxDepth = 1000;
constexpr std::size_t kMaxLists = 64;

bool is_word_of(std::string_view text, std::string_view more, std::size_t max_size) {
  return !text.empty() && text.size() <= max_size && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || more.find(c) != std::string_view::npos;
  });
}

constexpr std::string_view kCapitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

bool is_template_id(std::string_view id) {
  return is_word_of(id, std::string(kCapitals) + "-_.", 64) && id.front() != '-' && id.front() != '.';
}

/// What a run file's name and its tag can hold.
bool is_engine_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::none_of(name.begin(), name.end(), [](char c) {
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
    domain_.depth = static_cast<int>(map.take_integer("depth", 1, kMaxDepth).value_or(domain_.depth));
    const bool has_lists = root.find("lists") != nullptr;  // then nothing else need be there
    const YamlNode* slots = has_lists ? map.take("slots") : map.take_required("slots");
    if (slots != nullptr) read_slots(*slots);
    if (slots == nullptr && has_lists) domain_.slots.push_back({"QUERY", true, ""});
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
    if (node->is_scalar() && !is_word_of(domain_.name, "-", 64))
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
            "\"" + key.text + "\" is no slot's name; use up to 64 letters, digits and _, a letter first");
      Slot slot;
      slot.name = key.text;
      if (!value.is_null()) {
        YamlMap map(value, "slot " + key.text, diagnostics_);
        slot.is_required = map.take_bool("required").value_or(false);
        slot.description = map.take_string("description").value_or("");
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
      return diagnostics_.error(templates.place, "more than " + std::to_string(max_templates_) +
                                                     " templates; divide them between several domains");
    for (const YamlNode& item : templates.items) read_template(item);
    warn_about_slots();
  }

  /// Callers' lists: named as engines are, so that no name is also that of a template's list, which has an @.
  void read_lists(YamlMap& map) {
    const YamlNode& node = *map.take("lists");
    domain_.lists = map.take_strings("lists").value_or(std::vector<std::string>{});
    if (node.is_null() || (node.is_list() && node.items.empty()))
      diagnostics_.error(node.place, "no list; name at least one, or leave lists out");
    if (domain_.lists.size() > kMaxLists)
      diagnostics_.error(node.place, "more than " + std::to_string(kMaxLists) + " lists");
    std::set<std::string> seen;
    for (std::size_t i = 0; i < domain_.lists.size(); ++i) {
      const Place place = node.is_list() && i < node.items.size() ? node.items[i].place : node.place;
      if (!is_engine_name(domain_.lists[i]))
        diagnostics_.error(place, "\"" + domain_.lists[i] +
                                      "\" is no list's name; up to 64 characters without blanks, @ and /");
      if (!seen.insert(domain_.lists[i]).second)
        diagnostics_.error(place, "the list \"" + domain_.lists[i] + "\" stands twice; keep one");
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
    for (std::size_t i = 0; i < domain_.templates.size(); ++i)
      if (!id.empty() && domain_.templates[i].id == id)
        diagnostics_.error(node.place, "the id \"" + id + "\" stands twice (first at template " +
                                           std::to_string(i + 1) + "); ids are unique");
    return id;
  }

  std::vector<std::string> read_engines(YamlMap& map, const YamlNode& node) {
    if (node.is_null()) {
      diagnostics_.error(node.place, "engine is empty; name an engine of the engines file");
      return {};
    }
    const auto names = map.take_strings("engine").value_or(std::vector<std::string>{});
    if (node.is_list() && node.items.empty()) diagnostics_.error(node.place, "no engine; name at least one");
    std::set<std::string> seen;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const bool has_place = node.is_list() && i < node.items.size();
      const Place place = has_place ? node.items[i].place : node.place;
      if (!is_engine_name(names[i]))
        diagnostics_.error(
            place, "\"" + names[i] + "\" is no engine's name; up to 64 characters without blanks, @ and /");
      if (!seen.insert(names[i]).second)
        diagnostics_.error(place, "the engine \"" + names[i] + "\" stands twice; keep one");
    }
    return names;
  }

  std::string read_query(const YamlNode& node) {
    const auto query = yaml_string(node, "query", diagnostics_);
    if (!query) return {};
    const TemplateText text = parse_template_text(*query);
    const std::vector<Place> places = scalar_places(source_, node);
    for (const TextMistake& mistake : text.mistakes) diagnostics_.error(places[mistake.offset], mistake.text);
    const std::size_t uses = check_slots(text.pieces, places, false);
    if (uses == 0 && text.mistakes.empty())
      diagnostics_.error(node.place, "no slot in the query; every base query would be the same");
    if (uses > 0 && !always_says_something(text.pieces))
      diagnostics_.warning(
          node.place,
          "nothing is left of the query when its optional slots are empty; its list is empty then");
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
            place,
            "the slot " + slot->name + " may be empty here; put what belongs to it in [...] to drop it then");
    }
    return uses;
  }

  std::string unknown_slot(const std::string& name) const {
    constexpr std::size_t kMostNamed = 10;
    std::string known;
    for (std::size_t i = 0; i < std::min(kMostNamed, domain_.slots.size()); ++i)
      known += (known.empty() ? "" : ", ") + domain_.slots[i].name;
    if (domain_.slots.size() > kMostNamed)
      known += " and " + std::to_string(domain_.slots.size() - kMostNamed) + " more";
    return "unknown slot \"" + name + "\"; " +
           (known.empty() ? "the file has no slots" : "known slots are " + known);
  }

  void warn_about_slots() {
    bool takes_plain_query = domain_.find_slot("QUERY") != nullptr;
    for (std::size_t i = 0; i < domain_.slots.size(); ++i) {
      takes_plain_query = takes_plain_query || domain_.slots[i].is_required;
      if (used_.count(domain_.slots[i].name) == 0)
        diagnostics_.warning(slot_places_[i], "the slot " + domain_.slots[i].name + " is in no template");
    }
    if (!takes_plain_query && !domain_.slots.empty())
      diagnostics_.warning(slot_places_.front(),
                           "no slot is named QUERY or required: a plain query has no slot to fill");
  }

  std::string_view source_;
  std::size_t max_templates_;
  Diagnostics& diagnostics_;
  Domain domain_;
  bool knows_slots_ = false;  // else every use of a slot would be a mistake of its own
  std::vector<Place> slot_places_;
  std::set<std::string> used_;
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
