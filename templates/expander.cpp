#include "templates/expander.h"

#include <algorithm>
#include <string>

#include "core/text.h"
#include "templates/search_template.h"

namespace metafuse::templates {
namespace {

constexpr std::size_t kMaxValueBytes = kMaxTypedBytes;

Result<void> check_base_query(const Domain& domain, const BaseQuery& base_query) {
  for (const auto& [name, value] : base_query.slots) {
    if (domain.find_slot(name) == nullptr)
      return fail(Code::usage, "the domain " + domain.name + " has no slot \"" + name + "\"; its slots are " +
                                   some_slot_names(domain));
    if (value.size() > kMaxValueBytes)
      return fail(Code::usage, "the value of slot " + name + " is longer than " +
                                   std::to_string(kMaxValueBytes) + " bytes; shorten it");
  }
  for (const Slot& slot : domain.slots) {
    if (!slot.is_required) continue;
    const auto value = base_query.slots.find(slot.name);
    if (value == base_query.slots.end())
      return fail(Code::usage,
                  "the domain " + domain.name + " requires the slot " + slot.name + "; give it a value");
    if (!has_letter(normalise_value(value->second)))
      return fail(Code::usage, "the value of the required slot " + slot.name +
                                   " has no letter or digit; give it words to search for");
  }
  return {};
}

/// Writes the text of one template for one engine.
class Writer {
 public:
  Writer(const TypedBaseQuery& asked, const QuerySyntax& syntax, std::size_t max_bytes)
      : asked_(asked), syntax_(syntax), max_bytes_(max_bytes) {}

  /// Stops as soon as the text exceeds the limit.
  std::string write(const std::vector<Piece>& pieces) const {
    std::string out;
    for (const Piece& piece : pieces) {
      if (out.size() > max_bytes_) break;
      if (piece.kind == Piece::Kind::literal) out += piece.literal;
      if (piece.kind == Piece::Kind::slot)
        out += write_value(value_of(piece.slot), syntax_, piece.slot.in_quotes);
      if (piece.kind == Piece::Kind::group && !is_dropped(piece.group)) out += write(piece.group);
    }
    return out;
  }

 private:
  SlotValue value_of(const SlotUse& use) const {
    const auto text = asked_.base.slots.find(use.slot);
    if (text == asked_.base.slots.end()) return {};
    SlotValue value = use.slot == asked_.typed_slot ? metafuse::templates::value_of(asked_.typed, syntax_)
                                                    : words_of(text->second, syntax_);
    for (const Filter* filter : use.filters) value = filter->apply(std::move(value));
    return value;
  }

  bool is_dropped(const std::vector<Piece>& group) const {
    return std::any_of(group.begin(), group.end(), [&](const Piece& piece) {
      return piece.kind == Piece::Kind::slot && value_of(piece.slot).is_empty();
    });
  }

  const TypedBaseQuery& asked_;
  const QuerySyntax& syntax_;
  std::size_t max_bytes_;
};

}  // namespace

Result<std::vector<ExpandedQuery>> expand(const Domain& domain, const BaseQuery& base_query,
                                          const SyntaxLookup& syntax_of, const ExpansionLimits& limits) {
  return expand_asked(domain, TypedBaseQuery{base_query, {}}, syntax_of, limits);
}

Result<std::vector<ExpandedQuery>> expand_asked(const Domain& domain, const TypedBaseQuery& asked,
                                                const SyntaxLookup& syntax_of,
                                                const ExpansionLimits& limits) {
  TRY_VOID(check_base_query(domain, asked.base));
  std::vector<ExpandedQuery> out;
  for (const SearchTemplate& search_template : domain.templates) {
    const TemplateText text = parse_template_text(search_template.query);
    if (!text.mistakes.empty())
      return fail(Code::bad_config, "template " + search_template.id + ": " + text.mistakes.front().text);
    for (const std::string& engine : search_template.engines) {
      const QuerySyntax& syntax = syntax_of ? syntax_of(engine) : default_query_syntax();
      if (out.size() == limits.max_queries)
        return fail(Code::usage, "the domain " + domain.name + " expands a query to more than " +
                                     std::to_string(limits.max_queries) +
                                     " queries; remove some templates or engines");
      std::string query = Writer(asked, syntax, limits.max_query_bytes).write(text.pieces);
      if (query.size() <= limits.max_query_bytes)
        query = with_conditions(ascii_squeezed(query), asked.typed, syntax);
      if (query.size() > limits.max_query_bytes)
        return fail(Code::usage, "the query of template " + search_template.id + " is longer than " +
                                     std::to_string(limits.max_query_bytes) + " bytes; shorten it");
      out.push_back({search_template.id, engine, std::move(query)});
    }
  }
  return out;
}

Result<TypedBaseQuery> plain_base_query(const Domain& domain, std::string_view text, BaseQuery beside) {
  const Slot* target = domain.find_slot("QUERY");
  for (const Slot& slot : domain.slots)
    if (target == nullptr && slot.is_required) target = &slot;
  if (target == nullptr)
    return fail(Code::usage, "the domain " + domain.name +
                                 " has neither a slot QUERY nor a required one; give its slots by name: " +
                                 some_slot_names(domain));
  if (const auto given = beside.slots.find(target->name);
      given != beside.slots.end() && given->second != text)
    return fail(Code::usage,
                "the query fills the slot " + target->name + ", which has another value; give one of them");
  if (text.size() > kMaxTypedBytes)
    return fail(Code::usage,
                "the query is longer than " + std::to_string(kMaxTypedBytes) + " bytes; shorten it");
  TypedBaseQuery asked{std::move(beside), target->name, parse_typed_query(text)};
  if (asked.typed.terms.empty())
    return fail(Code::usage, asked.typed.conditions.empty()
                                 ? "the query has no letter or digit; give it words to search for"
                                 : "the query has conditions only; give it words to search for");
  if (asked.typed.conditions.size() > kMostConditions)
    return fail(Code::usage,
                "the query has more than " + std::to_string(kMostConditions) + " conditions; remove some");
  asked.base.slots.insert_or_assign(target->name, asked.typed.words());
  return asked;
}

}  // namespace metafuse::templates
