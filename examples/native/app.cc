// The example's app: what moult calls, and what the server answers.
//
//   GET /         hello              GET /pid      the worker's pid         POST /echo   the body
//   GET /slot     the worker's slot  GET /preload  the fork server's pid    GET /slow    hello, after 1 s
//   GET /fail     status 500         GET /crash    the worker dies          GET /stuck   the worker hangs
#include <unistd.h>

#include <cstdlib>

#include "hello_server.h"

namespace {
pid_t preloaded_in = 0;  // what moult_preload() leaves behind is there in every worker

[[noreturn]] void hang() {
  while (true) ::pause();
}

example::Answer answer(const example::HttpRequest& request, const moult::WorkerContext& context) {
  if (request.path == "/") return {200, "hello\n"};
  if (request.path == "/pid") return {200, std::to_string(::getpid()) + "\n"};
  if (request.path == "/slot") return {200, std::to_string(context.slot()) + "\n"};
  if (request.path == "/preload") return {200, std::to_string(preloaded_in) + "\n"};
  if (request.path == "/echo") return {200, request.body};
  if (request.path == "/slow") return {200, "hello\n", 1'000'000'000};
  if (request.path == "/fail") return {500, "this always fails\n"};
  if (request.path == "/crash") std::abort();
  if (request.path == "/stuck") hang();
  return {404, "there is nothing here\n"};
}
}  // namespace

extern "C" int moult_preload() {
  preloaded_in = ::getpid();
  return 0;
}

extern "C" int moult_worker_main(moult::WorkerContext& context) { return example::HelloServer(context, answer).run(); }
