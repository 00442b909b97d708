#pragma once

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
/// member; the member's initial value is the default. From that declaration the options are read and checked
/// (read_options), printed by `--help` (option_rows) and stored in a model (options_json).
///
/// The bound members must outlive the table.
class OptionTable {
 public:
  /// A whole number in [least, most].
  template <class Integer>
  void count(std::string name, Integer& value, std::size_t least, std::size_t most, std::string meaning,
             std::string unit = "N") {
    add_count({std::move(name), std::move(unit), std::to_string(value), std::move(meaning)}, least, most,
              {[&value](std::size_t number) { value = static_cast<Integer>(number); },
               [&value] { return static_cast<std::size_t>(value); }});
  }
  /// As count(), or "all", which stands for kAll.
  void count_or_all(std::string name, std::size_t& value, std::size_t least, std::size_t most,
                    std::string meaning);
  static constexpr std::size_t kAll = static_cast<std::size_t>(-1);

  /// A finite number in [least, most].
  void number(std::string name, double& value, double least, double most, std::string meaning,
              std::string unit = "X");

  /// As number(); nothing when it is not given.
  /// in:     fallback - what stands for nothing in the row
  void number_or_none(std::string name, std::optional<double>& value, double least, double most,
                      std::string meaning, std::string fallback);

  /// One of some names, each of which stands for a value.
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
      std::size_t at = 0;
      while (!(values[at] == value)) ++at;
      return at;
    };
    add_choice(std::move(name), std::move(names), std::move(meaning),
               {[&value, values](std::size_t at) { value = values[at]; }, place});
  }

  /// The option declared last stands in json() only when it is not its default: for options that came later,
  /// so that models without them keep their bytes.
  void hide_default() { entries_.back().is_default_hidden = true; }

  /// An option with a form of its own.
  ///
  /// in:     take - reads what was given; its error says what may be given
  void custom(LearnerOption row, std::function<Result<void>(const std::string& given)> take);

  /// Reads what was given into the bound members; what was not given keeps its default.
  ///
  /// errors: usage: an option that the table does not have, or a value out of range, each with what may
  ///         be given
  Result<void> read(const std::map<std::string, std::string>& given) const;
  std::vector<LearnerOption> rows() const;
  /// The values of all options but custom ones, in the order of their declaration.
  /// in:     separator - what stands for '-' in a key; defaults - the same table over default values
  JsonObject json(char separator, const OptionTable& defaults) const;

 private:
  struct Access {
    std::function<void(std::size_t)> set;
    std::function<std::size_t()> get;
  };
  struct Entry {
    LearnerOption row;
    std::function<Result<void>(const std::string& given)> take;
    std::function<Json()> value;  // empty for custom options
    bool is_default_hidden = false;
  };

  void add_count(LearnerOption row, std::size_t least, std::size_t most, Access access);
  void add_choice(std::string name, std::vector<std::string> names, std::string meaning, Access access);

  std::vector<Entry> entries_;
};

/// The error of an option that cannot be read.
/// in:     wanted - what may be given
Error refused_option(std::string_view name, std::string_view given, std::string_view wanted);

/// errors: as OptionTable::read
template <class Options>
Result<Options> read_options(const std::map<std::string, std::string>& given, Options options = {}) {
  OptionTable table;
  declare_options(table, options);
  TRY_VOID(table.read(given));
  return options;
}

/// The rows of the table of learners.
template <class Options>
std::vector<LearnerOption> option_rows(Options options = {}) {
  OptionTable table;
  declare_options(table, options);
  return table.rows();
}

/// The options as a model's "training" says them.
template <class Options>
JsonObject options_json(Options options, char separator) {
  Options defaults;
  OptionTable plain;
  declare_options(plain, defaults);
  OptionTable table;
  declare_options(table, options);
  return table.json(separator, plain);
}

}  // namespace metafuse::fusion
