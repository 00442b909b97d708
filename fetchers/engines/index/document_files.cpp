#include "fetchers/engines/index/document_files.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "core/encoding.h"
#include "core/parallel.h"
#include "core/text.h"
#include "core/text_file.h"
#include "core/url.h"
#include "fetchers/answers/answer_text.h"
#include "fetchers/documents/file_kinds.h"
#include "fetchers/documents/text_documents.h"
#include "fetchers/engines/index/sitemap_files.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kFilesPerBatch = 256;
constexpr int kDeepestFolder = 100;
constexpr const char* kConfigurationFile = "metafuse.yaml";

/// The URL of a file: the base, followed by the file's path with each part percent-encoded.
std::string url_of_file(const std::filesystem::path& path, const std::filesystem::path& folder,
                        const std::string& base_url) {
  std::error_code error;
  const auto shown = base_url.empty() ? std::filesystem::absolute(path, error).lexically_normal()
                                      : path.lexically_relative(folder);
  std::string url = base_url.empty() ? "file://localhost" : base_url;
  if (url.ends_with('/')) url.pop_back();
  for (const auto& part : shown)
    if (part != "/") url += '/' + percent_encoded(part.string());
  return url;
}

/// The title of a file without one: its name, and that of its folder if many files may have the name.
std::string title_from_path(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  const std::string folder = path.parent_path().filename().string();
  const bool needs_folder = kind_by_ending(name) == nullptr;
  return needs_folder && !folder.empty() ? folder + '/' + name : name;
}

/// A file's documents, or why it has none.
struct ReadFile {
  const FileKind* kind = nullptr;
  Result<std::vector<SourceDocument>> documents = std::vector<SourceDocument>();
};

bool is_blank(std::string_view bytes) {
  return bytes.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos;
}

bool has_rows(const FileKind& kind) {
  return is_csv(kind) || is_json_lines(kind);
}

Result<const FileKind*> kind_of_file(const std::string& path) {
  if (const FileKind* kind = kind_by_ending(path); kind != nullptr) return kind;
  TRY(const auto head, read_beginning(path, kKindBytes));
  return kind_by_content(head);
}

/// The documents of a file; a table is one text.
Result<std::vector<SourceDocument>> documents_in(const std::string& path, const FileKind& kind) {
  if (!kind.left_out.empty()) return fail(Code::no_input, std::string(kind.left_out));
  TRY(const auto bytes, read_text(path, kind.max_bytes));
  if (is_blank(bytes)) return fail(Code::no_input, "empty");
  const FileKind& real = kind_of_bytes(kind, bytes);
  if (!real.left_out.empty()) return fail(Code::no_input, std::string(real.left_out));
  TRY(auto documents, (has_rows(real) ? read_text_file : real.read)(bytes));
  for (SourceDocument& document : documents) {
    document.place = path;
    document.file = path;
    if (std::string& title = document.fields["title"]; title.empty()) title = title_from_path(path);
  }
  return documents;
}

/// Reads a file, unless it has rows. Errors do not name the file.
ReadFile read_file(const std::string& path) {
  ReadFile out;
  const auto kind = kind_of_file(path);
  out.kind = kind ? *kind : kind_by_content(std::string_view("\0", 1));
  if (!kind)
    out.documents = kind.error();
  else if (!has_rows(**kind))
    out.documents = documents_in(path, **kind);
  const std::string place = path + ": ";
  if (!out.documents && out.documents.error().text.starts_with(place)) {
    Error error = out.documents.error();
    error.text.erase(0, place.size());
    out.documents = std::move(error);
  }
  return out;
}

bool is_hidden(const std::filesystem::path& path) {
  return path.filename().string().starts_with('.');
}

bool is_yaml(const std::filesystem::path& path) {
  return path.extension() == ".yaml" || path.extension() == ".yml";
}

std::string kind_name(const std::string& path) {
  const FileKind* kind = kind_by_ending(path);
  return std::string(kind == nullptr ? "other" : kind->name);
}

/// Why a folder inside another is not read; nullptr if it is.
const char* why_not_entered(const std::filesystem::path& folder, int depth) {
  std::error_code unknown;
  if (depth >= kDeepestFolder) return "more than 100 folders deep";
  if (::access(folder.c_str(), R_OK | X_OK) != 0) return "no permission";
  const bool is_configuration = std::filesystem::exists(folder / kConfigurationFile, unknown);
  return is_configuration ? "a metafuse configuration, with its keys" : nullptr;
}

/// The files below a folder, in the order of their paths.
Result<std::vector<std::string>> files_below(const std::string& folder, ReadReport& report) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<std::string> files;
  const bool has_configuration = fs::exists(fs::path(folder) / kConfigurationFile, error);
  const auto leave_out = [&](const fs::path& path, const char* why) {
    report.left_out.push_back({path.string(), kind_name(path.string()), why});
  };
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    std::error_code unknown;  // of one file, which is then passed over
    const bool is_folder = at->is_directory(unknown) && !at->is_symlink(unknown);
    if (is_hidden(at->path())) {
      if (is_folder) at.disable_recursion_pending();
    } else if (is_folder) {
      const char* why = why_not_entered(at->path(), at.depth());
      if (why == nullptr) continue;
      at.disable_recursion_pending();
      leave_out(at->path(), why);
    } else if (at->is_symlink(unknown)) {
      if (fs::is_regular_file(at->path(), unknown))
        leave_out(at->path(), "a symbolic link; the file itself is read if it is below the folder");
    } else if (has_configuration && at.depth() == 0 && is_yaml(at->path())) {
      leave_out(at->path(), "part of a metafuse configuration");
    } else if (at->is_regular_file(unknown)) {
      files.push_back(at->path().string());
    }
  }
  if (error) return fail(Code::no_input, folder + ": " + error.message());
  std::sort(files.begin(), files.end());
  return files;
}

/// Passes documents on with the key of their file and the stamp that it had before it was read, so that a
/// file that changes meanwhile is read again by the next update.
TakeDocument with_stamp(const std::string& path, const std::string& stamp, const TakeDocument& take) {
  return [&take, &stamp, key = file_key(path)](SourceDocument document) {
    if (!document.file.empty()) document.file = key;
    document.stamp = stamp;
    return take(std::move(document));
  };
}

/// Passes the documents of a file on. Of those that `take` refuses, the first is named.
Result<void> give_all(const std::string& path, const FileKind& kind, std::vector<SourceDocument> documents,
                      const TakeDocument& take, ReadReport& report) {
  std::string why;
  std::size_t refused = 0;
  for (SourceDocument& document : documents) {
    TRY(const auto refusal, take(std::move(document)));
    if (refusal && refused++ == 0) why = refusal->why;
  }
  if (refused < documents.size()) ++report.files[std::string(kind.name)];
  if (refused == 0) return {};
  if (why.starts_with(path + ": ")) why.erase(0, path.size() + 2);
  if (documents.size() > 1) why = fmt::format("{} of {} documents: {}", refused, documents.size(), why);
  report.left_out.push_back({path, std::string(kind.name), why});
  return {};
}

/// Why a table or rows of it are left out, with the line instead of the place in the file, and the number of
/// other rows.
std::string why_rows(const std::string& path, std::string text, std::size_t others = 0) {
  if (!text.starts_with(path + ':')) return text;
  text.erase(0, path.size() + 1);
  const std::size_t end = text.find(": ");
  if (end == std::string::npos || !is_ascii_digit(text.front())) return std::string(ascii_trimmed(text));
  return fmt::format("line {}{}{}", text.substr(0, text.find(':')),
                     others > 0 ? fmt::format(" and {} more", others) : "", text.substr(end));
}

/// The address of a row's document: a relative one continues the base.
std::string whole_address(const std::string& url, const std::string& base_url) {
  if (base_url.empty() || canonical_url_key(url)) return url;
  std::string base = base_url + (base_url.ends_with('/') ? "" : "/");
  // libcurl omits the host of a file's URL; apart from that, one is continued as a page's
  const std::size_t end = base.find("://");
  const bool is_file = ascii_lower(base.substr(0, end)) == "file";
  if (is_file) base.replace(0, end, "http");
  auto whole = resolved_url(url, base);
  if (whole && is_file && *whole != url) whole->replace(0, whole->find("://"), "file");
  return whole.value_or(url);
}

/// Reads the rows of a table; of those that are left out, the first is named.
Result<void> read_table(const SourceFile& file, const FileKind& kind, const std::string& base_url,
                        const TakeDocument& take, ReadReport& report) {
  std::size_t others = 0;
  std::string first;
  const LeaveOutRow leave_out = [&](const std::string& why) {
    if (first.empty())
      first = why;
    else
      ++others;
  };
  const TakeDocument addressed = [&](SourceDocument document) -> Result<Taken> {
    document.url = whole_address(document.url, base_url);
    if (!document.url.empty())
      if (const auto checked = check_address(document.url, document.place); !checked)
        return Refusal{checked.error().text};
    return take(std::move(document));
  };
  const auto read = is_csv(kind) ? read_csv(file.path, addressed, leave_out)
                                 : read_json_lines(file.path, addressed, leave_out);
  if (!first.empty())
    report.left_out.push_back({file.path, std::string(kind.name), why_rows(file.path, first, others),
                               read ? file.stamp : std::string()});
  return read;
}

/// Reports the documents of a file that have only the beginning of their text.
void note_cut(const SourceFile& file, const FileKind& kind, const std::vector<SourceDocument>& documents,
              ReadReport& report) {
  const auto is_cut = [](const SourceDocument& document) { return !document.ends_at.empty(); };
  const auto first = std::ranges::find_if(documents, is_cut);
  if (first == documents.end()) return;
  std::string why = "the text beyond " + first->ends_at;
  if (documents.size() > 1)
    why += fmt::format(" in {} of {} documents", std::ranges::count_if(documents, is_cut), documents.size());
  report.left_out.push_back({file.path, std::string(kind.name), std::move(why), file.stamp});
}

/// Whether a file is known as it is. What was left out of it when it was read is reported again.
bool is_known(const SourceFile& file, const std::string& kind, const DocumentFileOptions& options,
              ReadReport& report) {
  const auto left_out = options.known ? options.known(file_key(file.path), file.stamp) : std::nullopt;
  if (left_out && !left_out->empty()) report.left_out.push_back({file.path, kind, *left_out, file.stamp});
  return left_out.has_value();
}

/// Reads the rows of a file of a folder. A CSV file that is no list of documents is one text.
Result<void> read_rows(const SourceFile& file, const FileKind& kind, const std::string& base_url,
                       const TakeDocument& take, ReadReport& report) {
  bool has_row = false, has_ended = false;  // ended by an error that is not about the file
  const TakeDocument noted = [&](SourceDocument document) {
    auto taken = take(std::move(document));
    has_row = has_row || taken;
    has_ended = !taken;
    return taken;
  };
  const auto read = read_table(file, kind, base_url, noted, report);
  if (has_ended) return read;
  if (read) {
    ++report.files[std::string(kind.name)];
    return {};
  }
  if (is_csv(kind) && !has_row) {
    if (auto documents = documents_in(file.path, kind)) {
      note_cut(file, kind, *documents, report);
      documents->front().url = file.url;
      return give_all(file.path, kind, std::move(*documents), take, report);
    }
  }
  const std::string why = why_rows(file.path, read.error().text);
  report.left_out.push_back({file.path, std::string(kind.name), has_row ? "in part: " + why : why});
  return {};
}

/// Passes on the documents of a file that was read.
Result<void> give_documents(const SourceFile& file, ReadFile& read, const TakeDocument& take,
                            ReadReport& report) {
  if (!read.documents) {
    report.left_out.push_back({file.path, std::string(read.kind->name), read.documents.error().text});
    return {};
  }
  note_cut(file, *read.kind, *read.documents, report);
  for (SourceDocument& document : *read.documents) {
    document.url = file.url + document.url;
    if (!file.date.empty()) document.fields.emplace("date", file.date);
  }
  return give_all(file.path, *read.kind, std::move(*read.documents), take, report);
}

std::string stamp_of_source(const SourceFile& file) {
  return stamp_of(file.path, file.url + ' ' + file.date);
}

/// Reads files on several threads, one batch at a time, and passes their documents on in order.
Result<void> read_files(std::vector<SourceFile> files, const DocumentFileOptions& options,
                        const TakeDocument& take, ReadReport& report) {
  for (SourceFile& file : files) file.stamp = stamp_of_source(file);
  std::erase_if(files, [&](const SourceFile& file) {
    const std::string kind = kind_name(file.path);
    const bool is_as_before = is_known(file, kind, options, report);
    if (is_as_before) ++report.files[kind];
    return is_as_before;
  });
  for (std::size_t begin = 0; begin < files.size(); begin += kFilesPerBatch) {
    const std::size_t count = std::min(kFilesPerBatch, files.size() - begin);
    std::vector<ReadFile> read(count);
    parallel_for(count, options.threads, [&](std::size_t i) { read[i] = read_file(files[begin + i].path); });
    for (std::size_t i = 0; i < count; ++i) {
      const SourceFile& file = files[begin + i];
      const TakeDocument stamped = with_stamp(file.path, file.stamp, take);
      if (read[i].documents && has_rows(*read[i].kind)) {
        TRY_VOID(read_rows(file, *read[i].kind, options.base_url, stamped, report));
      } else {
        TRY_VOID(give_documents(file, read[i], stamped, report));
      }
    }
    if (options.progress) options.progress(begin + count, files.size());
  }
  return {};
}

/// Whether a named file holds JSON lines though its ending does not say so.
bool begins_as_json_lines(const std::string& path) {
  const FileKind* kind = kind_by_ending(path);
  const bool may_be = kind == nullptr || path.find(".json") != std::string::npos;
  const auto head = may_be ? read_beginning(path, kKindBytes) : Result<std::string>(std::string());
  return head && ascii_trimmed(decoded_text(*head)).starts_with('{');
}

Result<ReadReport> read_named_file(const std::string& path, const DocumentFileOptions& options,
                                   const TakeDocument& take) {
  ReadReport report;
  const std::string url = url_of_file(path, std::filesystem::path(path).parent_path(), options.base_url);
  SourceFile file{path, url, ""};
  file.stamp = stamp_of_source(file);
  const TakeDocument stamped = with_stamp(path, file.stamp, take);
  if (path == "-" || begins_as_json_lines(path)) {
    const FileKind& lines = *kind_by_ending("lines.jsonl");
    ++report.files[std::string(lines.name)];
    if (path == "-" || !is_known(file, std::string(lines.name), options, report))
      TRY_VOID(read_table(file, lines, options.base_url, stamped, report));
    return report;
  }
  TRY(const auto kind, kind_of_file(path));
  TRY(const auto head, read_beginning(path, kKindBytes));
  const bool is_empty = head.size() < kKindBytes && is_blank(head);
  const std::string_view never = is_sitemap(*kind) ? std::string_view() : kind->left_out;
  if (const std::string why(is_empty ? "empty" : never); !why.empty()) {
    report.left_out.push_back({path, std::string(kind->name), why});
    return report;
  }
  ++report.files[std::string(kind->name)];
  if (is_sitemap(*kind)) {
    std::vector<std::string> missing;
    TRY(auto sources, files_of_sitemap(path, missing));
    report.files.clear();
    for (const std::string& one : missing)
      report.left_out.push_back({one.substr(0, one.find(": ")), "HTML", one.substr(one.find(": ") + 2)});
    TRY_VOID(read_files(std::move(sources), options, take, report));
    return report;
  }
  if (is_known(file, std::string(kind->name), options, report)) return report;
  if (has_rows(*kind)) {
    TRY_VOID(read_table(file, *kind, options.base_url, stamped, report));
    return report;
  }
  auto documents = documents_in(path, *kind);
  if (!documents) {
    const std::string& why = documents.error().text;
    return fail(documents.error().code, why.starts_with(path) ? why : path + ": " + why);
  }
  note_cut(file, *kind, *documents, report);
  for (SourceDocument& document : *documents) document.url = url + document.url;
  report.files.clear();
  TRY_VOID(give_all(path, *kind, std::move(*documents), stamped, report));
  return report;
}

}  // namespace

Result<void> check_base_url(const std::string& base, std::string_view place) {
  const std::string scheme = ascii_lower(base.substr(0, base.find("://")));
  const bool is_scheme = scheme == "http" || scheme == "https" || scheme == "file";
  const bool is_plain =
      base.find_first_of("?# \t\r\n") == std::string::npos && first_invalid_utf8(base) == std::string::npos;
  if (base.empty() || (is_scheme && is_plain && canonical_url_key(base))) return {};
  return fail(
      Code::usage,
      fmt::format("{} \"{}\": begin with https://HOST/, http://HOST/ or file://HOST/, without ? and #", place,
                  printable(base)));
}

Result<void> check_address(const std::string& url, std::string_view place) {
  if (canonical_url_key(url)) return {};
  constexpr std::size_t kMostShown = 100;
  return fail(Code::bad_data,
              fmt::format("{}: the url \"{}\" names no scheme and host, without which no search shows it; "
                          "write https://HOST/...",
                          place, printable(truncate_utf8(url, kMostShown))));
}

std::string file_key(const std::string& path) {
  std::error_code error;
  const auto whole = std::filesystem::absolute(path, error);
  return error ? path : whole.lexically_normal().string();
}

std::string stamp_of(const std::string& path, std::string_view about) {
  constexpr std::chrono::milliseconds kCoarsestTime(20);
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error) return {};
  const auto time = std::filesystem::last_write_time(path, error);
  if (error || time + kCoarsestTime > std::filesystem::file_time_type::clock::now()) return {};
  return fmt::format("{} {} {}", size, time.time_since_epoch().count(), about);
}

void ReadReport::add(const ReadReport& other) {
  for (const auto& [kind, count] : other.files) files[kind] += count;
  left_out.insert(left_out.end(), other.left_out.begin(), other.left_out.end());
}

Result<ReadReport> read_documents(const std::string& path, const DocumentFileOptions& options,
                                  const TakeDocument& take) {
  std::error_code error;
  if (path == "-" || !std::filesystem::is_directory(path, error)) return read_named_file(path, options, take);
  ReadReport report;
  TRY(const auto files, files_below(path, report));
  std::vector<SourceFile> sources;
  for (const std::string& file : files)
    sources.push_back({file, url_of_file(file, path, options.base_url), ""});
  TRY_VOID(read_files(std::move(sources), options, take, report));
  return report;
}

}  // namespace metafuse::fetchers
