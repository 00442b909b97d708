#include "fetchers/documents/program_documents.h"

#include <array>
#include <chrono>
#include <string>
#include <utility>

#include <unistd.h>

#include "core/child_process.h"
#include "core/text.h"
#include "fetchers/documents/text_documents.h"

namespace metafuse::fetchers {
namespace {

constexpr std::chrono::seconds kReadingTime{20};
constexpr std::size_t kMostOutput = std::size_t{16} << 20;
constexpr ChildLimits kLimits{std::size_t{512} << 20, 20};

/// A program that writes HTML to its standard output.
struct Converter {
  std::string_view name, package;
  std::vector<std::string> options;
};

std::string path_of_program(std::string_view name) {
  for (const char* folder : {"/usr/bin/", "/usr/local/bin/"})
    if (std::string path = folder + std::string(name); ::access(path.c_str(), X_OK) == 0) return path;
  return {};
}

Result<std::string> output_of(const Converter& converter, std::string_view bytes) {
  const std::string name(converter.name);
  std::vector<std::string> arguments = {path_of_program(name)};
  if (arguments.front().empty())
    return fail(Code::unavailable,
                name + " is not installed; install the package " + std::string(converter.package));
  arguments.insert(arguments.end(), converter.options.begin(), converter.options.end());
  const Deadline deadline(machine_clock(), kReadingTime);
  ChildProcess program;
  TRY_VOID(program.start(std::move(arguments), {.text = std::string(bytes), .limits = kLimits}));
  auto output = program.read(kMostOutput, deadline);
  if (!output) return fail(Code::bad_data, name + " took longer than 20 s");
  const auto status = program.status(deadline);
  // longer output has been cut, and then nobody waits for the program's end
  if (output->size() + (std::size_t{1} << 16) < kMostOutput && (!status || *status != 0))
    return fail(Code::bad_data, name + " cannot read it" + (status ? "" : " in time"));
  return output;
}

Result<std::vector<SourceDocument>> read_converted(const Converter& converter, std::string_view bytes) {
  TRY(const auto html, output_of(converter, bytes));
  std::vector<SourceDocument> out;
  out.push_back(html_document(to_valid_utf8(html)));
  return out;
}

/// A title that word processors make of a file's name says nothing, and hides the first line.
void clean_title(SourceDocument& document) {
  std::string& title = document.fields["title"];
  constexpr std::string_view kPrefix = "Microsoft Word - ";
  if (title.starts_with(kPrefix)) title.erase(0, kPrefix.size());
  const std::string lower = ascii_lower(title);
  if (lower.starts_with("untitled") || lower.ends_with(".doc") || lower.ends_with(".docx") ||
      lower.ends_with(".dvi"))
    title.clear();
  if (title.empty()) title = text_document(document.fields["text"]).fields["title"];
}

}  // namespace

Result<std::vector<SourceDocument>> read_pdf(std::string_view bytes) {
  TRY(auto documents,
      read_converted({"pdftotext", "poppler-utils", {"-q", "-enc", "UTF-8", "-htmlmeta", "-", "-"}}, bytes));
  clean_title(documents.front());
  if (documents.front().fields["text"].empty())
    return fail(Code::bad_data, "holds no text; its pages may be pictures");
  return documents;
}

Result<std::vector<SourceDocument>> read_rtf(std::string_view bytes) {
  return read_converted({"unrtf", "unrtf", {"--html", "--nopict", "--quiet"}}, bytes);
}

}  // namespace metafuse::fetchers
