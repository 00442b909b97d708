#include "fetchers/documents/file_kinds.h"

#include <algorithm>
#include <array>

#include "core/text.h"
#include "fetchers/answers/answer_text.h"
#include "fetchers/documents/mail_documents.h"
#include "fetchers/documents/office_documents.h"
#include "fetchers/documents/program_documents.h"
#include "fetchers/documents/text_documents.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMostMailbox = std::size_t{256} << 20;
constexpr std::size_t kMostOffice = std::size_t{64} << 20;

enum Place : std::size_t {
  kHtml,
  kMarkdown,
  kStructured,
  kAsciidoc,
  kText,
  kCode,
  kPdf,
  kRtf,
  kOffice,
  kOpenDocument,
  kEpub,
  kMail,
  kMailbox,
  kCsv,
  kJsonLines,
  kSitemap,
  kPicture,
  kSound,
  kArchive,
  kProgram,
  kKey,
  kOther
};

constexpr std::array kKinds = {
    FileKind{"HTML", ".html .htm .xhtml", read_html},
    FileKind{"Markdown", ".md .markdown", read_markdown},
    FileKind{"reStructuredText", ".rst .rest", read_structured_text},
    FileKind{"AsciiDoc", ".adoc .asciidoc .asc", read_asciidoc},
    FileKind{"text",
             ".txt .text .log .nfo .readme .changes .changelog .news .todo .tex .pod .org .diff .patch",
             read_text_file},
    FileKind{
        "source code",
        ".c .h .cc .cpp .cxx .hh .hpp .hxx .py .js .mjs .ts .tsx .jsx .java .kt .go .rs .rb .pl .pm .php .sh "
        ".bash .zsh .lua .r .jl .hs .ml .mli .scala .swift .cs .vb .sql .el .lisp .scm .clj .erl .ex .f90 "
        ".pas "
        ".asm .s .m .tcl .awk .vim .css .scss .cmake .mk .yaml .yml .toml .ini .conf .cfg .json .proto "
        ".graphql",
        read_source_code},
    FileKind{"PDF", ".pdf", read_pdf, {}, kMostOffice},
    FileKind{"RTF", ".rtf", read_rtf},
    FileKind{"Office", ".docx .xlsx .pptx .docm .xlsm .pptm", read_office_file, {}, kMostOffice},
    FileKind{"OpenDocument", ".odt .ods .odp .ott .ots .otp", read_office_file, {}, kMostOffice},
    FileKind{"EPUB", ".epub", read_office_file, {}, kMostOffice},
    FileKind{"mail", ".eml", read_mail},
    FileKind{"mailbox", ".mbox .mbx", read_mailbox, {}, kMostMailbox},
    FileKind{"CSV", ".csv .tsv"},
    FileKind{"JSON lines", ".jsonl .ndjson"},
    FileKind{"XML", ".xml", nullptr, "XML is read only as a sitemap that is named itself"},
    FileKind{"picture",
             ".png .jpg .jpeg .gif .webp .svg .svgz .ico .bmp .tif .tiff .eps .ps .psd .heic .avif", nullptr,
             "a picture"},
    FileKind{"sound or film", ".mp3 .ogg .oga .opus .wav .flac .m4a .mp4 .mkv .webm .avi .mov .ogv", nullptr,
             "sound or film"},
    FileKind{"archive", ".zip .tar .tgz .txz .bz2 .7z .rar .deb .rpm .jar .war .iso .whl", nullptr,
             "an archive; unpack it"},
    FileKind{"program or data", ".o .a .so .exe .dll .class .pyc .bin .db .sqlite .mo .ttf .otf .woff .woff2",
             nullptr, "a program or its data"},
    FileKind{"key", ".key .secret .pem .p12 .pfx .jks .kdbx", nullptr, "a key or secret"},
    FileKind{"other", "", nullptr, "neither text nor a known format"},
};

bool has_ending(std::string_view endings, std::string_view ending) {
  while (!endings.empty())
    if (take_until(endings, ' ') == ending) return true;
  return false;
}

/// The ending of a path's last part with its dot, in lower case.
std::string ending_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  const std::string_view name = path.substr(slash == std::string_view::npos ? 0 : slash + 1);
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos || dot == 0 ? std::string() : ascii_lower(name.substr(dot));
}

/// Whether bytes read like a text: no NUL, and hardly any control characters.
bool reads_like_text(std::string_view head) {
  const auto odd = std::count_if(head.begin(), head.end(), [](char c) {
    return (c >= 0 && c < ' ' && c != '\n' && c != '\t' && c != '\r' && c != '\f' && c != '\b' &&
            c != '\x1b') ||
           c == 0x7F;
  });
  return head.find('\0') == std::string_view::npos && static_cast<std::size_t>(odd) * 100 <= head.size();
}

/// Whether a text begins with the fields of a mail's header.
bool is_mail_header(std::string_view head) {
  constexpr std::array<std::string_view, 7> kFields = {
      "received:",     "return-path:",     "from:", "message-id:", "mime-version:",
      "delivered-to:", "x-mozilla-status:"};
  std::size_t known = 0;
  for (int line = 0; line < 20 && !head.empty(); ++line) {
    const std::string text = ascii_lower(take_until(head, '\n'));
    known += std::any_of(kFields.begin(), kFields.end(),
                         [&](std::string_view field) { return text.starts_with(field); });
    if (line == 0 && text.find(':') == std::string::npos) return false;
  }
  return known >= 2;
}

}  // namespace

std::span<const FileKind> file_kinds() {
  return kKinds;
}

const FileKind* kind_by_ending(std::string_view path) {
  std::string ending = ending_of(path);
  if (ending == ".gz" || ending == ".xz" || ending == ".zst") {
    path.remove_suffix(ending.size());
    ending = ending_of(path);
  }
  if (ending.empty()) return nullptr;
  for (const FileKind& kind : kKinds)
    if (has_ending(kind.endings, ending)) return &kind;
  return nullptr;
}

const FileKind* kind_by_content(std::string_view head) {
  const std::string text = decoded_text(head.substr(0, kKindBytes));
  head = text;
  if (head.starts_with("%PDF-")) return &kKinds[kPdf];
  if (head.starts_with("{\\rtf")) return &kKinds[kRtf];
  if (head.starts_with("PK\x03\x04")) {
    if (head.find("application/vnd.oasis.opendocument") != std::string_view::npos)
      return &kKinds[kOpenDocument];
    if (head.find("application/epub+zip") != std::string_view::npos) return &kKinds[kEpub];
    if (head.find("[Content_Types].xml") != std::string_view::npos) return &kKinds[kOffice];
    return &kKinds[kArchive];
  }
  if (!reads_like_text(head)) return &kKinds[kOther];
  if (head.starts_with("From ") && head.find("\nFrom:") != std::string_view::npos) return &kKinds[kMailbox];
  if (is_mail_header(head)) return &kKinds[kMail];
  const std::string begin = ascii_lower(ascii_trimmed(head.substr(0, 200)));
  if (begin.starts_with("<!doctype html") || begin.starts_with("<html")) return &kKinds[kHtml];
  if (begin.starts_with("<?xml")) return &kKinds[kSitemap];
  return begin.starts_with("#!") ? &kKinds[kCode] : &kKinds[kText];
}

const FileKind& kind_of_bytes(const FileKind& by_ending, std::string_view bytes) {
  if (&by_ending > &kKinds[kCode] && !is_csv(by_ending)) return by_ending;
  const std::string head = decoded_text(bytes.substr(0, kKindBytes));
  const bool is_other = head.starts_with("%PDF-") || head.starts_with("PK\x03\x04") ||
                        head.starts_with("{\\rtf") || !reads_like_text(head);
  return is_other ? *kind_by_content(bytes) : by_ending;
}

bool is_csv(const FileKind& kind) {
  return &kind == &kKinds[kCsv];
}

bool is_json_lines(const FileKind& kind) {
  return &kind == &kKinds[kJsonLines];
}

bool is_sitemap(const FileKind& kind) {
  return &kind == &kKinds[kSitemap];
}

}  // namespace metafuse::fetchers
