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
#include "core/text_file.h"
#include "core/url.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kSignatureLength = 32;
constexpr std::size_t kLongestPath = 2048;
constexpr std::size_t kMaxPictureUrl = 2048;
constexpr std::size_t kSignatureDigits = 24;

/// What files are sent as. Types that a browser could run are sent as plain text or to be saved; HTML is
/// shown in a sandbox.
struct FileType {
  std::string_view ending, media_type;
  bool is_shown;
};

constexpr FileType kPlainText{"", "text/plain; charset=utf-8", true};
constexpr FileType kUnknownBytes{"", "application/octet-stream", false};
constexpr std::array kFileTypes = {
    FileType{".html", "text/html", true},
    FileType{".htm", "text/html", true},
    FileType{".xhtml", "text/html", true},
    FileType{".png", "image/png", true},
    FileType{".jpg", "image/jpeg", true},
    FileType{".jpeg", "image/jpeg", true},
    FileType{".gif", "image/gif", true},
    FileType{".webp", "image/webp", true},
    FileType{".pdf", "application/pdf", false},
    FileType{".epub", "application/epub+zip", false},
    FileType{".rtf", "application/rtf", false},
    FileType{".odt", "application/vnd.oasis.opendocument.text", false},
    FileType{".ods", "application/vnd.oasis.opendocument.spreadsheet", false},
    FileType{".odp", "application/vnd.oasis.opendocument.presentation", false},
    FileType{".docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", false},
    FileType{".xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", false},
    FileType{".pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation", false}};

/// The ending of a path's last part with its dot, in lower case.
std::string ending_of_path(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos || path.find('/', dot) != std::string_view::npos
             ? std::string()
             : ascii_lower(path.substr(dot));
}

/// A file's name without .gz, .xz or .zst.
std::string_view unpacked_name(std::string_view name) {
  const std::string ending = ending_of_path(name);
  if (ending == ".gz" || ending == ".xz" || ending == ".zst") name.remove_suffix(ending.size());
  return name;
}

const FileType& type_of_file(std::string_view name, std::string_view bytes) {
  const std::string ending = ending_of_path(name);
  const auto found = std::find_if(kFileTypes.begin(), kFileTypes.end(),
                                  [&](const FileType& type) { return type.ending == ending; });
  if (found != kFileTypes.end()) return *found;
  return bytes.find('\0') == std::string_view::npos ? kPlainText : kUnknownBytes;
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

/// Opens a file below one of the folders.
/// errors: as read_local_file()
Result<int> open_local_file(const std::vector<std::string>& folders, const std::string& path) {
  for (const std::string& folder : folders) {
    const auto inside = below(folder, path);
    if (!inside) continue;
    const Descriptor start(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const int file = start.is_open() ? open_beneath(start.number(), *inside) : -1;
    if (file < 0) return fail(Code::no_input, path + ": " + std::strerror(errno));
    struct stat facts {};
    const bool is_file = ::fstat(file, &facts) == 0 && S_ISREG(facts.st_mode);
    if (is_file && facts.st_size <= static_cast<off_t>(kMostFileBytes)) return file;
    ::close(file);
    if (!is_file) return fail(Code::no_input, path + " is not a regular file");
    return fail(Code::no_input, path + " is larger than 16 MiB; open it on the machine itself");
  }
  return fail(Code::no_input, path + " is not below the folders that files: names");
}

/// Reads an open file, decompressed if its name says that it is compressed.
Result<std::string> read_opened(int file, const std::string& path) {
  const bool is_packed = unpacked_name(path).size() < path.size();
  if (is_packed) {
    auto text = read_text("/proc/self/fd/" + std::to_string(file), kMostFileBytes);
    if (!text) return fail(Code::no_input, path + " is damaged, or larger than 16 MiB when decompressed");
    return text;
  }
  struct stat facts {};
  std::string bytes(::fstat(file, &facts) == 0 ? static_cast<std::size_t>(facts.st_size) : 0, '\0');
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
  if (first_invalid_utf8(path) != std::string::npos) return {};  // no parameter can have such a value
  const auto file = path.empty() ? Result<int>(-1) : open_local_file(folders, path);
  if (!file || *file < 0) return {};
  ::close(*file);
  return "/files/" + percent_encoded(domain) + "?path=" + percent_encoded(path) +
         "&sign=" + signature_of(secret, domain, path);
}

bool FileLinks::has_signed(std::string_view domain, std::string_view path, std::string_view signature) const {
  return !folders.empty() && equal_in_constant_time(signature_of(secret, domain, path), signature);
}

Result<LocalFile> read_local_file(const std::vector<std::string>& folders, const std::string& path) {
  TRY(const int number, open_local_file(folders, path));
  const Descriptor file(number);
  TRY(auto bytes, read_opened(file.number(), path));
  const std::string name(unpacked_name(std::string_view(path).substr(path.rfind('/') + 1)));
  const FileType& type = type_of_file(name, bytes);
  return LocalFile{type.media_type, type.is_shown, name, std::move(bytes)};
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
