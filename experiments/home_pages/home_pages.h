#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/query.h"
#include "core/result.h"
#include "experiments/data_sets.h"
#include "fetchers/calling/embedded_search.h"
#include "fusion/data/training_set.h"
#include "fusion/model/model_file.h"
#include "templates/search_template.h"

/// The demonstration's task: to find the home page of a free-software project by what its Debian packages say
/// about it.
namespace metafuse::experiments::home_pages {

/// A home page as described by the packages that name it. Each list is in the order of the package index and
/// without duplicates.
struct HomePage {
  std::string key;      ///< canonical
  std::string url;      ///< as written in the first package
  std::string project;  ///< the shortest name among the source packages of its packages
  std::vector<std::string> names;
  std::vector<std::string> synopses;  ///< first that of the package named like the project
  std::vector<std::string> sections;
  std::vector<std::string> tags;  ///< debtags: "role::program"
  /// How many source packages of other projects have a binary package that depends on, recommends or suggests
  /// one of the page's packages.
  std::size_t dependants = 0;

  friend bool operator==(const HomePage&, const HomePage&) = default;
};

/// Reads the home pages in a Debian package index (`apt-cache dumpavail`, or a Packages file, compressed
/// or not).
///
/// out:    in ascending order of keys, without packages that have no home page or whose home page is not an
///         http(s) URL
/// errors: no_input; bad_data: a file without any home page, with advice
/// cost:   one pass; the fields that are used stay in memory
Result<std::vector<HomePage>> read_package_index(const std::string& path);

/// The words of a URL in lower case, without the scheme and "www".
std::vector<std::string> url_words(const std::string& key);

/// The documents for `metafuse index`, one JSON object per line: url, title (the project), names (of
/// packages), text (synopses), sections, tags, words (of the URL), and the number dependants.
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

/// Base queries such as somebody might ask who half remembers what a program is for.
///
/// A home page is drawn with a probability that grows with the square root of one plus its dependants,
/// because people look for what others use; then one of its synopses is drawn. TOPIC is two words of the
/// synopsis. In about a third of the queries, one of the two is put into the singular instead of the plural
/// or vice versa, because people do not remember the exact words. SECTION, in three of four queries, is one
/// of the page's sections. KIND is what the tags call the page: program, library, documentation, plugin,
/// data. A query never contains what would give away the answer: names of its packages, the words of its
/// host, the last part of its path; and it leaves out at least one more word of the synopsis.
///
/// out:  `count` queries for different home pages (fewer if the index is too small); a seed and an index give
///       the same queries on every machine
/// cost: O(count) draws
std::vector<JudgedQuery> sample_base_queries(const std::vector<HomePage>& pages,
                                             const SampleOptions& options);

/// The queries for `metafuse record`, one JSON object per line.
std::string to_query_lines(const std::vector<JudgedQuery>& queries);

/// The plural of a word that looks like a singular, and vice versa.
std::string other_number(const std::string& word);

/// The package index, indexed by the embedded engine in a temporary folder that is removed with this object,
/// and the templates that query it.
class IndexedPages {
 public:
  /// in:     data - a folder that contains packages.txt, the output of `apt-cache dumpavail`
  /// errors: no_input, bad_data: the package index; those of the index and of the templates
  static Result<std::unique_ptr<IndexedPages>> open(const std::string& data);

  const std::vector<HomePage>& pages() const { return pages_; }
  const templates::Domain& domain() const { return domain_; }
  std::string database() const { return folder_->path("index.db"); }

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
  templates::Domain domain_;
  std::map<std::string, std::unique_ptr<fetchers::EmbeddedEngine>> engines_;  ///< by name
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

/// Results for ten such queries: text editor, image editor, email client, web browser, terminal emulator,
/// music player, pdf viewer, database server, version control, spreadsheet. known_programs.cpp lists the
/// programs that count.
Result<std::vector<KnownProgram>> known_programs(const IndexedPages& pages, const fusion::Model& model);

}  // namespace metafuse::experiments::home_pages
