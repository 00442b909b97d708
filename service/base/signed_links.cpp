#include "service/base/signed_links.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/digest.h"
#include "core/encoding.h"
#include "core/text.h"
#include "core/url.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kSignatureLength = 32;
constexpr std::size_t kLongestPath = 2048;
constexpr std::size_t kMaxPictureUrl = 2048;
constexpr std::size_t kSignatureDigits = 24;

struct FileType {
  std::string_view ending, media_type;
  bool is_shown;
};

/// The types that are handed out. Types that a browser could run are sent as plain text or to be saved; HTML
/// is shown in a sandbox.
constexpr std::array kFileTypes = {FileType{".html", "text/html", true},
                                   FileType{".htm", "text/html", true},
                                   FileType{".txt", "text/plain; charset=utf-8", true},
                                   FileType{".md", "text/plain; charset=utf-8", true},
                                   FileType{".markdown", "text/plain; charset=utf-8", true},
                                   FileType{".csv", "text/plain; charset=utf-8", true},
                                   FileType{".json", "text/plain; charset=utf-8", true},
                                   FileType{".jsonl", "text/plain; charset=utf-8", true},
                                   FileType{".xml", "text/plain; charset=utf-8", true},
                                   FileType{".png", "image/png", true},
                                   FileType{".jpg", "image/jpeg", true},
                                   FileType{".jpeg", "image/jpeg", true},
                                   FileType{".gif", "image/gif", true},
                                   FileType{".webp", "image/webp", true},
                                   FileType{".pdf", "application/pdf", false},
                                   FileType{".epub", "application/epub+zip", false},
                                   FileType{".odt", "application/vnd.oasis.opendocument.text", false}};

const FileType* type_of_file(std::string_view path) {
  const std::string lower = ascii_lower(path.substr(std::min(path.rfind('.'), path.size())));
  const auto found = std::find_if(kFileTypes.begin(), kFileTypes.end(),
                                  [&](const FileType& type) { return type.ending == lower; });
  return found == kFileTypes.end() ? nullptr : &*found;
}

/// The path relative to the folder; nothing if it is not below the folder.
std::optional<std::string> below(const std::string& folder, std::string_view path) {
  const std::string_view start = std::string_view(folder).substr(0, folder.find_last_not_of('/') + 1);
  if (!path.starts_with(start) || path.size() < start.size() + 2 || path[start.size()] != '/')
    return std::nullopt;
  return std::string(path.substr(start.size() + 1));
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }

 private:
  int number_;
};

/// Opens a path relative to a folder. The kernel refuses every path that leads out of the folder.
int open_beneath(int folder, const std::string& path) {
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how));
}

Result<std::string> read_opened(int file, const std::string& path) {
  struct stat facts {};
  if (::fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode))
    return fail(Code::no_input, path + " is not a regular file");
  if (facts.st_size > static_cast<off_t>(kMostFileBytes))
    return fail(Code::no_input, path + " is larger than 16 MiB; open it on the machine itself");
  std::string bytes(static_cast<std::size_t>(facts.st_size), '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t count = ::read(file, bytes.data() + have, bytes.size() - have);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(Code::no_input, path + ": " + std::strerror(errno));
    if (count == 0) break;
    have += static_cast<std::size_t>(count);
  }
  bytes.resize(have);
  return bytes;
}

std::string signature_of(const std::string& secret, std::string_view domain, std::string_view path) {
  return hmac_sha256_hex(secret, "file " + std::string(domain) + ' ' + std::string(path))
      .substr(0, kSignatureLength);
}

}  // namespace

std::string path_of_file_url(std::string_view url) {
  for (const std::string_view start : {"file://localhost/", "file:///"}) {
    if (!url.starts_with(start)) continue;
    url.remove_prefix(start.size() - 1);
    const std::string path = percent_decoded(url.substr(0, url.find_first_of("?#")));
    const bool has_control = std::any_of(
        path.begin(), path.end(), [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7F'; });
    // Hidden files are not indexed; this check also refuses "." and "..".
    const bool has_hidden = path.find("/.") != std::string::npos;
    return path.size() > kLongestPath || has_control || has_hidden ? std::string() : path;
  }
  return {};
}

std::string FileLinks::link(std::string_view domain, std::string_view url) const {
  if (folders.empty() || !url.starts_with("file:")) return {};
  const std::string path = path_of_file_url(url);
  if (path.empty() || type_of_file(path) == nullptr) return {};
  const bool is_inside = std::any_of(folders.begin(), folders.end(), [&](const std::string& folder) {
    return below(folder, path).has_value();
  });
  if (!is_inside) return {};
  return "/files/" + percent_encoded(domain) + "?path=" + percent_encoded(path) +
         "&sign=" + signature_of(secret, domain, path);
}

bool FileLinks::has_signed(std::string_view domain, std::string_view path, std::string_view signature) const {
  return !folders.empty() && equal_in_constant_time(signature_of(secret, domain, path), signature);
}

Result<LocalFile> read_local_file(const std::vector<std::string>& folders, const std::string& path) {
  const FileType* type = type_of_file(path);
  if (type == nullptr) return fail(Code::no_input, path + ": files of this type cannot be opened");
  for (const std::string& folder : folders) {
    const auto inside = below(folder, path);
    if (!inside) continue;
    const Descriptor start(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const Descriptor file(start.is_open() ? open_beneath(start.number(), *inside) : -1);
    if (!file.is_open()) return fail(Code::no_input, path + ": " + std::strerror(errno));
    TRY(auto bytes, read_opened(file.number(), path));
    return LocalFile{type->media_type, type->is_shown, std::move(bytes)};
  }
  return fail(Code::no_input, path + " is not below the folders that files: names");
}

std::string_view name_of(PictureKind kind) {
  return kind == PictureKind::icon ? "icon" : "thumbnail";
}

std::string PictureLinks::signature_of(PictureKind kind, const std::string& text) const {
  return hmac_sha256_hex(secret, "picture " + std::string(name_of(kind)) + ' ' + text)
      .substr(0, kSignatureDigits);
}

std::string PictureLinks::link(PictureKind kind, const std::string& url) const {
  if (!is_on(kind) || url.size() > kMaxPictureUrl) return {};
  const auto parts = parts_of_url(url);
  if (!parts) return {};
  const std::string text = kind == PictureKind::icon ? parts->scheme + "://" + parts->origin() : url;
  return "/picture?" + std::string(name_of(kind)) + '=' + percent_encoded(text) +
         "&sign=" + signature_of(kind, text);
}

std::string PictureLinks::picture_url(PictureKind kind, const std::string& signed_part,
                                      std::string_view signature) const {
  if (!is_on(kind) || !equal_in_constant_time(signature_of(kind, signed_part), signature)) return {};
  return kind == PictureKind::icon ? signed_part + "/favicon.ico" : signed_part;
}

}  // namespace metafuse::service
