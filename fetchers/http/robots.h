#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace metafuse::fetchers {

/// What a site's robots.txt allows a program to read.
///
/// source: RFC 9309; a group that names the program replaces the group for all programs (`*`)
class RobotsRules {
 public:
  /// in:     product - the program's name in lower case ("metafuse")
  /// cost:   O(bytes); only the first 500 KiB and 1,000 rules of a file count. Of a rule with more than 16
  ///         stars, an allowing one counts for nothing and a forbidding one up to that star.
  static RobotsRules parse(std::string_view text, std::string_view product);

  /// in:     path_and_query - as it stands in the URL: "/a?b=c"
  /// out:    the verdict of the longest matching rule; of equally long rules an allowing one wins
  bool may_read(std::string_view path_and_query) const;

  /// The memory that the rules take.
  std::size_t bytes() const;

 private:
  struct Rule {
    std::string pattern;       ///< normalised, without a `*` after another; its first part begins the path
    bool is_anchored = false;  ///< the last part must end the path
    bool is_allowing = false;
    std::size_t length = 0;  ///< as written, which decides between rules
  };
  static std::optional<Rule> rule_of(std::string_view pattern, bool is_allowing);
  static bool fits(const Rule& rule, std::string_view path);

  std::vector<Rule> rules_;
};

}  // namespace metafuse::fetchers
