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

}  // namespace metafuse::demo
