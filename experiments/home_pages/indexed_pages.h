#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "experiments/home_pages/package_index.h"
#include "experiments/home_pages/recorded_lists.h"
#include "fetchers/embedded/local_engine.h"
#include "templates/search_template.h"

namespace metafuse::experiments::home_pages {

/// The package index, indexed by the embedded engine in a folder that goes away with this, and the templates
/// that ask it.
class IndexedPages {
 public:
  /// in:     data - a folder that holds packages.txt, what `apt-cache dumpavail` prints
  /// errors: no_input, bad_data: the package index; those of the index and of the templates
  static Result<std::unique_ptr<IndexedPages>> open(const std::string& data);
  ~IndexedPages();
  IndexedPages(const IndexedPages&) = delete;
  IndexedPages& operator=(const IndexedPages&) = delete;

  const std::vector<HomePage>& pages() const { return pages_; }
  const templates::Domain& domain() const { return domain_; }

  /// The training set of the lists of a sample of base queries.
  Result<fusion::TrainingSet> record(const SampleOptions& sampling, unsigned threads);

 private:
  explicit IndexedPages(std::string folder) : folder_(std::move(folder)) {}

  std::string folder_;
  std::vector<HomePage> pages_;
  templates::Domain domain_;
  std::unique_ptr<fetchers::LocalEngine> engine_;
};

}  // namespace metafuse::experiments::home_pages
