#pragma once

// A small document of each format, with the title "The title" where the format has one and the word "needle".

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zlib.h>

#include "tests/support/archive_writer.h"

namespace metafuse::test {

/// The bytes as gzip compresses them.
inline std::string gzipped(std::string_view bytes) {
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline std::string docx_of(const std::string& words) {
  return zip_of(
      {{"[Content_Types].xml", "<Types/>"},
       {"docProps/core.xml",
        "<cp:coreProperties xmlns:cp='c' xmlns:dc='d' xmlns:dcterms='t'><dc:title>The title</dc:title>"
        "<dc:language>en-GB</dc:language><dcterms:modified>2024-05-06T07:08:09Z</dcterms:modified>"
        "</cp:coreProperties>"},
       {"word/document.xml",
        "<w:document xmlns:w='w'><w:body><w:p><w:r><w:t>First</w:t></w:r></w:p><w:p><w:r><w:t>A " + words +
            "</w:t><w:tab/><w:t>behind</w:t><w:instrText>HIDDEN</w:instrText></w:r></w:p>"
            "</w:body></w:document>"}});
}

inline std::string xlsx_sample() {
  return zip_of(
      {{"[Content_Types].xml", "<Types/>"},
       {"xl/sharedStrings.xml",
        "<sst><si><t>Price</t></si><si><r><t>nee</t></r><r><t>dle</t></r></si></sst>"},
       {"xl/worksheets/sheet1.xml",
        "<worksheet><sheetData><row><c t='s'><v>0</v></c><c><v>12.5</v></c></row>"
        "<row><c t='s'><v>1</v></c><c t='s'><v>99</v></c><c t='inlineStr'><is><t>in line</t></is></c></row>"
        "</sheetData></worksheet>"}});
}

inline std::string pptx_sample() {
  const auto slide = [](const std::string& words) {
    return "<p:sld xmlns:p='p' xmlns:a='a'><a:p><a:r><a:t>" + words + "</a:t></a:r></a:p></p:sld>";
  };
  return zip_of({{"[Content_Types].xml", "<Types/>"},
                 {"ppt/slides/slide10.xml", slide("last")},
                 {"ppt/slides/slide2.xml", slide("needle")},
                 {"ppt/slides/slide1.xml", slide("begin")}});
}

inline std::string odt_of(const std::string& words) {
  return zip_of(
      {{"mimetype", "application/vnd.oasis.opendocument.text"},
       {"content.xml",
        "<office:document-content xmlns:office='o' xmlns:text='t'><office:body><office:text>"
        "<text:tracked-changes><text:p>gone</text:p></text:tracked-changes>"
        "<text:h>Heading</text:h><text:p>A " +
            words +
            "<text:s/>here<text:line-break/>more</text:p></office:text></office:body>"
            "</office:document-content>"},
       {"meta.xml",
        "<office:document-meta xmlns:office='o' xmlns:dc='d'><office:meta><dc:title>The title</dc:title>"
        "<dc:language>de</dc:language><dc:date>2023-01-02T03:04:05</dc:date></office:meta>"
        "</office:document-meta>"}});
}

inline std::string epub_sample() {
  return zip_of(
      {{"mimetype", "application/epub+zip"},
       {"META-INF/container.xml",
        "<container><rootfiles><rootfile full-path='OPS/book.opf'/></rootfiles></container>"},
       {"OPS/book.opf",
        "<package xmlns:dc='d'><metadata><dc:title>The "
        "title</dc:title><dc:language>fr</dc:language></metadata>"
        "<manifest><item id='b' href='b.xhtml'/><item id='a' href='a%20a.xhtml'/><item id='x' "
        "href='../../x.xhtml'/>"
        "</manifest><spine><itemref idref='a'/><itemref idref='b'/><itemref idref='x'/></spine></package>"},
       {"OPS/b.xhtml", "<html><body><p>Second chapter with a needle.</p></body></html>"},
       {"OPS/a a.xhtml", "<html><body><p>First chapter.</p></body></html>"}});
}

/// The words need no escapes: no brackets and backslashes.
inline std::string pdf_of(const std::string& words) {
  std::string out = "%PDF-1.4\n";
  std::vector<std::size_t> at;
  const std::string page = "BT /F1 12 Tf 72 700 Td (" + words + ") Tj ET";
  for (const std::string& object :
       {std::string("<</Type/Catalog/Pages 2 0 R>>"), std::string("<</Type/Pages/Kids[3 0 R]/Count 1>>"),
        std::string("<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 "
                    "0 R>>>>>>"),
        "<</Length " + std::to_string(page.size()) + ">>stream\n" + page + "\nendstream",
        std::string("<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"),
        std::string("<</Title(The title)>>")}) {
    at.push_back(out.size());
    out += std::to_string(at.size()) + " 0 obj" + object + "endobj\n";
  }
  const std::size_t table = out.size();
  out += "xref\n0 7\n0000000000 65535 f \n";
  for (const std::size_t offset : at) {
    const std::string digits = std::to_string(offset);
    out += std::string(10 - digits.size(), '0') + digits + " 00000 n \n";
  }
  return out + "trailer<</Size 7/Root 1 0 R/Info 6 0 R>>\nstartxref\n" + std::to_string(table) + "\n%%EOF\n";
}

inline std::string pdf_sample() {
  return pdf_of("A needle in a PDF file");
}

inline const char* const kRtfSample =
    "{\\rtf1\\ansi{\\info{\\title The title}}A needle in {\\b rich} text.\\par Another paragraph.}";

inline const char* const kMailSample =
    "From: Ada <ada@x.example>\r\nTo: Bob <bob@x.example>\r\nSubject: =?utf-8?q?The_title?=\r\n"
    "Date: Mon, 6 May 2024 07:08:09 +0000\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; "
    "boundary=b\r\n\r\n"
    "--b\r\nContent-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: "
    "quoted-printable\r\n\r\n"
    "A needle in caf=E9\r\n--b\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; "
    "filename=plan.pdf\r\n"
    "\r\nxxxx\r\n--b--\r\n";

}  // namespace metafuse::test
