#include "service/learning/judging.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/json.h"
#include "core/number.h"
#include "service/base/log.h"
#include "service/handlers.h"
#include "service/http/head.h"
#include "service/http/json_fields.h"
#include "service/http/message.h"
#include "service/learning/judgment_transfer.h"
#include "service/learning/recording.h"
#include "service/learning/records.h"
#include "service/pages/judging_page.h"
#include "service/pages/page.h"
#include "service/search/picture_reader.h"
#include "service/searcher.h"

// /judge and /v1/judgments, for judges. The page's form and the routes for programs call the same functions.
// The gate has checked the role.

namespace metafuse::service {
namespace {

constexpr std::string_view kQrelsType = "text/plain; charset=utf-8";
constexpr std::string_view kLinesType = "application/x-ndjson";
/// How long storing grades waits until their search is written.
constexpr std::chrono::milliseconds kWrittenPatience{500};
constexpr std::size_t kMostImported = 5000;  ///< queries per file
constexpr std::size_t kMostSuggested = 100;
constexpr std::string_view kTelling = "telling";  ///< name of the queue's order by suggestion

/// The domain that the path names, if it can be judged.
OrRefusal<const LoadedDomain*> domain_to_judge(const Records& records, const Exchange& exchange) {
  TRY(const LoadedDomain* domain, exchange.domain_in_path());
  if (records.store != nullptr) return domain;
  return refusal(404, "this server has no store, so it takes no judgments");
}

StoreIdentity identity_of(const Records& records, const Exchange& exchange, const LoadedDomain& domain) {
  return {records.secret, exchange.snapshot->config.privacy.hash_queries, plain_slot(domain.domain)};
}

Result<JudgingState> state_of_judging(const Records& records, const LoadedDomain& domain,
                                      const std::string& judge, bool is_by_suggestion) {
  TRY(auto state, judging_state(*records.store, domain.domain.name, judge));
  if (!is_by_suggestion) return state;
  SuggestionOptions options;
  options.domain = domain.domain.name;
  options.now = records.unix_time();
  options.count = kMostSuggested;
  options.features = features_of(domain.domain);
  TRY(const auto suggestions, suggested_queries(*records.store, options));
  order_by(suggestions, state);
  return state;
}

/// The request that searches for a stored query again: by its text if it is plain, else by its slots.
SearchRequest request_of(const LoadedDomain& domain, const BaseQuery& slots, const JudgedPool& pool) {
  SearchRequest request;
  request.domain = domain.domain.name;
  request.results = static_cast<std::size_t>(pool.depth);
  const std::string_view plain = plain_slot(domain.domain);
  const bool is_plain = slots.slots.size() == 1 && (slots.slots.begin()->first == plain ||
                                                    (plain.empty() && slots.slots.contains("QUERY")));
  if (is_plain)
    request.text = slots.slots.begin()->second;
  else
    request.slots = slots;
  return request;
}

Result<ResultsToJudge> read_results(Store& store, const SearchAnswer& answer, const ShownResults& shown,
                                    std::string_view judge) {
  const StoredSearch& search = *shown.search;
  TRY(const auto grades, grades_by(store, search.domain, search.query, judge));
  ResultsToJudge out{shown.search_id, search.query, answer.query, {}};
  for (std::size_t i = 0; i < std::min(shown.positions.size(), search.shown.size()); ++i) {
    const Hit& hit = answer.results[shown.positions[i]].hit;
    ResultToJudge result{static_cast<std::uint32_t>(i + 1), hit.url, hit.title, hit.snippet, std::nullopt};
    if (const auto known = grades.find(search.documents[search.shown[i].document]); known != grades.end())
      result.grade = known->second;
    out.results.push_back(std::move(result));
  }
  return out;
}

/// A judge's request, and the parts that answer it.
struct Judging {
  Searcher& searcher;
  Records& records;
  Log& log;
  const Exchange& exchange;
  const LoadedDomain& domain;

  const std::string& judge() const { return exchange.key->name; }
};

/// Searches and returns the pool of results for the judge.
OrRefusal<ResultsToJudge> results_to_judge(const Judging& by, const SearchRequest& request,
                                           const JudgedPool& pool) {
  TRY(const auto found, by.searcher.find(by.exchange, {.search = request, .is_for_judge = true}));
  const ShownResults shown = by.searcher.show_to_judge(by.exchange, by.domain, *found.answer,
                                                       pooled_positions(*found.answer, pool, by.judge()));
  const AccessRefusal failed{503, {}, "the server's store cannot take searches now; try again", 2.0};
  if (shown.search == nullptr) return failed;
  auto results = read_results(*by.records.store, *found.answer, shown, by.judge());
  if (results) return std::move(*results);
  by.log.write(Log::Level::error, "store failed", {{"reason", results.error().text}});
  return failed;
}

/// Reads queries from JSON lines, or from qrels if the text does not begin with a JSON object.
Result<std::vector<ImportedQuery>> read_import(std::string_view text, const LoadedDomain& domain,
                                               const TrackingParameters& tracking) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  std::vector<ImportedQuery> out;
  if (begin == std::string_view::npos)
    return fail(Code::bad_data, "nothing was sent; send qrels or JSON lines");
  if (text[begin] != '{') {
    TRY(out, read_qrels_text(text, plain_slot(domain.domain)));
  } else {
    std::size_t number = 0;
    for (std::size_t at = 0; at < text.size(); ++number) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const std::string_view line = trimmed(text.substr(at, end - at));
      at = end + 1;
      if (line.empty() || line == "\r") continue;
      JsonLimits limits;
      limits.first_line = number + 1;
      TRY(const Json json, parse_json(line, "lines", Code::bad_data, limits));
      TRY(const auto query, read_judged_query(json, fmt::format("lines:{}", number + 1), tracking));
      ImportedQuery& item = out.emplace_back();
      item.slots = query.slots;
      for (const auto& answer : query.relevant)
        item.grades[answer.key] = std::clamp(answer.grade, 0, kBestGrade);
    }
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

Result<ImportedJudgments> run_import(Records& records, const Exchange& exchange, const LoadedDomain& domain,
                                     std::string_view text) {
  TRY(const auto queries, read_import(text, domain, exchange.snapshot->config.tracking));
  const JudgmentSource source{domain.domain.name, exchange.key->name, records.unix_time()};
  auto report = import_judgments(*records.store, source, queries, identity_of(records, exchange, domain));
  if (report) records.note_judgments(domain.domain.name);
  return report;
}

HttpResponse file_response(const std::string& text, JudgmentFormat format, const std::string& domain) {
  const bool is_qrels = format == JudgmentFormat::qrels;
  HttpResponse response = make_response(200, is_qrels ? kQrelsType : kLinesType, text);
  response.set("Content-Disposition",
               fmt::format("attachment; filename=\"{}.{}\"", domain, is_qrels ? "qrels" : "jsonl"));
  return response;
}

JsonObject queue_json(const std::string& domain, const std::string& judge, const JudgingState& state) {
  JsonArray queries;
  for (const QueuedQuery& query : state.queries) {
    JsonObject slots;
    for (const auto& [name, value] : query.asked.slots.slots) slots[name] = value;
    queries.push_back(JsonObject{{"query", query.asked.query},
                                 {"slots", std::move(slots)},
                                 {"times", query.asked.times},
                                 {"own_grades", query.own_documents},
                                 {"documents", query.documents},
                                 {"judges", query.judges}});
  }
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
  for (const ResultToJudge& result : found.results)
    results.push_back(JsonObject{{"position", result.position},
                                 {"url", result.url},
                                 {"title", result.title},
                                 {"snippet", result.snippet},
                                 {"grade", result.grade ? Json(*result.grade) : Json()}});
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
  return file_response(text, format, domain_name);
}

Answered handle_post_judgments(Records& records, const Exchange& exchange) {
  TRY(const LoadedDomain* domain, domain_to_judge(records, exchange));
  TRY(const auto report, run_import(records, exchange, *domain, exchange.request.body));
  return json_response({{"queries", report.queries},
                        {"judgments", report.judgments},
                        {"without_search", report.without_search}});
}

Answered handle_judging_queue(Records& records, const Exchange& exchange) {
  TRY(const LoadedDomain* domain, domain_to_judge(records, exchange));
  const std::string_view order = exchange.request.parameter("order").value_or("asked");
  if (order != "asked" && order != kTelling) return refusal(400, "order: send asked or telling");
  TRY(const auto state, state_of_judging(records, *domain, exchange.key->name, order == kTelling));
  return json_response(queue_json(domain->domain.name, exchange.key->name, state));
}

Answered handle_judging_results(Searcher& searcher, Records& records, Log& log, const Exchange& exchange) {
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
  TRY(const auto results, results_to_judge({searcher, records, log, exchange, *domain}, request, pool));
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
  const auto stored = store_grades(*records.store, source, search, grades);
  if (!stored && stored.error().code == Code::usage) return refusal(422, stored.error().text);
  TRY_VOID(stored);
  records.note_judgments(exchange.path_values.front());
  return json_response(JsonObject{{"stored", grades.size()}});
}

namespace {

constexpr std::string_view kJudgeOne = "judge-";

/// Reads the form's choice of a pool, such as "lists-3".
JudgedPool pool_of(std::string_view text) {
  JudgedPool pool;
  const std::size_t dash = text.find('-');
  std::int64_t depth = 0;
  if (dash == std::string_view::npos || !to_integer(text.substr(dash + 1), depth)) return pool;
  pool.is_of_lists = text.substr(0, dash) == "lists";
  pool.depth = static_cast<int>(std::clamp<std::int64_t>(depth, 1, kMaxPoolDepth));
  return pool;
}

/// The chosen grades: the form's fields g.POSITION.
Result<GradesByPosition> chosen_grades(const Fields& form) {
  GradesByPosition grades;
  for (const auto& [name, value] : form) {
    if (!name.starts_with("g.")) continue;
    std::int64_t position = 0;
    std::int64_t grade = 0;
    if (!to_integer(std::string_view(name).substr(2), position) || !to_integer(value, grade) ||
        position < 1 || position > static_cast<std::int64_t>(kMaxPooled) || grade < 0 || grade > kBestGrade)
      return fail(Code::usage, "the form is malformed; open the query again");
    grades.emplace_back(static_cast<std::uint32_t>(position), static_cast<int>(grade));
  }
  return grades;
}

/// Answers one request of the page's form.
class JudgeForm {
 public:
  JudgeForm(const Judging& by, FileLinks files) : by_(by) { state_.files = std::move(files); }

  HttpResponse answer() {
    state_.is_signed_in = true;
    state_.pool = pool_of(field("pool"));
    state_.is_by_suggestion = field("order") == kTelling;
    const std::string action = field("action");
    if (action == "export-qrels" || action == "export-lines") return file(action);
    if (action.starts_with("save")) save();
    if (action == "import") import();
    if (!read_state()) return page();
    if (!state_.wrong.empty()) return page();
    if (action == "next" && !field("text").empty())
      open_text(field("text"));
    else if (action == "next" || action == "save-next" || action == "skip")
      open(next_query(state_.state, field("after")));
    else if (action.starts_with(kJudgeOne))
      open_digest(action.substr(kJudgeOne.size()));
    return page();
  }

 private:
  std::string field(std::string_view name) const { return form_value(by_.exchange.form, name); }
  const std::string& name() const { return by_.domain.domain.name; }

  HttpResponse page() const { return html_response(judging_page(by_.exchange, by_.domain, state_), status_); }

  /// Shows a failure to the judge. The text of a failure of the store itself goes to the log only.
  void fail_with(const Error& error) {
    const bool is_theirs = error.code == Code::usage || error.code == Code::bad_data;
    status_ = is_theirs ? 422 : 503;
    state_.wrong = is_theirs ? error.text : "the server's store does not answer; try again";
    if (!is_theirs) by_.log.write(Log::Level::error, "store failed", {{"reason", error.text}});
  }

  bool read_state() {
    auto state = state_of_judging(by_.records, by_.domain, by_.judge(), state_.is_by_suggestion);
    if (!state) {
      fail_with(state.error());
      return false;
    }
    state_.state = std::move(*state);
    if (by_.records.model_versions == nullptr) return true;
    const auto models = by_.records.model_versions->state(name());
    if (!models) return true;
    if (auto story = learning_story(*by_.records.store, name(), *models)) state_.story = std::move(*story);
    return true;
  }

  HttpResponse file(const std::string& action) {
    const auto format = action == "export-qrels" ? JudgmentFormat::qrels : JudgmentFormat::lines;
    const auto text = judgments_text(*by_.records.store, name(), plain_slot(by_.domain.domain), format);
    if (text) return file_response(*text, format, name());
    fail_with(text.error());
    read_state();
    return page();
  }

  void save() {
    const auto grades = chosen_grades(by_.exchange.form);
    if (!grades) return fail_with(grades.error());
    if (grades->empty()) return;
    by_.records.search_log->flush(kWrittenPatience);
    const JudgmentSource source{name(), by_.judge(), by_.records.unix_time()};
    const auto stored = store_grades(*by_.records.store, source, field("search"), *grades);
    if (!stored) return fail_with(stored.error());
    by_.records.note_judgments(name());
    state_.done = fmt::format("{} grade{} saved.", grades->size(), grades->size() == 1 ? "" : "s");
  }

  void import() {
    const auto report = run_import(by_.records, by_.exchange, by_.domain, field("file"));
    if (!report) return fail_with(report.error());
    state_.done = fmt::format("{} queries with {} judgments imported.", report->queries, report->judgments);
    if (report->without_search > 0)
      state_.done += fmt::format(
          " {} of them have no stored lists yet; they count for training once somebody searches or judges "
          "them.",
          report->without_search);
  }

  void open_request(const SearchRequest& request) {
    auto results = results_to_judge(by_, request, state_.pool);
    if (results) {
      state_.open = std::move(*results);
      return;
    }
    status_ = results.error().status;
    state_.wrong = results.error().text;
  }

  void open(const QueuedQuery* query) {
    if (query != nullptr) return open_request(request_of(by_.domain, query->asked.slots, state_.pool));
    if (!state_.done.empty()) state_.done += " ";
    state_.done +=
        state_.state.queries.empty() ? "No query is waiting." : "You have judged every query here.";
  }

  void open_text(const std::string& text) {
    SearchRequest request = request_of(by_.domain, {}, state_.pool);
    request.slots = {};
    request.text = text;
    open_request(request);
  }

  void open_digest(const std::string& digest) {
    for (const QueuedQuery& query : state_.state.queries)
      if (query.asked.query == digest) return open(&query);
    fail_with(fail(Code::usage, "that query is not stored any more"));
  }

  const Judging by_;
  JudgingPageState state_;
  int status_ = 200;
};

}  // namespace

HttpResponse handle_judge_list(const Exchange& exchange) {
  return html_response(domain_list_page(exchange, "judge_list", "Judging – metafuse"));
}

Answered handle_judge_page(Records& records, const Exchange& exchange) {
  return first_domain_page<JudgingPageState>(records, exchange, judging_page);
}

Answered handle_judge_form(Searcher& searcher, Records& records, PictureReader& pictures, Log& log,
                           const Exchange& exchange) {
  TRY(const LoadedDomain* domain, domain_of_form(records, exchange, judging_page, JudgingPageState()));
  return JudgeForm({searcher, records, log, exchange, *domain},
                   {pictures.links().secret, exchange.snapshot->config.files})
      .answer();
}

}  // namespace metafuse::service
