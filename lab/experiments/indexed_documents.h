#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/query.h"
#include "core/result.h"
#include "evaluation/runs/run_file.h"
#include "fetchers/calling/embedded_search.h"
#include "fetchers/engines/index/local_engine.h"
#include "templates/search_template.h"

namespace metafuse::lab::experiments {

/// A question of a collection, with its id there.
struct Question {
  std::string id;
  std::string text;
};

/// Writes each run to FOLDER/NAME.run and reads them, in the order of their names.
/// in:     texts - by name
/// errors: those of writing and of evaluation::read_runs
Result<std::vector<evaluation::Run>> read_run_texts(const std::map<std::string, std::string>& texts,
                                                    const std::string& folder);

/// Documents in an embedded index, and the templates and engines that search it.
class IndexedDocuments {
 public:
  /// Files of templates and of engines as users write them; each engine searches this index.
  struct Files {
    std::string_view templates;
    std::string_view engines;
    std::string templates_name = "templates.yaml";
    std::string engines_name = "engines.yaml";
  };

  /// in:     documents - a file for `metafuse index`; database - the index, which is made
  /// errors: those of the files and of indexing
  static Result<std::unique_ptr<IndexedDocuments>> make(const std::string& documents,
                                                        const std::string& database, const Files& files,
                                                        const fetchers::IndexOptions& options);

  const templates::Domain& domain() const { return domain_; }
  const std::string& database() const { return database_; }
  const fetchers::IndexReport& report() const { return report_; }

  /// The lists found for one base query, one per template and engine.
  /// errors: those of expanding the templates; those of the index, which name the template
  Result<std::vector<RankedList>> lists(const BaseQuery& query) const;

  /// Asks every question as QUERY. Each template's lists become a run of its name, in FOLDER/NAME.run.
  Result<std::vector<evaluation::Run>> record(const std::vector<Question>& questions,
                                              const std::string& folder) const;

 private:
  std::string database_;
  fetchers::IndexReport report_;
  templates::Domain domain_;
  std::map<std::string, const QuerySyntax*, std::less<>> syntaxes_;           ///< by engine
  std::map<std::string, std::unique_ptr<fetchers::EmbeddedEngine>> engines_;  ///< by name
};

}  // namespace metafuse::lab::experiments
