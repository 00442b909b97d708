#pragma once

#include <variant>

#include "service/errors.h"
#include "service/http/exchange.h"
#include "service/http/message.h"
#include "service/learning/records.h"

// The common beginning of the handlers of /judge/DOMAIN and /analytics/DOMAIN: they find the domain, check
// that the server has a store, and that the sender of a form may use it. `draw` renders a page from its
// state, a struct with the members is_off and wrong.

namespace metafuse::service {

constexpr std::string_view kDomainPageType = "text/html; charset=utf-8";

/// The response to a page that is opened, before any form was sent.
template <class State, class Draw>
HttpResponse first_domain_page(const Records& records, const Exchange& exchange, const Draw& draw) {
  const LoadedDomain* domain = exchange.find_domain(exchange.path_values.front());
  if (domain == nullptr)
    return error_response(Dialect::page, 404, "no domain \"" + exchange.path_values.front() + "\"");
  State state;
  state.is_off = records.store == nullptr;
  return make_response(200, kDomainPageType, draw(exchange, *domain, state));
}

/// The domain of a form, or the response to a form that is refused.
///
/// in: state - what a refused form's page keeps of the form
template <class State, class Draw>
std::variant<const LoadedDomain*, HttpResponse> domain_of_form(const Records& records,
                                                               const Exchange& exchange, const Draw& draw,
                                                               State state) {
  const LoadedDomain* domain = exchange.find_domain(exchange.path_values.front());
  if (domain == nullptr || records.store == nullptr) return first_domain_page<State>(records, exchange, draw);
  if (!exchange.refused_action) return domain;
  if (exchange.snapshot->config.needs_key)  // then the page must not reveal which domains exist
    return refusal_response(Dialect::page, *exchange.refused_action);
  state.wrong = exchange.refused_action->text;
  return make_response(exchange.refused_action->status, kDomainPageType, draw(exchange, *domain, state));
}

}  // namespace metafuse::service
