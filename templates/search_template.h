#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "templates/slot_value.h"

namespace metafuse::templates {

struct Slot {
  std::string name;
  bool is_required = false;
  std::string description;
  std::string label{};                ///< for people; empty: the name in small letters
  std::vector<std::string> values{};  ///< what a form offers; any other value may be given too
};

/// What a slot is called in a form: its label, or "Publication year" of PUBLICATION_YEAR.
std::string label_of(const Slot& slot);

/// One query expansion method: how a base query becomes an engine's query.
struct SearchTemplate {
  std::string id;
  std::vector<std::string> engines;  ///< one ranking feature for each
  std::string query;                 ///< the template text as written
};

/// The search templates of one domain (one YAML file).
struct Domain {
  std::string name;
  std::string description;
  bool searches_web = false;  ///< the whole web, rather than what the description names
  int depth = 30;
  std::vector<Slot> slots;
  std::vector<SearchTemplate> templates;
  std::vector<std::string> lists;  ///< names of the lists that callers bring to POST /v1/fuse

  const Slot* find_slot(std::string_view slot_name) const;
};

/// The names of a domain's slots for a message: ten at most, then how many more there are.
std::string some_slot_names(const Domain& domain);

/// `{SLOT|filter|filter}` in a query's text.
struct SlotUse {
  std::string slot;
  std::vector<const Filter*> filters;  ///< in the order they apply
  bool in_quotes = false;
};

/// A part of a query's text: characters, a slot, or `[...]`, which is dropped when a slot inside it is empty.
struct Piece {
  enum class Kind { literal, slot, group };

  Kind kind = Kind::literal;
  std::size_t offset = 0;  ///< of its first byte in the text
  std::string literal;
  SlotUse slot;
  std::vector<Piece> group;
};

/// A mistake in a query's text and the byte where it stands.
struct TextMistake {
  std::size_t offset = 0;
  std::string text;
};

struct TemplateText {
  std::vector<Piece> pieces;
  std::vector<TextMistake> mistakes;  ///< empty for a text that may be used
};

/// Parses the text of a query: `{SLOT|filter}`, `[optional group]`, and `{{ }} [[ ]]` for the
/// characters themselves.
///
/// out:  the pieces, and every mistake: braces and brackets without their partner, unknown filters, names
///       that are none, groups without a slot or nested deeper than 16 levels, quotes that do not close,
///       `all`, `any` and `phrase` inside quotes
/// cost: O(bytes)
TemplateText parse_template_text(std::string_view text);

/// [A-Za-z][A-Za-z0-9_]{0,63}
bool is_slot_name(std::string_view name);

}  // namespace metafuse::templates
