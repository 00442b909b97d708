#include "fetchers/documents/program_documents.h"

#include <algorithm>
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

/// A program that writes to its standard output.
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

/// Reads what pdftotext writes with -htmlmeta: a head in HTML, and in <pre> the text, in which < and & are
/// themselves. The bytes \f between pages become line ends.
SourceDocument pdf_document(std::string_view output) {
  constexpr std::string_view kTextBegin = "<pre>\n", kTextEnd = "</pre>";
  const std::size_t head = std::min(output.find("</head>"), output.size());
  SourceDocument document = html_document(output.substr(0, head));
  const std::size_t begin = output.find(kTextBegin, head);
  std::string text;
  if (begin != std::string_view::npos) text = output.substr(begin + kTextBegin.size());
  text.resize(std::min(text.rfind(kTextEnd), text.size()));
  std::replace(text.begin(), text.end(), '\f', '\n');
  document.fields["text"] = text_document(text).fields["text"];
  return document;
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
  TRY(const auto output,
      output_of({"pdftotext", "poppler-utils", {"-q", "-enc", "UTF-8", "-htmlmeta", "-", "-"}}, bytes));
  SourceDocument document = pdf_document(to_valid_utf8(output));
  if (document.fields["text"].empty())
    return fail(Code::bad_data, "holds no text; its pages may be pictures");
  clean_title(document);
  return std::vector<SourceDocument>{std::move(document)};
}

Result<std::vector<SourceDocument>> read_rtf(std::string_view bytes) {
  TRY(const auto html, output_of({"unrtf", "unrtf", {"--html", "--nopict", "--quiet"}}, bytes));
  return std::vector<SourceDocument>{html_document(to_valid_utf8(html))};
}

}  // namespace metafuse::fetchers
