#include "fetchers/documents/mail_documents.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "core/text.h"
#include "tests/support/read_documents.h"
#include "tests/support/sample_documents.h"

using namespace metafuse;
using namespace metafuse::fetchers;
using namespace metafuse::test;

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

TEST_CASE("A mail keeps each text that people read once", "[fetchers][documents][mail]") {
  using Parts = std::vector<std::pair<std::string, std::string>>;
  const auto joined = [](const std::string& kind, const Parts& parts) {
    std::string out = "Content-Type: multipart/" + kind + "; boundary=" + kind + "\n\n";
    for (const auto& [type, text] : parts)
      out += "--" + kind + "\n" + (type.empty() ? "" : "Content-Type: " + type + "\n\n") + text + "\n";
    return out + "--" + kind + "--\n";
  };
  const auto words = [](const std::string& content) {
    const auto mail = one(read_mail("Subject: s\nMIME-Version: 1.0\n" + content));
    std::string text = field(mail, "text");
    text.erase(std::unique(text.begin(), text.end(), [](char a, char b) { return a == '\n' && b == '\n'; }),
               text.end());
    return std::string(ascii_trimmed(text));
  };
  const std::pair<std::string, std::string> plain = {"text/plain", "plain"}, html = {"text/html", "<p>page"};
  CHECK(words(joined("alternative", {plain, html})) == "plain");
  CHECK(words(joined("alternative", {{"text/plain", " \n"}, html})) == "page");
  CHECK(words(joined("alternative", {plain, {"", joined("related", {html})}})) == "plain");
  CHECK(words(joined("mixed", {html, {"text/plain", "footer"}})) == "page\nfooter");
  CHECK(words(joined("mixed", {{"", joined("alternative", {plain, html})}, {"text/plain", "footer"}})) ==
        "plain\nfooter");
  CHECK(words(joined("mixed", {html, {"text/calendar", "BEGIN:VCALENDAR"}})) == "page");
  const std::string inner = "Subject: Older\nFrom: a@x.example\nContent-Type: text/plain\n\nforwarded";
  CHECK(words(joined("mixed", {plain, {"message/rfc822", inner}})) ==
        "plain\nOlder\nFrom: a@x.example\nforwarded");
}

TEST_CASE("A mailbox is read to its end", "[fetchers][documents][mail]") {
  const std::string mark = "From ada@x.example Mon May  6 07:08:09 2024\n";
  const auto broken = read_mailbox(mark + "Subject: One\n\nFrom here on words\n\n" + mark +
                                   "no header at all\n\n" + mark + "Subject: Two\n\nlast\n");
  REQUIRE(broken.has_value());
  REQUIRE(broken->size() == 2);
  CHECK(field((*broken)[0], "text").find("From here on words") != std::string::npos);
  CHECK(field((*broken)[0], "text").find("no header at all") != std::string::npos);
  CHECK(field((*broken)[1], "title") == "Two");
  const auto many = read_mailbox(nested("From a\nTo:b\n\nx\n", "", "", 100'001));
  REQUIRE(many.has_value());
  CHECK(many->size() == 100'001);
  CHECK(refusal(read_mailbox("no mail\n")) == "not a mailbox");
}
