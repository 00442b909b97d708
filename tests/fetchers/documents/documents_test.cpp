#include <catch2/catch.hpp>

#include "fetchers/documents/archive_parts.h"
#include "fetchers/documents/file_kinds.h"
#include "fetchers/documents/mail_documents.h"
#include "fetchers/documents/office_documents.h"
#include "fetchers/documents/program_documents.h"
#include "fetchers/documents/text_documents.h"
#include "fetchers/engines/index/document_files.h"
#include "tests/support/read_documents.h"
#include "tests/support/sample_documents.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fetchers;
using namespace metafuse::test;

namespace {

bool has_program(const char* path) {
  if (std::filesystem::exists(path)) return true;
  WARN(std::string(path) + " is not installed; skipped");
  return false;
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

TEST_CASE("Tables of Markdown that cmark-gfm would fill with a million cells are read as lines",
          "[fetchers][documents][hostile]") {
  const auto table = [](int columns, int lines, const std::string& line) {
    return nested("|a", "|\n", "", columns) + nested("|-", "|\n", "", columns) + nested(line, "", "", lines);
  };
  const auto is_table = [](const std::string& text) {
    return field(markdown_document(text), "text").find("|-") == std::string::npos;
  };
  CHECK(is_table(table(40, 2000, "x\n")));
  CHECK(is_table(nested(table(3, 20, "x|y\n") + "\n", "", "", 500)));
  CHECK_FALSE(is_table(table(1500, 25'000, "x\n")));
  CHECK_FALSE(is_table(table(64, 100'000, "x\r")));
  CHECK_FALSE(is_table("x\n" + nested("|-|-|\ny\n", "", "", 100'000)));      // each could begin a table
  CHECK_FALSE(is_table(table(1, 1, nested("|", "|", "", 500'000) + "\n")));  // one row of many cells
}

TEST_CASE("Front matter ends with a line of its own", "[fetchers][documents]") {
  const auto table = markdown_document("---\ntitle: Tea\n---\n\na|b\n---|---\nc|d\n");
  CHECK(field(table, "title") == "Tea");
  CHECK(field(table, "text") == "a | b\nc | d");
  const auto none = markdown_document("---\na|b\n---|---\nc|d\n");
  CHECK(field(none, "text") == "a | b\nc | d");
  CHECK(field(markdown_document("---\r\ntitle: Tea\r\n...\r\nwords\r\n"), "text") == "words");
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
  CHECK(field(one(read_text_file("Note: tea\n=========\nwords")), "title") == "Note: tea");
  CHECK(field(one(read_text_file("The first line\nwords\n\nUsage\n=====\nmore")), "title") ==
        "The first line");
}

TEST_CASE("reStructuredText and AsciiDoc lose their marks", "[fetchers][documents]") {
  const auto rst =
      one(read_structured_text(".. _label:\n\nThe title\n=========\n\nUse :ref:`the guide <x>` and "
                               "*this*.\n\n.. note:: Mind it\n\n:author: me\n"));
  CHECK(field(rst, "title") == "The title");
  CHECK(field(rst, "text") == "The title\n\nUse the guide <x> and this.\n\nMind it\n\nauthor: me");
  const auto adoc = one(
      read_asciidoc("// comment\n= The title\n:toc:\n\n== Part\n\nSome *bold* words.\n\nimage::x.png[]\n"));
  CHECK(field(adoc, "title") == "The title");
  CHECK(field(adoc, "text") == "The title\n\nPart\n\nSome bold words.");
}

TEST_CASE("Fields and footnotes of reStructuredText are text and options of directives are not",
          "[fetchers][documents]") {
  const auto text = [](const std::string& bytes) { return field(one(read_structured_text(bytes)), "text"); };
  CHECK(text("Brews tea.\n\n:param leaves: what ``dried``\n:returns: a cup\n:orphan:\n") ==
        "Brews tea.\n\nparam leaves: what dried\nreturns: a cup");
  CHECK(
      text(".. [1] Smith, *On tea*.\n.. [#b] see :: there\n.. a comment\n.. _target: https://x.example/\n") ==
      "Smith, On tea.\nsee :: there");
  CHECK(text(".. image:: tea.png\n   :alt: a cup\n   :width: 3\n\n   :kind: green\n") ==
        "tea.png\n\nkind: green");
}

TEST_CASE("AsciiDoc keeps marks inside words and the terms of its lists", "[fetchers][documents]") {
  const auto text = [](const std::string& bytes) { return field(one(read_asciidoc(bytes)), "text"); };
  CHECK(text("Use std::vector<int> in C++ and `my_file_name` or `C++`.") ==
        "Use std::vector<int> in C++ and my_file_name or C++.");
  CHECK(text("A *bold* and _long phrase_, +literal+ (`code`) and **\"quoted\"**; 2 * 3 + 4 +\nnext") ==
        "A bold and long phrase, literal (code) and \"quoted\"; 2 * 3 + 4\nnext");
  CHECK(text("Tea leaves:: dried plants\nCup::\nholds tea") == "Tea leaves dried plants\nCup\nholds tea");
  CHECK(text("Before\nimage::x y.png[]\nimage::x.png[A cup]\ninclude::part.adoc[]\nifdef::a[]\nAfter") ==
        "Before\nimage::x y.png[]\nAfter");
}

TEST_CASE("Comments in source code lose their marks", "[fetchers][documents]") {
  const auto code =
      one(read_source_code("#!/bin/sh\n/*\n * A needle.\n */\n// Another one\nint main() { return 0; }\n"));
  CHECK(field(code, "title") == "-");
  CHECK(field(code, "text") == "A needle.\n\nAnother one\nint main() { return 0; }");
}

TEST_CASE("PDF and RTF are read by programs", "[fetchers][documents][programs]") {
  if (has_program("/usr/bin/pdftotext")) {
    const auto pdf = one(read_pdf(pdf_sample()));
    CHECK(field(pdf, "title") == "The title");
    CHECK(field(pdf, "text").find("A needle in a PDF file") != std::string::npos);
    const auto code =
        one(read_pdf(pdf_of("#include <stdio.h> and vector<int> <!-- & <nav> </pre> to the end")));
    CHECK(field(code, "title") == "The title");
    CHECK(field(code, "text") == "#include <stdio.h> and vector<int> <!-- & <nav> </pre> to the end");
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

TEST_CASE("A document says where the text of its page ends before the page does",
          "[fetchers][documents][hostile]") {
  const auto end = [](const std::string& page) { return html_document(page).ends_at; };
  CHECK(end(nested("<b>x<br>\n", "", "", 900)) == "");
  CHECK(end(nested("<b>x<br>\n", "", "", 1100)) == "1000 nested elements");
  CHECK(end(nested("<ul><li>x", "", "</li></ul>", 1100)) == "1000 nested elements");
  CHECK(end(nested("<p>x", "", "", 5000)) == "");
  CHECK(end(nested("<i>x</i>", "", "", 19'000)) == "");
  CHECK(end(nested("<i>x</i>", "", "", 21'000)) == "a tag per 20 bytes");
  // libxml2 looks through all open elements for what an end tag ends
  CHECK(end(nested("<b>", "", "", 900) + nested("</i>", "", "", 1'000'000)) == "a tag per 20 bytes");
  const TemporaryFolder folder;
  folder.write("deep.html", nested("<b>x<br>\n", "", "", 1100));
  const auto read =
      read_documents(folder.path(), {"", 1}, [](const SourceDocument&) -> Result<Taken> { return Taken(); });
  REQUIRE(read.has_value());
  REQUIRE(read->left_out.size() == 1);
  CHECK(read->left_out[0].why == "the text beyond 1000 nested elements");
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
  const auto read = read_documents(folder.path(), {"", 2}, [&](SourceDocument document) -> Result<Taken> {
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
