#include "fetchers/engines/command/command_engine.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/child_process.h"
#include "core/languages.h"
#include "core/text.h"
#include "core/url.h"
#include "fetchers/answers/answer_dates.h"
#include "fetchers/answers/answer_text.h"

namespace metafuse::fetchers {
namespace {

void check_command(EngineBlock& block, const std::vector<std::string>& words) {
  if (words.empty()) return block.error_at("command", "command must not be empty");
  if (!words.front().starts_with('/'))
    block.error_at("command", "the program must be an absolute path, for example /usr/bin/locate");
  if (std::count(words.begin(), words.end(), "{{QUERY}}") == 0)
    block.error_at("command", "command has no argument \"{{QUERY}}\"; add it where the query belongs");
  for (const std::string& word : words)
    if (word != "{{QUERY}}" && word.find("{{QUERY}}") != std::string::npos)
      block.error_at("command", "\"{{QUERY}}\" must be a whole argument, not part of \"" + word + "\"");
}

/// The exit status with which grep and similar programs report that they found nothing; higher ones
/// are failures.
constexpr int kNothingFound = 1;

/// The arguments with the query inserted, or an error if the query is not acceptable as an argument.
Result<std::vector<std::string>> filled_arguments(const CommandAccess& access, std::string_view query) {
  if (query.find_first_of(std::string_view("\0\n\r", 3)) != std::string_view::npos)
    return fail(Code::usage, "a query with a NUL byte or a line break cannot be passed as an argument");
  std::vector<std::string> out;
  bool is_behind_options_end = false;
  for (const std::string& argument : access.arguments) {
    if (argument != "{{QUERY}}") {
      is_behind_options_end = is_behind_options_end || (argument == "--" && !out.empty());
      out.push_back(argument);
      continue;
    }
    if (query.starts_with('-') && !is_behind_options_end)
      return fail(Code::usage,
                  "a query that begins with - would be read as an option of the program; put \"--\" before "
                  "\"{{QUERY}}\" if the program supports it");
    out.emplace_back(query);
  }
  return out;
}

Hit hit_of(const CommandAccess& access, std::string_view line) {
  Hit hit;
  for (std::size_t i = 0; i < access.fields.size(); ++i) {
    const bool is_last = i + 1 == access.fields.size();
    const std::size_t end = is_last ? line.size() : std::min(line.find(access.delimiter), line.size());
    const std::string_view value = line.substr(0, end);
    const std::string& field = access.fields[i];
    if (field == "url") hit.url = resolved_url(access.url_prefix + std::string(value), "").value_or("");
    if (field == "title") hit.title = clean_text(value, false, kMaxTitleBytes);
    if (field == "content") hit.snippet = clean_text(value, false, kMaxSnippetBytes);
    if (field == "published") hit.published = clean_date(value);
    if (field == "language") hit.language = language_tag(value);
    line.remove_prefix(std::min(end + access.delimiter.size(), line.size()));
  }
  if (hit.title.empty()) hit.title = hit.url;
  return hit;
}

}  // namespace

void read_command(EngineBlock& block) {
  auto& access = block.engine.access.emplace<CommandAccess>();
  if (block.map.take_required("command") != nullptr) {
    access.arguments = block.texts("command");
    check_command(block, access.arguments);
  }
  if (const YamlNode* node = block.map.take("delimiter")) {
    EngineBlock reading = block.inner(*node, "delimiter");
    reading.take("chars", access.delimiter);
    if (auto keys = reading.map.take_strings("keys")) access.fields = *keys;
    reading.map.finish();
    if (access.delimiter.empty()) reading.error("delimiter: chars must not be empty");
    if (std::find(access.fields.begin(), access.fields.end(), "url") == access.fields.end())
      reading.error("delimiter: keys must include url");
  }
  take_max_connections(block);
  block.take("url_prefix", access.url_prefix);
  block.take("max_output_bytes", access.max_bytes, 1, 64 << 20);
}

Result<RankedList> search_command(const CommandAccess& access, std::string_view query, int depth,
                                  const Deadline& deadline) {
  TRY(auto arguments, filled_arguments(access, query));
  ChildProcess process;
  TRY_VOID(process.start(std::move(arguments)));
  TRY(const auto output, process.read(access.max_bytes, deadline));
  if (output.empty()) {
    TRY(const int status, process.status(deadline));
    if (status > kNothingFound)
      return fail(Code::unavailable,
                  fmt::format("the program printed nothing and ended with status {}", status));
  }
  RankedList list;
  for (std::string_view rest = output; !rest.empty() && static_cast<int>(list.hits.size()) < depth;) {
    std::string_view line = take_until(rest, '\n');
    if (line.ends_with('\r')) line.remove_suffix(1);
    Hit hit = hit_of(access, line);
    if (!hit.url.empty()) list.hits.push_back(std::move(hit));
  }
  return list;
}

}  // namespace metafuse::fetchers
