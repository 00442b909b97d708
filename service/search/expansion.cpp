#include "service/search/expansion.h"

#include <algorithm>
#include <string_view>

#include "core/near_names.h"
#include "templates/expander.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kMaxVariants = 16;
constexpr std::size_t kMaxExpandedQueries = 64;
constexpr std::string_view kVariantSlot = "QUERY";

/// The base query of a request: from its slots, its plain text, or both together.
Result<templates::AskedQuery> base_query_of(const LoadedDomain& domain, const SearchRequest& request) {
  if (!request.slots.slots.empty() && request.text.empty()) return templates::AskedQuery{request.slots, {}};
  return templates::plain_base_query(domain.domain, request.text, request.slots);
}

const templates::SearchTemplate* find_template(const templates::Domain& domain, std::string_view id) {
  for (const templates::SearchTemplate& item : domain.templates)
    if (item.id == id) return &item;
  return nullptr;
}

/// Expands a caller's variant for each engine of its template: the text passes the engine's syntax filter
/// like a slot's value (unless it is raw), and the typed query's conditions are added.
Result<void> expand_variant(const Snapshot& snapshot, const LoadedDomain& domain, const QueryVariant& variant,
                            const templates::TypedQuery& typed, std::vector<ExpandedQuery>& out) {
  const templates::SearchTemplate* item = find_template(domain.domain, variant.template_id);
  if (item == nullptr)
    return fail(Code::usage, "no template \"" + variant.template_id + "\" in domain " + domain.domain.name +
                                 "; a variant must name the template that it replaces");
  if (variant.is_raw) {
    for (const std::string& engine : item->engines) out.push_back({item->id, engine, variant.text});
    return {};
  }
  templates::Domain one;
  one.slots.push_back({std::string(kVariantSlot), true, ""});
  one.templates.push_back({item->id, item->engines, "{QUERY}"});
  const templates::AskedQuery asked{{{{std::string(kVariantSlot), variant.text}}}, {}, typed};
  TRY(auto expanded, templates::expand_asked(one, asked, snapshot.engines.syntax_of));
  out.insert(out.end(), expanded.begin(), expanded.end());
  return {};
}

void keep_named(const SearchRequest& request, std::vector<ExpandedQuery>& queries) {
  const auto is_among = [](const std::vector<std::string>& names, const std::string& name) {
    return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
  };
  std::erase_if(queries, [&](const ExpandedQuery& query) {
    return !is_among(request.engines, query.engine) || !is_among(request.lists, query.feature_name());
  });
}

}  // namespace

Result<const LoadedDomain*> named_domain(const Snapshot& snapshot, std::string_view name,
                                         const KeyConfig* key) {
  if (const LoadedDomain* found = snapshot.find_domain_for(key, name); found != nullptr) return found;
  std::vector<std::string> names;
  for (const LoadedDomain* domain : snapshot.domains_for(key)) names.push_back(domain->domain.name);
  return fail(Code::usage,
              "no domain \"" + std::string(name) + "\"" + did_you_mean(std::string(name), names));
}

Result<std::vector<ExpandedQuery>> expand_request(const Snapshot& snapshot, const LoadedDomain& domain,
                                                  const SearchRequest& request,
                                                  const templates::ExpansionLimits& limits) {
  if (request.variants.size() > kMaxVariants) return fail(Code::usage, "more than 16 query variants");
  std::vector<ExpandedQuery> queries;
  templates::TypedQuery asked;
  const bool has_query = !request.slots.slots.empty() || !request.text.empty();
  if (has_query || request.variants.empty()) {
    TRY(const auto base, base_query_of(domain, request));
    TRY(auto expanded, templates::expand_asked(domain.domain, base, snapshot.engines.syntax_of, limits));
    asked = base.typed;
    queries = std::move(expanded);
  }
  for (const QueryVariant& variant : request.variants)
    TRY_VOID(expand_variant(snapshot, domain, variant, asked, queries));
  keep_named(request, queries);
  if (queries.empty() && domain.domain.templates.empty())
    return fail(Code::usage, "the domain " + domain.domain.name +
                                 " has no search templates: callers bring its lists, to POST /v1/fuse");
  if (queries.empty())
    return fail(Code::usage, "no template of the domain uses any of the named engines or lists");
  if (queries.size() > kMaxExpandedQueries)
    return fail(Code::usage, "more than 64 expanded queries; give fewer variants or name fewer engines");
  return queries;
}

std::string query_text(const std::string& text, const BaseQuery& slots) {
  std::string out = text;
  if (!text.empty()) return out;
  for (const auto& [name, value] : slots.slots) out += (out.empty() ? "" : " ") + value;
  return out;
}

}  // namespace metafuse::service
