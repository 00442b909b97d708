#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/atomic_file.h"
#include "core/text_file.h"
#include "tests/support/command.h"

using namespace metafuse;
using test::run_metafuse;
using test::TemporaryFolder;

namespace {

constexpr const char* kJudged =
    "1 qid:1 1:2 2:5 # a\n0 qid:1 1:1 2:4 # b\n1 qid:2 1:3 2:1 # c\n0 qid:2 1:2 2:1 # d\n";

void check_refused(const test::CommandResult& done, int status, const std::string& said) {
  INFO(done.err);
  CHECK(done.status == status);
  CHECK(done.err.find(said) != std::string::npos);
  CHECK(done.err.find('\n') + 1 == done.err.size());
  CHECK(done.out.empty());
}

}  // namespace

TEST_CASE("Every verb refuses numbers that are out of range or meaningless", "[cli]") {
  const TemporaryFolder folder;
  const std::string judged = folder.write("judged", kJudged);
  const std::string run = folder.write("a.run", "1 Q0 a 1 1 a\n");
  const auto train = [&](const std::string& option, const std::string& value) {
    return run_metafuse({"train", "--letor", judged, "--model", folder.path("m"), option, value});
  };
  check_refused(train("--seed", "-1"), 64, "--seed: \"-1\": give a whole number, 0 or more");
  check_refused(train("--seed", "18446744073709551616"), 64, "--seed");
  CHECK(train("--seed", "18446744073709551615").status == 0);
  check_refused(train("--time-limit", "nan"), 64, "--time-limit: \"nan\": give a number, 0 or more");
  check_refused(train("--relevance-level", "inf"), 64, "--relevance-level: \"inf\": give a number");
  check_refused(run_metafuse({"train", "--letor", judged, "--model", folder.path("m"), "--validate", judged,
                              "--patience", "-1"}),
                64, "--patience");
  check_refused(run_metafuse({"fuse", "--method", "rrf", "--runs", run, "--limit", "-1"}), 64, "--limit");
  check_refused(run_metafuse({"fuse", "--method", "rrf", "--runs", run, "--k", "nan"}), 64, "--k");
}

TEST_CASE("What another option makes meaningless is refused", "[cli]") {
  const test::TemporaryFolder folder;
  const std::string run = folder.write("r", "1 Q0 a 1 1 t\n"), judged = folder.write("q", "1 0 a 1\n");
  const auto refuses = [](std::vector<std::string> arguments, const std::string& said) {
    check_refused(run_metafuse(std::move(arguments)), 64, said);
  };
  for (const auto& [option, value] : {std::pair{"--k", "5"}, std::pair{"--normalise", "sum"},
                                      std::pair{"--weights", "1"}, std::pair{"--train", "q"}})
    refuses({"fuse", "--model", "m", "--runs", run, option, value}, option);
  refuses({"fuse", "--method", "rrf", "--runs", run, "--missing", "unranked"}, "--missing requires --model");
  refuses({"fuse", "--method", "rrf", "--runs", run, "--config", "c"}, "--config requires --json");
  refuses({"fuse", "--method", "rrf", "--runs", run, "-l", "2"}, "--train");
  refuses({"evaluate", "--qrels", judged, "--runs", run, "--scores", run}, "--scores goes with --letor");
  refuses({"fuse", "--json", "--method", "rrf"}, "--method excludes --json");
  refuses({"fuse", "--json", "--limit", "1"}, "--limit excludes --json");
  refuses({"fuse", "--method", "rrf", "--runs", run, "--tag", "two words"}, "--tag: one word");
  refuses({"evaluate", "--qrels", judged, "--runs", run, "--test", "t"}, "--test requires --compare");
  for (const char* verb : {"evaluate", "compare-methods", "lists"})
    refuses({verb, "--qrels", judged, "--runs", run, "-l", "-1"}, "--relevance-level");
}

TEST_CASE("An empty argument is not treated as a missing option", "[cli]") {
  check_refused(run_metafuse({"model", "show", ""}), 64, "an argument is empty");
}

TEST_CASE("A command line error names the verb whose help explains it", "[cli]") {
  check_refused(run_metafuse({"model", "show"}), 64, "see metafuse model show --help");
}

TEST_CASE("An unknown option is reported with similar ones before a missing option", "[cli]") {
  check_refused(run_metafuse({"serve", "--confg", "x"}), 64,
                "unknown option --confg; did you mean --config; see metafuse serve --help");
  check_refused(run_metafuse({"search", "cats", "-dogs"}), 64,
                "unknown option -dogs; see metafuse search --help, or write -- before it if it is no option");
  check_refused(run_metafuse({"--verison"}), 64, "unknown option --verison; did you mean --version");
  check_refused(run_metafuse({"score", "--xyzzy=1"}), 64,
                "unknown option --xyzzy; see metafuse score --help");
  check_refused(run_metafuse({"model", "shwo"}), 64,
                "\"shwo\" is not a verb of metafuse model; did you mean show?");
  check_refused(run_metafuse({"quux"}), 64, "the verbs are init, index, engines");
}

TEST_CASE("The value of an option may begin with a dash", "[cli]") {
  const TemporaryFolder folder;
  const auto done = run_metafuse({"expand", "--templates", folder.path("none"), "--set", "--Q=x"});
  check_refused(done, 66, folder.path("none"));
}

TEST_CASE("Help and version are available in every usual form", "[cli]") {
  const std::string help = run_metafuse({"--help"}).out;
  CHECK(help.find("serve") != std::string::npos);
  CHECK(run_metafuse({"help"}).out == help);
  const std::string show = run_metafuse({"model", "show", "--help"}).out;
  CHECK(show.find("a model file") != std::string::npos);
  CHECK(run_metafuse({"help", "model", "show"}).out == show);
  const std::string version = run_metafuse({"--version"}).out;
  CHECK(version.find("metafuse 0.") == 0);
  CHECK(version.find("\ncommit    ") != std::string::npos);
  CHECK(run_metafuse({"-V"}).out == version);
  CHECK(run_metafuse({"version"}).out == version);
}

TEST_CASE("Paragraphs of the help are broken once", "[cli]") {
  const std::string serve = run_metafuse({"help", "serve"}).out;
  CHECK(serve.find("error,\none JSON object per line. SIGHUP") != std::string::npos);
  CHECK(serve.find("Examples:\n  metafuse serve") != std::string::npos);
  const TemporaryFolder folder;
  REQUIRE(run_metafuse({"manual", folder.path()}).status == 0);
  const std::string page = *read_text(folder.path("man1/metafuse-serve.1"), 1 << 20);
  CHECK(page.find("standard error, one JSON object per line. SIGHUP") != std::string::npos);
  CHECK(page.find("\n.br\nExamples:\n.nf\n  metafuse serve ") != std::string::npos);
}

TEST_CASE("Option --help shows the common options and --help=all shows all", "[cli]") {
  const std::string brief = run_metafuse({"train", "--help"}).out;
  CHECK(brief.find("--qrels") != std::string::npos);
  CHECK(brief.find("--tree-depth") == std::string::npos);
  CHECK(brief.find("--grade-weights") == std::string::npos);
  CHECK(brief.find("metafuse train --help=all shows all options") != std::string::npos);
  const std::string whole = run_metafuse({"train", "--help=all"}).out;
  CHECK(whole.find("--qrels") != std::string::npos);
  CHECK(whole.find("--grade-weights") != std::string::npos);
  CHECK(whole.find("Options of several learners:") != std::string::npos);
  CHECK(whole.find("Options of monotone-trees:") < whole.find("--tree-depth"));
  CHECK(whole.find("--help=all shows") == std::string::npos);
  CHECK(run_metafuse({"model", "show", "--help"}).out == run_metafuse({"model", "show", "--help=all"}).out);
}

TEST_CASE("Colours are used on request and not in a pipe", "[cli]") {
  const std::vector<std::string> wrong = {"fuse", "--method", "none", "--runs", "x"};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), wrong.begin(), wrong.end());
    return run_metafuse(words).err;
  };
  CHECK(with({}).find("metafuse: ") == 0);
  CHECK(with({"--color", "never"}) == with({}));
  CHECK(with({"--color=always"}).find("\x1b[") == 0);
  std::vector<std::string> behind = wrong;
  behind.insert(behind.end(), {"--color", "always"});
  CHECK(run_metafuse(behind).err == with({"--color=always"}));
  check_refused(run_metafuse({"--color", "blue", "version"}), 64, "--color");
}

TEST_CASE("A verb without its sub-verb lists the sub-verbs", "[cli]") {
  check_refused(run_metafuse({"store"}), 64,
                "give a verb of metafuse store: export, check, import, push, pull, prune, reset; see "
                "metafuse store --help");
  const auto alone = run_metafuse({});
  CHECK(alone.status == 64);
  CHECK(alone.err.find("  init ") != std::string::npos);
  CHECK(alone.err.find("metafuse help VERB") != std::string::npos);
  const auto help = run_metafuse({"train", "--help"});
  CHECK(help.out.find("\n\n\n") == std::string::npos);
  CHECK(alone.err.find("SUBCOMMAND") == std::string::npos);
}

TEST_CASE("Similar names are suggested for every kind of unknown name", "[cli]") {
  const TemporaryFolder folder;
  const std::string run = folder.write("a.run", "1 Q0 a 1 1 a\n");
  const std::string qrels = folder.write("q", "1 0 a 1\n");
  check_refused(run_metafuse({"fuse", "--method", "combmzn", "--runs", run}), 64, "combmnz");
  check_refused(run_metafuse({"evaluate", "--qrels", qrels, "--runs", run, "--measures", "recip_rnk"}), 64,
                "did you mean recip_rank");
  check_refused(run_metafuse({"evaluate", "--qrels", qrels, "--runs", run, "--format", "jsn"}), 64,
                "--format: no format \"jsn\"; did you mean json");
  check_refused(run_metafuse({"train", "--letor", run, "--model", folder.path("m"), "--learner", "rankbost"}),
                64, "did you mean rankboost");
  check_refused(run_metafuse({"search", "--config", METAFUSE_SOURCE_DIR "/config/metafuse.yaml", "--domain",
                              "ml-homepage", "x"}),
                64, "no domain \"ml-homepage\"; did you mean ml-homepages");
  const auto keys = run_metafuse({"config", "check", folder.write("c.yaml", "default_domian: d\n")});
  CHECK(keys.status == 78);
  CHECK(keys.err.find(
            "unknown key \"default_domian\" in the server configuration; did you mean default_domain?") !=
        std::string::npos);
}

TEST_CASE("A key limited to a domain or an engine that does not exist is refused with its place", "[cli]") {
  const TemporaryFolder folder;
  folder.write("t.yaml",
               "version: 1\ndomain: support\nslots: {Q: {required: true}}\ntemplates: [{id: t, engine: wiki, "
               "query: '{Q}'}]\n");
  folder.write("e.yaml",
               "engines:\n  - {name: wiki, engine: command, command: [/bin/echo, 'http://a.example/', "
               "'{{QUERY}}'], delimiter: {chars: ' ', keys: [url, title]}}\n");
  const auto check = [&](const std::string& limits) {
    return run_metafuse({"config", "check",
                         folder.write("c.yaml",
                                      "version: 1\ntemplates: [t.yaml]\nengines: [e.yaml]\nkeys:\n"
                                      "  - {name: team, sha256: " +
                                          std::string(64, 'a') + ", " + limits + "}\n")});
  };
  CHECK(check("domains: [support], engines: [wiki]").status == 0);
  check_refused(
      check("domains: [support, suport]"), 78,
      "c.yaml:5:5: the key team is limited to the domain suport, which no file defines; did you mean "
      "support");
  check_refused(check("engines: [viki]"), 78, "the engine viki, which no file defines; did you mean wiki");
}

TEST_CASE("A search whose lists all failed has its own exit status", "[cli]") {
  const TemporaryFolder folder;
  folder.write(
      "t.yaml",
      "version: 1\ndomain: d\nslots: {Q: {required: true}}\ntemplates: [{id: t, engine: e, query: '{Q}'}]\n");
  const std::string config = folder.write("c.yaml", "version: 1\ntemplates: [t.yaml]\nengines: [e.yaml]\n");
  const auto search_by = [&](const std::string& engine) {
    folder.write("e.yaml", "engines:\n  - {name: e, " + engine + "}\n");
    return run_metafuse({"search", "--config", config, "--set", "Q=x"});
  };
  const auto failed = search_by(
      "engine: json_engine, search_url: 'http://127.0.0.1:1/{query}', results_query: r, url_query: u, "
      "title_query: t");
  CHECK(failed.status == 69);
  CHECK(failed.err.find("every list failed") != std::string::npos);
  const auto found = search_by(
      "engine: command, command: [/bin/echo, 'http://a.example/', '{{QUERY}}'], "
      "delimiter: {chars: ' ', keys: [url, title]}");
  CHECK(found.status == 0);
  CHECK(found.out.find("http://a.example/") != std::string::npos);
}

TEST_CASE("A file of another kind is recognised and named", "[cli]") {
  const auto check = [](const std::string& file) {
    return run_metafuse({"config", "check", METAFUSE_SOURCE_DIR "/" + file});
  };
  check_refused(check("config/engines.yaml"), 78,
                "is not a server configuration; it defines engines; see metafuse");
  check_refused(check("config/templates/free-software.yaml"), 78, "it holds search templates");
}

TEST_CASE("The configuration is found if none is named", "[cli]") {
  const TemporaryFolder folder;
  const std::string none = folder.path("none.yaml");
  const auto check = [&](const std::string& environment) {
    return test::run_command({"sh", "-c",
                              "cd '" + folder.path() + "' && env -u METAFUSE_CONFIG " + environment +
                                  " HOME=/nowhere '" METAFUSE_EXECUTABLE "' search --verbose x"});
  };
  check_refused(check("-u XDG_CONFIG_HOME"), 64,
                "no configuration found; metafuse init FOLDER makes one; or give --config FILE");
  folder.write("own/metafuse/metafuse.yaml", "version: 2\n");
  const std::string own = "XDG_CONFIG_HOME='" + folder.path("own") + "'";
  CHECK(check(own).err.find("configuration " + folder.path("own/metafuse/metafuse.yaml")) !=
        std::string::npos);
  folder.write("metafuse.yaml", "version: 2\n");
  CHECK(check(own).err.find("configuration metafuse.yaml\n") != std::string::npos);
  CHECK(check("METAFUSE_CONFIG='" + none + "'").err.find("configuration " + none) != std::string::npos);
}

TEST_CASE("Error messages do not write control characters of a file to the terminal", "[cli]") {
  const TemporaryFolder folder;
  const auto done = run_metafuse(
      {"train", "--letor", folder.write("t", "\x1b[2J\x7F\xff qid:1 1:1\n"), "--model", folder.path("m")});
  check_refused(done, 65, "?[2J \xEF\xBF\xBD");
}

TEST_CASE("An output that cannot be written is reported before the work begins", "[cli]") {
  const TemporaryFolder folder;
  const std::string nowhere = folder.path("none/out");
  const std::string unread = folder.path("unread");  // does not exist: reading it would be another error
  check_refused(run_metafuse({"train", "--letor", unread, "--model", nowhere}), 66, nowhere);
  check_refused(run_metafuse({"train", "--letor", unread, "--model", folder.path("m"), "--trace", nowhere}),
                66, nowhere);
  check_refused(run_metafuse({"crossvalidate", "--letor", unread, "--report", folder.path()}), 66,
                "directory");
  check_refused(run_metafuse({"compare-methods", "--runs", unread, "--qrels", unread, "--output", nowhere}),
                66, nowhere);
}

TEST_CASE("An empty file of z-scores is refused", "[cli][evaluate]") {
  const TemporaryFolder folder;
  check_refused(run_metafuse({"evaluate", "--qrels", folder.write("q", "1 0 a 1\n"), "--runs",
                              folder.write("r", "1 Q0 a 1 1 t\n"), "--z-scores", folder.write("z", "\n")}),
                65, "contains no line `query measure mean deviation`");
}

TEST_CASE("The verb index replaces an index but no other file", "[cli][index]") {
  const TemporaryFolder folder;
  const std::string documents = folder.write("d.jsonl", "{\"url\":\"http://a.example/\",\"title\":\"A\"}\n");
  const auto index = [&](const std::string& database) {
    return run_metafuse({"index", "--database", database, documents});
  };
  CHECK(index(folder.path("i.db")).status == 0);
  CHECK(index(folder.path("i.db")).status == 0);
  CHECK(index(folder.write("empty", "")).status == 0);
  const std::string text = folder.write("notes.txt", "mine");
  check_refused(index(text), 66, "file is not a database; name the right file");
  CHECK(*read_text(text, 100) == "mine");
  check_refused(index(folder.path()), 66, "Is a directory");
  check_refused(index("/dev/null"), 66, "not a regular file");
}

TEST_CASE("The verb index says what it waits for and can be interrupted", "[cli][index]") {
  const TemporaryFolder folder;
  folder.write("d.jsonl", "{\"url\":\"http://a.example/\",\"title\":\"x\"}\n");
  const auto held = FileLock::take(folder.path("i.db.lock"), "held");
  REQUIRE(held.has_value());
  const auto done = metafuse::test::run_command(
      {"sh", "-c",
       "cd \"$1\"; \"$0\" index --database i.db d.jsonl 2> said & "
       "until grep -q waiting said; do sleep 0.01; done; kill -TERM $!; wait $!; echo $?; cat said",
       METAFUSE_EXECUTABLE, folder.path()});
  CHECK(done.out ==
        "75\nmetafuse: another program is writing i.db; waiting for it to end\nmetafuse: interrupted\n");
  CHECK_FALSE(std::filesystem::exists(folder.path("i.db")));
}

TEST_CASE("A search says once what is wrong with the index of several lists", "[cli][index]") {
  const TemporaryFolder folder;
  folder.write("i.db", "");
  folder.write("e.yaml",
               "engines:\n  - {name: a, engine: local, database: i.db}\n"
               "  - {name: b, engine: local, database: i.db, tokenizer: parts}\n");
  folder.write("t.yaml",
               "version: 1\ndomain: d\ndescription: d\nslots: {NAME: {required: true}}\ntemplates:\n"
               "  - {id: x, engine: a, query: '{NAME|all}'}\n  - {id: y, engine: b, query: '{NAME|all}'}\n");
  const std::string config = folder.write(
      "metafuse.yaml", "version: 1\ndefault_domain: d\ntemplates: [t.yaml]\nengines: [e.yaml]\n");
  const auto found = run_metafuse({"search", "--config", config, "ada"});
  INFO(found.err);
  CHECK(found.status == 69);
  CHECK(found.err.find("x@a, y@b: ") != std::string::npos);
  const std::size_t at = found.err.find("not a document index");
  CHECK(at != std::string::npos);
  CHECK(found.err.find("not a document index", at + 1) == std::string::npos);
}

TEST_CASE("An update without options keeps the lists of the index", "[cli][index]") {
  const TemporaryFolder folder;
  std::string lines;
  for (const char* words :
       {"tea leaves steep", "coffee beans roast", "tea water boils", "coffee water drips"})
    lines +=
        "{\"url\":\"http://a.example/" + std::to_string(lines.size()) + "\",\"title\":\"" + words + "\"}\n";
  const std::string documents = folder.write("d.jsonl", lines);
  const std::string database = folder.path("i.db");
  REQUIRE(run_metafuse({"index", "--database", database, "--update", "--tokenizer", "words,parts", "--cosine",
                        "--expandable", "--embedding", "lsi", documents})
              .status == 0);
  folder.write("d.jsonl", lines + "{\"url\":\"http://a.example/new\",\"title\":\"teapots\"}\n");
  const auto updated = run_metafuse({"index", "--database", database, "--update", documents});
  CHECK(updated.out.find("5 documents (1 new, 0 changed, 0 removed)") != std::string::npos);
  CHECK(updated.out.find("vectors of") != std::string::npos);
  const std::string engines =
      folder.write("e.yaml", "engines: [{name: p, engine: local, database: i.db, tokenizer: parts}]\n");
  const auto found = run_metafuse({"engines", "try", "--config", engines, "p", "eapot"});
  CHECK(found.out.find("http://a.example/new") != std::string::npos);
}

TEST_CASE("Two record processes cannot write to one folder", "[cli][record]") {
  const TemporaryFolder folder;
  folder.write("t.yaml",
               "version: 1\ndomain: d\nslots: {Q: {required: true}}\n"
               "templates: [{id: a, engine: l, query: '{Q}'}]\n");
  folder.write("e.yaml", "engines: [{name: l, engine: local, database: i.db}]\n");
  const std::string config =
      folder.write("c.yaml", "version: 1\ndefault_domain: d\ntemplates: [t.yaml]\nengines: [e.yaml]\n");
  const std::string queries = folder.write("q.jsonl", "{\"id\":\"1\",\"slots\":{\"Q\":\"x\"}}\n");
  const std::string documents = folder.write("d.jsonl", "{\"url\":\"http://a.example/\",\"title\":\"x\"}\n");
  REQUIRE(run_metafuse({"index", "--database", folder.path("i.db"), documents}).status == 0);
  folder.write("out/kept", "");
  const auto record = [&] {
    return run_metafuse({"record", "--config", config, "--domain", "d", "--queries", queries, "--output",
                         folder.path("out")});
  };
  {
    const auto held = FileLock::take(folder.path("out"), "held");
    REQUIRE(held.has_value());
    check_refused(record(), 69, "another metafuse record");
  }
  const auto done = record();
  INFO(done.err);
  CHECK(done.status == 0);
  check_refused(run_metafuse({"record", "--config", folder.path("e.yaml"), "--domain", "d", "--queries",
                              queries, "--output", folder.path("out")}),
                78, "is not a server configuration; it defines engines");
}

TEST_CASE("Options with the same meaning for several learners are explained once", "[cli]") {
  const std::string help = run_metafuse({"train", "--help=all"}).out;
  const std::string meaning = "value of a weak ranking for unranked documents";
  const std::size_t at = help.find(meaning);
  REQUIRE(at != std::string::npos);
  CHECK(help.find(meaning, at + 1) == std::string::npos);
}

TEST_CASE("A closed standard stream is an error and no file takes its descriptor", "[cli]") {
  const TemporaryFolder folder;
  const std::string run = folder.write("a.run", "1 Q0 a 1 1 a\n");
  const std::string fused = folder.path("fused");
  const auto closed = [](const std::string& arguments) {
    return test::run_command({"sh", "-c", METAFUSE_EXECUTABLE + (" " + arguments) + " >&-"});
  };
  CHECK(closed("--help").status == 75);
  CHECK(closed("engines list").status == 75);
  CHECK(closed("fuse --method rrf --runs '" + run + "'").status == 66);
  CHECK(closed("fuse --method rrf --runs '" + run + "' --output '" + fused + "'").status == 0);
  CHECK(read_text(fused, 1000).value() == "1 Q0 a 1 1 metafuse\n");
}

TEST_CASE("The examples of --help that use shipped files run unchanged", "[cli]") {
  const std::string lead = "  metafuse ";
  const auto run_in_source = [](const std::string& arguments) {
    return test::run_command(
        {"sh", "-c", "cd '" METAFUSE_SOURCE_DIR "' && '" METAFUSE_EXECUTABLE "' " + arguments});
  };
  std::size_t examples = 0;
  for (const char* verb : {"expand", "templates check", "engines check", "engines try", "search"}) {
    std::istringstream help(run_in_source(std::string(verb) + " --help").out);
    for (std::string line; std::getline(help, line);) {
      if (line.compare(0, lead.size(), lead) != 0 || line.find("config/") == std::string::npos ||
          line.find("saved.json") != std::string::npos)
        continue;
      const auto done = run_in_source(line.substr(lead.size()));
      INFO(line << '\n' << done.err);
      CHECK((done.status == 0 || done.status == 69));  // 69: the user's engines may be unreachable
      ++examples;
    }
  }
  CHECK(examples >= 6);
}

TEST_CASE("Engines of the catalogue are listed and printed and read back", "[cli][catalogue]") {
  const auto science = run_metafuse({"engines", "list", "science"});
  CHECK(science.status == 0);
  CHECK(science.out.find("\n  openalex ") != std::string::npos);
  CHECK(science.out.find("(needs a key)") != std::string::npos);
  CHECK(science.out.find("newsapi") == std::string::npos);
  CHECK(run_metafuse({"engines", "list", "--json"}).out.find("\"requests_per_second\"") != std::string::npos);
  check_refused(run_metafuse({"engines", "list", "scinece"}), 64, "did you mean science");
  check_refused(run_metafuse({"engines", "add", "openalxe"}), 64, "did you mean openalex");
  const TemporaryFolder folder;
  const std::string file = folder.write("e.yaml", run_metafuse({"engines", "add", "openalex", "arxiv"}).out);
  const auto checked = run_metafuse({"engines", "check", file});
  CHECK(checked.status == 0);
  CHECK(checked.err.empty());
  CHECK(checked.out.find("2 engines") != std::string::npos);
  const auto added = run_metafuse({"engines", "add", "crossref", "--to", file});
  CHECK(added.status == 0);
  CHECK(added.out.find("engine: crossref") != std::string::npos);
  CHECK(run_metafuse({"engines", "check", file}).out.find("3 engines") != std::string::npos);
  const std::string before = read_text(file, 1 << 20).value();
  check_refused(run_metafuse({"engines", "add", "crossref", "--to", file}), 78, "nothing was added");
  CHECK(read_text(file, 1 << 20).value() == before);
}

TEST_CASE("Training on runs and judgments of different collections is refused", "[cli][train]") {
  const TemporaryFolder folder;
  const std::string qrels = folder.write("qrels", "other 0 a 1\n");
  const std::string run = folder.write("a.run", "1 Q0 a 1 1 a\n");
  const std::vector<std::string> input{"--runs", run, "--qrels", qrels};
  std::vector<std::string> train{"train", "--model", folder.path("m")};
  train.insert(train.end(), input.begin(), input.end());
  check_refused(run_metafuse(train), 65, "qrels: shares no query with the runs");
  std::vector<std::string> crossed{"crossvalidate", "--folds", "2"};
  crossed.insert(crossed.end(), input.begin(), input.end());
  check_refused(run_metafuse(crossed), 65, "qrels: shares no query with the runs");
}

TEST_CASE("A definition is guessed from a saved answer", "[cli][catalogue]") {
  const TemporaryFolder folder;
  const std::string answer = folder.write(
      "a.json",
      R"({"r":[{"url":"https://a.example/1","title":"One of two"},{"url":"https://a.example/2","title":"Two of two"}]})");
  const auto guessed = run_metafuse({"engines", "guess", answer, "--name", "mine"});
  CHECK(guessed.status == 0);
  CHECK(guessed.out.find("# 2 results") != std::string::npos);
  const auto tried = run_metafuse({"engines", "try", "mine", "x", "--config",
                                   folder.write("g.yaml", guessed.out), "--answer", answer, "--json"});
  CHECK(tried.status == 0);
  CHECK(tried.out.find("https://a.example/2") != std::string::npos);
  check_refused(run_metafuse({"engines", "guess", folder.write("b.json", "{}")}), 65,
                "looks like a list of results");
}

TEST_CASE("A mistake in a file of JSON lines is told with its line", "[cli]") {
  const TemporaryFolder folder;
  const std::string documents = folder.write("documents", "{\"url\":\"http://a.example/\"}\n\n{\"url\":]\n");
  const auto indexed = run_metafuse({"index", "--database", folder.path("i.db"), documents});
  CHECK(indexed.status == 0);
  CHECK(indexed.err.find("documents: line 3: ") != std::string::npos);
  const std::string queries = folder.write("queries", "{\"id\":1,\"slots\":{}}\n\n{\"id\":]\n");
  check_refused(run_metafuse({"record", "--config", METAFUSE_SOURCE_DIR "/config/metafuse.yaml", "--domain",
                              "ml-homepages", "--queries", queries, "--output", folder.path("recording")}),
                65, "queries:3:7: ");
}
