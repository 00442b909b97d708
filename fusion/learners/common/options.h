#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "fusion/learners/common/learner.h"

namespace metafuse::fusion {

/// The options of a learner, each declared once. A learner has a struct `Options` and, in the same namespace,
/// a function `void declare_options(OptionTable&, Options&)` that binds a key, a range and a meaning to each
/// member. A member's initial value is the option's default. From this one declaration the options are read
/// and checked (read_options), shown by `--help` (option_rows) and stored in a model (options_json).
///
/// The bound members must outlive the table.
class OptionTable {
 public:
  /// A whole number from `least` to `most`.
  template <class Integer>
  void count(std::string name, Integer& value, std::size_t least, std::size_t most, std::string meaning,
             std::string unit = "N") {
    auto take = [name, &value, least, most](const std::string& given) -> Result<void> {
      TRY(const auto number, read_count(name, given, least, most));
      value = static_cast<Integer>(number);
      return {};
    };
    entries_.push_back({{name, std::move(unit), std::to_string(value), std::move(meaning)},
                        std::move(take),
                        [&value] { return Json(static_cast<std::size_t>(value)); }});
  }
  /// As count(), or the word "all" for kAll.
  void count_or_all(std::string name, std::size_t& value, std::size_t least, std::size_t most,
                    std::string meaning);
  static constexpr std::size_t kAll = static_cast<std::size_t>(-1);

  /// A finite number from `least` to `most`.
  void number(std::string name, double& value, double least, double most, std::string meaning,
              std::string unit = "X");

  /// As number(); std::nullopt if the option is not given.
  /// in: fallback - the default shown to users
  void number_or_none(std::string name, std::optional<double>& value, double least, double most,
                      std::string meaning, std::string fallback);

  /// One of several names, each of which stands for a value.
  template <class Value>
  void choice(std::string name, Value& value,
              const std::vector<std::pair<std::string, std::type_identity_t<Value>>>& choices,
              std::string meaning) {
    std::vector<std::string> names;
    std::vector<Value> values;
    for (const auto& [key, each] : choices) {
      names.push_back(key);
      values.push_back(each);
    }
    const auto place = [&value, values] {
      return static_cast<std::size_t>(std::find(values.begin(), values.end(), value) - values.begin());
    };
    add_choice(std::move(name), std::move(names), std::move(meaning), place,
               [&value, values](std::size_t at) { value = values[at]; });
  }

  /// Leaves the option declared last out of json() while it has its default. For options added later, so that
  /// models without them keep the same bytes.
  void hide_default() { entries_.back().is_default_hidden = true; }

  /// Any text.
  void text(std::string name, std::string& value, std::string meaning);

  /// One of several words. Where options come as files' names too, such a name may stand for the word.
  void word_or_file(std::string name, std::string& value, const std::vector<std::string>& words,
                    std::string meaning);

  /// An option with a syntax of its own.
  ///
  /// in: take - reads the given text; its error must say what may be given
  void custom(LearnerOption row, std::function<Result<void>(const std::string& given)> take);

  /// Reads given options into the bound members; the others keep their defaults.
  ///
  /// errors: usage: an unknown option or a value out of range, each with what may be given
  Result<void> read(const std::map<std::string, std::string>& given) const;
  std::vector<LearnerOption> rows() const;
  /// The values of all options except custom ones, in the order of declaration.
  /// in: defaults - the same table, bound to default values
  JsonObject json(const OptionTable& defaults) const;

 private:
  struct Entry {
    LearnerOption row;
    std::function<Result<void>(const std::string& given)> take;
    std::function<Json()> value;  // empty for custom options
    bool is_default_hidden = false;
  };

  static Result<std::size_t> read_count(const std::string& name, const std::string& given, std::size_t least,
                                        std::size_t most);
  void add_choice(std::string name, std::vector<std::string> names, std::string meaning,
                  std::function<std::size_t()> get, std::function<void(std::size_t)> set);

  std::vector<Entry> entries_;
};

/// The error for an option whose value is invalid.
/// in: wanted - describes the valid values
Error refused_option(std::string_view name, std::string_view given, std::string_view wanted);

/// errors: as OptionTable::read
template <class Options>
Result<Options> read_options(const std::map<std::string, std::string>& given, Options options = {}) {
  OptionTable table;
  declare_options(table, options);
  TRY_VOID(table.read(given));
  return options;
}

/// The options as rows for Learner::options.
template <class Options>
std::vector<LearnerOption> option_rows(Options options = {}) {
  OptionTable table;
  declare_options(table, options);
  return table.rows();
}

/// The options as stored in a model's "training" record.
template <class Options>
JsonObject options_json(Options options) {
  Options defaults;
  OptionTable plain;
  declare_options(plain, defaults);
  OptionTable table;
  declare_options(table, options);
  return table.json(plain);
}

}  // namespace metafuse::fusion
