#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/query.h"
#include "core/result.h"
#include "fetchers/embedded/embedded_search.h"
#include "fusion/data/training_set.h"
#include "fusion/model/model_file.h"
#include "templates/search_template.h"

/// The demonstration's task: to find the home page of a free-software project by what its Debian packages say
/// of it.
namespace metafuse::experiments::home_pages {

/// A home page as the packages that name it describe it; each list in the order of the package index,
/// without repetition.
struct HomePage {
  std::string key;      ///< canonical
  std::string url;      ///< as the first package writes it
  std::string project;  ///< the shortest name of a source package of its packages
  std::vector<std::string> names;
  std::vector<std::string> synopses;  ///< that of the package named as the project first
  std::vector<std::string> sections;
  std::vector<std::string> tags;  ///< debtags: "role::program"
  /// Source packages of other projects that have a binary package which depends on one of the page's
  /// packages, recommends or suggests it.
  std::size_t dependants = 0;

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

/// Base queries as a person might ask them who half remembers what a program is for.
///
/// A home page is drawn with a probability that grows as the square root of its dependants and one, because
/// people look for what others use; and one of its synopses. TOPIC is two of the synopsis' words; for about a
/// third of the queries one of them is said in the singular instead of the plural or the other way round,
/// because people do not remember the exact words. SECTION is one of the page's sections, in three of four
/// queries. KIND is what the tags call it: program, library, documentation, plugin, data. What would give the
/// answer away is never in a query: names of its packages, the words of its host, the last part of its path;
/// and at least one more word of the synopsis is left out.
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

  /// What the templates find for one base query: a list per template and engine, each URL with its key once.
  ///
  /// errors: those of expanding the templates and of the index
  Result<std::vector<RankedList>> lists(const BaseQuery& query) const;

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
  std::map<std::string, std::unique_ptr<fetchers::EmbeddedEngine>> engines_;  ///< by name
};

inline constexpr int kDemonstrationRounds = 60;
inline constexpr std::size_t kFirstResults = 3;

/// The model that the demonstration serves: RankBoost 3.cum, learned from a seed's base queries.
Result<fusion::Model> demonstration_model(const IndexedPages& pages, std::uint64_t seed, unsigned threads);

/// What a model puts first for a query that a newcomer types.
struct KnownProgram {
  std::string query;
  std::vector<std::string> titles;  ///< of the first kFirstResults results
  bool is_known = false;            ///< one of them is a program that people know for it
};

/// Ten such queries: text editor, image editor, email client, web browser, terminal emulator, music player,
/// pdf viewer, database server, version control, spreadsheet. known_programs.cpp says which programs count.
Result<std::vector<KnownProgram>> known_programs(const IndexedPages& pages, const fusion::Model& model);

}  // namespace metafuse::experiments::home_pages
