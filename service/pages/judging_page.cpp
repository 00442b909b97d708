#include "service/pages/judging_page.h"

#include <array>

#include <fmt/format.h>

#include "core/kind_text.h"
#include "service/pages/page.h"
#include "service/pages/result_text.h"

namespace metafuse::service {
namespace {

struct GradeName {
  int grade;
  const char* name;
};
constexpr std::array<GradeName, 5> kGradeNames = {
    {{0, "no"}, {1, "hardly"}, {2, "partly"}, {3, "well"}, {4, "exactly"}}};

struct PoolChoice {
  const char* value;
  const char* text;
  JudgedPool pool;
};
constexpr std::array<PoolChoice, 4> kPoolChoices = {{{"fused-10", "the first 10 results", {false, 10}},
                                                     {"fused-20", "the first 20 results", {false, 20}},
                                                     {"lists-3", "the first 3 of each list", {true, 3}},
                                                     {"lists-10", "the first 10 of each list", {true, 10}}}};

void add_pool_choices(const JudgedPool& pool, View& view) {
  for (const PoolChoice& choice : kPoolChoices) {
    View& option = view.add("POOL").set("VALUE", choice.value).set("TEXT", choice.text);
    if (choice.pool == pool) option.add("SELECTED");
  }
}

void add_results(const ResultsToJudge& open, const JudgingPageState& state, const std::string& domain,
                 View& page) {
  View& view = page.add("OPEN");
  view.set("QUERY_WORDS", open.text).set("SEARCH", open.search).set("QUERY_DIGEST", open.query);
  if (open.results.empty()) view.add("NOTHING");
  for (const ResultToJudge& result : open.results) {
    View& item = view.add("RESULT");
    const std::string position = std::to_string(result.position);
    const Hit& hit = result.hit;
    const ReadableAddress address = readable_address(hit.url);
    item.set("TITLE", hit.title.empty() ? hit.url : hit.title);
    if (const std::string target = target_of(state.files, domain, hit.url); !target.empty()) {
      item.add("LINK").set("URL", target);
      item.add("LINK_END");
    }
    item.set("HOST_TEXT", address.host).set("PATH", address.path);
    item.set("SNIPPET", hit.snippet).set("POSITION", position);
    if (const std::string picture = state.pictures.link(PictureKind::thumbnail, picture_of(hit));
        !picture.empty())
      item.add("THUMBNAIL").set("PICTURE", picture);
    if (const std::string kind = kind_text(hit); !kind.empty()) item.add("KIND").set("TEXT", kind);
    for (const GradeName& row : kGradeNames) {
      View& grade = item.add("GRADE");
      grade.set("AT", position).set("VALUE", std::to_string(row.grade)).set("NAME", row.name);
      if (result.grade == row.grade) grade.add("CHECKED");
    }
  }
}

void add_queue(const JudgingState& state, View& page) {
  View& view = page.add("QUEUE");
  if (state.queries.empty()) view.add("EMPTY");
  if (state.queries.empty()) return;
  View& table = view.add("TABLE");
  for (const QueuedQuery& query : state.queries)
    table.add("ROW")
        .set("WORDS", words_of(query.asked.slots))
        .set("DIGEST", query.asked.query)
        .set("TIMES", std::to_string(query.asked.times))
        .set("OWN", std::to_string(query.own_documents))
        .set("DOCUMENTS", std::to_string(query.documents))
        .set("JUDGES", std::to_string(query.judges));
}

void add_agreement(const std::vector<JudgePair>& pairs, View& page) {
  if (pairs.empty()) return;
  View& table = page.add("AGREEMENT");
  for (const JudgePair& pair : pairs)
    table.add("PAIR")
        .set("FIRST", pair.first)
        .set("SECOND", pair.second)
        .set("DOCUMENTS", std::to_string(pair.agreement.documents))
        .set("EQUAL", fmt::format("{:.0f} %", 100 * pair.agreement.share_equal))
        .set("KAPPA", fmt::format("{:.2f}", pair.agreement.kappa))
        .set("WEIGHTED", fmt::format("{:.2f}", pair.agreement.weighted_kappa));
}

/// What language models' grades are worth, as far as people graded the same documents.
void add_models(const std::vector<JudgeReport>& models, View& page) {
  View* table = nullptr;
  for (const JudgeReport& report : models) {
    if (report.agreement.documents == 0) continue;
    if (table == nullptr) table = &page.add("MODELS");
    table->add("MODEL")
        .set("NAME", report.judge.substr(kModelJudge.size()))
        .set("DOCUMENTS", std::to_string(report.agreement.documents))
        .set("KAPPA", fmt::format("{:.2f}", report.agreement.kappa))
        .set("WEIGHTED", fmt::format("{:.2f}", report.agreement.weighted_kappa))
        .set("TAU", fmt::format("{:.2f}", report.tau));
  }
}

}  // namespace

std::string judging_page(const Exchange& exchange, const LoadedDomain& domain,
                         const JudgingPageState& state) {
  const std::string& name = domain.domain.name;
  View view = page_view(&exchange, "Judging " + name, "", name);
  View* const form = add_form(state, name, view);
  if (form == nullptr) return render_page("judge", view);
  View& inside = *form;
  inside.add(state.state.has_more ? "MANY" : "PROGRESS")
      .set("JUDGED", std::to_string(state.state.judged))
      .set("ALL", std::to_string(state.state.queries.size()));
  if (state.open) {
    View& kept = inside.add("KEPT");
    for (const PoolChoice& choice : kPoolChoices)
      if (choice.pool == state.pool) kept.set("VALUE", choice.value);
    add_results(*state.open, state, name, inside);
    return render_page("judge", view);
  }
  add_story(state.story, inside);
  View& start = inside.add("START");
  add_pool_choices(state.pool, start);
  add_other_slots(domain.domain, state.typed_slots, start);
  start.set("TYPED_QUERY", state.typed_query);
  add_queue(state.state, inside);
  add_agreement(state.state.pairs, inside);
  add_models(state.models, inside);
  View& files = inside.add("FILES");
  files.set("TYPED_FILE", state.typed_file);
  if (!state.typed_file.empty()) files.add("OPEN");
  return render_page("judge", view);
}

}  // namespace metafuse::service
