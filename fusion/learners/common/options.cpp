#include "fusion/learners/common/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace metafuse::fusion {
namespace {

template <class Number>
bool reads_as(const std::string& text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

Result<void> read_number(const std::string& name, const std::string& given, double least, double most,
                         double& value) {
  double number = 0.0;
  if (!reads_as(given, number) || !std::isfinite(number) || number < least || number > most)
    return refused_option(name, given, fmt::format("a number from {:g} to {:g}", least, most));
  value = number;
  return {};
}

}  // namespace

Error refused_option(std::string_view name, std::string_view given, std::string_view wanted) {
  return fail(Code::usage, fmt::format("--{} {}: give {}", name, given, wanted));
}

Result<std::size_t> OptionTable::read_count(const std::string& name, const std::string& given,
                                            std::size_t least, std::size_t most) {
  std::size_t value = 0;
  if (!reads_as(given, value) || value < least || value > most)
    return refused_option(name, given, fmt::format("a whole number from {} to {}", least, most));
  return value;
}

void OptionTable::count_or_all(std::string name, std::size_t& value, std::size_t least, std::size_t most,
                               std::string meaning) {
  const auto text = [&value] { return value == kAll ? std::string("all") : std::to_string(value); };
  auto take = [name, &value, least, most](const std::string& given) -> Result<void> {
    std::size_t number = kAll;
    if (given != "all" && (!reads_as(given, number) || number < least || number > most))
      return refused_option(name, given, fmt::format("a whole number from {} to {}, or all", least, most));
    value = number;
    return {};
  };
  entries_.push_back({{std::move(name), "N|all", text(), std::move(meaning)}, std::move(take), [text] {
                        return Json(text());
                      }});
}

void OptionTable::number(std::string name, double& value, double least, double most, std::string meaning,
                         std::string unit) {
  auto take = [name, &value, least, most](const std::string& given) {
    return read_number(name, given, least, most, value);
  };
  entries_.push_back({{std::move(name), std::move(unit), fmt::format("{}", value), std::move(meaning)},
                      std::move(take),
                      [&value] { return Json(value); }});
}

void OptionTable::number_or_none(std::string name, std::optional<double>& value, double least, double most,
                                 std::string meaning, std::string fallback) {
  auto take = [name, &value, least, most](const std::string& given) {
    return read_number(name, given, least, most, value.emplace());
  };
  entries_.push_back({{std::move(name), "X", std::move(fallback), std::move(meaning)}, std::move(take), {}});
}

void OptionTable::add_choice(std::string name, std::vector<std::string> names, std::string meaning,
                             std::function<std::size_t()> get, std::function<void(std::size_t)> set) {
  auto take = [name, names, set = std::move(set)](const std::string& given) -> Result<void> {
    const auto found = std::find(names.begin(), names.end(), given);
    if (found == names.end())
      return refused_option(name, given, fmt::format("one of {}", fmt::join(names, ", ")));
    set(static_cast<std::size_t>(found - names.begin()));
    return {};
  };
  LearnerOption row{std::move(name), fmt::format("{}", fmt::join(names, "|")), names[get()],
                    std::move(meaning)};
  entries_.push_back(
      {std::move(row), std::move(take), [names, get = std::move(get)] { return Json(names[get()]); }});
}

void OptionTable::text(std::string name, std::string& value, std::string meaning) {
  custom({std::move(name), "TEXT", value, std::move(meaning)},
         [&value](const std::string& given) -> Result<void> {
           value = given;
           return {};
         });
}

void OptionTable::word_or_file(std::string name, std::string& value, const std::vector<std::string>& words,
                               std::string meaning) {
  std::vector<std::pair<std::string, std::string>> choices;
  for (const std::string& word : words) choices.emplace_back(word, word);
  choice(std::move(name), value, choices, std::move(meaning));
}

void OptionTable::custom(LearnerOption row, std::function<Result<void>(const std::string& given)> take) {
  entries_.push_back({std::move(row), std::move(take), {}});
}

Result<void> OptionTable::read(const std::map<std::string, std::string>& given) const {
  for (const auto& [name, value] : given) {
    const auto entry = std::find_if(entries_.begin(), entries_.end(),
                                    [&name](const Entry& each) { return each.row.name == name; });
    if (entry == entries_.end())
      return fail(Code::usage,
                  fmt::format("the learner has no option --{}; see metafuse train --help", name));
    TRY_VOID(entry->take(value));
  }
  return {};
}

std::vector<LearnerOption> OptionTable::rows() const {
  std::vector<LearnerOption> rows;
  for (const Entry& entry : entries_) rows.push_back(entry.row);
  return rows;
}

JsonObject OptionTable::json(const OptionTable& defaults) const {
  JsonObject object;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    if (!entry.value) continue;
    Json value = entry.value();
    if (entry.is_default_hidden && value == defaults.entries_[i].value()) continue;
    std::string key = entry.row.name;
    std::replace(key.begin(), key.end(), '-', '_');  // as all keys of a model file
    object[key] = std::move(value);
  }
  return object;
}

}  // namespace metafuse::fusion
