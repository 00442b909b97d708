#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/query.h"
#include "core/result.h"
#include "fetchers/embedded/local_engine.h"
#include "fusion/data/training_set.h"
#include "templates/search_template.h"

/// The demonstration's task: to find the home page of a free-software project by what its Debian packages say
/// of it.
namespace metafuse::experiments::home_pages {

/// A home page as the packages that name it describe it; each list in the order of the package index,
/// without repetition.
struct HomePage {
  std::string key;  ///< canonical
  std::string url;  ///< as the first package writes it
  std::vector<std::string> names;
  std::vector<std::string> synopses;
  std::vector<std::string> sections;
  std::vector<std::string> tags;  ///< debtags: "role::program"

  friend bool operator==(const HomePage&, const HomePage&) = default;
};

/// The home pages in a Debian package index (`apt-cache dumpavail`, or a Packages file, compressed or not).
///
/// out:    ascending by key; packages without a home page, or whose home page is no http(s) URL, are left out
/// errors: no_input; bad_data: a file without any home page, with what to do
/// cost:   one pass; the kept fields are in memory
Result<std::vector<HomePage>> read_package_index(const std::string& path);

/// The words of a URL in small letters, without scheme and "www".
std::vector<std::string> url_words(const std::string& key);

/// The documents for `metafuse index`, one JSON object per line: url, title (package names), text (synopses),
/// sections, tags, words (of the URL).
std::string to_documents(const std::vector<HomePage>& pages);

/// A base query whose answer is known.
struct JudgedQuery {
  std::string id;
  BaseQuery base_query;  ///< TOPIC, and where known SECTION and KIND
  std::string answer;    ///< the URL of the home page
};

struct SampleOptions {
  std::size_t count = 1200;
  std::uint64_t seed = 1;
};

/// Base queries as a person might ask them who half remembers what a program is for.
///
/// A home page and one of its synopses are drawn. TOPIC is two of the synopsis' words; for about a third of
/// the queries one of them is said in the singular instead of the plural or the other way round, because
/// people do not remember the exact words. SECTION is one of the page's sections, in three of four queries.
/// KIND is what the tags call it: program, library, documentation, plugin, data. What would give the answer
/// away is never in a query: names of its packages, the words of its host, the last part of its path; and at
/// least one more word of the synopsis is left out.
///
/// out:  `count` queries of different home pages (fewer when the index has not enough), the same for a seed
///       and an index on every machine
/// cost: O(count) draws
std::vector<JudgedQuery> sample_base_queries(const std::vector<HomePage>& pages,
                                             const SampleOptions& options);

/// The queries for `metafuse record`, one JSON object per line.
std::string to_query_lines(const std::vector<JudgedQuery>& queries);

/// A word in the plural when it looks like a singular, and the other way round.
std::string other_number(const std::string& word);

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
  std::string database() const { return folder_ + "/index.db"; }

  /// The training set of the lists of a sample of base queries: one rank feature per template and engine,
  /// grade 1 for the answer, 0 for the rest.
  ///
  /// errors: those of expanding the templates and of the index
  /// cost:   queries x templates searches, spread over the threads
  Result<fusion::TrainingSet> record(const SampleOptions& sampling, unsigned threads) const;

 private:
  explicit IndexedPages(std::string folder) : folder_(std::move(folder)) {}

  std::string folder_;
  std::vector<HomePage> pages_;
  templates::Domain domain_;
  std::unique_ptr<fetchers::LocalEngine> engine_;
};

}  // namespace metafuse::experiments::home_pages
