#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace metafuse::fusion {

/// Reads a learner's options from their text. The first mistake is kept; ask for it once, when all are read.
class OptionReader {
 public:
  explicit OptionReader(const std::map<std::string, std::string>& options) : options_(options) {}

  /// A whole number in [least, most]; `fallback` when the option is absent or wrong.
  std::size_t count(std::string_view name, std::size_t fallback, std::size_t least, std::size_t most);
  /// A finite number in [least, most].
  double number(std::string_view name, double fallback, double least, double most);
  /// The place of the option's value among `choices`; an absent option is the first.
  std::size_t choice(std::string_view name, const std::vector<std::string_view>& choices);
  bool has(std::string_view name) const { return options_.contains(std::string(name)); }
  /// The text as given, or empty.
  std::string text(std::string_view name) const;

  /// errors: usage, naming the option, what it may be, and what was given
  Result<void> outcome() const { return outcome_; }

 private:
  void refuse(std::string_view name, const std::string& given, const std::string& wanted);

  const std::map<std::string, std::string>& options_;
  Result<void> outcome_;
};

}  // namespace metafuse::fusion
