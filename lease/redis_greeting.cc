#include "lease/redis_greeting.h"

#include <charconv>
namespace moult {
namespace {
std::optional<std::int64_t> number(const RedisReply& reply) {
  const auto* text = reply.as<std::string>();
  std::int64_t value = 0;
  if (!text) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  return error == std::errc{} && end == text->data() + text->size() ? std::optional(value) : std::nullopt;
}

RedisRefusal refused_login(const RedisError& error) {
  // Redis says ERR where its default user has no password at all.
  if (error.code == "ERR" && error.message.find("without any password configured") != std::string::npos)
    return {Recourse::final, "the store has no password, but one was given; leave it out, or set it there"};
  return {Recourse::final, "the store does not take this login (" + error.code.substr(0, 32) + ")"};
}
}  // namespace

std::vector<GreetingStep> greeting(const RedisAddress& address, const std::string& client_name) {
  std::vector<GreetingStep> steps;
  if (!address.password.empty() && !address.user.empty())
    steps.push_back({Greeting::login, {"AUTH", address.user, address.password}});
  else if (!address.password.empty()) steps.push_back({Greeting::login, {"AUTH", address.password}});
  if (address.database) steps.push_back({Greeting::database, {"SELECT", std::to_string(address.database)}});
  if (!client_name.empty()) steps.push_back({Greeting::name, {"CLIENT", "SETNAME", client_name}});
  steps.push_back({Greeting::time, {"TIME"}});
  return steps;
}

std::optional<RedisRefusal> refusal_of(Greeting what, const RedisReply& reply) {
  const auto* error = reply.as<RedisError>();
  if (!error) {
    if (what != Greeting::time) return std::nullopt;
    if (const auto time = read_time(reply); !time) return RedisRefusal{Recourse::final, time.error().message};
    return std::nullopt;
  }
  auto known = refusal_of(*error);
  const bool about_what = known.recourse == Recourse::callers || error->code == "NOPERM";
  if (what == Greeting::name && about_what) return std::nullopt;  // a name is a courtesy
  if (known.recourse != Recourse::callers) return known;
  switch (what) {
    case Greeting::login: return refused_login(*error);
    case Greeting::database:
      return RedisRefusal{Recourse::final, "the store does not give us this database: " + error->message};
    case Greeting::name: return std::nullopt;
    case Greeting::time: return RedisRefusal{Recourse::final, "the store does not tell its time: " + error->message};
  }
  return std::nullopt;
}

Result<StoreClock::Time> read_time(const RedisReply& reply) {
  const auto* parts = reply.as<RedisReply::Array>();
  const auto seconds = parts && parts->size() == 2 ? number(parts->front()) : std::nullopt;
  const auto micros = parts && parts->size() == 2 ? number(parts->back()) : std::nullopt;
  constexpr std::int64_t latest_seconds = std::int64_t{1} << 40;  // in 34,865 years
  if (!seconds || !micros || *seconds < 0 || *seconds > latest_seconds || *micros < 0 || *micros > 999'999)
    return Error{"the store's TIME is not a time: is it a Redis store?"};
  return StoreClock::Time(std::chrono::seconds(*seconds) + std::chrono::microseconds(*micros));
}
}  // namespace moult
