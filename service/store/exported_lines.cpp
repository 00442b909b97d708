#include <algorithm>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/json_members.h"
#include "core/text_file.h"
#include "service/store/store.h"
#include "service/store/tables.h"

// The lines of an export, written and read. A hundred rows are read at a time, so that nothing waits for a
// long export.

namespace metafuse::service {
namespace {

constexpr int kExportedAtOnce = 100;
/// How often one search can have been shown, so that sums over many of them stay far from overflowing.
constexpr std::int64_t kMostTimes = 1'000'000'000;
/// Domains named in the error about a file without the wanted one.
constexpr std::size_t kMostDomainsNamed = 10;

JsonArray documents_json(const StoredSearch& search, const std::vector<std::uint32_t>& documents) {
  JsonArray out;
  for (const std::uint32_t document : documents) out.emplace_back(search.documents[document]);
  return out;
}

JsonObject stored_list_json(const StoredSearch& search, const StoredList& list) {
  JsonObject out{{"feature", list.feature},
                 {"depth", list.depth},
                 {"failed", list.has_failed},
                 {"documents", documents_json(search, list.documents)}};
  if (!list.ranks.empty()) out["ranks"] = JsonArray(list.ranks.begin(), list.ranks.end());
  return out;
}

JsonObject json_of(const StoredSearch& search) {
  JsonArray lists;
  for (const StoredList& list : search.lists) lists.emplace_back(stored_list_json(search, list));
  JsonArray shown;
  for (const ShownResult& result : search.shown) {
    JsonObject entry{{"document", search.documents[result.document]}};
    if (result.team != Team::none) entry["team"] = result.team == Team::champion ? "champion" : "challenger";
    shown.emplace_back(std::move(entry));
  }
  JsonObject out{{"kind", "search"},
                 {"id", search.id},
                 {"domain", search.domain},
                 {"query", search.query},
                 {"slots", slots_json(search.slots)},
                 {"at", search.at},
                 {"model", search.model},
                 {"challenger", search.challenger},
                 {"lists", std::move(lists)},
                 {"shown", std::move(shown)},
                 {"times", search.times}};
  if (!search.set_aside.empty()) out["set_aside"] = documents_json(search, search.set_aside);
  return out;
}

template <class Row>
JsonObject json_of(const Row& row) {
  JsonObject out{{"kind", Table<Row>::kKind}};
  for_each_field<Row>([&](const auto& field) {
    const auto& member = row.*field.member;
    if constexpr (!std::is_enum_v<std::remove_cvref_t<decltype(member)>>)
      if (!field.key.empty()) out[field.key] = member;
  });
  return out;
}

std::vector<SqlValue> row_key(const StoredSearch& row) {
  return {row.id};
}

template <class Row>
std::vector<SqlValue> row_key(const Row& row) {
  std::vector<SqlValue> values = values_of(row);
  values.resize(1 + static_cast<std::size_t>(std::ranges::count(Table<Row>::kKey, ',')));
  return values;
}

using TakeLine = std::function<Result<void>(std::string_view line)>;

/// Exports one table in the order of its key.
template <class Row>
Result<void> export_table(SqlDatabase& database, const TakeLine& take) {
  Row last;
  std::string places;
  for (std::size_t i = 1; i <= row_key(last).size(); ++i)
    places += fmt::format("{}${}", i > 1 ? ", " : "", i);
  const std::string sql =
      fmt::format("SELECT {0} FROM {1} WHERE ({2}) > ({3}) ORDER BY {2} LIMIT {4}", columns_of<Row>(),
                  Table<Row>::kName, Table<Row>::kKey, places, kExportedAtOnce);
  for (;;) {
    TRY(auto rows, database.read_value([&](SqlSession& session) -> Result<std::vector<Row>> {
      std::vector<Row> part;
      TRY_VOID(session.run(sql, row_key(last), [&](SqlRow row) -> Result<void> {
        TRY(auto value, read_row<Row>(row));
        part.push_back(std::move(value));
        return {};
      }));
      return part;
    }));
    if (rows.empty()) return {};
    for (const Row& row : rows) TRY_VOID(take(to_text(json_of(row))));
    last = std::move(rows.back());
  }
}

/// One line of an export.
class ExportedLine {
 public:
  ExportedLine(const JsonObject& object, std::string_view place) : members_(object), place_(place) {}

  std::string_view place() const { return place_; }
  const Json* find(std::string_view name) const { return members_.find(name); }
  Result<std::string> text(std::string_view name) const {
    if (const auto* value = members_.text(name)) return std::string(*value);
    return missing(name);
  }
  Result<std::int64_t> number(std::string_view name) const {
    if (const auto* value = members_.integer(name)) return *value;
    return missing(name);
  }
  /// The objects of a list.
  Result<std::vector<ExportedLine>> objects(std::string_view name) const {
    const JsonArray* array = members_.array(name);
    if (array == nullptr) return missing(name);
    std::vector<ExportedLine> out;
    for (const Json& entry : *array) {
      if (!entry.is_object()) return missing(name);
      out.emplace_back(entry.get_object(), place_);
    }
    return out;
  }
  Error missing(std::string_view name) const {
    return fail(Code::bad_data,
                fmt::format("{}: \"{}\" is missing or has another type; import what `metafuse "
                            "store export` wrote",
                            place_, name));
  }

 private:
  JsonMembers members_;
  std::string_view place_;
};

Result<void> read_member(const ExportedLine& line, std::string_view name, std::string& member) {
  TRY(member, line.text(name));
  return {};
}

template <class Number>
Result<void> read_member(const ExportedLine& line, std::string_view name, Number& member) {
  TRY(const auto number, line.number(name));
  if (!std::in_range<Number>(number)) return line.missing(name);
  member = static_cast<Number>(number);
  return {};
}

template <class Row>
Result<Row> read_line(const ExportedLine& line) {
  Row row;
  Result<void> done;
  for_each_field<Row>([&](const auto& field) {
    if (done && (!field.is_optional || line.find(field.key) != nullptr))
      done = read_member(line, field.key, row.*field.member);
  });
  TRY_VOID(done);
  return row;
}

Result<std::uint32_t> document_number(const ExportedLine& line, const Json* document,
                                      DocumentNumbers& numbers) {
  if (document == nullptr || !document->is_string()) return line.missing("documents");
  return numbers.of(std::string(document->get_string()));
}

/// The numbers of the documents in a member.
Result<std::vector<std::uint32_t>> read_documents(const ExportedLine& line, std::string_view name,
                                                  DocumentNumbers& numbers) {
  std::vector<std::uint32_t> out;
  const Json* documents = line.find(name);
  if (documents == nullptr || !documents->is_array()) return line.missing(name);
  for (const Json& document : documents->get_array()) {
    TRY(const auto number, document_number(line, &document, numbers));
    out.push_back(number);
  }
  return out;
}

Result<StoredList> read_exported_list(const ExportedLine& line, DocumentNumbers& numbers) {
  StoredList list;
  TRY(list.feature, line.text("feature"));
  TRY(const auto depth, line.number("depth"));
  list.depth = static_cast<int>(std::clamp<std::int64_t>(depth, 0, 1'000'000));
  const Json* failed = line.find("failed");
  list.has_failed = failed != nullptr && failed->is_bool() && failed->get_bool();
  TRY(list.documents, read_documents(line, "documents", numbers));
  if (const Json* ranks = line.find("ranks"); ranks != nullptr) {
    auto read = read_ranks(*ranks, list.documents.size());
    if (!read) return line.missing("ranks");
    list.ranks = std::move(*read);
  }
  return list;
}

Result<StoredSearch> read_search(const ExportedLine& line) {
  StoredSearch search;
  TRY(search.id, line.text("id"));
  if (!is_search_id(search.id)) return line.missing("id");
  TRY(search.domain, line.text("domain"));
  TRY(search.query, line.text("query"));
  TRY(search.at, line.number("at"));
  TRY(search.model, line.text("model"));
  TRY(search.challenger, line.text("challenger"));
  if (line.find("times") != nullptr) {
    TRY(const auto times, line.number("times"));
    search.times = static_cast<std::uint64_t>(std::clamp<std::int64_t>(times, 0, kMostTimes));
  }
  const Json* slots = line.find("slots");
  if (slots == nullptr) return line.missing("slots");
  TRY(search.slots, read_slots_text(to_text(*slots)));
  DocumentNumbers numbers(search);
  TRY(const auto lists, line.objects("lists"));
  for (const ExportedLine& entry : lists) {
    TRY(auto list, read_exported_list(entry, numbers));
    search.lists.push_back(std::move(list));
  }
  if (line.find("set_aside") != nullptr) {
    TRY(search.set_aside, read_documents(line, "set_aside", numbers));
    std::ranges::sort(search.set_aside);
  }
  TRY(const auto shown, line.objects("shown"));
  for (const ExportedLine& entry : shown) {
    TRY(const auto number, document_number(entry, entry.find("document"), numbers));
    const Json* team = entry.find("team");
    search.shown.push_back({number, team == nullptr             ? Team::none
                                    : *team == Json("champion") ? Team::champion
                                                                : Team::challenger});
  }
  fit_to_limits(search);
  return search;
}

Result<void> add_line(const ExportedLine& line, std::string_view kind, StoreBatch& batch) {
  if (kind == "search") {
    TRY(auto search, read_search(line));
    batch.searches.push_back(std::move(search));
  } else if (kind == "judgment") {
    TRY(auto judgment, read_line<StoredJudgment>(line));
    if (judgment.grade < 0 || judgment.grade > kMaxGrade) return line.missing("grade");
    batch.judgments.push_back(std::move(judgment));
  } else if (kind == "template") {
    TRY(auto version, read_line<TemplateVersion>(line));
    batch.templates.push_back(std::move(version));
  }
  return {};
}

/// Reads the lines of an export with their domains, of which a curation's is that of its results.
Result<void> for_each_exported_line(
    const std::string& path,
    const std::function<Result<void>(const ExportedLine& line, const std::string& domain)>& take) {
  const std::string curation = curation_name("");
  return for_each_line(path, [&](std::string_view text, std::size_t number) -> Result<void> {
    if (text.empty()) return {};
    const std::string place = fmt::format("{}:{}", path, number);
    TRY(const Json json, parse_json(text, path, Code::bad_data, {.first_line = number}));
    if (!json.is_object()) return fail(Code::bad_data, place + ": not an object");
    const ExportedLine line(json.get_object(), place);
    TRY(std::string domain, line.text("domain"));
    if (domain.starts_with(curation)) domain.erase(0, curation.size());
    return take(line, domain);
  });
}

}  // namespace

Result<void> Store::export_lines(const TakeLine& take) {
  TRY_VOID(export_table<StoredSearch>(*database_, take));
  TRY_VOID(export_table<Click>(*database_, take));
  TRY_VOID(export_table<StoredJudgment>(*database_, take));
  return export_table<TemplateVersion>(*database_, take);
}

Result<ExportedLines> read_exported_lines(const std::string& path, const std::string& domain) {
  ExportedLines out;
  bool has_own = false;
  std::set<std::string> others;
  const auto read =
      for_each_exported_line(path, [&](const ExportedLine& line, const std::string& of) -> Result<void> {
        if (!domain.empty() && of != domain) {
          ++out.foreign;
          if (others.size() < kMostDomainsNamed) others.insert(of);
          return {};
        }
        has_own = true;
        TRY(const std::string kind, line.text("kind"));
        if (kind != "search" && kind != "judgment" && kind != "template" && kind != "click")
          return fail(Code::bad_data,
                      fmt::format("{}: unknown kind \"{}\"; expected search, click, judgment or "
                                  "template; import what `metafuse store export` wrote",
                                  line.place(), kind));
        return add_line(line, kind, out.batch);
      });
  if (!read) return read.error();
  if (!has_own && !others.empty())
    return fail(Code::bad_data, fmt::format("{}: no line is of the domain {}; --domain can be {}", path,
                                            domain, fmt::join(others, ", ")));
  return out;
}

}  // namespace metafuse::service
