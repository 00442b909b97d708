#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/query.h"
#include "core/result.h"

/// The demonstration's task: to find the home page of a free-software project by what its Debian packages say
/// about it.
namespace metafuse::demo {

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
  /// How well people know its programs: the number of source packages of other projects that recommend or
  /// suggest one, a third of those that depend on one, 5 per metapackage (tasks among them) that needs one,
  /// and 20 if one is on every system by its priority. Libraries count nothing.
  std::size_t known = 0;

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
/// packages), whole (the title between two words that occur nowhere else, so that a phrase finds a title that
/// is nothing but the query), text (synopses), sections, tags, words (of the URL), and the numbers dependants
/// and known.
std::string to_documents(const std::vector<HomePage>& pages);

/// A base query whose answers are known.
struct JudgedQuery {
  std::string id;
  BaseQuery base_query;              ///< TOPIC, and where known SECTION and KIND
  std::vector<std::string> answers;  ///< URLs of home pages; several only for a category
};

struct SampleOptions {
  std::size_t count = 1200;
  std::uint64_t seed = 1;
  double names = 1.0 / 3;  ///< share of the queries that name a project
  double categories = 1.0 / 3;
};

/// A kind of program, as people call it, with its programs that people know best.
struct Category {
  std::string words;                  ///< "text editor"
  std::vector<std::size_t> programs;  ///< at most kAnswersOfCategory pages, the best known first
};

inline constexpr std::size_t kAnswersOfCategory = 3;

/// The categories that the tags of programs give: what they are for (use::editing) with what they work on
/// (works-with::text), or one tag (web::browser); where the synopses of three programs or more say the last
/// word, and people know one of them.
std::vector<Category> categories_of(const std::vector<HomePage>& pages);

/// Base queries such as people ask: one third each names a project, names a category, or half remembers what
/// a program is for.
///
/// A name is that of a project, and its home page the answer. A category's answers are its best-known
/// programs. For the last kind a home page is drawn with a probability that grows with the square root of one
/// plus its dependants, because people look for what others use (names likewise); then one of its synopses is
/// drawn. TOPIC is two words of the synopsis. In about a third of the queries, one of the two is put into the
/// singular instead of the plural or vice versa, because people do not remember the exact words. SECTION, in
/// three of four queries, is one of the page's sections. KIND is what the tags call the page: program,
/// library, documentation, plugin, data. A query never contains what would give away the answer: names of its
/// packages, the words of its host, the last part of its path; and it leaves out at least one more word of
/// the synopsis.
///
/// out:  `count` queries, within a kind for different home pages or categories (fewer if the index is too
///       small; for missing names and categories there are more of the last kind); a seed and an index give
///       the same queries on every machine
/// cost: O(count) draws
std::vector<JudgedQuery> sample_base_queries(const std::vector<HomePage>& pages,
                                             const SampleOptions& options);

/// The queries for `metafuse record`, one JSON object per line.
std::string to_query_lines(const std::vector<JudgedQuery>& queries);

/// The words of a synopsis in lower case; hyphens, apostrophes and the signs of C++ and C# may be inside
/// a word.
std::vector<std::string> words_of(const std::string& synopsis);

/// The plural of a word that looks like a singular, and vice versa.
std::string other_number(const std::string& word);

}  // namespace metafuse::demo
