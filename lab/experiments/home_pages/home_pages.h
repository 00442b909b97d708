#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/query.h"
#include "core/result.h"
#include "demo/home_pages.h"
#include "fusion/data/training_set.h"
#include "fusion/model/model_file.h"
#include "lab/experiments/data_sets.h"
#include "lab/experiments/indexed_documents.h"

/// The demonstration's task (demo/home_pages.h), with its lists recorded and its model trained.
namespace metafuse::lab::experiments::home_pages {

using namespace demo;

/// A file of the demonstration, compiled into the program: its templates, then its engines.
struct DemonstrationFile {
  std::string_view name;
  std::string_view text;
};
std::span<const DemonstrationFile> demonstration_files();

/// The package index, indexed by the embedded engine in a temporary folder that is removed with this object,
/// and the templates that query it.
class IndexedPages {
 public:
  /// in:     data - a folder that contains packages.txt, the output of `apt-cache dumpavail`
  /// errors: no_input, bad_data: the package index; those of the index
  static Result<std::unique_ptr<IndexedPages>> open(const std::string& data);

  const std::vector<HomePage>& pages() const { return pages_; }
  const templates::Domain& domain() const { return indexed_->domain(); }
  const std::string& database() const { return indexed_->database(); }

  /// The lists found for one base query, one per template and engine; each list names a key only once.
  ///
  /// errors: those of expanding the templates and of the index
  Result<std::vector<RankedList>> lists(const BaseQuery& query) const;

  /// The training set of the lists of a sample of base queries: one rank feature per template and engine;
  /// grade 1 for the answer, 0 for everything else.
  ///
  /// errors: those of expanding the templates and of the index
  /// cost:   queries x templates searches, spread over the threads
  Result<fusion::TrainingSet> record(const SampleOptions& sampling, unsigned threads) const;

 private:
  std::unique_ptr<WorkFolder> folder_;  // outlives the engines, which have files in it open
  std::vector<HomePage> pages_;
  std::unique_ptr<IndexedDocuments> indexed_;
};

/// The canonical URL keys of the hits, which must outlive them.
std::vector<std::vector<std::string_view>> keys_of(const std::vector<RankedList>& lists);

inline constexpr int kDemonstrationRounds = 60;
inline constexpr std::size_t kFirstResults = 3;

/// The model that the demonstration serves: RankBoost 3.cum, trained on the base queries of a seed.
Result<fusion::Model> demonstration_model(const IndexedPages& pages, std::uint64_t seed, unsigned threads);

/// The first results of a model for a query that newcomers type.
struct KnownProgram {
  std::string query;
  std::vector<std::string> titles;  ///< the titles of the first kFirstResults results
  bool is_known = false;            ///< one of them is a well-known program of the kind
};

/// Results for twenty such queries, from "text editor" to "window manager". known_programs.cpp lists the
/// programs that count.
Result<std::vector<KnownProgram>> known_programs(const IndexedPages& pages, const fusion::Model& model);

/// Where the projects that most others need stand when somebody asks for their names.
struct OwnNames {
  std::size_t asked = 0;
  std::size_t first = 0;
  std::size_t among_three = 0;
  std::vector<std::string> not_first{};
};

/// Asks for each of the 150 most needed projects whose name no other page has.
Result<OwnNames> own_names(const IndexedPages& pages, const fusion::Model& model);

}  // namespace metafuse::lab::experiments::home_pages
