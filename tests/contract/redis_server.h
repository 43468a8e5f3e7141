#pragma once
// A real redis-server for a test: on a unix socket in a folder of its own, nothing persisted, gone with its owner (and,
// should the test be killed, with the test).
#include <hiredis/hiredis.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lease/redis_reply.h"
namespace moult {
// A client that waits for each answer, or for those of many questions sent at once.
class RedisClient {
 public:
  explicit RedisClient(const std::string& socket) : context_(redisConnectUnix(socket.c_str()), redisFree) {}
  bool connected() const { return context_ && context_->err == 0; }

  void send(const std::vector<std::string>& words) {
    std::vector<const char*> texts;
    std::vector<std::size_t> sizes;
    for (const std::string& word : words) texts.push_back(word.data()), sizes.push_back(word.size());
    redisAppendCommandArgv(context_.get(), static_cast<int>(words.size()), texts.data(), sizes.data());
  }
  RedisReply receive() {
    void* reply = nullptr;
    if (redisGetReply(context_.get(), &reply) != REDIS_OK)
      throw std::runtime_error(std::string("the store is gone: ") + context_->errstr);
    const std::unique_ptr<void, decltype(&freeReplyObject)> owner(reply, freeReplyObject);
    return value_of(*static_cast<const redisReply*>(reply));
  }
  RedisReply ask(const std::vector<std::string>& words) {
    send(words);
    return receive();
  }

 private:
  static RedisReply value_of(const redisReply& reply) {
    const std::string text(reply.str ? reply.str : "", reply.str ? reply.len : 0);
    switch (reply.type) {
      case REDIS_REPLY_INTEGER: return {std::int64_t{reply.integer}};
      case REDIS_REPLY_ERROR: return {RedisError{text.substr(0, text.find(' ')), text}};
      case REDIS_REPLY_NIL: return {RedisNil{}};
      case REDIS_REPLY_ARRAY: break;
      default: return {text};
    }
    RedisReply::Array all;
    for (std::size_t i = 0; i < reply.elements; ++i) all.push_back(value_of(*reply.element[i]));
    return {std::move(all)};
  }
  std::unique_ptr<redisContext, decltype(&redisFree)> context_;
};

class RedisServer {
 public:
  explicit RedisServer(std::vector<std::string> more = {}, std::string program = "redis-server")
      : program_(std::move(program)), more_(std::move(more)) {
    std::string folder = std::filesystem::temp_directory_path() / "moult-store-XXXXXX";
    if (!mkdtemp(folder.data())) throw std::runtime_error("no temporary folder can be made");
    folder_ = folder;
    start();
  }
  ~RedisServer() {
    stop();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  std::string socket() const { return folder_ / "store.sock"; }
  const std::filesystem::path& folder() const { return folder_; }
  pid_t pid() const { return pid_; }
  // For the next start(): "NAME=VALUE", in the environment of the server alone.
  void set_environment(std::vector<std::string> variables) { environment_ = std::move(variables); }
  void signal(int number) const { ::kill(pid_, number); }
  void stop() {  // killed: what is not on disk is lost
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, 0), nullptr, 0);
    std::error_code ignored;
    std::filesystem::remove(socket(), ignored);
  }
  void start() {
    std::vector<std::string> words{program_, "--port",       "0",  "--unixsocket", socket(), "--dir", folder_, "--save",
                                   "",       "--appendonly", "no", "--loglevel",   "warning"};
    words.insert(words.end(), more_.begin(), more_.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::fflush(stdout);  // else the child says it once more
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (std::string& variable : environment_) ::putenv(variable.data());
      if (!std::freopen((folder_ / "log").c_str(), "a", stdout)) ::_exit(126);
      ::execvp(arguments[0], arguments.data());
      ::_exit(127);
    }
    wait_until_it_answers();
  }

 private:
  void wait_until_it_answers() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < deadline) {
      if (::waitpid(pid_, nullptr, WNOHANG) != 0) {
        pid_ = 0;
        break;
      }
      RedisClient client(socket());
      if (client.connected() && client.ask({"PING"}).as<std::string>()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    throw std::runtime_error(program_ + " does not answer on " + socket() + ": run tools/setup?");
  }
  std::string program_;
  std::vector<std::string> more_, environment_;
  std::filesystem::path folder_;
  pid_t pid_ = 0;
};
}  // namespace moult
