#include "cli/number_checks.h"

#include <charconv>
#include <cmath>
#include <string>

#include "core/number.h"

namespace metafuse::cli {
namespace {

std::string wrong(const std::string& given, const char* wanted) {
  return "\"" + given + "\": give " + wanted;
}

bool is_number(const std::string& given, double& value) {
  return to_double(given, value) && std::isfinite(value);
}

std::string check_count(const std::string& given) {
  std::uint64_t value = 0;
  const char* end = given.data() + given.size();
  const auto [at, error] = std::from_chars(given.data(), end, value);
  return error == std::errc() && at == end ? "" : wrong(given, "a whole number, 0 or more");
}

std::string check_finite(const std::string& given) {
  double value = 0.0;
  return is_number(given, value) ? "" : wrong(given, "a number");
}

}  // namespace

CLI::Validator at_least_zero() {
  return {[](const std::string& given) {
            double value = 0.0;
            return is_number(given, value) && value >= 0.0 ? "" : wrong(given, "a number, 0 or more");
          },
          "0 or more"};
}

CLI::Validator above_zero() {
  return {[](const std::string& given) {
            double value = 0.0;
            return is_number(given, value) && value > 0.0 ? "" : wrong(given, "a number above 0");
          },
          "above 0"};
}

void check_all_numbers(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    if (type.starts_with("UINT")) option->check(check_count, "");
    if (type.starts_with("FLOAT")) option->check(check_finite, "");
  }
  for (CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) check_all_numbers(*verb);
}

}  // namespace metafuse::cli
