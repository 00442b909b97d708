#include <catch2/catch.hpp>

#include "fetchers/documents/archive_parts.h"
#include "fetchers/documents/file_kinds.h"
#include "fetchers/documents/mail_documents.h"
#include "fetchers/documents/office_documents.h"
#include "fetchers/documents/program_documents.h"
#include "fetchers/documents/text_documents.h"
#include "fetchers/engines/index/document_files.h"
#include "tests/support/sample_documents.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fetchers;
using namespace metafuse::test;

namespace {

SourceDocument one(const Result<std::vector<SourceDocument>>& read) {
  INFO((read ? "" : read.error().text));
  REQUIRE(read.has_value());
  REQUIRE(read->size() == 1);
  return read->front();
}

std::string refusal(const Result<std::vector<SourceDocument>>& read) {
  return read ? "read" : read.error().text;
}

std::string field(const SourceDocument& document, const std::string& name) {
  const auto found = document.fields.find(name);
  return found == document.fields.end() ? "-" : found->second;
}

bool has_program(const char* path) {
  if (std::filesystem::exists(path)) return true;
  WARN(std::string(path) + " is not installed; skipped");
  return false;
}

std::string nested(const std::string& open, const std::string& inside, const std::string& close, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += open;
  out += inside;
  for (int i = 0; i < times; ++i) out += close;
  return out;
}

}  // namespace

TEST_CASE("Marks of Markdown and its pictures and comments are no words", "[fetchers][documents]") {
  const auto page = markdown_document(
      "<!-- introduced_in=v1 -->\n# [![Build](https://b.example/x.svg)](https://b.example)\n\n"
      "Project\n=======\n\nSee **the** [docs][1] and `code`.\n\n| a | b |\n|---|---|\n| c | d |\n\n"
      "<p align=center>Centred</p>\n\n[1]: https://d.example\n");
  CHECK(field(page, "title") == "Project");
  const std::string text = field(page, "text");
  CHECK(text.find("See the docs and code.") != std::string::npos);
  CHECK(text.find("Centred") != std::string::npos);
  for (const char* mark : {"introduced_in", "example", "**", "`", "---", "Build", "==="})
    CHECK(text.find(mark) == std::string::npos);
}

TEST_CASE("Of a page only the main part is text", "[fetchers][documents]") {
  const std::string words(300, 'w');
  const auto page =
      html_document("<title>T</title><body><header>Menu</header><nav>Home</nav><main><h1>Head</h1><p>" +
                    words + "</p></main><footer>Imprint</footer>");
  CHECK(field(page, "text") == "Head\n\n" + words);
}

TEST_CASE("The title of a text is its first line unless that is decoration or for programs",
          "[fetchers][documents]") {
  CHECK(field(one(read_text_file("=======\nA title\n=======\nwords")), "title") == "A title");
  CHECK(field(one(read_text_file("Format: https://x.example/\nmore")), "title") == "-");
  CHECK(field(one(read_text_file("Portability:\n\nIt runs anywhere.")), "title") == "-");
  CHECK(field(one(read_text_file("How to begin:\n\nAt the beginning.")), "title") == "How to begin:");
  CHECK(field(one(read_text_file("1 2 3\n")), "title") == "-");
  CHECK(field(one(read_text_file(std::string(300, 'x'))), "title") == "-");
  CHECK(field(one(read_text_file("=======\nA title\n=======\n\nwords")), "text") == "A title\n\nwords");
}

TEST_CASE("reStructuredText and AsciiDoc lose their marks", "[fetchers][documents]") {
  const auto rst =
      one(read_structured_text(".. _label:\n\nThe title\n=========\n\nUse :ref:`the guide <x>` and "
                               "*this*.\n\n.. note:: Mind it\n\n:author: me\n"));
  CHECK(field(rst, "title") == "The title");
  CHECK(field(rst, "text") == "The title\n\nUse the guide <x> and this.\n\nMind it");
  const auto adoc = one(
      read_asciidoc("// comment\n= The title\n:toc:\n\n== Part\n\nSome *bold* words.\n\nimage::x.png[]\n"));
  CHECK(field(adoc, "title") == "The title");
  CHECK(field(adoc, "text") == "The title\n\nPart\n\nSome bold words.");
}

TEST_CASE("Comments in source code lose their marks", "[fetchers][documents]") {
  const auto code =
      one(read_source_code("#!/bin/sh\n/*\n * A needle.\n */\n// Another one\nint main() { return 0; }\n"));
  CHECK(field(code, "title") == "-");
  CHECK(field(code, "text") == "A needle.\n\nAnother one\nint main() { return 0; }");
}

TEST_CASE("Office and OpenDocument and EPUB files give title and text and language and date",
          "[fetchers][documents][office]") {
  const auto docx = one(read_office_file(docx_of("needle")));
  CHECK(field(docx, "title") == "The title");
  CHECK(field(docx, "language") == "en-GB");
  CHECK(field(docx, "date").starts_with("2024-05-06"));
  CHECK(field(docx, "text") == "First\n\nA needle behind");
  const auto odt = one(read_office_file(odt_of("needle")));
  CHECK(field(odt, "title") == "The title");
  CHECK(field(odt, "language") == "de");
  CHECK(field(odt, "text") == "Heading\n\nA needle here\nmore");
  CHECK(field(one(read_office_file(xlsx_sample())), "text") == "Price | 12.5\nneedle | in line\n");
  CHECK(field(one(read_office_file(pptx_sample())), "text") == "begin\n\nneedle\n\nlast");
  const auto book = one(read_office_file(epub_sample()));
  CHECK(field(book, "title") == "The title");
  CHECK(field(book, "language") == "fr");
  CHECK(field(book, "text") == "First chapter.\n\nSecond chapter with a needle.");
}

TEST_CASE("A mail gives its subject and people and text and the names of its attachments",
          "[fetchers][documents][mail]") {
  const auto mail = one(read_mail(kMailSample));
  CHECK(field(mail, "title") == "The title");
  CHECK(field(mail, "date") == "2024-05-06");
  const std::string text = field(mail, "text");
  CHECK(text.find("A needle in caf\xC3\xA9") != std::string::npos);
  CHECK(text.find("ada@x.example") != std::string::npos);
  CHECK(text.find("plan.pdf") != std::string::npos);
  CHECK(text.find("xxxx") == std::string::npos);
  // a text that is attached is no part of what people wrote
  const std::string attached = field(
      one(read_mail("From: a@x.example\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n"
                    "--b\nContent-Type: text/plain\n\nHello\n--b\nContent-Type: text/plain\n"
                    "Content-Disposition: attachment; filename=log.txt\n\nnoise\n--b--\n")),
      "text");
  CHECK(attached.find("Hello") != std::string::npos);
  CHECK(attached.find("log.txt") != std::string::npos);
  CHECK(attached.find("noise") == std::string::npos);
  const std::string box =
      "From ada Mon May  6 07:08:09 2024\n" + std::string(kMailSample) +
      "\nFrom bob Mon May  6 07:08:09 2024\nFrom: b@x.example\nSubject: Two\n\nSecond text\n";
  const auto mails = read_mailbox(box);
  REQUIRE(mails.has_value());
  REQUIRE(mails->size() == 2);
  CHECK((*mails)[1].url == "#/2");
  CHECK(field((*mails)[1], "title") == "Two");
}

TEST_CASE("PDF and RTF are read by programs", "[fetchers][documents][programs]") {
  if (has_program("/usr/bin/pdftotext")) {
    const auto pdf = one(read_pdf(pdf_sample()));
    CHECK(field(pdf, "title") == "The title");
    CHECK(field(pdf, "text").find("A needle in a PDF file") != std::string::npos);
    CHECK(refusal(read_pdf("%PDF-1.4 damaged")).find("pdftotext cannot read it") != std::string::npos);
  }
  if (has_program("/usr/bin/unrtf")) {
    const auto rtf = one(read_rtf(kRtfSample));
    CHECK(field(rtf, "title") == "The title");
    CHECK(field(rtf, "text").find("A needle in rich text.") != std::string::npos);
  }
}

TEST_CASE("A file's kind is told by its ending or else by its content", "[fetchers][documents]") {
  const auto by_ending = [](const char* path) {
    const FileKind* kind = kind_by_ending(path);
    return kind == nullptr ? std::string("-") : std::string(kind->name);
  };
  CHECK(by_ending("/a/b.MD") == "Markdown");
  CHECK(by_ending("/a/b.txt.gz") == "text");
  CHECK(by_ending("/a.html/README") == "-");
  CHECK(by_ending("/a/.profile") == "-");
  CHECK(by_ending("/a/x.docx") == "Office");
  const auto by_content = [](std::string_view head) { return std::string(kind_by_content(head)->name); };
  CHECK(by_content(pdf_sample()) == "PDF");
  CHECK(by_content(kRtfSample) == "RTF");
  CHECK(by_content(odt_of("x")) == "OpenDocument");
  CHECK(by_content(docx_of("x")) == "Office");
  CHECK(by_content(epub_sample()) == "EPUB");
  CHECK(by_content(kMailSample) == "mail");
  CHECK(by_content("<!DOCTYPE html><p>x") == "HTML");
  CHECK(by_content("#!/bin/sh\n") == "source code");
  CHECK(by_content("Just words.\nFrom here on.\n") == "text");
  CHECK(by_content("\x7f"
                   "ELF\x02\x01\x01" +
                   std::string(9, '\0')) == "other");
}

TEST_CASE("Bombs and broken archives and deep trees are refused or read in bounds",
          "[fetchers][documents][hostile]") {
  const std::string much(40u << 20, 'a');
  CHECK(refusal(read_office_file(docx_of(much))).find("more than 32 MiB") != std::string::npos);
  std::vector<std::pair<std::string, std::string>> many;
  for (int i = 0; i < 10'001; ++i) many.emplace_back("x" + std::to_string(i), "");
  CHECK(refusal(read_office_file(zip_of(many))).find("more than 10,000 parts") != std::string::npos);
  const std::string third(22u << 20, 'a');  // each part is small enough, and two are; three are not
  const auto all_of = [](const std::string& bytes) {
    return archive_parts(bytes, [](auto) { return true; });
  };
  CHECK(all_of(zip_of({{"a", third}, {"b", third}})).has_value());
  const auto three = all_of(zip_of({{"a", third}, {"b", third}, {"c", third}}));
  REQUIRE(!three.has_value());
  CHECK(three.error().text.find("more than 64 MiB") != std::string::npos);
  const std::string archive = docx_of("needle");
  for (std::size_t cut = 0; cut < archive.size(); cut += 7) {
    static_cast<void>(read_office_file(archive.substr(0, cut)));
    std::string damaged = archive;
    damaged[cut] = static_cast<char>(damaged[cut] ^ 0xFF);
    static_cast<void>(read_office_file(damaged));
  }
  CHECK(refusal(read_office_file("PK\x03\x04 nonsense")).find("damaged") != std::string::npos);
  CHECK(refusal(read_office_file(zip_of({{"../../etc/passwd", "x"}}))).find("lacks their parts") !=
        std::string::npos);
  const std::string deep = nested("<w:p>", "<w:t>needle</w:t>", "</w:p>", 10'000);
  const auto tree =
      one(read_office_file(zip_of({{"word/document.xml", "<w:d xmlns:w='w'>" + deep + "</w:d>"}})));
  CHECK(field(tree, "text") == "needle");
  const auto entity = read_office_file(zip_of(
      {{"word/document.xml",
        "<!DOCTYPE d [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><w:d xmlns:w='w'><w:t>&a;</w:t></w:d>"}}));
  CHECK((!entity || field(entity->front(), "text").find("root:") == std::string::npos));
  std::string mail = "From: a@x.example\nSubject: deep\nMIME-Version: 1.0\n";
  for (int i = 0; i < 10'000; ++i)
    mail += "Content-Type: multipart/mixed; boundary=b" + std::to_string(i) + "\n\n--b" + std::to_string(i) +
            "\n";
  CHECK(read_mail(mail).has_value());
  CHECK_NOTHROW(markdown_document(nested("> ", "x", "", 10'000)));
  CHECK_NOTHROW(markdown_document(nested("[", "x", "]", 10'000)));
}

TEST_CASE("A folder of every kind is read with a line for each hostile file",
          "[fetchers][documents][hostile]") {
  const TemporaryFolder folder;
  for (int i = 0; i < 40; ++i) {
    const std::string at = "d" + std::to_string(i) + "/";
    folder.write(at + "a.docx", docx_of("needle"));
    folder.write(at + "b.odt", odt_of("needle"));
    folder.write(at + "c.epub.gz", gzipped(epub_sample()));
    folder.write(at + "d.eml", kMailSample);
    folder.write(at + "e.txt.gz", gzipped("A needle\n"));
    folder.write(at + "README", "A needle\n");
    folder.write(at + "f.rst", "Title\n=====\n\nneedle\n");
    folder.write(at + "g.png", "\x89PNG");
    folder.write(at + "h", std::string("\0\1\2", 3));
    folder.write(at + "i.docx", docx_of("needle").substr(0, 200));
    folder.write(at + "j.txt.gz", "\x1f\x8b nonsense");
    folder.write(at + "k.csv", "a,b\n1,needle\n");
    folder.write(at + "l.txt", std::string("\x7F"
                                           "ELF\0\1\2 needle",
                                           14));
    folder.write(at + "m.md", docx_of("needle"));
  }
  folder.write("bomb.txt.gz", gzipped(std::string(20u << 20, 'a')));
  std::filesystem::create_symlink("/etc/passwd", folder.path("outwards.txt"));
  std::filesystem::create_directory_symlink("/etc", folder.path("out"));
  std::string path = folder.path();
  for (int i = 0; i < 150; ++i) std::filesystem::create_directory(path += "/x");
  std::size_t documents = 0, needles = 0;
  const auto read = read_documents(folder.path(), {"", 2}, [&](SourceDocument document) -> Result<void> {
    ++documents;
    needles += document.fields["text"].find("needle") == std::string::npos ? 0 : 1;
    return {};
  });
  REQUIRE(read.has_value());
  CHECK(documents == 40 * 9);
  CHECK(needles == documents);
  CHECK(read->left_out.size() == 40 * 5 + 3);
  std::map<std::string, std::string> why;
  for (const LeftOutFile& file : read->left_out)
    why[std::filesystem::path(file.path).filename().string()] = file.why;
  CHECK(why["outwards.txt"].find("symbolic link") != std::string::npos);
  CHECK(why["x"] == "more than 100 folders deep");
  CHECK(why["bomb.txt.gz"].find("larger than") != std::string::npos);
  CHECK(why["i.docx"].find("damaged") != std::string::npos);
  CHECK(why["j.txt.gz"].find("gzip data") != std::string::npos);
  CHECK(why["g.png"] == "a picture");
  CHECK(why["l.txt"] == "neither text nor a known format");
}

namespace {

/// ASCII as a Windows program saves it as "Unicode".
std::string utf16(const std::string& ascii) {
  std::string bytes = "\xFF\xFE";
  for (const char c : ascii) bytes += {c, '\0'};
  return bytes;
}

}  // namespace

TEST_CASE("Files made on Windows are read without their marks and as UTF-16", "[fetchers][documents]") {
  const std::string mark = "\xEF\xBB\xBF";
  CHECK(field(one(read_text_file(mark + "A title\r\nwords")), "title") == "A title");
  CHECK(field(one(read_text_file(utf16("A title\r\nwords"))), "text") == "A title\nwords");
  CHECK(field(one(read_text_file(std::string("\xFE\xFF\0h\0i", 6))), "text") == "hi");
  CHECK(field(one(read_text_file("Stra\xDF"
                                 "e in M\xFCnchen\nx")),
              "title") == "Stra\u00DFe in M\u00FCnchen");
  CHECK(field(one(read_html("<title>M\xFCnchen</title><p>x")), "title") == "M\u00FCnchen");
  CHECK(field(one(read_text_file("Stra\u00DFe in M\u00FCnchen \xFF\nx")), "title") ==
        "Stra\u00DFe in M\u00FCnchen \uFFFD");  // UTF-8 with a wrong byte
  const std::string page = "<meta charset=utf-16><title>A page</title><p>armadillo";
  for (const std::string& bytes : {utf16(page), mark + page, page}) {
    CHECK(field(one(read_html(bytes)), "title") == "A page");
    CHECK(field(one(read_html(bytes)), "text") == "armadillo");
  }
  CHECK(kind_by_content(utf16("some words")) == kind_by_ending("x.txt"));
  const std::string text = "---\ntitle: Real title\ndate: 2020-01-01\n---\n# Heading\nwords\n";
  std::string windows = mark;
  for (const char c : text) windows += c == '\n' ? std::string("\r\n") : std::string(1, c);
  for (const std::string& bytes : {windows, mark + text, utf16(text)}) {
    const auto document = one(read_markdown(bytes));
    CHECK(field(document, "title") == "Real title");
    CHECK(field(document, "date") == "2020-01-01");
    CHECK(field(document, "text") == "Heading\n\nwords");
  }
}

TEST_CASE("The charset of an XML declaration is that of the page", "[fetchers][documents]") {
  const std::string page =
      "<html><title>se\xF1or</title><p>ma\xF1"
      "ana</html>";
  const auto latin = one(read_html("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>" + page));
  CHECK(field(latin, "title") == "se\xC3\xB1or");
  CHECK(field(latin, "text") ==
        "ma\xC3\xB1"
        "ana");
  // what is written further below declares nothing
  CHECK(field(one(read_html("<?xml version=\"1.0\"?>" + page + "encoding='koi8-r'")), "title") ==
        "se\xC3\xB1or");
}
