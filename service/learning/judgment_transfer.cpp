#include "service/learning/judgment_transfer.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "core/json.h"
#include "core/text_file.h"
#include "evaluation/runs/judgments.h"
#include "evaluation/runs/run_file.h"
#include "service/learning/feedback.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kMostConflicts = 20;  ///< conflicts that are listed one by one
/// Domains named in the error about a file without the wanted one.
constexpr std::size_t kMostDomainsNamed = 10;

/// Adds one topic's list in a run to a search.
void add_run_list(const evaluation::Run& run, std::string_view topic, int depth, StoredSearch& search,
                  std::unordered_map<std::string, std::uint32_t>& index) {
  StoredList list{run.name, depth, false, {}};
  const evaluation::RunTopic* found = run.find(topic);
  list.has_failed = found == nullptr;
  for (std::size_t i = 0; found != nullptr && i < found->entries.size(); ++i) {
    if (depth > 0 && i >= static_cast<std::size_t>(depth)) break;
    const std::string document(found->entries[i].document);
    const auto [at, is_new] =
        index.try_emplace(document, static_cast<std::uint32_t>(search.documents.size()));
    if (is_new) search.documents.push_back(document);
    list.documents.push_back(at->second);
  }
  search.lists.push_back(std::move(list));
}

int deepest_list(const std::vector<evaluation::Run>& runs) {
  std::size_t most = 0;
  for (const evaluation::Run& run : runs)
    for (const evaluation::RunTopic& topic : run.topics) most = std::max(most, topic.entries.size());
  return static_cast<int>(most);
}

/// The store's judgments by query, document and judge, read once.
class KnownJudgments {
 public:
  static Result<KnownJudgments> read(Store& store, std::string_view domain) {
    KnownJudgments known;
    TRY(const auto queries, store.judged_queries(domain));
    for (const JudgedQuery& query : queries)
      for (const StoredJudgment& judgment : query.judgments)
        known.judgments_[{judgment.query, judgment.document, judgment.judge}] = judgment;
    return known;
  }

  /// Whether a judgment should be stored. Notes conflicts in the report.
  bool is_news(const StoredJudgment& judgment, ImportReport& report) {
    auto& before = judgments_[{judgment.query, judgment.document, judgment.judge}];
    const bool is_known = !before.document.empty();
    const bool is_newer = !is_known || judgment.at >= before.at;
    if (is_known && before.grade != judgment.grade)
      report.conflicts.push_back(
          fmt::format("{} in query {}: {} gave {} and {}; the newer grade, {}, is kept", judgment.document,
                      judgment.query, judgment.judge, before.grade, judgment.grade,
                      is_newer ? judgment.grade : before.grade));
    if (!is_newer) {
      ++report.older;
      return false;
    }
    const bool is_same = is_known && before == judgment;
    before = judgment;
    return !is_same;
  }

 private:
  std::map<std::tuple<std::string, std::string, std::string>, StoredJudgment> judgments_;
};

/// One line of an export.
class ExportedLine {
 public:
  ExportedLine(const JsonObject& object, std::string place) : object_(object), place_(std::move(place)) {}

  Result<std::string> text(std::string_view name) const {
    const Json* value = object_.if_contains(name);
    if (value == nullptr || !value->is_string()) return missing(name);
    return std::string(value->get_string());
  }
  Result<std::int64_t> number(std::string_view name) const {
    const Json* value = object_.if_contains(name);
    if (value == nullptr || !value->is_int64()) return missing(name);
    return value->get_int64();
  }
  Result<const JsonArray*> array(std::string_view name) const {
    const Json* value = object_.if_contains(name);
    if (value == nullptr || !value->is_array()) return missing(name);
    return &value->get_array();
  }
  Error missing(std::string_view name) const {
    return fail(Code::bad_data,
                fmt::format("{}: \"{}\" is missing or has another type; import what `metafuse "
                            "store export` wrote",
                            place_, name));
  }
  const JsonObject& object() const { return object_; }
  const std::string& place() const { return place_; }

 private:
  const JsonObject& object_;
  std::string place_;
};

Result<StoredSearch> read_search_line(const ExportedLine& line) {
  StoredSearch search;
  TRY(search.id, line.text("id"));
  if (!is_search_id(search.id)) return line.missing("id");
  TRY(search.domain, line.text("domain"));
  TRY(search.query, line.text("query"));
  TRY(search.at, line.number("at"));
  TRY(search.model, line.text("model"));
  TRY(search.challenger, line.text("challenger"));
  if (line.object().contains("times")) {
    TRY(const auto times, line.number("times"));
    search.times = static_cast<std::uint64_t>(std::max<std::int64_t>(0, times));
  }
  const Json* slots = line.object().if_contains("slots");
  if (slots == nullptr) return line.missing("slots");
  TRY(search.slots, read_slots_text(to_text(*slots)));
  std::unordered_map<std::string, std::uint32_t> index;
  const auto number_of = [&](const Json* document) -> Result<std::uint32_t> {
    if (document == nullptr || !document->is_string()) return line.missing("documents");
    const std::string key(document->get_string());
    const auto [at, is_new] = index.try_emplace(key, static_cast<std::uint32_t>(search.documents.size()));
    if (is_new) search.documents.push_back(key);
    return at->second;
  };
  TRY(const JsonArray* lists, line.array("lists"));
  for (const Json& entry : *lists) {
    if (!entry.is_object()) return line.missing("lists");
    const ExportedLine inner(entry.get_object(), line.place());
    StoredList& list = search.lists.emplace_back();
    TRY(list.feature, inner.text("feature"));
    TRY(const auto depth, inner.number("depth"));
    list.depth = static_cast<int>(std::clamp<std::int64_t>(depth, 0, 1'000'000));
    const Json* failed = inner.object().if_contains("failed");
    list.has_failed = failed != nullptr && failed->is_bool() && failed->get_bool();
    TRY(const JsonArray* documents, inner.array("documents"));
    for (const Json& document : *documents) {
      TRY(const auto number, number_of(&document));
      list.documents.push_back(number);
    }
  }
  TRY(const JsonArray* shown, line.array("shown"));
  for (const Json& entry : *shown) {
    if (!entry.is_object()) return line.missing("shown");
    TRY(const auto number, number_of(entry.get_object().if_contains("document")));
    const Json* team = entry.get_object().if_contains("team");
    search.shown.push_back({number, team == nullptr             ? Team::none
                                    : *team == Json("champion") ? Team::champion
                                                                : Team::challenger});
  }
  fit_to_limits(search);
  return search;
}

Result<StoredJudgment> read_judgment_line(const ExportedLine& line) {
  StoredJudgment judgment;
  TRY(judgment.domain, line.text("domain"));
  TRY(judgment.query, line.text("query"));
  TRY(judgment.document, line.text("document"));
  TRY(judgment.judge, line.text("judge"));
  TRY(judgment.search, line.text("search"));
  TRY(judgment.at, line.number("at"));
  TRY(const auto grade, line.number("grade"));
  if (grade < 0 || grade > kMaxGrade) return line.missing("grade");
  judgment.grade = static_cast<int>(grade);
  return judgment;
}

/// One domain's lines of an export.
class ExportedFile {
 public:
  explicit ExportedFile(std::string domain) : domain_(std::move(domain)) {}

  Result<void> add(std::string_view text, const std::string& place) {
    TRY(const Json json, parse_json(text, place));
    if (!json.is_object()) return fail(Code::bad_data, place + ": not an object");
    const ExportedLine line(json.get_object(), place);
    TRY(const std::string kind, line.text("kind"));
    TRY(const std::string of, line.text("domain"));
    if (of != domain_) {
      ++foreign_;
      if (others_.size() < kMostDomainsNamed) others_.insert(of);
      return {};
    }
    has_own_ = true;
    if (kind == "search") {
      TRY(auto search, read_search_line(line));
      batch_.searches.push_back(std::move(search));
    } else if (kind == "judgment") {
      TRY(auto judgment, read_judgment_line(line));
      batch_.judgments.push_back(std::move(judgment));
    } else if (kind == "template") {
      TemplateVersion version{domain_, 0, {}, {}, 0};
      TRY(version.text, line.text("text"));
      TRY(version.author, line.text("author"));
      TRY(version.at, line.number("at"));
      batch_.templates.push_back(std::move(version));
    } else if (kind != "click") {  // clicks have no addresses any more and are not imported
      return fail(Code::bad_data, fmt::format("{}: unknown kind \"{}\"; expected search, click, judgment or "
                                              "template; import what `metafuse store export` wrote",
                                              place, kind));
    }
    return {};
  }

  /// errors: bad_data if all lines are of other domains
  Result<void> check_domain(const std::string& path) const {
    if (has_own_ || others_.empty()) return {};
    return fail(Code::bad_data, fmt::format("{}: no line is of the domain {}; --domain can be {}", path,
                                            domain_, fmt::join(others_, ", ")));
  }

  std::size_t foreign() const { return foreign_; }

  /// Everything that was read, with the queries' digests recomputed with the importing store's secret. A
  /// query whose slots are no longer known keeps its digest.
  StoreBatch take(std::string_view secret, std::string_view plain_slot) {
    std::map<std::string, std::string> now;
    for (StoredSearch& search : batch_.searches) {
      if (search.slots.slots.empty()) continue;
      const std::string digest = query_digest(secret, domain_, search.slots, plain_slot);
      now[search.query] = digest;
    }
    const auto rename = [&](std::string& query) {
      if (const auto at = now.find(query); at != now.end()) query = at->second;
    };
    for (StoredSearch& search : batch_.searches) rename(search.query);
    for (StoredJudgment& judgment : batch_.judgments) rename(judgment.query);
    return std::move(batch_);
  }

 private:
  std::string domain_;
  StoreBatch batch_;
  bool has_own_ = false;
  std::size_t foreign_ = 0;
  std::set<std::string> others_;
};

}  // namespace

std::string ImportReport::text() const {
  std::string out = fmt::format(
      "{} searches and {} judgments imported; left out: {} older than the store's, {} of other domains; {} "
      "judged documents are in no list; {} conflicts",
      searches, judgments, older, foreign, unlisted, conflicts.size());
  for (std::size_t i = 0; i < std::min(conflicts.size(), kMostConflicts); ++i) out += "\n  " + conflicts[i];
  if (conflicts.size() > kMostConflicts) out += "\n  ...";
  return out;
}

Result<std::vector<OfflineQuery>> read_offline_queries(const OfflineFiles& files, std::string_view secret,
                                                       std::string_view plain_slot, UnixTime at) {
  TRY(const auto runs, evaluation::read_runs(files.runs));
  TRY(const auto qrels, evaluation::read_qrels(files.qrels));
  const int depth = files.depth > 0 ? files.depth : deepest_list(runs);
  std::vector<OfflineQuery> out;
  for (const evaluation::QueryJudgments& judged : qrels.queries) {
    const bool is_in_a_run = std::any_of(runs.begin(), runs.end(), [&](const evaluation::Run& run) {
      return run.find(judged.query) != nullptr;
    });
    if (!is_in_a_run) continue;
    OfflineQuery query;
    StoredSearch& search = query.search;
    search.domain = files.domain;
    const auto slots = files.queries.find(std::string(judged.query));
    search.slots = slots != files.queries.end()
                       ? slots->second
                       : BaseQuery{{{plain_slot.empty() ? "QUERY" : std::string(plain_slot),
                                     std::string(judged.query)}}};
    search.query = query_digest(secret, files.domain, search.slots, plain_slot);
    search.at = at;
    std::unordered_map<std::string, std::uint32_t> index;
    for (const evaluation::Run& run : runs) add_run_list(run, judged.query, depth, search, index);
    for (const evaluation::Judgment& judgment : judged.documents)
      query.grades[std::string(judgment.document)] = std::clamp(judgment.grade, 0, kMaxGrade);
    fit_to_limits(search);
    search.id = content_id(secret, search);
    out.push_back(std::move(query));
  }
  if (out.empty())
    return fail(Code::bad_data,
                files.qrels + ": none of its queries is in a run; give the runs of these judgments");
  return out;
}

Result<ImportReport> import_offline_queries(Store& store, const std::vector<OfflineQuery>& queries,
                                            const std::string& judge, UnixTime at) {
  ImportReport report;
  if (queries.empty()) return report;
  TRY(auto known, KnownJudgments::read(store, queries.front().search.domain));
  StoreBatch batch;
  for (const OfflineQuery& query : queries) {
    const StoredSearch& search = query.search;
    batch.searches.push_back(search);
    ++report.searches;
    const std::set<std::string_view> listed(search.documents.begin(), search.documents.end());
    for (const auto& [document, grade] : query.grades) {
      if (!listed.contains(document)) ++report.unlisted;
      const StoredJudgment judgment{search.domain, search.query, document, judge, grade, search.id, at};
      if (!known.is_news(judgment, report)) continue;
      batch.judgments.push_back(judgment);
      ++report.judgments;
    }
  }
  TRY_VOID(store.add_batch(batch));
  return report;
}

Result<ImportReport> import_lines(Store& store, const std::string& path, const std::string& domain,
                                  std::string_view plain_slot) {
  ImportReport report;
  ExportedFile file(domain);
  TRY_VOID(for_each_line(path, [&](std::string_view text, std::size_t number) -> Result<void> {
    return text.empty() ? Result<void>() : file.add(text, fmt::format("{}:{}", path, number));
  }));
  TRY_VOID(file.check_domain(path));
  TRY(const std::string secret, store.secret());
  StoreBatch batch = file.take(secret, plain_slot);
  TRY(auto known, KnownJudgments::read(store, domain));
  std::erase_if(batch.judgments, [&](const StoredJudgment& each) { return !known.is_news(each, report); });
  TRY_VOID(store.add_batch(batch));
  report.searches = batch.searches.size();
  report.judgments = batch.judgments.size();
  report.foreign = file.foreign();
  return report;
}

}  // namespace metafuse::service
