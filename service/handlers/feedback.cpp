#include "service/learning/feedback.h"

#include <chrono>

#include "core/json.h"
#include "service/errors.h"
#include "service/handlers/handlers.h"
#include "service/http/request_body.h"
#include "service/learning/records.h"
#include "service/reloader.h"

namespace metafuse::service {
namespace {

/// How long feedback waits for what is not yet written; its search may be among it.
constexpr std::chrono::milliseconds kFlushPatience{250};

/// The feedback is stored already: what fails here is only in the log.
void learn_online(const Snapshot& snapshot, Records& records, Log& log, const FeedbackRequest& request,
                  const FeedbackRules& rules) {
  if (!snapshot.config.learning.has_online_reranker || records.online_rerankers == nullptr) return;
  const auto search = records.store->find_search(request.search);
  const LoadedDomain* domain = search && *search ? snapshot.find_domain((*search)->domain) : nullptr;
  if (domain == nullptr) return;
  const auto learned = records.online_rerankers->learn(*domain, *records.store, request, rules);
  if (!learned) log.write(Log::Level::error, "online learning failed", {{"reason", learned.error().text}});
}

}  // namespace

HttpResponse handle_feedback(Reloader& reloader, Records& records, Log& log, const Exchange& exchange) {
  const auto refuse = [](int status, std::string_view text) {
    return error_response(Dialect::native, status, text);
  };
  if (records.store == nullptr) return refuse(404, "this server has no store, so it takes no feedback");
  const auto body = json_body(exchange.request);
  if (!body) return refuse(400, body.error().text);
  const auto request = parse_feedback(*body);
  if (!request) return refuse(400, request.error().text);
  FeedbackSender sender;
  sender.address = exchange.client;
  sender.key = exchange.key == nullptr ? "" : exchange.key->name;
  sender.is_judge = exchange.may(Role::judge);
  if (exchange.key != nullptr) sender.domains = exchange.key->domains;
  records.search_log->flush(kFlushPatience);
  const ServerConfig& config = exchange.snapshot->config;
  FeedbackRules rules;
  rules.tracking = config.tracking;
  rules.secret = records.secret;
  rules.caps = {config.learning.clicks_per_address, config.learning.clicks_per_key};
  const auto outcome = take_feedback(*records.store, *request, sender, rules, records.unix_time());
  if (!outcome) {
    // the error names the store's file or host: that is for the log
    log.write(Log::Level::error, "store failed", {{"reason", outcome.error().text}});
    HttpResponse response = refuse(503, "the server's store does not answer; send the feedback again later");
    response.set("Retry-After", "2");
    return response;
  }
  const int status = http_status(*outcome);
  if (status >= 400) return refuse(status, explanation_of(*outcome));
  if (*outcome == FeedbackOutcome::recorded)
    learn_online(*reloader.snapshot(), records, log, *request, rules);
  return make_response(status, "application/json", to_text(JsonObject{{"outcome", name_of(*outcome)}}));
}

}  // namespace metafuse::service
