// An app for the tests of the native fork server: it says in STATUS how it was born, waits for RETIRE and ends with 7.
// MOULT_TEST_PRELOAD tells moult_preload() how to misbehave, the server options `start` and `main` tell
// moult_worker_start() and moult_worker_main().
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

#include "worker/moult_worker.h"

namespace {
std::string oom_score_adj() {
  char text[16] = {};
  std::FILE* file = std::fopen("/proc/self/oom_score_adj", "re");
  if (file == nullptr || std::fgets(text, sizeof text, file) == nullptr) return "?";
  std::fclose(file);
  return std::string(text, std::strcspn(text, "\n"));
}

int signals_away_from_default() {
  int count = 0;
  for (int number = 1; number < SIGRTMIN; ++number) {
    struct sigaction action {};
    if (::sigaction(number, nullptr, &action) == 0 && action.sa_handler != SIG_DFL) ++count;
  }
  return count;
}

std::string birth(const moult::WorkerContext& context) {
  int death_signal = 0;
  ::prctl(PR_GET_PDEATHSIG, &death_signal);
  sigset_t blocked;
  ::sigprocmask(SIG_SETMASK, nullptr, &blocked);
  const char* color = context.server_option("color");
  return "slot=" + std::to_string(context.slot()) + " parent=" + std::to_string(::getppid()) +
         " leader=" + std::to_string(::getpgrp() == ::getpid()) + " death=" + std::to_string(death_signal) +
         " oom=" + oom_score_adj() + " handlers=" + std::to_string(signals_away_from_default()) +
         " blocked=" + std::to_string(!::sigisemptyset(&blocked)) + " color=" + (color != nullptr ? color : "none");
}
}  // namespace

extern "C" int moult_preload() {
  const char* text = std::getenv("MOULT_TEST_PRELOAD");
  const std::string order = text != nullptr ? text : "";
  if (order == "throw") throw std::runtime_error("no database\nanywhere");
  if (order == "fail") return 3;
  if (order == "thread") std::thread([] { ::pause(); }).detach();
  int ends[2];
  if (order == "socket") return ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
  std::printf("loaded\n");  // waits in a buffer: it must come out once, not once a worker
  return 0;
}

extern "C" int moult_worker_start(moult::WorkerContext& context) {
  const char* text = context.server_option("start");
  const std::string order = text != nullptr ? text : "";
  if (order == "throw") throw std::runtime_error("no database");
  if (order == "fail") return 5;
  if (order == "say") context.status(context.slot() == moult::no_slot ? "starts as a spare" : "starts");
  return 0;
}

extern "C" int moult_worker_main(moult::WorkerContext& context) {
  const char* order = context.server_option("main");
  if (order != nullptr && std::strcmp(order, "throw") == 0) throw std::runtime_error("no luck");
  std::printf("to stdout\n");
  std::fprintf(stderr, "to stderr\n");
  context.status(birth(context).c_str());
  context.ready(moult::WorkerDrain::own);
  while (true) {
    pollfd channel{context.channel_fd(), context.channel_events(), 0};
    ::poll(&channel, 1, -1);
    const moult::WorkerMessage message = context.next_message();
    if (message.kind == moult::WorkerMessage::Kind::retire) return 7;
    if (message.kind == moult::WorkerMessage::Kind::master_gone) return 8;
  }
}
