#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/result.h"

namespace metafuse::service {

/// Reads the members of one JSON object and remembers the first mistake. A null member counts as absent.
class JsonFields {
 public:
  static constexpr std::size_t kUsualBytes = 4096;

  explicit JsonFields(const JsonObject& object) : object_(&object) {}

  std::optional<std::string> text(std::string_view name, std::size_t max_bytes = kUsualBytes);
  std::optional<bool> flag(std::string_view name);
  std::optional<double> number(std::string_view name, double low, double high);
  std::optional<int> integer(std::string_view name, int low, int high);
  /// A list of strings.
  ///
  /// in: max_bytes - of each
  std::vector<std::string> texts(std::string_view name, std::size_t max_items = 300,
                                 std::size_t max_bytes = 1000);
  /// An object whose members are all strings; empty if it is absent.
  std::map<std::string, std::string> text_map(std::string_view name);
  const JsonObject* object(std::string_view name);
  const JsonArray* array(std::string_view name);

  bool has_failed() const { return !mistake_.empty(); }
  /// Requires has_failed().
  Error error() const { return fail(Code::usage, mistake_); }
  void set_mistake(std::string text);
  /// Makes every member other than the known ones a mistake.
  void refuse_others(std::initializer_list<std::string_view> known);

 private:
  const Json* find(std::string_view name) const;

  const JsonObject* object_;
  std::string mistake_;
};

/// Reads a body of one JSON value per line, without lines that are blank.
class JsonLines {
 public:
  explicit JsonLines(std::string_view text) : rest_(text) {}

  /// The next line's value, or nothing at the end.
  ///
  /// errors: bad_data with the line's place
  Result<std::optional<Json>> next();
  /// "lines:N" of the last value, for errors.
  std::string place() const;

 private:
  std::string_view rest_;
  std::size_t number_ = 0;
};

}  // namespace metafuse::service
