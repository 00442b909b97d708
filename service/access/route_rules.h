#pragma once

#include <span>
#include <string_view>

namespace metafuse::service {

// What the table of routes declares about each route and the gate checks for every request.

/// The API whose error format a route uses.
enum class Dialect { plain, page, searxng, tavily, mcp, native, openwebui, dify, perplexity, rerank };

/// Who may use a route: anybody, clients that may search, judges, writers of documents, readers of
/// metrics, administrators.
enum class Access { open, search, judge, write, metrics, admin };

/// Whether the configuration may let clients without a key use routes with this access.
constexpr bool may_be_open(Access access) {
  return access == Access::open || access == Access::search || access == Access::metrics;
}

/// The media type that a body must have, compared exactly.
enum class BodyType {
  none,
  json,
  optional_json,  ///< JSON, or no body at all
  json_or_lines,  ///< JSON, or one request per line (NDJSON)
  text_or_lines,  ///< plain text, or one JSON value per line
  form,           ///< URL-encoded; the gate parses it into Exchange::form
  json_or_form,   ///< or no body, if the target has parameters
  yaml
};

/// The effect of a request beyond its answer.
enum class Effect {
  none,    ///< reads what is in memory or stored
  asks,    ///< asks engines, which costs them and this server
  changes  ///< changes what the server or a browser keeps
};

/// What a request costs the server; the gate turns it into tokens.
enum class Cost { nothing, little, normal, much };

/// An action of a page's form, named in the form's field `action`, that needs a role.
struct FormAction {
  std::string_view prefix;  ///< of the field's value; empty for any
  Access access;
};

struct RouteRules {
  Dialect dialect = Dialect::plain;
  Access access = Access::open;
  BodyType body = BodyType::none;
  Effect effect = Effect::none;
  Cost cost = Cost::little;
  /// A client that may not do a form's action gets the page with the reason (Exchange::refused_action), so
  /// that what was typed is not lost.
  std::span<const FormAction> actions = {};
};

}  // namespace metafuse::service
