// The verb judge, from a store or a file of queries to judgments, reports and training.

#include <memory>
#include <string>

#include <catch2/catch.hpp>

#include "core/json.h"
#include "core/text_file.h"
#include "service/learning/judge_grades.h"
#include "service/store/store.h"
#include "tests/support/chat_server.h"
#include "tests/support/command.h"

using namespace metafuse;
using test::ChatServer;
using test::CommandResult;
using test::run_metafuse;
using test::TemporaryFolder;

namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

test::Said tea_model(const std::string& prompt) {
  return test::graded(
      prompt, [](const std::string& text) { return text.find("leaves") != std::string::npos ? 3 : 0; });
}

/// A search of three documents, and a model.
struct Drinks {
  TemporaryFolder folder{TemporaryFolder::in_memory()};
  ChatServer server{tea_model};

  Drinks() {
    folder.write("pages/tea.html", "<title>Green tea</title><p>leaves and water");
    folder.write("pages/coffee.md", "# Coffee\nbeans and water\n");
    folder.write("pages/rain.md", "# Rain\nonly water\n");
    folder.write("queries.jsonl",
                 "{\"id\":\"1\",\"slots\":{\"QUERY\":\"water\"}}\n"
                 "{\"id\":\"2\",\"slots\":{\"QUERY\":\"tea leaves\"}}\n");
    REQUIRE(run_metafuse({"init", folder.path("mine"), "--documents", folder.path("pages"), "--base-url",
                          "https://drinks.example/", "--domain", "drinks"})
                .status == 0);
  }
  CommandResult judge(std::vector<std::string> more, const std::string& domain = "drinks") const {
    std::vector<std::string> words = {"judge", "--config", folder.path("mine/metafuse.yaml"), "--domain",
                                      domain};
    words.insert(words.end(), more.begin(), more.end());
    return run_metafuse(words);
  }
  std::vector<std::string> asking(std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {"--endpoint", server.url(), "--model", "m"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  std::string queries() const { return folder.path("queries.jsonl"); }
  std::string store_file() const { return folder.path("mine/metafuse.db"); }
};

}  // namespace

TEST_CASE("The verb judge grades a file's queries into the store and asks nothing twice", "[cli][judge]") {
  const Drinks drinks;
  const auto first =
      drinks.judge(drinks.asking({"--queries", drinks.queries(), "--output", drinks.folder.path("qrels")}));
  INFO(first.err);
  REQUIRE(first.status == 0);
  CHECK(has(first.out, "model:m: "));
  const auto qrels = read_text(drinks.folder.path("qrels"), 10000).value();
  CHECK(has(qrels, "water 0 drinks.example/tea.html 3\n"));
  CHECK(has(qrels, "water 0 drinks.example/rain.md 0\n"));
  const std::size_t asked = drinks.server.prompts().size();
  CHECK(asked >= 4);
  const auto again = drinks.judge(drinks.asking({"--queries", drinks.queries()}));
  CHECK(again.status == 0);
  CHECK(has(again.out, "0 graded now"));
  CHECK(has(
      drinks.judge({"--endpoint", drinks.server.url(), "--model", "model:m", "--queries", drinks.queries()})
          .out,
      "model:m: "));
  CHECK(drinks.server.prompts().size() == asked);
  // without a file, the store's queries are judged: nobody has asked any but the judge itself
  const auto store = service::open_store(drinks.store_file(), service::StoreMode::read);
  REQUIRE(store.has_value());
  const auto queries = (*store)->judgments.queries("drinks");
  REQUIRE(queries->size() == 2);
  for (const auto& judgment : queries->front().judgments) CHECK(judgment.judge == "model:m");
  CHECK(service::judged_by_people(**store, "drinks")->empty());
}

TEST_CASE("A model's judgments train only on request", "[cli][judge]") {
  const Drinks drinks;
  REQUIRE(drinks.judge(drinks.asking({"--queries", drinks.queries()})).status == 0);
  const auto train = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {
        "train",  "--store",        drinks.store_file(), "--domain",
        "drinks", "--use-held-out", "--model",           drinks.folder.path("model.json")};
    words.insert(words.end(), more.begin(), more.end());
    return run_metafuse(words);
  };
  CHECK(has(train({}).err, "nothing in the store to learn from"));
  const auto only = train({"--only", "m"});
  INFO(only.err);
  CHECK(only.status == 0);
  CHECK(has(only.err, "2 judged by the model m only"));
  CHECK(has(run_metafuse({"model", "show", drinks.folder.path("model.json")}).out,
            "also learned from 2 queries that only the language model m judged"));
  CHECK(train({"--weight", "m=0.5"}).status == 0);
  CHECK(has(train({"--weight", "model:m=0.5"}).err, "2 judged by the model m only"));
  for (const auto& [option, value] : {std::pair{"--only", "nosuch"}, std::pair{"--weight", "nosuch=1"}}) {
    const auto wrong = train({option, value});
    CHECK(wrong.status == 65);
    CHECK(has(wrong.err, "no judgment of the model nosuch; there are some of m\n"));
  }
  CHECK(train({"--weight", "m=0.5", "--calibrate-judge"}).status == 0);
  CHECK(has(train({"--weight", "m"}).err, "--weight takes MODEL=NUMBER"));
  CHECK(has(train({"--weight", "m=-1"}).err, "--weight takes MODEL=NUMBER"));
  CHECK(has(train({"--calibrate-judge"}).err, "add --weight or --only"));
  CHECK(has(train({"--runs", "a.run"}).err, "--runs and --qrels go together"));
}

TEST_CASE("The verb judge reports on the models in the store", "[cli][judge]") {
  const Drinks drinks;
  CHECK(has(drinks.judge({"--report"}).err, "name the store of a server"));  // there is none yet
  REQUIRE(drinks.judge(drinks.asking({"--queries", drinks.queries()})).status == 0);
  CHECK(has(drinks.judge({"--report"}).out, "no common document"));
  {
    const auto store = service::open_store(drinks.store_file());
    REQUIRE(store.has_value());
    const auto judged = (*store)->judgments.queries("drinks");
    for (const auto& query : *judged)
      for (auto judgment : query.judgments) {
        judgment.judge = "ann";
        judgment.grade = judgment.grade == 3 ? 4 : 1;
        REQUIRE((*store)->judgments.set(judgment).has_value());
      }
  }
  const auto report = drinks.judge({"--report"});
  INFO(report.err);
  CHECK(has(report.out, "Kendall's tau"));
  const auto calibrated = drinks.judge({"--calibrate"});
  CHECK(has(calibrated.out, "read as"));
  const auto json = parse_json(drinks.judge({"--report", "--json"}).out, "report").value();
  CHECK(json.at("judges").as_array().size() == 1);
  CHECK(has(drinks.judge({"--report", "--model", "other"}).err, "no judgment of the model other"));
  CHECK(has(drinks.judge({"--report"}, "drink").err, "no domain \"drink\""));
  const auto both = drinks.judge({"--report", "--calibrate", "--model", "model:m"});
  CHECK(has(both.out, "read as"));
}

TEST_CASE("What the verb judge cannot do is one clear error", "[cli][judge]") {
  const Drinks drinks;
  const auto error = [&](const CommandResult& result, const std::string& part) {
    INFO(result.err);
    CHECK(result.status != 0);
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
    CHECK(has(result.err, part));
  };
  const std::string queries = drinks.queries();
  error(drinks.judge(drinks.asking({"--queries", queries}), "drink"), "drinks");
  error(drinks.judge(drinks.asking()), "give some with --queries FILE");
  error(drinks.judge({"--endpoint", drinks.server.url()}), "--endpoint URL --model NAME");
  error(drinks.judge({"--endpoint", "http://127.0.0.1:1", "--model", "m", "--queries", queries}),
        "is the model's server running");
  error(drinks.judge(drinks.asking({"--queries", queries, "--no-store"})), "--no-store needs --output");
  error(drinks.judge(drinks.asking({"--queries", queries, "--budget", "money=1"})), "needs --price");
  error(drinks.judge(drinks.asking({"--queries", queries, "--budget", "money=1", "--price", "input=1"})),
        "needs --price");
  error(drinks.judge(drinks.asking({"--queries", queries, "--budget", "requests=2.5"})), "whole numbers");
  error(drinks.judge(drinks.asking({"--queries", queries, "--json"})), "--json prints a report");
  for (const std::string option : {"--most-asked", "--depth", "--parallel", "--documents-per-request",
                                   "--timeout", "--deadline", "--answer-tokens", "--output"})
    error(drinks.judge({"--report", option, "5"}), "leave out " + option);
  error(drinks.judge(drinks.asking({"--queries", queries, "--budget", "euros=1"})), "unknown name euros");
  error(drinks.judge(drinks.asking({"--queries", queries, "--prompt", queries})), "the prompt has no {mark}");
  const std::string nothing =
      drinks.folder.write("nothing.jsonl", "{\"id\":\"1\",\"slots\":{\"QUERY\":\"zzzzqqqq xxxxyyyy\"}}\n");
  error(drinks.judge(drinks.asking({"--queries", nothing})), "nothing to judge");
  const ChatServer locked([](const std::string&) { return test::Said{"", 401, "{}"}; });
  error(drinks.judge({"--endpoint", locked.url(), "--model", "m", "--queries", queries}),
        "METAFUSE_JUDGE_KEY");
  const ChatServer other([](const std::string&) { return test::Said{"", 404, "{\"error\":\"no model\"}"}; });
  error(drinks.judge({"--endpoint", other.url(), "--model", "m", "--queries", queries}),
        "does the server have the model m");
}

TEST_CASE("A query that cannot be asked is named and the others are judged", "[cli][judge]") {
  const Drinks drinks;
  const std::string some = drinks.folder.write("some.jsonl",
                                               "{\"id\":\"1\",\"slots\":{\"QUERY\":\"site:foo.example\"}}\n"
                                               "{\"id\":\"2\",\"slots\":{\"TEXT\":\"water\"}}\n"
                                               "{\"id\":\"3\",\"slots\":{\"QUERY\":\"water\"}}\n");
  const auto done = drinks.judge(drinks.asking({"--queries", some}));
  INFO(done.err);
  CHECK(done.status == 0);
  CHECK(has(done.err, "the query \"site:foo.example\": "));
  CHECK(has(done.err, "2 queries could not be asked"));
  CHECK(has(done.out, "model:m: 3 judgments"));
  const std::string none =
      drinks.folder.write("none.jsonl", "{\"id\":\"1\",\"slots\":{\"QUERY\":\"site:foo.example\"}}\n");
  const auto nothing = drinks.judge(drinks.asking({"--queries", none}));
  CHECK(nothing.status == 65);
  CHECK(has(nothing.err, "none of the 1 queries can be asked; the query \"site:foo.example\": "));
}

TEST_CASE("The most asked queries can be judged without writing to the store", "[cli][judge]") {
  const Drinks drinks;
  const auto search = [&](const std::string& slot, const std::string& value) {
    const auto store = service::open_store(drinks.store_file());
    REQUIRE(store.has_value());
    service::StoredSearch asked;
    asked.id = service::new_search_id();
    asked.domain = "drinks";
    asked.at = 1'760'000'000;
    asked.slots.slots = {{slot, value}};
    asked.query = service::query_digest((*store)->privacy.secret().value(), "drinks", asked.slots, "QUERY");
    REQUIRE((*store)->searches.add({&asked, 1}).has_value());
  };
  search("OLD_SLOT", "the slot of this one was renamed");
  search("QUERY", "water");
  const std::string qrels = drinks.folder.path("qrels");
  const auto done = drinks.judge(drinks.asking({"--most-asked", "1", "--no-store", "--output", qrels}));
  INFO(done.err);
  REQUIRE(done.status == 0);
  CHECK(has(read_text(qrels, 10000).value(), "water 0 drinks.example/tea.html 3\n"));
  const auto store = service::open_store(drinks.store_file(), service::StoreMode::read);
  CHECK((*store)->judgments.queries("drinks")->empty());
}

TEST_CASE("A budget ends the verb judge and the next run continues", "[cli][judge]") {
  const Drinks drinks;
  const auto first = drinks.judge(
      drinks.asking({"--queries", drinks.queries(), "--budget", "requests=2", "--parallel", "1"}));
  CHECK(first.status == 0);
  CHECK(has(first.err, "the budget of 2 requests is used up"));
  CHECK(has(first.out, "2 graded now"));
  const auto second = drinks.judge(drinks.asking({"--queries", drinks.queries()}));
  CHECK(has(second.out, "2 known before"));
  CHECK(has(second.out, "0 left"));
}

TEST_CASE("A model that gives no grade at all is an error that shows its answer", "[cli][judge]") {
  const Drinks drinks;
  const ChatServer chatty([](const std::string&) { return test::Said{"I think\nthe grade is 3"}; });
  const std::vector<std::string> asking = {"--endpoint", chatty.url(), "--model",
                                           "m",          "--queries",  drinks.queries()};
  const auto wrong = drinks.judge(asking);
  CHECK(wrong.status == 69);
  CHECK(has(wrong.err, "the model gave no grade; the first answer without one: \"I think the grade is 3\""));
  REQUIRE(drinks.judge(drinks.asking({"--queries", drinks.queries()})).status == 0);
  drinks.folder.write("pages/new.md", "# New\nwater of a spring\n");
  REQUIRE(run_metafuse({"index", "--update", "--database", drinks.folder.path("mine/index.db"), "--base-url",
                        "https://drinks.example/", drinks.folder.path("pages")})
              .status == 0);
  const auto some = drinks.judge(asking);
  CHECK(some.status == 0);
  CHECK(has(some.err, "remove the lines with \"grade\":null from"));
  const auto named =
      drinks.judge({"--endpoint", chatty.url(), "--model", "a b\nc", "--queries", drinks.queries()});
  CHECK(named.status == 64);
  CHECK(has(named.err, "control characters"));
}

TEST_CASE("Training by hand uses the domain's own k and every judgment while they are few",
          "[cli][judge][train]") {
  const Drinks drinks;
  REQUIRE(drinks.judge(drinks.asking({"--queries", drinks.queries()})).status == 0);
  const std::string train = " train --store metafuse.db --domain drinks --only m --model m.json ";
  const auto k_of = [&](const std::string& more) {
    const auto done =
        test::run_command({"sh", "-c",
                           "cd '" + drinks.folder.path("mine") +
                               "' && unset METAFUSE_CONFIG && " METAFUSE_EXECUTABLE + train + more});
    INFO(done.err);
    REQUIRE(done.status == 0);
    CHECK(has(done.err, "held out: 0 judged queries"));
    const auto model =
        parse_json(read_text(drinks.folder.path("mine/m.json"), 1'000'000).value(), "model").value();
    return model.at("body").at("k").to_number<double>();
  };
  CHECK(k_of("--learner reciprocal-ranks") == 3);
  CHECK(k_of("--learner reciprocal-ranks --config metafuse.yaml") == 3);
  CHECK(k_of("--learner reciprocal-ranks --k 20") == 20);
}

TEST_CASE("The shipped prompt is printed to be edited", "[cli][judge]") {
  CHECK(run_metafuse({"judge", "--print-prompt"}).out ==
        read_text(std::string(METAFUSE_SOURCE_DIR) + "/config/judge-prompt.txt", 100000).value());
}
