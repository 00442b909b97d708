#pragma once

#include <variant>

#include "service/errors.h"
#include "service/http/exchange.h"
#include "service/http/message.h"
#include "service/learning/records.h"

// What the operators' pages of one domain (/judge/DOMAIN, /analytics/DOMAIN) begin with: which domain is
// meant, whether the server remembers anything, and whether whoever sent the form may. `draw` makes the page
// of a state, which has the members is_off and wrong.

namespace metafuse::service {

constexpr std::string_view kDomainPageType = "text/html; charset=utf-8";

/// The page as it is first opened.
template <class State, class Draw>
HttpResponse first_domain_page(const Records& records, const Exchange& exchange, const Draw& draw) {
  const LoadedDomain* domain = exchange.find_domain(exchange.path_values.front());
  if (domain == nullptr)
    return error_response(Dialect::page, 404, "no domain \"" + exchange.path_values.front() + "\"");
  State state;
  state.is_off = records.store == nullptr;
  return make_response(200, kDomainPageType, draw(exchange, *domain, state));
}

/// The domain whose form is to be answered, or the answer that says why it is not.
///
/// in: state - what the page keeps of the form where that is refused
template <class State, class Draw>
std::variant<const LoadedDomain*, HttpResponse> domain_of_form(const Records& records,
                                                               const Exchange& exchange, const Draw& draw,
                                                               State state) {
  const LoadedDomain* domain = exchange.find_domain(exchange.path_values.front());
  if (domain == nullptr || records.store == nullptr) return first_domain_page<State>(records, exchange, draw);
  if (!exchange.refused_action) return domain;
  if (exchange.snapshot->config.needs_key)  // which hides what domains there are
    return refusal_response(Dialect::page, *exchange.refused_action);
  state.wrong = exchange.refused_action->text;
  return make_response(exchange.refused_action->status, kDomainPageType, draw(exchange, *domain, state));
}

}  // namespace metafuse::service
