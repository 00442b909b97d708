#include <string>

#include <catch2/catch.hpp>

#include "core/digest.h"
#include "core/encoding.h"
#include "tests/support/test_server.h"

// What the forms of operators and judges keep and say where an action is refused.

using namespace metafuse;
using namespace metafuse::test;

namespace {

bool is_shown(const std::string& page, std::string_view text) {
  return page.find(text) != std::string::npos;
}

std::string operators_config(const std::string& more = "") {
  return "store: metafuse.db\nkeys:\n  - {name: admin, roles: [admin], sha256: " + sha256_hex("admin-key") +
         "}\n  - {name: judge, roles: [judge], sha256: " + sha256_hex("judge-key") + "}\n" + more;
}

std::string send_form(TestServer& server, const std::string& path, const std::string& form) {
  return server.post(path, "application/x-www-form-urlencoded", form);
}

const std::string kTwoRequired =
    "version: 1\ndomain: pages\nslots: {NAME: {required: true}, PLACE: {required: true}}\n"
    "templates:\n  - {id: t, engine: one, query: '{NAME} {PLACE}'}\n";

}  // namespace

TEST_CASE("A form with a refused key can be sent again without scripts", "[service][pages]") {
  TestServer server(TestServer::default_answer, operators_config());
  const std::string grades =
      send_form(server, "/judge/pages", "key=wrong&action=save-next&search=s&g.1=4&g.2=3&pool=fused-10");
  CHECK(status_in(grades) == 403);
  for (const char* kept : {"<textarea name=\"g.1\" hidden>", "<textarea name=\"search\" hidden>",
                           "name=\"action\" value=\"save-next\">Send again"})
    CHECK(is_shown(grades, kept));
  CHECK_FALSE(is_shown(grades, "wrong</textarea>"));
  CHECK_FALSE(is_shown(send_form(server, "/judge/pages", "key=wrong&action=queue"), "Send again"));
  const std::string words =
      send_form(server, "/curation/pages", "key=wrong&action=synonyms&synonyms=tea%2C+cha%0D%0Acar%2C+auto");
  CHECK(status_in(words) == 403);
  CHECK(is_shown(words, "car, auto</textarea>"));
  CHECK(is_shown(words, "value=\"synonyms\">Send again"));
  const std::string file = send_form(server, "/judge/pages", "key=wrong&action=import&file=%3Cb%3E");
  CHECK(is_shown(file, "&lt;b&gt;</textarea>"));
}

TEST_CASE("Grades that cannot be saved come back with the page", "[service][pages]") {
  TestServer server(TestServer::default_answer, operators_config());
  const std::string refused =
      send_form(server, "/judge/pages", "key=judge-key&action=save&search=unknown&g.1=4&text=x&pool=lists-3");
  CHECK(status_in(refused) == 422);
  CHECK(is_shown(refused, "<textarea name=\"g.1\" hidden>"));
  CHECK(is_shown(refused, "name=\"action\" value=\"save\">Send again"));
  CHECK_FALSE(is_shown(refused, "<textarea name=\"pool\""));  // the page has its own
}

TEST_CASE("Enter in a box of the curation decides nothing", "[service][pages]") {
  TestServer server(TestServer::default_answer, operators_config());
  const std::string page = send_form(server, "/curation/pages", "key=admin-key&action=show");
  const std::size_t first = page.find("<button", page.find("decisions_tag"));
  CHECK(page.substr(first, page.find('>', first) - first).find("value=\"choose\"") != std::string::npos);
  const std::string refused =
      send_form(server, "/curation/pages",
                "key=admin-key&action=choose&query=ada&url=https%3A%2F%2Fnew.example%2F&title=New");
  CHECK(status_in(refused) == 422);
  CHECK(is_shown(refused, "press Pin first, Hide or Add"));
  CHECK(is_shown(refused, "Nothing is decided yet"));
  CHECK(is_shown(refused, "value=\"https://new.example/\""));
  CHECK(is_shown(refused, "value=\"New\""));
}

TEST_CASE("Files that cannot be opened are no links on the judging and template pages",
          "[service][pages][files]") {
  TestServer server(
      [](const ExpandedQuery&) {
        fetchers::FetchedList list = list_of({"a.example"});
        list.list.hits.push_back({"file://localhost/docs/notes.txt", "Notes", "", "", "", {}});
        return list;
      },
      operators_config());
  const std::string open = send_form(server, "/judge/pages", "key=judge-key&action=next&text=ada");
  CHECK(is_shown(open, "<h3>Notes</h3>"));
  CHECK(is_shown(open, "<a href=\"http://a.example/\""));
  CHECK_FALSE(is_shown(open, "href=\"#\""));
  const std::string live =
      send_form(server, "/templates/pages",
                "key=admin-key&action=live&query=ada&text=" + percent_encoded(kTwoTemplates));
  CHECK(status_in(live) == 200);
  CHECK(is_shown(live, "<li>Notes <cite>/docs/notes.txt</cite>"));
  CHECK_FALSE(is_shown(live, "href=\"#\""));
}

TEST_CASE("A query that the preview refuses is an error", "[service][pages]") {
  TestServer server(TestServer::default_answer, operators_config());
  const auto preview = [&](const std::string& query) {
    return send_form(server, "/templates/pages",
                     "action=preview&query=" + query + "&text=" + percent_encoded(kTwoTemplates));
  };
  CHECK(status_in(preview("ada")) == 200);
  const std::string refused = preview(std::string(5000, 'a'));
  CHECK(status_in(refused) == 422);
  CHECK(is_shown(refused, "role=\"alert\">the query is longer than 4096 bytes; shorten it"));
}

TEST_CASE("A domain with two required slots can be tried and judged", "[service][pages]") {
  TestServer server(TestServer::default_answer, operators_config(), kTwoRequired);
  const std::string text = "&text=" + percent_encoded(kTwoRequired);
  const std::string editor = server.get("/templates/pages");
  CHECK(is_shown(editor, "name=\"slot.PLACE\""));
  CHECK_FALSE(is_shown(editor, "name=\"slot.NAME\""));
  CHECK(status_in(send_form(server, "/templates/pages", "action=preview&query=ada" + text)) == 422);
  const std::string tried =
      send_form(server, "/templates/pages", "action=preview&query=ada&slot.PLACE=rome" + text);
  CHECK(status_in(tried) == 200);
  CHECK(is_shown(tried, "<code>ada rome</code>"));
  CHECK(is_shown(tried, "name=\"slot.PLACE\" value=\"rome\""));

  const std::string half = send_form(server, "/judge/pages", "key=judge-key&action=next&text=ada");
  CHECK(is_shown(half, "requires the slot PLACE"));
  CHECK(is_shown(half, "name=\"slot.PLACE\""));
  const std::string judged =
      send_form(server, "/judge/pages", "key=judge-key&action=next&text=ada&slot.PLACE=rome");
  CHECK(status_in(judged) == 200);
  CHECK(is_shown(judged, "class=\"judged\""));
}
