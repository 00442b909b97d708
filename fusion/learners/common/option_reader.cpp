#include "fusion/learners/common/option_reader.h"

#include <charconv>
#include <cmath>
#include <sstream>

namespace metafuse::fusion {

std::string OptionReader::text(std::string_view name) const {
  const auto found = options_.find(std::string(name));
  return found == options_.end() ? std::string() : found->second;
}

void OptionReader::refuse(std::string_view name, const std::string& given, const std::string& wanted) {
  if (!outcome_) return;
  outcome_ = fail(Code::usage, "--" + std::string(name) + ' ' + given + ": give " + wanted);
}

std::size_t OptionReader::count(std::string_view name, std::size_t fallback, std::size_t least,
                                std::size_t most) {
  if (!has(name)) return fallback;
  const std::string given = text(name);
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value);
  if (error == std::errc() && end == given.data() + given.size() && value >= least && value <= most)
    return value;
  refuse(name, given, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return fallback;
}

double OptionReader::number(std::string_view name, double fallback, double least, double most) {
  if (!has(name)) return fallback;
  const std::string given = text(name);
  double value = 0.0;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value);
  if (error == std::errc() && end == given.data() + given.size() && std::isfinite(value) && value >= least &&
      value <= most)
    return value;
  std::ostringstream range;
  range << "a number from " << least << " to " << most;
  refuse(name, given, range.str());
  return fallback;
}

std::size_t OptionReader::choice(std::string_view name, const std::vector<std::string_view>& choices) {
  if (!has(name)) return 0;
  const std::string given = text(name);
  std::string list;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (given == choices[i]) return i;
    list += (i == 0 ? "" : ", ") + std::string(choices[i]);
  }
  refuse(name, given, "one of " + list);
  return 0;
}

}  // namespace metafuse::fusion
