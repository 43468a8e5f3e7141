#include "lease/redis_reply.h"

#include <hiredis/hiredis.h>

#include <algorithm>
#include <utility>
namespace moult {
namespace {
RedisError error_from(std::string text) {
  text.resize(std::min(text.size(), longest_error_bytes));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  return {text.substr(0, text.find(' ')), std::move(text)};
}
}  // namespace

std::string redis_command(const std::vector<std::string>& words) {
  std::vector<const char*> texts;
  std::vector<std::size_t> lengths;
  for (const std::string& word : words) {
    texts.push_back(word.data());
    lengths.push_back(word.size());
  }
  char* made = nullptr;
  const int length = redisFormatCommandArgv(&made, static_cast<int>(words.size()), texts.data(), lengths.data());
  std::string command(made, static_cast<std::size_t>(std::max(length, 0)));
  redisFreeCommand(made);
  return command;
}

// hiredis calls back as it reads, parents before their elements; each value is put where it belongs at once.
struct RedisReplies::Reader {
  explicit Reader(ReplyBounds most) : bounds(most) {
    functions.createString = [](const redisReadTask* task, char* text, std::size_t length) -> void* {
      std::string value(text, length);
      if (task->type == REDIS_REPLY_ERROR) return put(task, error_from(std::move(value)));
      return put(task, std::move(value));
    };
    functions.createArray = [](const redisReadTask* task, auto count) -> void* {  // its type depends on the version
      auto* self = static_cast<Reader*>(task->privdata);
      const auto wanted = static_cast<std::size_t>(count);
      self->too_many = wanted > self->bounds.elements - self->elements;
      if (self->too_many) return nullptr;
      self->elements += wanted;
      return put(task, RedisReply::Array(wanted));
    };
    functions.createInteger = [](const redisReadTask* task, long long value) -> void* {
      return put(task, std::int64_t{value});
    };
    functions.createNil = [](const redisReadTask* task) -> void* { return put(task, RedisNil{}); };
    functions.freeObject = [](void*) {};  // all lies in `root`
    reader.reset(redisReaderCreateWithFunctions(&functions));
    reader->privdata = this;
  }

  template <class Value>
  static void* put(const redisReadTask* task, Value value) {
    auto* at = &static_cast<Reader*>(task->privdata)->root;
    if (task->parent)
      at = &std::get<RedisReply::Array>(static_cast<RedisReply*>(task->parent->obj)->value)
                .at(static_cast<std::size_t>(task->idx));
    at->value = std::move(value);
    return at;
  }

  Error refused(const std::string& what) {
    broken = true;
    return Error{"the store's reply cannot be read: " + what};
  }
  std::optional<Result<RedisReply>> next() {
    if (broken) return std::nullopt;
    void* read = nullptr;
    const int status = redisReaderGetReply(reader.get(), &read);
    if (too_many) return refused("it has more than " + std::to_string(bounds.elements) + " elements");
    if (status != REDIS_OK) return refused(reader->errstr);
    const std::size_t left = read ? reader->len - reader->pos : 0;
    if (unread - left > bounds.bytes) return refused("it has more than " + std::to_string(bounds.bytes) + " bytes");
    if (!read) return std::nullopt;
    if (read != &root) return refused("it is of a kind that was not asked for");
    unread = left;
    elements = 0;
    return std::exchange(root, {});
  }

  struct Free {
    void operator()(redisReader* r) const { redisReaderFree(r); }
  };
  ReplyBounds bounds;
  redisReplyObjectFunctions functions{};
  std::unique_ptr<redisReader, Free> reader;
  RedisReply root;
  std::size_t unread = 0;    // bytes fed since the last whole reply
  std::size_t elements = 0;  // of the reply in hand, all levels together
  bool too_many = false, broken = false;
};

RedisReplies::RedisReplies(ReplyBounds bounds) : reader_(std::make_unique<Reader>(bounds)) {}
RedisReplies::~RedisReplies() = default;

void RedisReplies::feed(std::string_view bytes) {
  if (reader_->broken) return;
  reader_->unread += bytes.size();
  redisReaderFeed(reader_->reader.get(), bytes.data(), bytes.size());
}

std::optional<Result<RedisReply>> RedisReplies::next() { return reader_->next(); }
}  // namespace moult
