#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "templates/slot_value.h"

namespace metafuse::templates {

struct Slot {
  std::string name;
  bool is_required = false;
  std::string description;
  std::string label{};                ///< for people; empty: derived from the name
  std::vector<std::string> values{};  ///< suggestions for a form; other values are allowed
};

/// The name of a slot in a form: its label, or "Publication year" for PUBLICATION_YEAR.
std::string label_of(const Slot& slot);

/// One method of query expansion: turns a base query into a query for an engine.
struct SearchTemplate {
  std::string id;
  std::vector<std::string> engines;  ///< each gives one ranking feature
  std::string query;                 ///< the template's text as written
  std::string label{};               ///< what its lists are called on pages; may be empty
};

/// A list of the second stage: the first results of the fused lists, ordered by a reranker.
struct RerankList {
  std::string id;
  std::string engine;  ///< of the type rerank; empty: by their likeness to the best results
  int top = 50;        ///< how many of the first results it orders

  /// The name of its ranking feature.
  std::string feature_name() const { return engine.empty() ? id : id + "@" + engine; }
};

/// Which lists of a domain a search asks for.
struct Selection {
  int first = 5;            ///< asked at once; the others only if these do not settle the top
  double explore = 0.05;    ///< share of the queries for which all lists are asked
  double may_lose = 0.002;  ///< of the mean worth of a ranking, by what is not asked for
};

/// The search templates of one domain (one YAML file).
struct Domain {
  std::string name;
  std::string description;
  bool searches_web = false;  ///< searches the whole web, not just what the description names
  bool groups_sites = false;  ///< a site's results follow its second one
  int depth = 30;
  double rrf_k = 60;  ///< k of reciprocal rank fusion, which orders the lists while there is no model
  std::vector<Slot> slots;
  std::vector<SearchTemplate> templates;
  std::vector<RerankList> rerank;
  std::optional<Selection> select{};    ///< absent: every search asks for all lists
  std::vector<std::string> lists;       ///< names of the lists that callers submit to POST /v1/fuse
  std::vector<std::string> examples{};  ///< plain queries that the home page offers

  const Slot* find_slot(std::string_view slot_name) const;
};

/// What people call the list of a template and an engine: the template's label, followed by the engine if the
/// template asks several; empty if the template has no label.
std::string list_label(const Domain& domain, std::string_view template_id, std::string_view engine);

/// The names of a domain's slots for a message: at most ten, then the number of others.
std::string some_slot_names(const Domain& domain);

/// `{SLOT|filter|filter}` in the text of a query.
struct SlotUse {
  std::string slot;
  std::vector<const Filter*> filters;  ///< in the order of application
  bool in_quotes = false;
};

/// A part of a query's text: literal characters, a slot, or an optional group `[...]`, which is dropped when
/// a slot inside it is empty.
struct Piece {
  enum class Kind { literal, slot, group };

  Kind kind = Kind::literal;
  std::size_t offset = 0;  ///< of its first byte in the text
  std::string literal;
  SlotUse slot;
  std::vector<Piece> group;
};

/// A mistake in a query's text, with the offset of the byte where it is.
struct TextMistake {
  std::size_t offset = 0;
  std::string text;
};

struct TemplateText {
  std::vector<Piece> pieces;
  std::vector<TextMistake> mistakes;  ///< the text is usable only if this is empty
};

/// Parses the text of a query: `{SLOT|filter}`, `[optional group]`, and `{{ }} [[ ]]` for literal braces
/// and brackets.
///
/// out:    the pieces, and every mistake: unmatched braces and brackets, unknown filters, invalid names,
///         groups without a slot or nested deeper than 16 levels, unclosed quotes, `all`, `any` and `phrase`
///         inside quotes
/// cost:   O(bytes)
TemplateText parse_template_text(std::string_view text);

/// True for a name of the form [A-Za-z][A-Za-z0-9_]{0,63}.
bool is_slot_name(std::string_view name);

}  // namespace metafuse::templates
