#include "fetchers/answers/redirect_links.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace metafuse::fetchers;

namespace {

struct Link {
  std::string url;
  std::string target;
};

const std::string kPage = "https://example.org/a?b=c&d=e";
const std::string kEncoded = "https%3A%2F%2Fexample.org%2Fa%3Fb%3Dc%26d%3De";
// printf 'https://example.org/a?b=c&d=e' | base64
const std::string kBase64 = "aHR0cHM6Ly9leGFtcGxlLm9yZy9hP2I9YyZkPWU";

/// The forms in which large sites write their redirect links.
const std::vector<Link> kLinks = {
    {"https://www.google.com/url?q=" + kEncoded + "&sa=U&ved=2ah", kPage},
    {"https://www.google.com/url?sa=t&source=web&rct=j&url=" + kEncoded + "&usg=AOv", kPage},
    {"http://google.de/url?q=" + kEncoded, kPage},
    {"https://www.google.co.uk/url?q=" + kEncoded, kPage},
    {"https://www.google.com/url?q=" + kPage.substr(0, kPage.find('&')), "https://example.org/a?b=c"},
    {"https://www.google.com/imgres?imgurl=https%3A%2F%2Fi.example.org%2Fp.png&imgrefurl=" + kEncoded +
         "&h=1",
     kPage},
    {"https://www.google.com/aclk?sa=l&ai=x&adurl=" + kEncoded, kPage},
    {"https://www.googleadservices.com/pagead/aclk?sa=L&adurl=" + kEncoded, kPage},
    {"https://www.bing.com/ck/a?!&&p=ab12&ptn=3&hsh=3&fclid=1&psq=x&u=a1" + kBase64 + "&ntb=1", kPage},
    {"https://www.bing.com/ck/a?u=" + kEncoded, kPage},
    {"https://www.bing.com/newtabredir?url=" + kEncoded, kPage},
    {"https://r.search.yahoo.com/_ylt=Awr;_ylu=Y29/RV=2/RE=17/RO=10/RU=" + kEncoded + "/RK=2/RS=x-", kPage},
    {"https://de.r.search.yahoo.com/_ylt=A/RU=" + kEncoded + "/RK=2", kPage},
    {"https://duckduckgo.com/l/?uddg=" + kEncoded + "&rut=1f", kPage},
    {"http://www.duckduckgo.com/l/?kh=-1&uddg=" + kEncoded, kPage},
    {"https://html.duckduckgo.com/l/?uddg=" + kEncoded, kPage},
    {"https://l.facebook.com/l.php?u=" + kEncoded + "&h=AT0", kPage},
    {"https://www.facebook.com/l.php?u=" + kEncoded, kPage},
    {"https://lm.facebook.com/l.php?u=" + kEncoded, kPage},
    {"https://www.facebook.com/flx/warn/?u=" + kEncoded, kPage},
    {"https://l.instagram.com/?u=" + kEncoded + "&e=A", kPage},
    {"https://l.threads.net/?u=" + kEncoded, kPage},
    {"https://nam01.safelinks.protection.outlook.com/?url=" + kEncoded + "&data=05%7C01", kPage},
    {"https://eur03.safelinks.protection.outlook.com/ap/w-59584e83/?url=" + kEncoded, kPage},
    {"https://www.linkedin.com/redir/redirect?url=" + kEncoded + "&urlhash=x", kPage},
    {"https://www.linkedin.com/safety/go?url=" + kEncoded, kPage},
    {"https://www.youtube.com/redirect?event=video_description&redir_token=Q&q=" + kEncoded, kPage},
    {"https://out.reddit.com/t3_abc?url=" + kEncoded + "&token=AQ", kPage},
    {"https://t.umblr.com/redirect?z=" + kEncoded + "&t=x", kPage},
    {"https://vk.com/away.php?to=" + kEncoded, kPage},
    {"https://vk.com/away.php?to=" + kEncoded + "#wall", kPage},
    {"https://steamcommunity.com/linkfilter/?url=" + kEncoded, kPage},
    {"https://steamcommunity.com/linkfilter/?u=" + kEncoded, kPage},
    {"https://slack-redir.net/link?url=" + kEncoded, kPage},
    {"https://exit.sc/?url=" + kEncoded, kPage},
    {"https://href.li/?https://example.org/a", "https://example.org/a"},
    {"https://www.deviantart.com/users/outgoing?https://example.org/a", "https://example.org/a"},
    {"https://www.pixiv.net/jump.php?" + kEncoded, kPage},
    {"https://outgoing.prod.mozaws.net/v1/0123abcd/https%3A//example.org/a", "https://example.org/a"},
    {"https://link.zhihu.com/?target=" + kEncoded, kPage},
    {"https://link.csdn.net/?target=" + kEncoded, kPage},
    {"https://urldefense.proofpoint.com/v2/url?u=https-3A__example.org_a&d=DwMF", "https://example.org/a"},
    {"https://urldefense.com/v3/__https://example.org/a__;!!Abc!x$", "https://example.org/a"},
    {"https://click.linksynergy.com/deeplink?id=1&mid=2&murl=" + kEncoded, kPage},
    {"https://www.awin1.com/cread.php?awinmid=1&ued=" + kEncoded, kPage},
};

/// Links that contain another URL but do not redirect to it.
const std::vector<std::string> kOthers = {
    "https://example.org/l/?uddg=" + kEncoded,
    "https://web.archive.org/web/2020/https://example.org/a",
    "https://www.google.com/search?q=" + kEncoded,
    "https://www.google.com/url?q=kittens",
    "https://www.google.com/url?q=javascript%3Aalert(1)",
    "https://www.google.com/url?q=file%3A%2F%2F%2Fetc%2Fpasswd",
    "https://www.google.com/url?q=http%3A%2F%2Fuser%3Aword%40example.org%2F",
    "https://www.google.com/urls?q=" + kEncoded,
    "https://notgoogle.com/url?q=" + kEncoded,
    "https://google.example.evil.org/url?q=" + kEncoded,
    "https://google.com@evil.org/url?q=" + kEncoded,
    "https://user@www.duckduckgo.com/l/?uddg=" + kEncoded,
    "https://evilduckduckgo.com/l/?uddg=" + kEncoded,
    "https://google.evil.example/url?q=" + kEncoded,
    "https://www.google.com/url?q=https%3A%2F%2Fexample.org%2Fa%0Ab",
    "https://www.google.com/url?q=https%3A%2F%2Fexample.org%2Fa%20b",
    "https://www.google.com/url?q=https%3A%2F%2Fexample.org%2Fa%FFb",
    "https://www.google.com/url?q=https%3A%2F%2F%2Fa",
    "https://duckduckgo.com/?q=" + kEncoded,
    "https://duckduckgo.com.evil.org/l/?uddg=" + kEncoded,
    "https://www.bing.com/search?q=" + kBase64,
    "https://www.bing.com/ck/a?u=a1notbase64http",
    "https://validator.w3.org/check?uri=" + kEncoded,
    "https://www.facebook.com/sharer.php?u=" + kEncoded,
    "https://translate.google.com/translate?u=" + kEncoded,
    "https://vk.com/share.php?to=" + kEncoded,
    "https://example.org/redirect?url=http",
    "https://example.org/a",
    "http://",
};

}  // namespace

TEST_CASE("Redirect links of large sites become their targets", "[fetchers][unwrap]") {
  REQUIRE(kLinks.size() >= 40);
  for (const Link& link : kLinks) {
    INFO(link.url);
    CHECK(unwrapped_url(link.url, {}) == link.target);
  }
}

TEST_CASE("Links that contain a URL but are no redirects stay unchanged", "[fetchers][unwrap]") {
  for (const std::string& url : kOthers) {
    INFO(url);
    CHECK(unwrapped_url(url, {}) == url);
  }
}

TEST_CASE("Nested redirect links are unwrapped up to a limit", "[fetchers][unwrap]") {
  CHECK(
      unwrapped_url("https://duckduckgo.com/l/"
                    "?uddg=https%3A%2F%2Fl.facebook.com%2Fl.php%3Fu%3Dhttps%253A%252F%252Fexample.org%252Fa",
                    {}) == "https://example.org/a");
  std::string deep = "https://example.org/a";
  for (int i = 0; i < 30; ++i) deep = "https://href.li/?" + deep;
  CHECK(unwrapped_url(deep, {}).starts_with("https://href.li/?"));
  std::string link = "https://example.org/a";
  for (int i = 0; i < 4; ++i) link = "https://href.li/?" + link;
  CHECK(unwrapped_url(link, {}) == "https://example.org/a");
  CHECK(unwrapped_url("https://href.li/?" + link, {}) == "https://href.li/?https://example.org/a");
  // a target has at most 8 KB
  const std::string longest = "https://example.org/" + std::string(8192 - 20, 'a');
  CHECK(unwrapped_url("https://href.li/?" + longest, {}) == longest);
  CHECK(unwrapped_url("https://href.li/?" + longest + "a", {}) == "https://href.li/?" + longest + "a");
}

TEST_CASE("A definition's own rules are validated and come first", "[fetchers][unwrap]") {
  const std::vector<UnwrapRule> rules = {{"count.example.net/out/", "to"}, {"go.example.net", "/T="}};
  CHECK(unwrapped_url("https://count.example.net/out/?n=1&to=" + kEncoded, rules) == kPage);
  CHECK(unwrapped_url("https://count.example.net/in/?to=" + kEncoded, rules) ==
        "https://count.example.net/in/?to=" + kEncoded);
  CHECK(unwrapped_url("https://go.example.net/x/T=" + kEncoded + "/U=1", rules) == kPage);
  CHECK(check_unwrap_rule(rules[0]).has_value());
  CHECK_FALSE(check_unwrap_rule({"", "u"}).has_value());
  CHECK_FALSE(check_unwrap_rule({"/path", "u"}).has_value());
  CHECK_FALSE(check_unwrap_rule({"example.org/", ""}).has_value());
}
