#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/number.h"
#include "service/api/judgments.h"
#include "service/base/log.h"
#include "service/http/head.h"
#include "service/http/message.h"
#include "service/pages/handlers.h"
#include "service/pages/judging_page.h"
#include "service/pages/page.h"
#include "service/search/picture_reader.h"
#include "service/search/search_requests.h"

// /judge: the page on which results are judged.

namespace metafuse::service {
namespace {

constexpr std::string_view kJudgeOne = "judge-";
/// How many queries the page compares language models with people on.
constexpr std::size_t kComparedQueries = 100;

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
  JudgeForm(const Judging& by, FileLinks files, PictureLinks pictures) : by_(by) {
    state_.files = std::move(files);
    state_.pictures = std::move(pictures);
  }

  HttpResponse answer() {
    state_.is_signed_in = true;
    state_.pool = pool_of(field("pool"));
    state_.typed_query = field("text");
    state_.typed_slots = slots_in(by_.exchange.form);
    state_.typed_file = field("file");
    const std::string action = field("action");
    if (action == "export-qrels" || action == "export-lines") return file(action);
    if (action.starts_with("save")) save();
    if (action == "import") import();
    if (!read_state()) return page();
    if (!state_.wrong.empty()) return page();
    if (action == "next" && !(state_.typed_query.empty() && state_.typed_slots.slots.empty()))
      open_typed();
    else if (action == "next" || action == "save-next" || action == "skip")
      open(next_query(state_.state, field("after")));
    else if (action.starts_with(kJudgeOne))
      open_digest(action.substr(kJudgeOne.size()));
    return page();
  }

 private:
  std::string field(std::string_view name) const { return form_value(by_.exchange.form, name); }
  const std::string& name() const { return by_.domain.domain.name; }

  /// The page; what is only shown beside the queue, and costly, is read only there.
  HttpResponse page() {
    if (!state_.open && status_ != 503) read_comparisons();
    return html_response(judging_page(by_.exchange, by_.domain, state_), status_);
  }

  /// Says what is wrong with what the judge sent.
  void refuse(const std::string& wrong) {
    status_ = 422;
    state_.wrong = wrong;
  }

  /// The text of a failure of the store itself goes to the log only.
  void store_failed(const Error& error) {
    status_ = 503;
    state_.wrong = "the server's store does not answer; try again";
    by_.log.write(Log::Level::error, "store failed", {{"reason", error.text}});
  }

  bool read_state() {
    auto state = judging_state(*by_.records.store, name(), by_.judge());
    if (!state) {
      store_failed(state.error());
      return false;
    }
    state_.state = std::move(*state);
    return true;
  }

  /// What the judgments brought, and what models' grades are worth beside people's.
  void read_comparisons() {
    auto reports = judge_reports(*by_.records.store,
                                 {.domain = name(), .has_interval = false, .most_queries = kComparedQueries});
    if (!reports) return store_failed(reports.error());
    state_.models = std::move(*reports);
    if (by_.records.model_versions == nullptr) return;
    const auto models = by_.records.model_versions->state(name());
    if (!models) return;
    if (auto story = learning_story(*by_.records.store, name(), *models)) state_.story = std::move(*story);
  }

  HttpResponse file(const std::string& action) {
    const auto format = action == "export-qrels" ? JudgmentFormat::qrels : JudgmentFormat::lines;
    const auto text = judgments_text(*by_.records.store, name(), plain_slot(by_.domain.domain), format);
    if (text) return judgments_file(*text, format, name());
    store_failed(text.error());
    read_state();
    return page();
  }

  void save() {
    save_grades();
    if (status_ != 200) state_.unsaved = fields_of_grades();
  }

  /// What can be sent again if the grades were not saved.
  Fields fields_of_grades() const {
    Fields out = without_key(by_.exchange.form);
    std::erase_if(out, [](const auto& field) {
      const std::string& one = field.first;
      return one != "action" && one != "search" && one != "after" && !one.starts_with("g.");
    });
    return out;
  }

  void save_grades() {
    const auto grades = chosen_grades(by_.exchange.form);
    if (!grades) return refuse(grades.error().text);
    if (grades->empty()) return;
    by_.records.search_log->flush(kWrittenPatience);
    const JudgmentSource source{name(), by_.judge(), by_.records.unix_time()};
    const auto wrong = store_grades(*by_.records.store, source, field("search"), *grades);
    if (!wrong) return store_failed(wrong.error());
    if (!wrong->empty()) return refuse(*wrong);
    by_.records.note_judgments(name());
    state_.done = fmt::format("{} grade{} saved.", grades->size(), grades->size() == 1 ? "" : "s");
  }

  void import() {
    const auto queries = read_import(field("file"), by_.domain, by_.exchange.snapshot->config.tracking);
    if (!queries) return refuse(queries.error().text);
    const auto report = store_import(by_.records, by_.exchange, by_.domain, *queries);
    if (!report) return store_failed(report.error());
    state_.typed_file.clear();
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

  void open_typed() {
    SearchRequest request = request_of(by_.domain, state_.typed_slots, state_.pool);
    request.slots = state_.typed_slots;
    request.text = state_.typed_query;
    open_request(request);
  }

  void open_digest(const std::string& digest) {
    for (const QueuedQuery& query : state_.state.queries)
      if (query.asked.query == digest) return open(&query);
    refuse("that query is not stored any more");
  }

  const Judging by_;
  JudgingPageState state_;
  int status_ = 200;
};

}  // namespace

HttpResponse handle_judge_list(const Exchange& exchange) {
  return html_response(domain_list_page(exchange, "judge_list", "Judging"));
}

Answered handle_judge_page(Records& records, const Exchange& exchange) {
  return first_domain_page<JudgingPageState>(records, exchange, judging_page);
}

Answered handle_judge_form(Finder& finder, Records& records, PictureReader& pictures, Log& log,
                           const Exchange& exchange) {
  TRY(const LoadedDomain* domain, domain_of_form(records, exchange, judging_page, JudgingPageState()));
  return JudgeForm({finder, records, log, exchange, *domain},
                   {pictures.links().secret, exchange.snapshot->config.files}, pictures.links())
      .answer();
}

}  // namespace metafuse::service
