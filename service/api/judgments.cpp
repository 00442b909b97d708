#include "service/api/judgments.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/json.h"
#include "core/kind_text.h"
#include "service/api/handlers.h"
#include "service/base/log.h"
#include "service/http/json_fields.h"
#include "service/http/message.h"
#include "service/learning/recording.h"
#include "service/learning/shown_searches.h"

// /v1/judgments, for judges' programs.

namespace metafuse::service {
namespace {

constexpr std::string_view kQrelsType = "text/plain; charset=utf-8";
constexpr std::string_view kJudgmentLines = "application/x-ndjson";
constexpr std::size_t kMostImported = 5000;  ///< queries per file

/// The domain that the path names, if it can be judged.
OrRefusal<const LoadedDomain*> domain_to_judge(const Records& records, const Exchange& exchange) {
  TRY(const LoadedDomain* domain, exchange.domain_in_path());
  if (records.store != nullptr) return domain;
  return refusal(404, "this server has no store, so it takes no judgments");
}

Result<ResultsToJudge> read_results(Store& store, const SearchAnswer& answer, const ShownResults& shown,
                                    std::string_view judge) {
  const StoredSearch& search = *shown.search;
  TRY(const auto grades, grades_by(store, search.domain, search.query, judge));
  ResultsToJudge out{shown.search_id, search.query, answer.query, {}};
  for (std::size_t i = 0; i < std::min(shown.positions.size(), search.shown.size()); ++i) {
    const Hit& hit = answer.results[shown.positions[i]].hit;
    ResultToJudge result{static_cast<std::uint32_t>(i + 1), hit, std::nullopt};
    if (const auto known = grades.find(search.documents[search.shown[i].document]); known != grades.end())
      result.grade = known->second;
    out.results.push_back(std::move(result));
  }
  return out;
}

Result<std::vector<ImportedQuery>> read_judgment_lines(std::string_view text,
                                                       const TrackingParameters& tracking) {
  std::vector<ImportedQuery> out;
  JsonLines lines(text);
  for (;;) {
    TRY(const auto json, lines.next());
    if (!json) return out;
    TRY(const auto query, read_judged_query(*json, lines.place(), tracking));
    ImportedQuery& item = out.emplace_back();
    item.slots = query.slots;
    for (const auto& answer : query.relevant) {
      if (answer.grade > kMaxGrade)
        return fail(Code::bad_data, fmt::format("{}: a grade is at most {}", lines.place(), kMaxGrade));
      item.grades[answer.key] = std::max(0, answer.grade);
    }
  }
}

}  // namespace

SearchRequest request_of(const LoadedDomain& domain, const BaseQuery& slots, const JudgedPool& pool) {
  SearchRequest request;
  request.domain = domain.domain.name;
  request.results = static_cast<std::size_t>(pool.depth);
  if (is_plain_query(slots, plain_slot(domain.domain)))
    request.text = slots.slots.begin()->second;
  else
    request.slots = slots;
  return request;
}

OrRefusal<ResultsToJudge> results_to_judge(const Judging& by, const SearchRequest& request,
                                           const JudgedPool& pool) {
  TRY(const auto found, by.finder.find(by.exchange, {.search = request, .is_for_judge = true}));
  const ShownResults shown = show_to_judge(by.records, by.exchange, by.domain, *found.answer,
                                           pooled_positions(*found.answer, pool, by.judge()));
  const AccessRefusal failed{503, {}, "the server's store cannot take searches now; try again", 2.0};
  if (shown.search == nullptr) return failed;
  auto results = read_results(*by.records.store, *found.answer, shown, by.judge());
  if (results) return std::move(*results);
  by.log.write(Log::Level::error, "store failed", {{"reason", results.error().text}});
  return failed;
}

Result<std::vector<ImportedQuery>> read_import(std::string_view text, const LoadedDomain& domain,
                                               const TrackingParameters& tracking) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  std::vector<ImportedQuery> out;
  if (begin == std::string_view::npos)
    return fail(Code::bad_data, "nothing was sent; send qrels or JSON lines");
  if (text[begin] == '{') {
    TRY(out, read_judgment_lines(text, tracking));
  } else {
    const bool has_hits = !domain.domain.templates.empty();
    TRY(out, read_qrels_text(text, plain_slot(domain.domain), has_hits ? &tracking : nullptr));
  }
  if (out.size() > kMostImported)
    return fail(Code::bad_data, fmt::format("more than {} queries; send the file in parts", kMostImported));
  for (const ImportedQuery& query : out)
    for (const auto& [name, value] : query.slots.slots)
      if (name != "QUERY" && std::none_of(domain.domain.slots.begin(), domain.domain.slots.end(),
                                          [&](const templates::Slot& slot) { return slot.name == name; }))
        return fail(Code::bad_data, fmt::format("the domain has no slot {}", name));
  return out;
}

Result<ImportedJudgments> store_import(Records& records, const Exchange& exchange, const LoadedDomain& domain,
                                       const std::vector<ImportedQuery>& queries) {
  const JudgmentSource source{domain.domain.name, exchange.key->name, records.unix_time()};
  auto report =
      import_judgments(*records.store, source, queries, identity_of(records, *exchange.snapshot, domain));
  if (report) records.note_judgments(domain.domain.name);
  return report;
}

HttpResponse judgments_file(const std::string& text, JudgmentFormat format, const std::string& domain) {
  const bool is_qrels = format == JudgmentFormat::qrels;
  HttpResponse response = make_response(200, is_qrels ? kQrelsType : kJudgmentLines, text);
  response.set("Content-Disposition",
               fmt::format("attachment; filename=\"{}.{}\"", domain, is_qrels ? "qrels" : "jsonl"));
  return response;
}

namespace {

JsonObject queue_json(const std::string& domain, const std::string& judge, const JudgingState& state) {
  JsonArray queries;
  for (const QueuedQuery& query : state.queries)
    queries.push_back(JsonObject{{"query", query.asked.query},
                                 {"slots", slots_json(query.asked.slots)},
                                 {"times", query.asked.times},
                                 {"own_grades", query.own_documents},
                                 {"documents", query.documents},
                                 {"judges", query.judges}});
  JsonArray pairs;
  for (const JudgePair& pair : state.pairs)
    pairs.push_back(JsonObject{{"judges", JsonArray{pair.first, pair.second}},
                               {"documents", pair.agreement.documents},
                               {"share_equal", pair.agreement.share_equal},
                               {"kappa", pair.agreement.kappa},
                               {"weighted_kappa", pair.agreement.weighted_kappa}});
  return {{"domain", domain},
          {"judge", judge},
          {"judged", state.judged},
          {"queries", std::move(queries)},
          {"agreement", std::move(pairs)}};
}

JsonObject results_json(const ResultsToJudge& found) {
  JsonArray results;
  for (const ResultToJudge& result : found.results) {
    const Hit& hit = result.hit;
    JsonObject out{{"position", result.position},
                   {"url", hit.url},
                   {"title", hit.title},
                   {"snippet", hit.snippet},
                   {"grade", result.grade ? Json(*result.grade) : Json()}};
    if (hit.kind != ResultKind::page) out["kind"] = name_of(hit.kind);
    if (const std::string picture = picture_of(hit); !picture.empty()) out["picture"] = picture;
    results.push_back(std::move(out));
  }
  return {{"search_id", found.search},
          {"query", found.query},
          {"text", found.text},
          {"results", std::move(results)}};
}

}  // namespace

Answered handle_get_judgments(Records& records, const Exchange& exchange) {
  TRY(const LoadedDomain* domain, domain_to_judge(records, exchange));
  const std::string_view name = exchange.request.parameter("format").value_or("qrels");
  if (name != "qrels" && name != "jsonl") return refusal(400, "format: send qrels or jsonl");
  const auto format = name == "qrels" ? JudgmentFormat::qrels : JudgmentFormat::lines;
  const std::string& domain_name = domain->domain.name;
  TRY(const auto text, judgments_text(*records.store, domain_name, plain_slot(domain->domain), format,
                                      exchange.request.parameter("judge").value_or("")));
  return judgments_file(text, format, domain_name);
}

Answered handle_post_judgments(Records& records, const Exchange& exchange) {
  TRY(const LoadedDomain* domain, domain_to_judge(records, exchange));
  if (exchange.request.parameter("judge"))
    return refusal(400, "judge: what is sent is stored as the key's own judgments; leave it out");
  TRY(const auto queries, read_import(exchange.request.body, *domain, exchange.snapshot->config.tracking));
  TRY(const auto report, store_import(records, exchange, *domain, queries));
  return json_response({{"queries", report.queries},
                        {"judgments", report.judgments},
                        {"without_search", report.without_search}});
}

Answered handle_judging_queue(Records& records, const Exchange& exchange) {
  TRY(const LoadedDomain* domain, domain_to_judge(records, exchange));
  TRY(const auto state, judging_state(*records.store, domain->domain.name, exchange.key->name));
  return json_response(queue_json(domain->domain.name, exchange.key->name, state));
}

Answered handle_judging_results(Finder& finder, Records& records, Log& log, const Exchange& exchange) {
  TRY(const LoadedDomain* domain, domain_to_judge(records, exchange));
  TRY(const auto body, json_body(exchange.request));
  JsonFields fields(body);
  BaseQuery slots{fields.text_map("slots")};
  const std::string text = fields.text("query").value_or("");
  const std::string pool_name = fields.text("pool").value_or("fused");
  const JudgedPool pool{pool_name == "lists", fields.integer("depth", 1, kMaxPoolDepth).value_or(10)};
  fields.refuse_others({"query", "slots", "pool", "depth"});
  if (pool_name != "fused" && pool_name != "lists") fields.set_mistake("pool: send fused or lists");
  if (text.empty() == slots.slots.empty()) fields.set_mistake("query: send either query or slots");
  if (fields.has_failed()) return fields.error();
  SearchRequest request = request_of(*domain, slots, pool);
  if (!text.empty()) request.text = text;
  TRY(const auto results, results_to_judge({finder, records, log, exchange, *domain}, request, pool));
  return json_response(results_json(results));
}

Answered handle_grades(Records& records, const Exchange& exchange) {
  TRY_VOID(domain_to_judge(records, exchange));
  TRY(const auto body, json_body(exchange.request));
  JsonFields fields(body);
  const std::string search = fields.text("search_id").value_or("");
  const JsonArray* items = fields.array("grades");
  fields.refuse_others({"search_id", "grades"});
  GradesByPosition grades;
  if (items == nullptr || items->empty() || items->size() > kMaxPooled)
    fields.set_mistake(fmt::format("grades: send 1 to {} of {{\"position\",\"grade\"}}", kMaxPooled));
  for (std::size_t i = 0; !fields.has_failed() && i < items->size(); ++i) {
    if (!(*items)[i].is_object()) return refusal(400, "grades: each must be {\"position\",\"grade\"}");
    JsonFields item((*items)[i].get_object());
    const auto position = item.integer("position", 1, static_cast<int>(kMaxPooled));
    const auto grade = item.integer("grade", 0, kBestGrade);
    item.refuse_others({"position", "grade"});
    if (!position || !grade) item.set_mistake("each has a position and a grade");
    if (item.has_failed()) return refusal(400, "grades: " + item.error().text);
    grades.emplace_back(static_cast<std::uint32_t>(*position), *grade);
  }
  if (fields.has_failed()) return fields.error();
  records.search_log->flush(kWrittenPatience);
  const JudgmentSource source{exchange.path_values.front(), exchange.key->name, records.unix_time()};
  TRY(const auto wrong, store_grades(*records.store, source, search, grades));
  if (!wrong.empty()) return refusal(422, wrong);
  records.note_judgments(exchange.path_values.front());
  return json_response(JsonObject{{"stored", grades.size()}});
}

}  // namespace metafuse::service
