#include "service/base/metrics.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <thread>

#include <catch2/catch.hpp>

#include "tests/support/test_server.h"

using namespace metafuse;
using namespace metafuse::service;
using namespace metafuse::test;

namespace {

bool tells(const Metrics& metrics, const std::string& line) {
  return ("\n" + metrics.text()).find("\n" + line + "\n") != std::string::npos;
}

}  // namespace

TEST_CASE("What serves is told for the domains that there are, with their present versions",
          "[service][metrics]") {
  Metrics metrics;
  metrics.serves(std::vector<Metrics::Served>{{"a", "t1", "rrf"}, {"b", "t1", "m1"}});
  CHECK(tells(metrics, R"(metafuse_templates_info{domain="a",version="t1"} 1)"));
  CHECK(tells(metrics, R"(metafuse_model_info{domain="b",version="m1"} 1)"));
  metrics.serves(std::vector<Metrics::Served>{{"b", "t1", "m2"}});
  CHECK(metrics.text().find("domain=\"a\"") == std::string::npos);
  CHECK(tells(metrics, R"(metafuse_templates_info{domain="b",version="t1"} 1)"));
  CHECK(tells(metrics, R"(metafuse_model_info{domain="b",version="m2"} 1)"));
  CHECK(metrics.text().find("m1") == std::string::npos);
  metrics.serves(std::vector<Metrics::Served>{{"b", "t1", "m1"}});
  CHECK(tells(metrics, R"(metafuse_model_info{domain="b",version="m1"} 1)"));
}

TEST_CASE("Engines that are gone are in no state any more", "[service][metrics]") {
  const std::string_view states[] = {"works", "empty"};
  Metrics metrics;
  for (const char* engine : {"one", "two", "on"}) metrics.breaker(engine, true);
  metrics.engine_health({{"one", "empty"}, {"two", "works"}}, states);
  CHECK(tells(metrics, R"(metafuse_engine_breaker_open{engine="two"} 1)"));
  CHECK(tells(metrics, R"(metafuse_engine_health{engine="one",state="empty"} 1)"));
  metrics.keep_breakers({"on", "three"});
  metrics.engine_health({{"two", "empty"}}, states);
  const std::string text = metrics.text();
  CHECK(text.find("engine=\"one\"") == std::string::npos);
  CHECK(text.find("metafuse_engine_breaker_open{engine=\"two\"}") == std::string::npos);
  CHECK(tells(metrics, R"(metafuse_engine_breaker_open{engine="on"} 1)"));
  CHECK(tells(metrics, R"(metafuse_engine_health{engine="two",state="works"} 0)"));
  CHECK(tells(metrics, R"(metafuse_engine_health{engine="two",state="empty"} 1)"));
  metrics.breaker("one", false);
  CHECK(tells(metrics, R"(metafuse_engine_breaker_open{engine="one"} 0)"));
}

TEST_CASE("After a reload the metrics tell only what the new files name, and that it worked",
          "[service][metrics]") {
  TestServer server;
  const auto has = [&](const std::string& part) {
    return server.get("/metrics").find(part) != std::string::npos;
  };
  std::string other = kTwoTemplates;
  other.replace(other.find("pages"), 5, "gone");
  server.folder().write("templates/gone.yaml", other);
  REQUIRE(server.app().reloader().reload().has_value());
  CHECK(has("metafuse_templates_info{domain=\"gone\""));
  server.folder().write("templates/gone.yaml", "version: [");
  server.app().reloader().reload_soon();
  while (!has("\nmetafuse_reload_failed 1")) std::this_thread::yield();
  CHECK(server.get("/readyz").find("\nconfiguration: the last reload was refused") != std::string::npos);
  std::filesystem::remove(server.folder().path("templates/gone.yaml"));
  REQUIRE(server.app().reloader().reload().has_value());
  CHECK(has("\nmetafuse_reload_failed 0"));
  CHECK(server.get("/readyz").find("configuration:") == std::string::npos);
  CHECK_FALSE(has("domain=\"gone\""));
  CHECK(has("metafuse_templates_info{domain=\"pages\""));
}
