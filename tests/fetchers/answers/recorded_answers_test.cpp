#include <filesystem>
#include <map>
#include <string>

#include <catch2/catch.hpp>

#include "core/text_file.h"
#include "fetchers/answers/answer_parser.h"
#include "fetchers/definition/catalogue.h"
#include "fetchers/definition/engine_file.h"
#include "fetchers/engines/http/engine_request.h"
#include "tests/support/data_folder.h"

using namespace metafuse;
using namespace metafuse::fetchers;

namespace {

struct Expected {
  std::string file;
  std::string engine;
  int results;
  std::string first_url;
  std::string first_date;
};

/// Counts and first results of the recorded answers, which reveal any change of a parser or a definition.
const std::vector<Expected> kExpected = {
    {"brave-web/brave.json", "brave", 20, "https://www.python.org", "2023-09-09T15:55:05"},
    {"google-cse/google_pse.json", "google-cse", 10, "https://www.feynmanlectures.caltech.edu/", ""},
    {"searxng/searxng.json", "searxng", 30, "https://www.python.org/", ""},
    {"serper/serper.json", "serper", 8, "https://www.apple.com/", ""},
    {"serply/serply.json", "serply", 6, "https://www.apple.com/", ""},
    {"serpstack/serpstack.json", "serpstack", 5, "https://www.mcdonalds.com/us/en-us/full-menu.html", ""},
    {"searchapi/searchapi.json", "searchapi", 6, "https://openai.com/chatgpt/", ""},
    {"serpapi-google/search_coffee.json", "serpapi", 9,
     "https://books.google.com/"
     "books?id=4O_RAAAAMAAJ&pg=PA522&lpg=PA522&dq=Coffee&source=bl&ots=QfeEK8jWl_&sig=SWDfj277-"
     "YbtgrWpG7IIPCLq5HA&hl=en&sa=X&ved=2ahUKEwiAqe_S_s3aAhUms1QKHYlJAYYQ6AEwCHoECAAQdw",
     ""},
    {"serpapi-google/search_coffee_golang.json", "serpapi", 12, "https://portlandroastingcoffee.com/", ""},
    {"serpapi-google/search_coffee_page20.json", "serpapi", 10, "https://www.huffingtonpost.com/topic/coffee",
     ""},
    {"bing-web-v7/bing.json", "bing-api", 3,
     "https://www.planetf1.com/news/f1-results-2024-mexican-grand-prix-race-standings",
     "2024-10-27T00:00:00.0000000"},
    {"searsia/exampleSearchResult.json", "searsia", 10,
     "http://wwwhome.cs.utwente.nl/~hiemstra/2015/fedweb-greatest-hits.html", ""},
    {"mediawiki/search_chess_set_10.json", "wikipedia", 10, "https://en.wikipedia.org/wiki/Chess_set", ""},
    {"mediawiki/search_chess_set_505.json", "wikipedia", 500, "https://en.wikipedia.org/wiki/Chess_set", ""},
    {"mediawiki/search_chest_set_suggestion.json", "wikipedia", 10,
     "https://en.wikipedia.org/wiki/The_Seekers", ""},
    {"mediawiki/opensearch_newyork_10.json", "wikipedia-titles", 10, "https://en.wikipedia.org/wiki/New_York",
     ""},
    {"mediawiki/opensearch_newyork_10_redirects_return.json", "wikipedia-titles", 10,
     "https://en.wikipedia.org/wiki/New_york", ""},
    {"mediawiki/prefixsearch_ba_10.json", "wikipedia-prefix", 10, "https://en.wikipedia.org/wiki/Ba", ""},
    {"mediawiki/geosearch_new_york_10.json", "wikipedia-nearby", 10,
     "https://en.wikipedia.org/wiki/Central_New_York_Region", ""},
    {"crossref/works_field_queries-1.json", "crossref", 20, "https://doi.org/10.1111/ele.14024",
     "2022-05-30"},
    {"crossref/works_field_query_publisher-1.json", "crossref", 20, "https://doi.org/10.5902/2175497775344",
     "2023-12-01"},
    {"openalex/works.json", "openalex", 49, "https://doi.org/10.4081/gh.2014.294", "2014-12-01"},
    {"arxiv-atom/id_0808.05394_1707.08567_s0_m100_42e5aa0ec3af.atom.xml", "arxiv", 1,
     "https://arxiv.org/abs/1707.08567v1", "2017-07-27T08:18:33Z"},
    {"arxiv-atom/q_testing_s0_m10_bc5a6c384fe9.atom.xml", "arxiv", 10, "https://arxiv.org/abs/2202.12139v1",
     "2022-02-24T15:05:19Z"},
    {"arxiv-atom/q_testing_s10_m10_34e56e15aaac.atom.xml", "arxiv", 10, "https://arxiv.org/abs/2403.16981v2",
     "2024-03-25T17:42:32Z"},
    {"pubmed-eutils/esummary1.xml", "pubmed", 2, "https://pubmed.ncbi.nlm.nih.gov/11850928/", "1965-08"},
    {"pubmed-eutils/esummary9.xml", "pubmed", 1, "https://pubmed.ncbi.nlm.nih.gov/7488/", ""},
    {"pubmed-eutils/ft_search_entrez-2.json", "pmc", 200,
     "https://www.ncbi.nlm.nih.gov/pmc/articles/PMC7771231/", "2020-12-16 00:00"},
    {"stack-exchange/questions.json", "stackexchange", 10,
     "https://stackoverflow.com/questions/11227809/"
     "why-is-it-faster-to-process-a-sorted-array-than-an-unsorted-array",
     "2012-06-27T13:51:36Z"},
    {"stack-exchange/search_model_context_protocol.json", "stackexchange", 10,
     "https://stackoverflow.com/questions/79646317/"
     "model-context-protocol-mcp-server-exits-unexpectedly-after-initial-response-wh",
     "2025-05-31T04:24:26Z"},
    {"mastodon/search_v2-2.json", "mastodon-posts", 2, "https://icosahedron.website/@greg/116388148912635764",
     "2026-04-11T21:16:53.000Z"},
    {"reddit/search.json", "reddit", 6,
     "https://www.reddit.com/r/redditdev/comments/3gpbiu/prawoauth2util_problem_using_get_banned_raise/"
     "?ref=search_posts",
     "2015-08-12T09:08:34Z"},
    {"hackernews-algolia/front_page.json", "hackernews", 3, "https://www.youtube.com/watch?v=B2Hl4c1iZK0",
     "2026-04-25T17:53:46Z"},
    {"hackernews-algolia/search_ask_hn_page2.json", "hackernews", 1,
     "https://news.ycombinator.com/item?id=1256391", "2010-04-11T05:01:43.000Z"},
    {"hackernews-algolia/search_by_date_comment_apple.json", "hackernews", 1,
     "http://www.komonews.com/news/local/"
     "Starbucks-admits-its-not-contributing-to-hyped-scholarships-263837031.html",
     "2014-06-20T03:32:34.000Z"},
    {"hackernews-algolia/search_comment_apple.json", "hackernews", 1,
     "http://arstechnica.com/tech-policy/2013/10/"
     "patent-war-goes-nuclear-microsoft-apple-owned-rockstar-sues-google/",
     "2013-11-01T05:18:12.000Z"},
    {"hackernews-algolia/search_story_apple.json", "hackernews", 1,
     "http://finance.yahoo.com/news/Steve-Jobs-Resigns-as-CEO-of-bw-19285464.html?x=0&.v=1",
     "2011-08-24T22:37:35.000Z"},
    {"gitlab/search_projects.json", "gitlab", 1, "http://localhost:3000/twitter/flight",
     "2018-01-31T09:56:30.902Z"},
    {"gitlab/search_issues.json", "gitlab-issues", 1, "http://localhost:3000/h5bp/7bp/subgroup-prj/issues/1",
     "2018-02-06T12:36:23.263Z"},
    {"gitlab/search_merge_requests.json", "gitlab-issues", 1,
     "http://localhost:3000/twitter/flight/merge_requests/8", "2018-02-06T12:40:33.295Z"},
    {"npm/search_yargs.json", "npm", 1, "https://www.npmjs.com/package/yargs", "2016-12-30T16:53:16.023Z"},
    {"crates-io/search_postgres.json", "crates", 2, "https://crates.io/crates/hoare", "2014-11-20T21:49:21Z"},
    {"rubygems/search.json", "rubygems", 30, "http://rubygems.org/gems/cucumber", ""},
    {"docker-engine/images_search.json", "docker-engine", 3, "https://hub.docker.com/r/alpine", ""},
    {"huggingface/models.json", "huggingface", 3, "https://huggingface.co/deepseek-ai/DeepSeek-V4-Pro",
     "2026-04-22T06:04:45.000Z"},
    {"semantic-scholar/paper_search-1.json", "semantic-scholar", 100,
     "https://www.semanticscholar.org/paper/7cbc2a7843411a1768ab762930707af0a3c33a19", ""},
    {"semantic-scholar/paper_search_match.json", "semantic-scholar", 1,
     "https://www.semanticscholar.org/paper/6fe8c5bf8dddaadf10c765133d38dfef5714347f", ""},
    {"semantic-scholar/paper_search_next_page-1.json", "semantic-scholar", 100,
     "https://www.semanticscholar.org/paper/7cbc2a7843411a1768ab762930707af0a3c33a19", ""},
    {"semantic-scholar/paper_search_next_page-2.json", "semantic-scholar", 100,
     "https://www.semanticscholar.org/paper/ac7a3d2983b75bd4f44903892a5df295a0f859ff", ""},
    {"semantic-scholar/search_fastpaper.json", "semantic-scholar", 3,
     "https://www.semanticscholar.org/paper/a56bf7ee9a56d8f84079684339a953c2df9ce76b", "2021"},
    {"europe-pmc/search_cancer.json", "europe-pmc", 25, "https://europepmc.org/article/MED/39709209",
     "2025-12-01"},
    {"europe-pmc/search_cancer_core.json", "europe-pmc", 25, "https://europepmc.org/article/MED/39709209",
     "2025-12-01"},
    {"europe-pmc/search_cancer_page2.json", "europe-pmc", 5, "https://europepmc.org/article/MED/39709209",
     "2025-12-01"},
    {"core-ac-uk/v3_search.json", "core", 1, "http://arxiv.org/abs/1904.10788", "2019-05-09T01:00:00"},
    {"dblp/publ_test.json", "dblp", 30, "https://doi.org/10.1109/ATS.2005.17", "2005"},
    {"doaj/articles_license_cc_by.json", "doaj", 10,
     "http://link.springer.com/article/10.1038/s41467-020-15686-y", "2020-04"},
    {"doaj/articles_pinus_contorta_sorted.json", "doaj", 30, "https://doi.org/10.1371/journal.pone.0227130",
     "2020"},
    {"zenodo/search.json", "zenodo", 3, "https://zenodo.org/records/10635481", "2024-02-12"},
    {"openaire/graph_v3_search.json", "openaire", 5, "https://doi.org/10.1089/crispr.2020.0030",
     "2020-06-01"},
    {"scopus/search_ecology.json", "scopus", 10,
     "https://www.scopus.com/inward/record.uri?partnerID=HzOxMe3b&scp=85086306798&origin=inward",
     "2021-01-01"},
    {"fatcat/release_search.json", "fatcat", 2, "https://fatcat.wiki/release/rulhhff3kngyfc3rys53vlfuuu", ""},
    {"solr/plos_climate_change_fields.json", "plos", 10, "https://doi.org/10.1371/journal.pone.0054839", ""},
    {"solr/plos_ecology.json", "plos", 200, "https://doi.org/10.1371/journal.pone.0001248", ""},
    {"solr/plos_ecology_dates.json", "plos", 2, "https://doi.org/10.1371/journal.pone.0001248",
     "2007-11-28T00:00:00Z"},
    {"solr/plos_highlight_alcohol.json", "plos", 5, "https://doi.org/10.1371/journal.pone.0218147",
     "2019-12-10T00:00:00Z"},
    {"solr/plos_start_1000000.json", "plos", 15, "https://doi.org/10.1371/journal.pgen.1005056/abstract", ""},
    {"biorxiv-html/owls.html", "biorxiv", 30, "https://www.biorxiv.org/content/10.1101/2020.02.18.954685v1",
     ""},
    {"baidu-xueshu/search.json", "baidu-xueshu", 10,
     "http://www.springer.com/cda/content/document/productFlyer/"
     "productFlyer-CN_978-0-306-47427-9.pdf?SGWID=0-0-1297-33334206-bookseller",
     "2002"},
    {"html-serp/google-scholar/learning_deep_architectures.html", "google-scholar", 1,
     "http://dl.acm.org/citation.cfm?id=1658424", ""},
    {"html-serp/google-scholar/scholar_search_fastpaper.html", "google-scholar", 10,
     "https://www.sciencedirect.com/science/article/pii/S092523122100477X", ""},
    {"openlibrary/free_search.json", "openlibrary", 85, "https://openlibrary.orgOL2747782W", "1962"},
    {"openlibrary/search.json", "openlibrary", 81, "https://openlibrary.orgOL27448W", "1954"},
    {"google-books/isbn.json", "google-books", 1,
     "http://books.google.ro/books/about/Batman_Killing_Joke_DELUXE.html?hl=&id=l0UTIQAACAAJ", "2008-03-19"},
    {"internet-archive/advanced_search.json", "internet-archive", 50,
     "https://archive.org/details/1redRoverGoesToMars-studentAstronautB-rollCompilation", ""},
    {"newsapi/everything.json", "newsapi", 3,
     "http://www.latimes.com/business/hiltzik/la-fi-hiltzik-wildfires-20180808-story.html",
     "2018-08-09T00:58:18Z"},
    {"newsapi/top_headlines.json", "newsapi", 20,
     "https://www.cnbc.com/2022/09/27/stock-market-news-open-to-close-futures-live-updates.html",
     "2022-09-28T04:18:00Z"},
    {"guardian/search_newest.json", "guardian", 10,
     "http://www.theguardian.com/world/live/2014/sep/23/"
     "poll-bounce-for-tony-abbott-with-parliament-to-debate-terror-laws-politics-live",
     "2014-09-23T00:11:49Z"},
    {"guardian/search_uk_news_fields.json", "guardian", 10,
     "https://www.theguardian.com/media/2020/jan/06/"
     "vat-ruling-on-times-digital-edition-could-save-news-uk-millions",
     "2020-01-06T18:39:25Z"},
    {"nyt/article_search.json", "nyt", 9,
     "http://www.nytimes.com/2016/05/15/magazine/is-it-ok-to-get-a-dog-from-a-breeder-not-a-shelter.html",
     "2016-05-15T00:00:00Z"},
    {"photon/madison_square_garden.json", "photon", 1,
     "https://www.openstreetmap.org/?mlat=40.7505247&mlon=-73.99355027800776", ""},
    {"pelias/madison_square_garden.json", "pelias", 10,
     "https://pelias.example.org/v1/place?ids=gn%3Avenue%3A5125640", ""},
    {"geoapify/madison_square_garden.json", "geoapify", 1,
     "https://www.openstreetmap.org/?mlat=40.750512900000004&mlon=-73.99351594545152#map=17/"
     "40.750512900000004/-73.99351594545152",
     ""},
    {"google-places/search_madison_square_garden.json", "google-find-place", 1,
     "https://www.google.com/maps/place/?q=place_id:ChIJhRwB-yFawokR5Phil-QQ3zM", ""},
    {"overpass/node-01.json", "overpass", 3, "https://www.openstreetmap.org/node/50878400", ""},
    {"overpass/relation-03.json", "overpass", 1, "https://www.openstreetmap.org/relation/23092", ""},
    {"overpass/way-02.json", "overpass", 7, "https://www.openstreetmap.org/node/3233854233", ""},
    {"flickr/photos.json", "flickr", 10, "https://www.flickr.com/photos/65988573%40N00/15642377962", ""},
    {"unsplash/search_photos_dog.json", "unsplash-api", 3, "http://staging.unsplash.com/photos/ngqyo2AYYnE",
     "2017-10-04T15:49:27-04:00"},
    {"unsplash/search_photos_dog_low.json", "unsplash-api", 3,
     "https://api.unsplash.com/search/<OAUTH_URI>photos/a-man-holding-a-small-dog-in-his-hands-NqkTxxK_2ZY",
     "2023-06-21T15:14:49Z"},
    {"pexels/search_red_flower_page2.json", "pexels", 5,
     "https://www.pexels.com/photo/female-monarch-butterfly-perching-on-red-petal-flower-1557208/", ""},
    {"pixabay/nature_london.json", "pixabay", 3,
     "https://pixabay.com/photos/daffodils-spring-2020-03-07-garden-4910149/", ""},
    {"youtube-data/search_by_keywords_p1.json", "youtube", 25, "https://www.youtube.com/watch?v=gQ_1zX-F_No",
     "2019-12-05T19:00:10.000Z"},
    {"youtube-data/search_by_keywords_p2.json", "youtube", 25, "https://www.youtube.com/watch?v=-2IlD-x8wvY",
     "2019-09-01T17:16:15.000Z"},
    {"youtube-data/search_channels.json", "youtube-channels", 5,
     "https://www.youtube.com/channel/UCxRULEz6kS0PMxCzOY25GhQ", "2009-09-02T23:35:38.000Z"},
    {"peertube/search_fsf_p1.json", "peertube", 12,
     "https://framatube.org/videos/watch/9cb99a6e-b1e2-4636-8a22-f746c0244227", "2018-05-16T13:21:31.487Z"},
    {"peertube/search_fsf_p2.json", "peertube", 12,
     "https://framatube.org/videos/watch/e9961a1e-a4f6-4ec1-8e55-500558e4c133", "2022-04-04T07:20:24.588Z"},
    {"peertube/sepiasearch_kde.json", "sepia-search", 12,
     "https://tube.kockatoo.org/videos/watch/23d6717f-0cce-4288-ac48-caf75dd47692",
     "2021-08-09T17:24:17.780Z"},
    {"media-ccc/events_search_linux.json", "media-ccc", 25,
     "https://media.ccc.de/v/clt23-226-linux-router-mit-alpine-linux", "2023-03-12T00:00:00.000+01:00"},
    {"soundcloud/search_tracks_p1.json", "soundcloud", 10,
     "https://soundcloud.com/matthew-sibley-1/cirque-du-soleil-alegria-alegria-mega-mashup",
     "2017-01-06T08:22:32Z"},
    {"bandcamp/search_best_friends_basement.html", "bandcamp", 14,
     "https://zachbenson.bandcamp.com/track/"
     "best-friends-basement?from=search&search_item_id=2308057422&search_item_type=t&search_match_part=%3F&"
     "search_page_id=5446210059&search_page_no=1&search_rank=1&search_sig=2c9025edfaa75af4188db14cfc7efcc9",
     "2017-11-24"},
    {"bandcamp/search_noise_p1.html", "bandcamp", 18,
     "https://"
     "joyfulnoise.bandcamp.com?from=search&search_item_id=989019675&search_item_type=b&search_match_part=%3F&"
     "search_page_id=5446209866&search_page_no=1&search_rank=1&search_sig=9bf55fb3501a3dbcbd7aa516438d8a98",
     ""},
    {"jira/search_issues.json", "jira", 11, "https://company.atlassian.net/browse/SAMPLEPROJECT-13",
     "2011-12-15T15:35:06.000+1300"},
    {"servicenow/table_incident.json", "servicenow", 1,
     "https://company.service-now.com/nav_to.do?uri=incident.do%3Fsys_id=1c741bd70b2322007518478d83673af3",
     "2016-12-14 02:46:44"},
    {"notion/database_query.json", "notion", 1,
     "https://www.notion.so/Nicolas-Goutay-c7fd1abe811444eabe779632ea33e581", "2021-08-29T17:45:00.000Z"},
    {"notion/search.json", "notion", 1,
     "https://www.notion.so/Nicolas-Goutay-c7fd1abe811444eabe779632ea33e581", "2021-05-25T20:17:00.000Z"},
    {"notion/search_page1.json", "notion", 1,
     "https://www.notion.so/Nicolas-Goutay-c7fd1abe811444eabe779632ea33e581", "2021-05-25T20:17:00.000Z"},
    {"notion/search_with_query.json", "notion", 1,
     "https://www.notion.so/Nicolas-Goutay-c7fd1abe811444eabe779632ea33e581", "2021-05-25T20:17:00.000Z"},
    {"slack/search_messages.json", "slack", 2,
     "https://hitchhikers.slack.com/archives/C12345678/p1508284197000015", "2017-10-17T23:49:57Z"},
    {"microsoft-graph/search_query_externalitem.json", "sharepoint", 1,
     "https://graph.microsoft.com/v1.0/external/items/1", ""},
    {"microsoft-graph/search_query_listitem.json", "sharepoint", 1,
     "https://graph.microsoft.com/v1.0/external/items/1", "2023-03-09T18:52:26Z"},
    {"zendesk/search_export_users_1.json", "zendesk", 1,
     "https://company.zendesk.com/agent/tickets/7589504354813", "2023-09-18T20:36:04Z"},
    {"zendesk/search_export_users_2.json", "zendesk", 1,
     "https://company.zendesk.com/agent/tickets/7589504229885", "2024-03-29T22:27:53Z"},
    {"box/search_query_200.json", "box", 5, "https://app.box.com/file/11111", "2018-04-24T15:08:58-07:00"},
    {"dropbox/search_continue_v2.json", "dropbox", 1,
     "https://www.dropbox.com/home/dropbox_api_fixtures/search/findable_file.txt", "2021-04-23T21:21:38Z"},
    {"dropbox/search_v2.json", "dropbox", 1,
     "https://www.dropbox.com/home/dropbox_api_fixtures/search/findable_file.txt", "2021-02-07T10:29:48Z"},
    {"dropbox/search_v2_cursor.json", "dropbox", 1,
     "https://www.dropbox.com/home/dropbox_api_fixtures/create_file_request", ""},
    {"algolia/query_financial.json", "algolia", 7,
     "https://forum.example.org/posts/%2Fen%2Finsights%2Ffinancial-well-being-the-employee-view", ""},
    {"algolia/query_lifestage_page1.json", "algolia", 2,
     "https://forum.example.org/posts/%2Fen%2Flifestages%2Folder_people_in_retirement", ""},
    {"openai-vector-store/search.json", "openai-vector-store", 2,
     "https://platform.openai.com/storage/files/file-abc123", ""},
    {"html-serp/bing/search_results.html", "bing", 10, "http://test.test", ""},
    {"html-serp/bing/test_keyword_page1.html", "bing", 6,
     "https://support.smartbear.com/testcomplete/docs/keyword-testing/index.html", ""},
    {"html-serp/brave/javascript_tutorial.html", "brave-page", 20, "https://www.w3schools.com/js/", ""},
    {"html-serp/duckduckgo/search_results.html", "duckduckgo", 10, "http://test.test", ""},
    {"html-serp/duckduckgo/test_keyword_page1.html", "duckduckgo", 10,
     "https://support.smartbear.com/testcomplete/docs/keyword-testing/index.html", ""},
    {"html-serp/duckduckgo/test_keyword_page2.html", "duckduckgo", 29,
     "https://support.smartbear.com/testcomplete/docs/keyword-testing/index.html", ""},
    {"html-serp/google/raw_simpsons.html", "google", 10, "https://www.simpsonsworld.com/", ""},
    {"html-serp/google/search_results.html", "google", 8, "http://test.test", ""},
    {"html-serp/startpage/javascript_tutorial.html", "startpage", 10, "https://www.w3schools.com/js/", ""},
    {"html-serp/startpage/javascript_tutorial_http.html", "startpage", 10, "https://www.w3schools.com/js/",
     ""},
    {"html-serp/mojeek/javascript_tutorial.html", "mojeek", 10, "https://javascript.info/", ""},
    {"html-serp/yahoo/javascript_tutorial.html", "yahoo", 7, "https://www.w3schools.com/Js/", ""},
    {"html-serp/yandex/search_results.html", "yandex", 11, "http://test.test", ""},
    {"html-serp/baidu/search_results.html", "baidu-page", 6, "http://test.test", ""},
    {"html-serp/ecosia/search_results.html", "ecosia", 10, "http://test.test", ""},
    {"html-serp/pypi/search.html", "pypi", 20, "https://pypi.org/project/sqlalchemy/", ""},
};

}  // namespace

TEST_CASE("Every recorded answer is parsed by its definition of the catalogue",
          "[fetchers][parsers][catalogue]") {
  const auto folder = test::data_folder("search-responses", test::kAnswersSource);
  if (!folder) return;
  std::map<std::string, Engine> engines;
  for (const CatalogueEntry& entry : catalogue())
    if (auto file = parse_engine_file("engines:\n" + std::string(entry.text), "catalogue.yaml"))
      engines.emplace(entry.name, file->engines.front());
  for (const Expected& expected : kExpected) {
    INFO(expected.file);
    const auto engine = engines.find(expected.engine);
    REQUIRE(engine != engines.end());
    auto body = read_text(*folder + "/" + expected.file, 1 << 24);
    REQUIRE(body.has_value());
    const auto ready = ready_access(engine->second, SecretLookup());
    REQUIRE(ready.has_value());
    const Clock& clock = machine_clock();
    const FetchOptions options{.deadline = Deadline(clock, Duration(0))};
    const EngineRequest request = build_request(engine->second, *ready, "x", options, 1);
    const std::string language = request_language(ready->access, options);
    const auto list = parse_answer(ready->access.answer, *body, {request.url, "", language});
    REQUIRE(list.has_value());
    REQUIRE(static_cast<int>(list->hits.size()) == expected.results);
    CHECK(list->hits.front().url == expected.first_url);
    CHECK(list->hits.front().published == expected.first_date);
    for (const Hit& hit : list->hits) CHECK_FALSE(hit.title.empty());
  }
}

TEST_CASE("Answers recorded from Debian's own engines are parsed by their engine types",
          "[fetchers][parsers]") {
  struct Recorded {
    const char* file;
    const char* definition;
    std::vector<std::string> urls;
    const char* first_title;
    const char* first_text;
  };
  const std::vector<std::string> otters = {"http://otter.example/rivers", "http://otter.example/food",
                                           "http://beaver.example/dams"};
  const std::vector<Recorded> recorded = {
      {"groonga.json",
       "{name: g, engine: groonga, base_url: 'http://127.0.0.1:8080', table: Pages, match_columns: title}",
       otters, "Otters & rivers", "Where otters swim, and why a river <needs> them"},
      {"omega.xml", "{name: o, engine: omega, base_url: 'http://127.0.0.1:8080/omega', database: default}",
       otters, "Otters & rivers", "Where otters swim, and why a river them"},
      {"nginx.json",
       "{name: n, engine: json_engine, search_url: 'http://127.0.0.1:8080/manuals/?q={query}', url_query: "
       "name, "
       "title_query: name, url_prefix: 'http://127.0.0.1:8080/manuals/'}",
       {"http://127.0.0.1:8080/manuals/heron.txt", "http://127.0.0.1:8080/manuals/mole.txt",
        "http://127.0.0.1:8080/manuals/otters.html"},
       "heron.txt",
       ""}};
  for (const Recorded& each : recorded) {
    INFO(each.file);
    const auto file = parse_engine_file("engines: [" + std::string(each.definition) + "]\n", "engines.yaml");
    if (!file) FAIL(file.error().text);
    const auto body =
        read_text(std::string(METAFUSE_SOURCE_DIR) + "/tests/data/recorded/" + each.file, 1 << 20);
    REQUIRE(body.has_value());
    const auto ready = ready_access(file->engines.front(), SecretLookup());
    REQUIRE(ready.has_value());
    const Clock& clock = machine_clock();
    const FetchOptions options{.deadline = Deadline(clock, Duration(0))};
    const EngineRequest request = build_request(file->engines.front(), *ready, "otters", options, 1);
    const auto list = parse_answer(ready->access.answer, *body,
                                   {request.url, "", request_language(ready->access, options)});
    if (!list) FAIL(list.error().text);
    std::vector<std::string> urls;
    for (const Hit& hit : list->hits) urls.push_back(hit.url);
    CHECK(urls == each.urls);
    CHECK(list->hits.front().title == each.first_title);
    CHECK(list->hits.front().snippet == each.first_text);
  }
}

TEST_CASE("Identifiers of recorded answers are found in the first of two steps", "[fetchers][steps]") {
  const auto folder = test::data_folder("search-responses", test::kAnswersSource);
  if (!folder) return;
  const auto ids = [&](const std::string& name) {
    const auto body = read_text(*folder + "/pubmed-eutils/" + name, 1 << 24);
    REQUIRE(body.has_value());
    const auto found = answer_texts(AnswerRules::Format::xml, "//IdList/Id", *body, {}, 1000);
    REQUIRE(found.has_value());
    return *found;
  };
  CHECK(ids("esearch1.xml").size() == 20);
  CHECK(ids("esearch2.xml").size() == 100);
  CHECK(ids("esearch1.xml").front() == "41282813");
  CHECK(ids("esearch8.xml").empty());
  CHECK(ids("ft_search_entrez-1.xml").size() == 200);
}
