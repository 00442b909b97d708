#pragma once

#include <span>
#include <string_view>

namespace metafuse::service {

// What the table of routes declares of a route, and the gate checks for all of them.

/// Whose error shape a path answers with.
enum class Dialect { plain, page, searxng, tavily, mcp, native };

/// Who may use a route: anybody, whoever may search, a judge, a reader of metrics, an administrator.
enum class Access { open, search, judge, metrics, admin };

/// What the body may be, by the exact Content-Type.
enum class BodyType {
  none,
  json,
  optional_json,  ///< JSON, or no body at all
  json_or_lines,  ///< JSON, or a request per line (NDJSON)
  text_or_lines,  ///< plain text, or JSON per line
  form,           ///< URL-encoded; the gate parses it into Exchange::form
  json_or_form,   ///< also no body at all where the target has parameters
  yaml
};

/// What a request does beyond being answered.
enum class Effect {
  none,    ///< reads what is in memory or stored
  asks,    ///< asks engines, which costs them and us
  changes  ///< changes what the server or a browser keeps
};

/// What a request costs the server; the gate turns it into tokens.
enum class Cost { nothing, little, normal, much };

/// An action of a page's form, named in its field `action`, that not everybody may do.
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
  /// Who may not do a form's action sees the page with the reason (Exchange::refused_action), so that what
  /// was typed is not lost.
  std::span<const FormAction> actions = {};
};

}  // namespace metafuse::service
