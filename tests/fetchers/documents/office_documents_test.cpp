#include "fetchers/documents/office_documents.h"

#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/read_documents.h"
#include "tests/support/sample_documents.h"

using namespace metafuse;
using namespace metafuse::fetchers;
using namespace metafuse::test;

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

TEST_CASE("Office files lose no words and have none twice", "[fetchers][documents][office]") {
  const std::string box =
      "<w:p><w:r><w:t>before</w:t></w:r><mc:AlternateContent><mc:Choice><w:txbxContent><w:p><w:t>inside</w:t>"
      "</w:p></w:txbxContent></mc:Choice><mc:Fallback><w:p><w:t>inside</w:t></w:p></mc:Fallback>"
      "</mc:AlternateContent><w:r><w:t>after</w:t><w:footnoteReference/></w:r></w:p>"
      "<w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom>";
  const auto word = one(read_office_file(
      zip_of({{"word/document.xml", "<w:d xmlns:w='w' xmlns:mc='m'>" + box + "</w:d>"},
              {"word/footnotes.xml", "<w:d xmlns:w='w'><w:p><w:t>a footnote</w:t></w:p></w:d>"},
              {"word/endnotes.xml", "<w:d xmlns:w='w'><w:p><w:t>an endnote</w:t></w:p></w:d>"}})));
  CHECK(field(word, "text") == "before\n\ninside\n\nafter\n\na footnote\n\nan endnote");
  const auto open = one(read_office_file(zip_of(
      {{"content.xml",
        "<o:d xmlns:o='o' xmlns:t='t'><t:p>word<t:note><t:note-citation>1</t:note-citation><t:note-body>"
        "<t:p>a note</t:p></t:note-body></t:note>more</t:p></o:d>"}})));
  CHECK(field(open, "text") == "word\n\na note\n\nmore");
  const auto table = one(read_office_file(zip_of(
      {{"xl/sharedStrings.xml",
        "<x:sst xmlns:x='x'>\n <x:si><x:t>Tea</x:t><x:rPh><x:t>spoken</x:t></x:rPh></x:si>\n "
        "<x:si><x:t>Cup</x:t></x:si></x:sst>"},
       {"xl/worksheets/sheet1.xml",
        "<x:worksheet xmlns:x='x'><x:sheetData><x:row><x:c t='s'><x:v>0</x:v></x:c><x:c t='s'><x:v>1</x:v>"
        "</x:c></x:row></x:sheetData></x:worksheet>"},
       {"xl/worksheets/sheet2.xml",
        "<worksheet><sheetData><row><c><v>7</v></c></row></sheetData></worksheet>"}})));
  CHECK(field(table, "text") == "Tea | Cup\n\n7\n");
  CHECK(refusal(read_office_file(zip_of({{"word/document.xml", "<w:d xmlns:w='w'><w:p/></w:d>"}}))) ==
        "holds no text; it may be pictures");
}

TEST_CASE("Sheets that all name one long text end when the document is full",
          "[fetchers][documents][office][hostile]") {
  const std::string text((std::size_t{4} << 20) - 10, 'a');
  std::vector<std::pair<std::string, std::string>> parts = {
      {"xl/sharedStrings.xml", "<sst><si><t>" + text + "</t></si></sst>"}};
  for (int i = 1; i <= 2000; ++i)
    parts.emplace_back("xl/worksheets/sheet" + std::to_string(i) + ".xml",
                       i < 3
                           ? "<worksheet><sheetData><row><c t='s'><v>0</v></c></row></sheetData></worksheet>"
                           : "not XML, but nobody needs to read it");
  CHECK(field(one(read_office_file(zip_of(parts))), "text").size() == kMostDocumentText);
}

TEST_CASE("Pages of a book are found by its list of parts whatever their names",
          "[fetchers][documents][office]") {
  const auto book_of = [](const std::string& items, const std::string& spine) {
    return zip_of({{"mimetype", "application/epub+zip"},
                   {"META-INF/container.xml", "<c><r><rootfile full-path='OPS/package.xml'/></r></c>"},
                   {"OPS/package.xml",
                    "<package><manifest>" + items + "</manifest><spine>" + spine + "</spine></package>"},
                   {"text/one.xhtml", "<p>One."},
                   {"OPS/TWO.XHTML", "<p>Two."},
                   {"OPS/three.xml", "<p>Three."},
                   {"OPS/caf\u00E9.xhtml", "<p>Four."},
                   {"OPS/five.svg", "<svg><text>Five.</text></svg>"}});
  };
  const std::string page = " media-type='application/xhtml+xml'/>";
  const std::string items = "<item id='1' href='../text/one.xhtml'" + page +
                            "<item id='2' href='./TWO.XHTML'" + page + "<item id='3' href='three.xml'" +
                            page + "<item id='4' href='caf%C3%A9.xhtml'" + page +
                            "<item id='5' href='five.svg' media-type='image/svg+xml'/>" +
                            "<item id='6' href='../../text/one.xhtml'" + page;
  const std::string spine =
      "<itemref idref='1'/><itemref idref='2'/><itemref idref='3'/><itemref idref='4'/><itemref idref='5'/>"
      "<itemref idref='6'/><itemref idref='1'/>";
  CHECK(field(one(read_office_file(book_of(items, spine))), "text") == "One.\n\nTwo.\n\nThree.\n\nFour.");
  CHECK(refusal(read_office_file(book_of(items, "<itemref idref='6'/>"))) ==
        "holds no text; it may be pictures");
}
