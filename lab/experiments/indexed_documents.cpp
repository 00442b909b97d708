#include "lab/experiments/indexed_documents.h"

#include <chrono>
#include <variant>

#include <fmt/format.h>

#include "core/atomic_file.h"
#include "core/deadline.h"
#include "fetchers/definition/engine_file.h"
#include "templates/expander.h"
#include "templates/template_file.h"

namespace metafuse::lab::experiments {
namespace {

constexpr auto kSearchTime = std::chrono::minutes(10);  // a slow machine must not fail an experiment

}  // namespace

Result<std::vector<evaluation::Run>> read_run_texts(const std::map<std::string, std::string>& texts,
                                                    const std::string& folder) {
  std::vector<std::string> arguments;
  for (const auto& [name, text] : texts) {
    const std::string path = folder + "/" + name + ".run";
    TRY_VOID(write_file(path, text));
    arguments.push_back(name + "=" + path);
  }
  return evaluation::read_runs(arguments);
}

Result<std::unique_ptr<IndexedDocuments>> IndexedDocuments::make(const std::string& documents,
                                                                 const std::string& database,
                                                                 const Files& files,
                                                                 const fetchers::IndexOptions& options) {
  auto out = std::make_unique<IndexedDocuments>();
  out->database_ = database;
  TRY(auto templates_file, templates::parse_domain_file(files.templates, files.templates_name));
  out->domain_ = std::move(templates_file.domain);
  TRY(out->report_, fetchers::build_local_index(database, {documents}, options));
  TRY(auto engines, fetchers::parse_engine_file(files.engines, files.engines_name));
  for (fetchers::Engine& engine : engines.engines) {
    if (auto* local = std::get_if<fetchers::LocalAccess>(&engine.access)) local->database = database;
    if (auto* cosine = std::get_if<fetchers::CosineAccess>(&engine.access)) cosine->database = database;
    if (auto* vectors = std::get_if<fetchers::VectorAccess>(&engine.access)) vectors->database = database;
    engine.timeout_seconds = std::chrono::duration<double>(kSearchTime).count();
    out->syntaxes_[engine.name] = engine.query_syntax;
    out->engines_[engine.name] = std::make_unique<fetchers::EmbeddedEngine>(engine);
  }
  for (const templates::SearchTemplate& one : out->domain_.templates)
    for (const std::string& engine : one.engines)
      if (!out->engines_.contains(engine))
        return fail(Code::bad_config, engine + ": no such engine in " + files.engines_name);
  return out;
}

Result<std::vector<RankedList>> IndexedDocuments::lists(const BaseQuery& query) const {
  const Clock& clock = machine_clock();
  const auto syntax_of = [&](std::string_view engine) -> const QuerySyntax& {
    return *syntaxes_.find(engine)->second;
  };
  TRY(const auto expanded, templates::expand(domain_, query, syntax_of));
  std::vector<RankedList> lists;
  for (const ExpandedQuery& one : expanded) {
    auto list = engines_.at(one.engine)->search(one.text, {}, domain_.depth, 0, Deadline(clock, kSearchTime));
    if (!list) return fail(list.error().code, one.template_id + ": " + list.error().text);
    lists.push_back(std::move(*list));
  }
  return lists;
}

Result<std::vector<evaluation::Run>> IndexedDocuments::record(const std::vector<Question>& questions,
                                                              const std::string& folder) const {
  std::map<std::string, std::string> runs;
  for (const templates::SearchTemplate& one : domain_.templates) runs[one.id] = "# no list yet\n";
  for (const Question& question : questions) {
    TRY(const auto found, lists({{{"QUERY", question.text}}}));
    for (std::size_t t = 0; t < found.size(); ++t)
      for (std::size_t i = 0; i < found[t].hits.size(); ++i)
        runs[domain_.templates[t].id] +=
            fmt::format("{} Q0 {} {} {} {}\n", question.id, found[t].hits[i].url, i + 1,
                        domain_.depth - static_cast<int>(i), domain_.templates[t].id);
  }
  return read_run_texts(runs, folder);
}

}  // namespace metafuse::lab::experiments
