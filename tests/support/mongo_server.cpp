#include "tests/support/mongo_server.h"

#include <cstring>
#include <stdexcept>

#include <bson/bson.h>
#include <fmt/format.h>
#include <sys/socket.h>

namespace metafuse::test {
namespace {

constexpr std::int32_t kOpReply = 1, kOpQuery = 2004, kOpMessage = 2013;

bool receive_all(int socket, char* into, std::size_t size) {
  return size == 0 || ::recv(socket, into, size, MSG_WAITALL) == static_cast<ssize_t>(size);
}

std::int32_t number_at(const std::string& bytes, std::size_t at) {
  std::int32_t value = 0;
  if (at + 4 <= bytes.size()) std::memcpy(&value, bytes.data() + at, 4);
  return value;
}

std::string as_bytes(std::int32_t value) {
  std::string out(4, '\0');
  std::memcpy(out.data(), &value, 4);
  return out;
}

JsonObject json_of_bson(const std::string& bytes, std::size_t at) {
  bson_t document;
  const auto size = static_cast<std::size_t>(number_at(bytes, at));
  if (at + size > bytes.size() ||
      !bson_init_static(&document, reinterpret_cast<const std::uint8_t*>(bytes.data()) + at, size))
    throw std::runtime_error("no BSON");
  char* text = bson_as_relaxed_extended_json(&document, nullptr);
  const auto json = parse_json(text, "command");
  bson_free(text);
  return json.value().as_object();
}

std::string bson_of_json(const std::string& text) {
  bson_error_t error{};
  bson_t* document = bson_new_from_json(reinterpret_cast<const std::uint8_t*>(text.data()),
                                        static_cast<ssize_t>(text.size()), &error);
  if (document == nullptr) throw std::runtime_error(error.message);
  std::string out(reinterpret_cast<const char*>(bson_get_data(document)), document->len);
  bson_destroy(document);
  return out;
}

std::string message(std::int32_t operation, std::int32_t to, const std::string& body) {
  return as_bytes(static_cast<std::int32_t>(16 + body.size())) + as_bytes(1) + as_bytes(to) +
         as_bytes(operation) + body;
}

std::string cursor_reply(const std::vector<std::string>& documents, std::string_view batch, int id) {
  std::string list;
  for (const std::string& document : documents) list += (list.empty() ? "" : ",") + document;
  return fmt::format(R"({{"cursor":{{"id":{{"$numberLong":"{}"}},"ns":"d.c","{}":[{}]}},"ok":1.0}})", id,
                     batch, list);
}

}  // namespace

MongoServer::MongoServer(Aggregate aggregate)
    : aggregate_(std::move(aggregate)), server_([this](int socket) { serve(socket); }) {}

JsonObject MongoServer::last_command() const {
  const std::lock_guard lock(mutex_);
  return last_command_;
}

std::string MongoServer::reply_to(const JsonObject& command, bool& hangs) {
  const std::string name(command.begin()->key());
  if (name == "hello" || name == "isMaster" || name == "ismaster")
    return R"({"ismaster":true,"isWritablePrimary":true,"helloOk":true,"maxBsonObjectSize":16777216,)"
           R"("maxMessageSizeBytes":48000000,"maxWriteBatchSize":100000,"minWireVersion":0,)"
           R"("maxWireVersion":17,"ok":1.0})";
  const std::lock_guard lock(mutex_);
  if (name == "killCursors" || name == "endSessions" || name == "ping") return R"({"ok":1.0})";
  if (name == "getMore") return cursor_reply(std::exchange(rest_, {}), "nextBatch", 0);
  last_command_ = command;
  if (name != "aggregate") return R"({"ok":0.0,"code":59,"codeName":"CommandNotFound","errmsg":"no such"})";
  Answer answer = aggregate_(command);
  hangs = answer.hangs;
  if (answer.error_code != 0)
    return fmt::format(R"({{"ok":0.0,"code":{},"errmsg":{}}})", answer.error_code,
                       to_text(Json(answer.error)));
  // Two batches if there is more than one document.
  const auto first = static_cast<std::ptrdiff_t>((answer.documents.size() + 1) / 2);
  rest_.assign(answer.documents.begin() + first, answer.documents.end());
  answer.documents.resize(static_cast<std::size_t>(first));
  return cursor_reply(answer.documents, "firstBatch", rest_.empty() ? 0 : 7);
}

void MongoServer::serve(int socket) {
  while (true) {
    std::string head(16, '\0');
    if (!receive_all(socket, head.data(), 16)) return;
    const auto size = number_at(head, 0);
    if (size < 16 || size > (1 << 20)) return;
    std::string body(static_cast<std::size_t>(size) - 16, '\0');
    if (!receive_all(socket, body.data(), body.size())) return;
    const std::int32_t operation = number_at(head, 12);
    bool hangs = false;
    std::string reply;
    if (operation == kOpQuery) {  // flags, "db.$cmd", two numbers, a document
      const std::size_t at = body.find('\0', 4) + 9;
      const std::string document = bson_of_json(reply_to(json_of_bson(body, at), hangs));
      reply = message(kOpReply, number_at(head, 4),
                      as_bytes(8) + std::string(8, '\0') + as_bytes(0) + as_bytes(1) + document);
    } else if (operation == kOpMessage) {  // flags, a section of kind 0
      const std::string document = bson_of_json(reply_to(json_of_bson(body, 5), hangs));
      reply = message(kOpMessage, number_at(head, 4), as_bytes(0) + std::string(1, '\0') + document);
    } else {
      return;
    }
    if (hangs) {
      receive_all(socket, head.data(), 1);
      return;
    }
    if (!send_all(socket, reply)) return;
  }
}

}  // namespace metafuse::test
