#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace metafuse {

/// Rules that tell which addresses of particular sites lead to the same page: the mobile site and the usual
/// one, short links, a question with and without its title. Each rule rewrites a canonical key
/// (core/url.h). Immutable, and safe to use from several threads.
class SamePageRules {
 public:
  /// Reads rules (config/same_page.yaml explains their keys).
  ///
  /// in:     before - rules of the user, tried before these; nullptr: none
  /// errors: bad_config with every mistake as "FILE:LINE:COLUMN: what"
  static Result<std::shared_ptr<const SamePageRules>> parse(std::string_view text, const std::string& file);
  /// The user's rules, followed by the built-in ones.
  static std::shared_ptr<const SamePageRules> joined(const SamePageRules& own, const SamePageRules& others);

  SamePageRules();
  ~SamePageRules();

  /// The key as written by the first rule that changes it, which may have to be made canonical again.
  ///
  /// in:     key - host, path and parameters in canonical form
  /// out:    nullopt if no rule changes it
  /// cost:   O(length of the key) for each rule of the key's host, usually none, and each rule for all hosts
  std::optional<std::string> rewritten(std::string_view key) const;

  const std::string& text() const { return text_; }  ///< as written
  friend bool operator==(const SamePageRules& a, const SamePageRules& b) { return a.text_ == b.text_; }

 private:
  struct Rule;
  struct Index;

  void index();

  std::string text_;
  std::vector<std::shared_ptr<const Rule>> rules_;
  std::unique_ptr<const Index> index_;
};

/// config/same_page.yaml, compiled in.
const std::shared_ptr<const SamePageRules>& built_in_same_page_rules();

}  // namespace metafuse
