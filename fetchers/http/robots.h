#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace metafuse::fetchers {

/// What a site's robots.txt lets a program read.
///
/// source: RFC 9309; a group that names the program counts instead of those for all
class RobotsRules {
 public:
  /// in:   product - the program's name ("metafuse"), in small letters
  /// cost: O(bytes); of a file the first 500 KiB and 1,000 rules count
  static RobotsRules parse(std::string_view text, std::string_view product);
  /// For a site whose file does not answer: everything may be there.
  static RobotsRules nothing();

  /// in:  path_and_query - as it stands in the URL: "/a?b=c"
  /// out: what the longest rule that fits says; an allowing rule wins over a forbidding one of its length
  bool may_read(std::string_view path_and_query) const;

 private:
  struct Rule {
    std::vector<std::string> parts;  ///< what stands between the stars; the first begins the path
    bool is_anchored = false;        ///< the last ends it
    bool is_allowing = false;
    std::size_t length = 0;
  };
  static bool fits(const Rule& rule, std::string_view path);

  std::vector<Rule> rules_;
};

}  // namespace metafuse::fetchers
