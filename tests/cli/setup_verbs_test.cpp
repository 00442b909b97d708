// The verbs that set up an installation (init, doctor, completion) and the installed program itself.

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>
#include <sys/socket.h>

#include "core/text_file.h"
#include "service/store/store.h"
#include "tests/support/command.h"
#include "tests/support/wire_server.h"

using namespace metafuse;
using test::run_metafuse;
using test::TemporaryFolder;

namespace {

/// A folder of documents and a configuration that `init` made for it.
void make_search(const TemporaryFolder& folder) {
  folder.write("pages/tea.html", "<title>Green tea</title><p>leaves and water");
  folder.write("pages/coffee.md", "# Coffee\nbeans and water\n");
  const auto done = run_metafuse({"init", folder.path("my search"), "--documents", folder.path("pages"),
                                  "--base-url", "https://drinks.example/"});
  INFO(done.err);
  REQUIRE(done.status == 0);
  CHECK(done.out.find("an index of 2 documents") != std::string::npos);
  CHECK(done.out.find("cd '" + folder.path("my search") + "'") != std::string::npos);
}

test::CommandResult run_in(const std::string& folder, const std::string& command) {
  return test::run_command({"sh", "-c", "cd '" + folder + "' && unset METAFUSE_CONFIG && " + command});
}

}  // namespace

TEST_CASE("The verb init makes a complete configuration that can search at once", "[cli][init]") {
  const TemporaryFolder folder;
  make_search(folder);
  const auto found = run_in(folder.path("my search"), METAFUSE_EXECUTABLE " search water leaves");
  CHECK(found.out.find("1\t") == 0);
  CHECK(found.out.find("https://drinks.example/tea.html\tGreen tea\n") != std::string::npos);
  CHECK(run_in(folder.path("my search"), METAFUSE_EXECUTABLE " config check").status == 0);
  const auto mode = std::filesystem::status(folder.path("my search/admin.key")).permissions();
  CHECK(mode == (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
}

TEST_CASE("An option of an update replaces only its own part of the index of init", "[cli][init][index]") {
  const TemporaryFolder folder;
  make_search(folder);
  const std::string there = folder.path("my search");
  for (const std::string options :
       {"--expandable", "--language en", "--tokenizer words", "--cosine", "--stem-english"}) {
    INFO(options);
    const auto updated =
        run_in(there, METAFUSE_EXECUTABLE
                          " index --database index.db ../pages --base-url https://drinks.example/ "
                          "--update " +
                          options);
    INFO(updated.err);
    CHECK(updated.status == 0);
    const auto found = run_in(there, METAFUSE_EXECUTABLE " search water");
    CHECK(found.status == 0);
    CHECK(found.err.empty());
    CHECK(std::count(found.out.begin(), found.out.end(), '\n') == 2);
  }
  const auto ignored =
      run_metafuse({"index", "--database", folder.path("x.db"), folder.path("pages"), "--dimensions", "5"});
  CHECK(ignored.status == 64);
  CHECK(ignored.err.find("--dimensions: only vectors that lsi makes have it") != std::string::npos);
}

TEST_CASE("A new key says where it is pasted, and keys that cannot serve are warned of", "[cli][keys]") {
  const TemporaryFolder folder;
  const auto made = run_metafuse({"key", "new", "ann", "--role", "search"});
  CHECK(made.status == 0);
  CHECK(made.err.find("below `keys:` of the server's configuration") != std::string::npos);
  CHECK(made.err.find("\nkeys:") == std::string::npos);
  CHECK(run_metafuse({"key", "new", "ann", "--role", "search", "--days", "0"}).status == 64);
  const std::string digest(64, 'a');
  folder.write("t.yaml",
               "version: 1\ndomain: d\nslots: {Q: {required: true}}\ntemplates:\n"
               "  - {id: any, engine: e, query: '{Q}'}\n");
  folder.write("e.yaml",
               "engines: [{name: e, engine: json_engine, search_url: 'http://127.0.0.1:1/?q={query}', "
               "url_query: u, title_query: t}]\n");
  const std::string file =
      folder.write("c.yaml",
                   "version: 1\ntemplates: [t.yaml]\nengines: [e.yaml]\nneeds_key: true\nkeys:\n"
                   "  - {name: old, sha256: " +
                       digest + ", roles: [search], expires: 2020-01-01}\n");
  const auto checked = run_metafuse({"config", "check", file});
  INFO(checked.err);
  CHECK(checked.err.find("the key old has expired on 2020-01-01") != std::string::npos);
  CHECK(checked.err.find("nobody can search") != std::string::npos);
  const auto doctor = run_metafuse({"doctor", "--config", file});
  CHECK(doctor.out.find("nobody can search") != std::string::npos);
  std::ofstream(file, std::ios::app) << "  - {name: ann, sha256: " + std::string(64, 'b') +
                                            ", roles: [search]}\n";
  const auto again = run_metafuse({"doctor", "--config", file});
  CHECK(again.out.find("2 keys, without which nobody searches\n") != std::string::npos);
  CHECK(again.out.find("the key old has expired on 2020-01-01") != std::string::npos);
}

TEST_CASE("A query that was surely mistyped is searched as it was meant", "[cli][init]") {
  const TemporaryFolder folder;
  make_search(folder);
  const auto search = [&](const std::string& query) {
    return run_in(folder.path("my search"), METAFUSE_EXECUTABLE " search " + query);
  };
  const auto meant = search("waetr leavse");
  CHECK(meant.out.find("https://drinks.example/tea.html") != std::string::npos);
  CHECK(meant.err.find("results for \"water leaves\"") != std::string::npos);
  const auto json = search("--json waetr leavse");
  CHECK(json.out.find("\"query\": \"water leaves\"") != std::string::npos);
  CHECK(json.out.find("\"typed\": \"waetr leavse\"") != std::string::npos);
  const auto verbatim = search("--verbatim waetr leavse");
  CHECK(verbatim.err.find("did you mean: water leaves") != std::string::npos);
  CHECK(verbatim.err.find("results for") == std::string::npos);
  CHECK(search("beans leaves").err.find("mean") == std::string::npos);  // right, though never together
}

TEST_CASE("Documents without a base URL are found as files", "[cli][init]") {
  const TemporaryFolder folder;
  folder.write("pages/green tea.txt", "Green tea\nleaves and water\n");
  REQUIRE(run_metafuse({"init", folder.path("mine"), "--documents", folder.path("pages")}).status == 0);
  const auto found = run_in(folder.path("mine"), METAFUSE_EXECUTABLE " search leaves");
  CHECK(found.out.find("\tfile://localhost" + folder.path("pages") + "/green%20tea.txt\t") !=
        std::string::npos);
  // the page can open these files, and doctor checks that it can
  const auto looked =
      run_in(folder.path("mine"), "METAFUSE_LISTEN=127.0.0.1:0 " METAFUSE_EXECUTABLE " doctor");
  CHECK(looked.out.find("those below 1 folder can be opened from the page") != std::string::npos);
}

TEST_CASE("The verb init reports skipped files and valid domain names", "[cli][init]") {
  const TemporaryFolder folder;
  folder.write("pages/tea.txt", "Green tea");
  folder.write("pages/tea.exe", "MZ");
  const auto done = run_metafuse({"init", folder.path("mine"), "--documents", folder.path("pages")});
  CHECK(done.status == 0);
  CHECK(done.err.find("program or data         0         1  a program or its data") != std::string::npos);
  CHECK(done.err.find("text                    1         0") != std::string::npos);
  const auto wrong =
      run_metafuse({"init", folder.path("other"), "--documents", folder.path("pages"), "--domain", "a b/c"});
  CHECK(wrong.status == 64);
  CHECK(wrong.err.find("1 to 64 characters of a-z, 0-9 and -") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(folder.path("other")));
}

TEST_CASE("The verb init replaces nothing and says what it needs", "[cli][init]") {
  const TemporaryFolder folder;
  make_search(folder);
  const auto again = run_metafuse({"init", folder.path("my search"), "--searxng", "http://127.0.0.1:8888"});
  CHECK(again.status == 66);
  CHECK(again.err.find("already exists") != std::string::npos);
  const auto nothing = run_metafuse({"init", folder.path("other")});
  CHECK(nothing.status == 64);
  CHECK(nothing.err.find("say what to search: --documents FOLDER") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(folder.path("other")));
  CHECK(run_metafuse({"init", folder.path("other"), "--documents", folder.path("none")}).status == 66);
  folder.write("pictures/a.png", "");
  CHECK(run_metafuse({"init", folder.path("other"), "--documents", folder.path("pictures")}).status == 65);
  CHECK_FALSE(std::filesystem::exists(folder.path("other")));  // nothing is left of attempts that failed
  const auto web = run_metafuse({"init", folder.path("web"), "--searxng", "http://127.0.0.1:8888"});
  CHECK(web.status == 0);
  CHECK(web.out.find("metafuse config check --live") != std::string::npos);
}

TEST_CASE("The verb init refuses a folder of documents as the place of its keys", "[cli][init]") {
  const TemporaryFolder folder;
  folder.write("docs/tea.txt", "Green tea\n");
  const auto done = run_metafuse({"init", folder.path("docs"), "--documents", folder.path("docs") + "/"});
  CHECK(done.status == 64);
  CHECK(done.err.find("name another one for the configuration with its keys") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(folder.path("docs/metafuse.yaml")));
  // a folder below is never read
  REQUIRE(run_metafuse({"init", folder.path("docs/mine"), "--documents", folder.path("docs")}).status == 0);
  const auto again = run_in(folder.path("docs/mine"),
                            METAFUSE_EXECUTABLE " index --update --database index.db " + folder.path("docs"));
  INFO(again.err);
  CHECK(again.out.find("1 documents (0 new, 0 changed, 0 removed)") != std::string::npos);
  CHECK(again.err.find("a metafuse configuration, with its keys") != std::string::npos);
}

TEST_CASE("The verb init overwrites no file of a configuration", "[cli][init]") {
  const TemporaryFolder folder;
  folder.write("docs/tea.txt", "Green tea\n");
  const std::string name = GENERATE("engines.yaml", "admin.key", "templates/documents.yaml");
  const std::string file = folder.write("s/" + name, "# mine\n");
  const auto done = run_metafuse({"init", folder.path("s"), "--documents", folder.path("docs")});
  CHECK(done.status == 66);
  CHECK(done.err.find(file + ": already exists") != std::string::npos);
  CHECK(read_text(file, 100).value() == "# mine\n");
  CHECK_FALSE(std::filesystem::exists(folder.path("s/index.db")));
}

TEST_CASE("The verb init writes only what can be loaded, else nothing", "[cli][init]") {
  const TemporaryFolder folder;
  folder.write("docs/tea.txt", "Green tea\n");
  const std::string docs = folder.path("docs");
  const auto good = run_metafuse({"init", folder.path("s"), "--documents", docs, "--listen", "[::1]:0",
                                  "--preset", "arxiv", "--preset", "arxiv"});
  INFO(good.err);
  CHECK(good.status == 0);
  CHECK(run_in(folder.path("s"), METAFUSE_EXECUTABLE " config check").status == 0);
  folder.write("caf\xE9/tea.txt", "Green tea\n");
  const auto named = run_metafuse({"init", folder.path("t"), "--documents", folder.path("caf\xE9")});
  CHECK(named.status == 64);
  CHECK(named.err.find("the name is not UTF-8") != std::string::npos);
  const auto base = run_metafuse({"init", folder.path("t"), "--documents", docs, "--base-url", "a.example/"});
  CHECK(base.status == 64);
  CHECK(base.err.find("begin with https://HOST/") != std::string::npos);
  // a template cannot be written, because its folder is a file
  folder.write("t/templates", "");
  CHECK(run_metafuse({"init", folder.path("t"), "--documents", docs}).status != 0);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path("t")), {}) == 1);
  std::filesystem::remove(folder.path("t/templates"));
  CHECK(run_metafuse({"init", folder.path("t"), "--documents", docs}).status == 0);
}

TEST_CASE("The verb init leaves nothing when it is interrupted", "[cli][init]") {
  const TemporaryFolder folder;
  std::string lines;
  for (int i = 0; i < 200'000; ++i)
    lines += "{\"url\":\"https://a.example/" + std::to_string(i) + "\",\"text\":\"some words\"}\n";
  const std::string init =
      METAFUSE_EXECUTABLE " init s --documents " + folder.write("d.jsonl", lines) + " & ";
  const auto done = run_in(
      folder.path(), "(" + init +
                         "timeout 60 sh -c 'until ls s/index.db.new-* >/dev/null 2>&1; do sleep 0.01; done'; "
                         "kill -TERM $!; wait $!)");
  INFO(done.err);
  CHECK(done.status != 0);
  CHECK_FALSE(std::filesystem::exists(folder.path("s")));
}

TEST_CASE("The verb init tells that documents have the same address", "[cli][init]") {
  const TemporaryFolder folder;
  folder.write("f1/index.md", "# One\n");
  folder.write("f2/index.md", "# Two\n");
  const auto done = run_metafuse({"init", folder.path("s"), "--documents", folder.path("f1"),
                                  folder.path("f2"), "--base-url", "https://x.example/"});
  CHECK(done.status == 0);
  CHECK(done.err.find("1 documents repeat an earlier url; the last one counts") != std::string::npos);
}

TEST_CASE("The verb init sets up search servers and databases and document vectors", "[cli][init]") {
  const TemporaryFolder folder;
  folder.write("pages/tea.html", "<title>Green tea</title><p>leaves and water in a pot");
  folder.write("pages/coffee.md", "# Coffee\nbeans and water in a pot\n");
  const auto done = run_metafuse({"init", folder.path("s"), "--documents", folder.path("pages"), "--vectors",
                                  "--engine", "postgresql=postgresql://reader@127.0.0.1:1/wiki#pages",
                                  "--engine", "solr=http://127.0.0.1:1#books", "--engine",
                                  "sqlite=notes.db#notes", "--engine", "mediawiki=http://127.0.0.1:1"});
  INFO(done.err);
  REQUIRE(done.status == 0);
  const auto checked = run_in(folder.path("s"), METAFUSE_EXECUTABLE " config check");
  CHECK(checked.out.find("documents\t15 templates") == 0);
  const auto asked = run_in(folder.path("s"), METAFUSE_EXECUTABLE " config check --live --query water");
  INFO(asked.out << asked.err);
  CHECK(asked.status == 69);
  CHECK(asked.out.find("good   local") != std::string::npos);
  CHECK(asked.out.find("good   meaning") != std::string::npos);
  CHECK(asked.out.find("FAILED postgresql") != std::string::npos);
  CHECK(asked.err.find("4 of 9 engines failed") != std::string::npos);
  for (const auto& [text, said] : {std::pair{"solar=http://h#x", "did you mean solr"},
                                   {"solr=http://h", "where NAME is the collection"},
                                   {"solr", "KIND=ADDRESS"},
                                   {"searx_engine=127.0.0.1:7899", "begin the address with http://"},
                                   {"mariadb=h#t", "HOST/DATABASE#TABLE"}}) {
    const auto refused = run_metafuse({"init", folder.path("other"), "--engine", text});
    CHECK(refused.status == 64);
    CHECK(refused.err.find(said) != std::string::npos);
  }
  const auto unknown =
      run_metafuse({"init", folder.path("other"), "--documents", folder.path("pages"), "--language", "xx"});
  CHECK(unknown.status == 64);
  CHECK(unknown.err.find("there is no language \"xx\"") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(folder.path("other")));
}

TEST_CASE("The verb init adds engines of the catalogue by name and by kind", "[cli][init]") {
  const TemporaryFolder folder;
  const auto done = run_metafuse({"init", folder.path("s"), "--preset", "openalex", "--preset", "packages"});
  INFO(done.err);
  REQUIRE(done.status == 0);
  const auto checked = run_in(folder.path("s"), METAFUSE_EXECUTABLE " engines check engines.yaml");
  CHECK(checked.status == 0);
  const auto engines = run_in(folder.path("s"), "grep -c '  - name: ' engines.yaml").out;
  CHECK(std::stoi(engines) > 3);
  CHECK(run_in(folder.path("s"), METAFUSE_EXECUTABLE " config check")
            .out.find("documents\t" + engines.substr(0, engines.find('\n')) + " templates") == 0);
  // An engine that needs a key is written, and the user is told to set the key.
  const auto keyed = run_metafuse({"init", folder.path("k"), "--preset", "brave"});
  INFO(keyed.err);
  REQUIRE(keyed.status == 0);
  CHECK(keyed.out.find("  export BRAVE_KEY=") != std::string::npos);
  const auto unknown = run_metafuse({"init", folder.path("u"), "--preset", "openalx"});
  CHECK(unknown.status == 64);
  CHECK(unknown.err.find("did you mean openalex") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(folder.path("u")));
}

TEST_CASE("The verb init asks a web API once and writes a working definition", "[cli][init]") {
  const test::WireServer server([](int socket) {
    std::string request(4096, '\0');
    const ssize_t size = ::recv(socket, request.data(), request.size(), 0);
    request.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    const std::string body =
        request.starts_with("GET /none")
            ? R"({"items":[]})"
            : R"({"total":2,"items":[{"link":"https://a.example/1","title":"Otters","summary":"They swim."},)"
              R"({"link":"https://a.example/2","title":"Rivers","summary":"They flow."}]})";
    test::send_all(
        socket, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: " +
                    std::to_string(body.size()) + "\r\n\r\n" + body);
  });
  const std::string address = "http://127.0.0.1:" + std::to_string(server.port());
  const TemporaryFolder folder;
  const auto done = run_metafuse({"init", folder.path("s"), "--api", address + "/find?q=otter&size=20"});
  INFO(done.out << done.err);
  REQUIRE(done.status == 0);
  CHECK(done.out.find("2 results, the first \"Otters\" at https://a.example/1") != std::string::npos);
  CHECK(server.connections() == 1);
  const auto found = run_in(folder.path("s"), METAFUSE_EXECUTABLE " search rivers");
  INFO(found.err);
  CHECK(found.out.find("https://a.example/2\tRivers") != std::string::npos);
  CHECK(run_in(folder.path("s"), "cat engines.yaml").out.find("/find?q={query}&size=20") !=
        std::string::npos);
  CHECK(run_metafuse({"init", folder.path("m"), "--api", address + "/x/{query}/y"}).status == 0);
  const std::string unclear = run_metafuse({"init", folder.path("n"), "--api", address + "/x"}).err;
  CHECK(unclear.find("which part is the query;") != std::string::npos);
  CHECK(run_metafuse({"init", folder.path("n"), "--api", address + "/none?q=x"}).status == 65);
  CHECK(run_metafuse({"init", folder.path("n"), "--api", "127.0.0.1/x"}).status == 64);
  CHECK_FALSE(std::filesystem::exists(folder.path("n")));
}

TEST_CASE("The verb init writes the configuration of an installed service", "[cli][init]") {
  const TemporaryFolder folder;
  folder.write("pages/tea.txt", "Green tea\nleaves and water\n");
  const std::string root = folder.path("root");
  folder.write("root/etc/metafuse/metafuse.yaml", "version: 1\ntemplates: []\nengines: []\n");
  const std::vector<std::string> init{"init", "--system",    "--root",
                                      root,   "--documents", folder.path("pages")};
  const auto done = run_metafuse(init);
  INFO(done.err);
  CHECK(done.status == 0);
  CHECK(done.out.find("the administrator's key is in " + root + "/etc/metafuse/admin.key") !=
        std::string::npos);
  CHECK(std::filesystem::exists(root + "/var/lib/metafuse/index.db"));
  const std::string text = read_text(root + "/etc/metafuse/metafuse.yaml", 1 << 20).value();
  CHECK(text.find("store: /var/lib/metafuse/metafuse.db") != std::string::npos);
  CHECK(text.find("retrain_on_change: true") != std::string::npos);
  CHECK(run_metafuse(init).err.find("already has a domain") != std::string::npos);
  const auto keyed = run_metafuse({"init", "--system", "--root", folder.path("keyed"), "--preset", "brave"});
  CHECK(keyed.out.find("  echo 'BRAVE_KEY=...' >> /etc/metafuse/environment ") != std::string::npos);
  folder.write("root/etc/metafuse/metafuse.yaml", "version: 1\ntemplates: []\nengines: []\n");
  CHECK(run_metafuse(init).err.find("etc/metafuse/engines.yaml: already exists; move it away first") !=
        std::string::npos);
  CHECK(run_metafuse({"init", "--documents", folder.path("pages")}).status == 64);
  CHECK(run_metafuse({"init", "--system", folder.path("x"), "--documents", folder.path("pages")}).status ==
        64);
}

TEST_CASE("A server without any domain says how to get one", "[cli][init]") {
  const TemporaryFolder folder;
  folder.write("mine/metafuse.yaml", "version: 1\ntemplates: []\nengines: []\n");
  const auto looked =
      run_in(folder.path("mine"), "METAFUSE_LISTEN=127.0.0.1:0 " METAFUSE_EXECUTABLE " doctor");
  CHECK(looked.out.find("no domain yet: metafuse init --system") != std::string::npos);
  CHECK(run_in(folder.path("mine"), METAFUSE_EXECUTABLE " config check").status == 0);
  folder.write("mine/metafuse.yaml", "version: 1\nengines: []\n");
  CHECK(run_in(folder.path("mine"), METAFUSE_EXECUTABLE " config check").err.find("no templates") !=
        std::string::npos);
}

TEST_CASE("The verb doctor approves a good installation and explains a bad one", "[cli][doctor]") {
  const TemporaryFolder folder;
  make_search(folder);
  const std::string here = "METAFUSE_LISTEN=127.0.0.1:0 " METAFUSE_EXECUTABLE " doctor";
  const auto good = run_in(folder.path("my search"), here);
  INFO(good.out << good.err);
  CHECK(good.status == 0);
  CHECK(good.out.find("WRONG") == std::string::npos);
  std::filesystem::permissions(folder.path("my search/admin.key"), std::filesystem::perms::others_read,
                               std::filesystem::perm_options::add);
  std::filesystem::remove(folder.path("my search/index.db"));
  const auto bad = run_in(folder.path("my search"), "METAFUSE_STORE=/nowhere/x.db " + here);
  CHECK(bad.status == 69);
  CHECK(bad.out.find("mkdir -p /nowhere") != std::string::npos);
  CHECK(bad.out.find("others may read it; run: chmod 600") != std::string::npos);
  folder.write("my search/index.db", "");
  const auto empty = run_in(folder.path("my search"), here);
  CHECK(empty.out.find("index.db: not a document index") != std::string::npos);
}

TEST_CASE("The verb doctor finds what would keep the server from its store or its index", "[cli][doctor]") {
  const TemporaryFolder folder;
  make_search(folder);
  const auto told = [&](const std::string& part) {
    const auto done =
        run_in(folder.path("my search"), "METAFUSE_LISTEN=127.0.0.1:0 " METAFUSE_EXECUTABLE " doctor");
    INFO(done.out);
    CHECK(done.status == (part.empty() ? 0 : 69));
    CHECK(done.out.find(part) != std::string::npos);
  };
  const std::string store = folder.path("my search/metafuse.db");
  told("");
  {
    const auto opened = service::open_store(store);
    REQUIRE(opened.has_value());
    REQUIRE((*opened)->privacy.secret().has_value());
    told("metafuse.db.lock: another server uses this store");
  }
  told("");
  const std::string secret = *read_text(store + ".secret", 100);
  folder.write("my search/metafuse.db.secret", "short\n");
  told("has no secret of 64 hexadecimal digits");
  folder.write("my search/metafuse.db.secret", secret);
  folder.write("my search/metafuse.db", "junk of some kind");
  told("metafuse.db: file is not a database");
  std::filesystem::remove(store);
  std::filesystem::remove_all(folder.path("my search/models"));
  folder.write("my search/models", "a file");
  told("models: is not a folder");
  std::filesystem::remove(folder.path("my search/models"));
  std::filesystem::create_directory(folder.path("my search/models"));
  const std::string index = folder.path("my search/index.db");
  std::string bytes = *read_text(index, 100'000'000);
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2), bytes.end(), 'Z');
  folder.write("my search/index.db", bytes);
  told("delete it and build it again with metafuse index and the options that its engines need");
}

TEST_CASE("A wrong value on the command line is a mistake of usage in every verb", "[cli]") {
  const TemporaryFolder folder;
  make_search(folder);
  const std::string pages = folder.path("pages");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"init", folder.path("new"), "--documents", pages, "--listen", "nonsense"},
        {"init", folder.path("new"), "--documents", pages, "--language", "xx"},
        {"index", "--database", folder.path("i.db"), "--language", "zz", pages},
        {"search", "--config", folder.path("my search/metafuse.yaml"),
         "te\xff"
         "a"},
        {"search", "--config", folder.path("my search/metafuse.yaml"), "--set",
         "QUERY=te\xff"
         "a"}}) {
    const auto done = run_metafuse(words);
    INFO(words.front() << ": " << done.err);
    CHECK(done.status == 64);
  }
}

TEST_CASE("Shell completions have every verb and all named values", "[cli][completion]") {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const auto done = run_metafuse({"completion", shell});
    CHECK(done.status == 0);
    for (const char* word : {"compare-methods", "listen", "rankboost", "combmnz"})
      CHECK(done.out.find(word) != std::string::npos);
  }
  const auto completed =
      test::run_command({"bash", "-c",
                         "source <(" METAFUSE_EXECUTABLE " completion bash)\n"
                         "ask() { COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _metafuse; echo "
                         "\"${COMPREPLY[*]}\"; }\n"
                         "ask metafuse mod; ask metafuse model sh; ask metafuse serve --li; ask metafuse "
                         "train --learner monot"});
  CHECK(completed.out == "model\nshow\n--listen\nmonotone-trees\n");
  CHECK(run_metafuse({"completion", "bsh"}).err.find("did you mean bash") != std::string::npos);
}

TEST_CASE("The installed program runs from any folder", "[cli][install]") {
  const TemporaryFolder folder;
  const std::string build = std::filesystem::path(METAFUSE_EXECUTABLE).parent_path().string();
  const std::string first = folder.path("first");
  const auto installed = test::run_command({"cmake", "--install", build, "--prefix", first});
  INFO(installed.err);
  REQUIRE(installed.status == 0);
  const std::string version = run_metafuse({"--version"}).out;
  CHECK(test::run_command({first + "/bin/metafuse", "--version"}).out == version);
  std::filesystem::rename(first, folder.path("second"));
  const std::string second = folder.path("second");
  CHECK(test::run_command({second + "/bin/metafuse", "--version"}).out == version);
  CHECK(test::run_command({second + "/bin/metafuse", "config", "check",
                           second + "/share/doc/metafuse/examples/metafuse.yaml"})
            .status == 0);
  for (const char* file :
       {"share/man/man1/metafuse.1", "share/man/man1/metafuse-model-show.1", "share/man/man5/metafuse.yaml.5",
        "share/man/man5/metafuse-engines.yaml.5", "share/man/man7/metafuse-learners.7",
        "lib/systemd/system/metafuse.service", "share/bash-completion/completions/metafuse",
        "share/zsh/site-functions/_metafuse", "share/fish/vendor_completions.d/metafuse.fish",
        "share/doc/metafuse/docs/tutorial.md", "share/metafuse/engines/science.yaml"})
    CHECK(std::filesystem::file_size(second + "/" + file) > 200);
  const auto unit = read_text(second + "/lib/systemd/system/metafuse.service", 100'000);
  CHECK(unit->find("ExecStart=" + first + "/bin/metafuse serve") != std::string::npos);
  const auto man = test::run_command({"sh", "-c",
                                      "command -v man >/dev/null || exit 77; man --warnings -l '" + second +
                                          "/share/man/man1/metafuse-serve.1' | cat"});
  if (man.status == 77) return;
  CHECK(man.err.empty());
  CHECK(man.out.find("--listen") != std::string::npos);
}
