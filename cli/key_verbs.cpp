// The verb `key new`, which makes API keys.
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/environment.h"
#include "cli/verbs.h"
#include "core/digest.h"
#include "service/base/dates.h"
#include "service/config/config.h"

namespace metafuse::cli {
namespace {

constexpr std::size_t kKeyBytes = 24;

struct NewKeyArguments {
  std::string name;
  std::vector<std::string> roles;
  std::vector<std::string> domains;
  std::vector<std::string> engines;
  std::optional<double> days;
  std::uint64_t quota = 0;
  double rate = 0;
};

/// A YAML list "[a, b]" with every name quoted, so that none can be read as anything but a string.
std::string yaml_list(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += fmt::format("{}\"{}\"", out.empty() ? "" : ", ", name);
  return "[" + out + "]";
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 &&
         name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.@ ") ==
             std::string_view::npos;
}

Result<void> make_key(const NewKeyArguments& arguments) {
  std::vector<std::string> names = arguments.domains;
  names.insert(names.end(), arguments.engines.begin(), arguments.engines.end());
  names.push_back(arguments.name);
  for (const std::string& name : names)
    if (!is_plain_name(name))
      return fail(Code::usage,
                  "\"" + name + "\" is not a valid name; use letters, digits, blanks and - _ . @");
  for (const std::string& role : arguments.roles)
    if (!service::role_named(role))
      return fail(Code::usage,
                  "unknown role \"" + role + "\"; roles are search, judge, write, admin, raw, metrics");
  const std::string key = "mf_" + random_hex(kKeyBytes);
  std::string entry = fmt::format("  - name: \"{}\"\n    sha256: {}\n    roles: {}\n", arguments.name,
                                  sha256_hex(key), yaml_list(arguments.roles));
  if (!arguments.domains.empty()) entry += "    domains: " + yaml_list(arguments.domains) + "\n";
  if (!arguments.engines.empty()) entry += "    engines: " + yaml_list(arguments.engines) + "\n";
  if (arguments.days) {
    const auto last = seconds_now() + static_cast<std::int64_t>(*arguments.days *
                                                                static_cast<double>(service::kSecondsPerDay));
    entry += "    expires: " + service::iso_day(last) + "\n";
  }
  if (arguments.quota > 0) entry += fmt::format("    quota_per_day: {}\n", arguments.quota);
  if (arguments.rate > 0) entry += fmt::format("    requests_per_second: {}\n", arguments.rate);
  std::cerr << "The key is printed on standard output, only this once; the server keeps only its digest.\n"
               "Paste this below `keys:` of the server's configuration, then reload it:\n\n"
            << entry;
  if (!(std::cout << key << std::endl))
    return fail(Code::try_again, "standard output: cannot write; is the disk full?");
  return {};
}

}  // namespace

void add_key(CLI::App& app, Program& program) {
  CLI::App* key = app.add_subcommand("key", "make API keys")->require_subcommand(1);
  auto [verb, a] = add_verb(
      *key, "new", "make an API key: the key on standard output, YAML on standard error", make_key, program);
  verb.add_option("NAME", a.name, "the key's name in logs, judgments and quotas")->required();
  verb.add_option("--role", a.roles, "search, judge, write, admin, raw or metrics; can be repeated")
      ->required();
  verb.add_option("--domain", a.domains, "a domain that the key may use; default: all");
  verb.add_option("--engine", a.engines, "an engine that the key's searches may ask; default: all");
  verb.add_option("--days", a.days, "days until the key expires; default: never")
      ->check(above_zero() & CLI::Range(0.0, 36500.0));
  verb.add_option("--quota", a.quota, "expanded queries per day");
  verb.add_option("--rate", a.rate, "requests per second")->check(CLI::Range(0.0, 1e6));
  verb.footer("Example:\n  metafuse key new ann --role search --domain support --days 90");
}

}  // namespace metafuse::cli
