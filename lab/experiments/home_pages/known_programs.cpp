#include <algorithm>

#include <fmt/format.h>

#include "fusion/model/fuse.h"
#include "lab/experiments/home_pages/home_pages.h"
#include "lab/experiments/trials.h"

namespace metafuse::lab::experiments::home_pages {
namespace {

/// A query that newcomers type first, and the source packages of well-known programs for it, with blanks
/// between them. The experiment
/// prints the results beside its verdict, so that readers can judge for themselves.
struct FirstQuery {
  const char* words;
  const char* known;
};

const FirstQuery kFirstQueries[] = {
    {"text editor", "emacs vim neovim nano gedit kate geany mousepad notepadqq pluma"},
    {"image editor", "gimp krita inkscape kolourpaint pinta digikam darktable imagemagick"},
    {"email client", "thunderbird evolution kmail claws-mail mutt neomutt geary alpine"},
    {"web browser", "firefox-esr firefox chromium epiphany-browser konqueror falkon lynx w3m"},
    {"terminal emulator",
     "gnome-terminal gnome-console konsole xterm xfce4-terminal kitty alacritty foot rxvt-unicode "
     "terminator"},
    {"music player", "rhythmbox clementine amarok audacious mpd vlc elisa-player cmus strawberry quodlibet"},
    {"pdf viewer", "evince okular mupdf zathura xpdf atril qpdfview"},
    {"database server", "postgresql mariadb mysql-8.0 redis firebird3.0 sqlite3"},
    {"version control", "git subversion mercurial cvs breezy fossil darcs"},
    {"spreadsheet", "libreoffice gnumeric calligra sc onlyoffice"},
    {"file manager", "nautilus dolphin thunar pcmanfm nemo caja mc ranger krusader"},
    {"video player", "mpv vlc totem mplayer smplayer dragon celluloid xine-ui kodi"},
    {"image viewer", "eog gwenview feh eom lximage-qt gthumb geeqie ristretto nomacs"},
    {"web server", "apache2 nginx lighttpd caddy thttpd"},
    {"irc client", "hexchat weechat irssi quassel polari konversation pidgin"},
    {"password manager", "keepassxc keepass2 password-store kwalletmanager seahorse pass"},
    {"bittorrent client", "transmission deluge qbittorrent rtorrent ktorrent aria2"},
    {"debugger", "gdb valgrind llvm-toolchain ddd strace kdbg"},
    {"mail server", "postfix exim4 dovecot sendmail courier opensmtpd"},
    {"window manager", "openbox i3-wm fluxbox wmaker awesome icewm sway metacity mutter kwin xfwm4 fvwm"},
};

/// The name of a source package without a version at its end: "postgresql-15" becomes "postgresql".
std::string without_version(std::string name) {
  const std::size_t dash = name.rfind('-');
  const bool is_versioned = dash != std::string::npos && dash + 1 < name.size() &&
                            name.find_first_not_of("0123456789.", dash + 1) == std::string::npos;
  return is_versioned ? name.substr(0, dash) : name;
}

/// The titles of the first results when a model fuses the lists, best first.
std::vector<std::string> first_titles(const fusion::Model& model, const std::vector<RankedList>& lists,
                                      std::size_t count) {
  std::map<std::string_view, const Hit*> hit_of;
  for (const RankedList& list : lists)
    for (const Hit& hit : list.hits) hit_of.emplace(hit.key, &hit);
  const auto keys = keys_of(lists);
  const std::vector<fusion::RankedIds> ranked(keys.begin(), keys.end());
  const fusion::FusedRanking fused = fusion::fuse(model, ranked);
  std::vector<std::string> titles;
  for (std::size_t i = 0; i < std::min(count, fused.order.size()); ++i)
    titles.push_back(hit_of.at(fused.instances.documents[fused.order[i]])->title);
  return titles;
}

}  // namespace

Result<std::vector<KnownProgram>> known_programs(const IndexedPages& pages, const fusion::Model& model) {
  std::vector<KnownProgram> out;
  for (const FirstQuery& query : kFirstQueries) {
    TRY(const auto lists, pages.lists({{{"TOPIC", query.words}}}));
    KnownProgram row{query.words, first_titles(model, lists, kFirstResults), false};
    const std::string known = fmt::format(" {} ", query.known);
    for (const std::string& title : row.titles)
      for (const std::string& name : {title, without_version(title)})
        row.is_known = row.is_known || known.find(" " + name + " ") != std::string::npos;
    out.push_back(std::move(row));
  }
  return out;
}

Result<OwnNames> own_names(const IndexedPages& pages, const fusion::Model& model) {
  constexpr std::size_t kAsked = 150;
  std::map<std::string_view, std::size_t> pages_named;
  std::vector<const HomePage*> asked;
  for (const HomePage& page : pages.pages()) ++pages_named[page.project];
  for (const HomePage& page : pages.pages())
    if (pages_named.at(page.project) == 1) asked.push_back(&page);
  std::stable_sort(asked.begin(), asked.end(),
                   [](const HomePage* a, const HomePage* b) { return a->dependants > b->dependants; });
  asked.resize(std::min(asked.size(), kAsked));
  OwnNames out{asked.size(), 0, 0};
  for (const HomePage* page : asked) {
    TRY(const auto lists, pages.lists({{{"TOPIC", page->project}}}));
    const auto titles = first_titles(model, lists, kFirstResults);
    const auto place = std::find(titles.begin(), titles.end(), page->project);
    if (place == titles.begin() && !titles.empty())
      ++out.first;
    else
      out.not_first.push_back(page->project);
    out.among_three += place != titles.end() ? 1 : 0;
  }
  return out;
}

Result<fusion::Model> demonstration_model(const IndexedPages& pages, std::uint64_t seed, unsigned threads) {
  SampleOptions sampling;
  sampling.seed = seed;
  TRY(const auto set, pages.record(sampling, threads));
  return train({"rankboost", "", {{"rounds", std::to_string(kDemonstrationRounds)}}}, set);
}

}  // namespace metafuse::lab::experiments::home_pages
