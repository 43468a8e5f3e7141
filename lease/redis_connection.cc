#include "lease/redis_connection.h"

#include <optional>
#include <utility>

#include "lease/redis_calls.h"
#include "lease/redis_greeting.h"
#include "lease/redis_stream.h"
namespace moult {
namespace {
struct Ending {          // of a connection, or of the attempt at one
  bool final = false;    // trying again is useless until a person changes something
  bool refused = false;  // the store said so
};
}  // namespace

class RedisConnection::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(uv_loop_t* loop, RedisOptions options, std::function<void()> connected)
      : loop_(loop),
        options_(std::move(options)),
        store_(printable(options_.address)),
        connected_(std::move(connected)),
        random_{options_.seed},
        calls_(loop, random_.next(), {[this] { return what_is_up(); }, [this] { serve(); }}),
        timer_(loop, [this] { time_passed(); }) {}

  std::unique_ptr<RedisCall> call(RedisCalls::Words words, Budget budget, IfLost if_lost, Done done) {
    const auto tell = [this, done = std::move(done)](RedisAnswer answer) {
      if (auto* failure = std::get_if<RedisFailure>(&answer)) failure->refused = refused_;
      done(std::move(answer));  // may destroy this
    };
    auto handle = calls_.add(std::move(words), budget, if_lost, tell);
    serve();
    return handle;
  }
  // The loop's own idea of now may be older than what was told.
  void heard_time(StoreClock::Time told) {
    clock_ = StoreClock::told(told, MonotonicTime(std::chrono::nanoseconds(uv_hrtime())));
  }
  void shut() {
    shut_ = true;
    timer_.stop();
    leave_stream();
    connected_ = nullptr;
  }
  RedisDescription describe() const {
    return {name(state_), store_, trouble_, since_, calls_.waiting(), calls_.written(), connects_, refused_};
  }

 private:
  enum class State { idle, connecting, ready, backing_off };
  static const char* name(State);

  void serve();
  void begin();
  void connect();
  void write_waiting();
  void opened();
  void closed(const Error&);
  void arrived(std::string_view bytes);
  void greeted(const RedisReply&);
  void ready();
  void answered(RedisReply);
  void drop(const std::string& why, Ending = {});
  void leave_stream();
  void time_passed();
  void in_trouble(const std::string& why, bool refused);
  std::string what_is_up() const;
  std::string said(const std::string& what) const { return store_ + ": " + what; }
  MonotonicTime now() const { return monotonic_now(loop_); }

  uv_loop_t* loop_;
  RedisOptions options_;
  std::string store_;
  std::function<void()> connected_;
  Random random_;
  RedisCalls calls_;
  BudgetTimer timer_;  // connecting: the attempt's end; backing_off: the next one
  State state_ = State::idle;
  std::shared_ptr<RedisStream> stream_;  // connecting and ready
  std::optional<RedisReplies> replies_;
  std::vector<GreetingStep> greeting_;  // what is not answered yet
  std::size_t greeted_ = 0;
  StoreClock clock_;
  Backoff attempts_;
  std::string trouble_;
  bool refused_ = false;  // the trouble is what the store says
  MonotonicTime since_{};
  std::uint64_t connects_ = 0;
  bool heard_ = false;  // anything, on this stream
  bool shut_ = false;
};

const char* RedisConnection::Core::name(State state) {
  switch (state) {
    case State::idle: return "idle";
    case State::connecting: return "connecting";
    case State::ready: return "ready";
    case State::backing_off: return "backing_off";
  }
  return "";
}

// Somebody waits.
void RedisConnection::Core::serve() {
  switch (state_) {
    case State::idle:
    case State::backing_off: return begin();
    case State::connecting: return;
    case State::ready:
      if (calls_.store_is_silent(now())) return drop(said("no answer, so the connection is given up"));
      return write_waiting();
  }
}

// The next attempt: now, or when the last ones' back-off is over, or not at all if nobody can wait so long.
void RedisConnection::Core::begin() {
  const Duration wait = std::max(Duration::zero(), attempts_.retry_at - now());
  if (wait > Duration::zero()) calls_.shed(wait, trouble_);
  state_ = State::idle;
  timer_.stop();
  if (!calls_.any_waiting()) return;
  if (wait == Duration::zero()) return connect();
  state_ = State::backing_off;
  (void)timer_.after(wait, calls_.longest_waiting());  // it fits: else nobody would wait
}

void RedisConnection::Core::connect() {
  const Budget attempt{now() + longest_connecting};
  state_ = State::connecting;
  timer_.at_end_of(attempt);
  replies_.emplace();
  greeting_ = greeting(options_.address, options_.client_name);
  greeted_ = 0;
  heard_ = false;
  stream_ = RedisStream::open(loop_, options_.address, options_.tls, attempt,
                              {[this] { opened(); }, [this](std::string_view bytes) { arrived(bytes); },
                               [this](const Error& error) { closed(error); }});
}

void RedisConnection::Core::closed(const Error& error) {
  const bool mute = state_ == State::connecting && !heard_ && error.code == ECONNRESET;
  const bool plain = options_.address.kind == RedisAddress::Kind::tcp;
  drop(said(error.message + (mute && plain ? " without a word; does it want rediss://?" : "")),
       {.final = error.code == tls_refused, .refused = false});
}

void RedisConnection::Core::opened() {
  for (const GreetingStep& step : greeting_) stream_->write(redis_command(step.words));
}

void RedisConnection::Core::arrived(std::string_view bytes) {
  const auto self = shared_from_this();
  const auto stream = stream_;
  constexpr char tls_alert = 21;
  if (!heard_ && bytes.front() == tls_alert) return drop(said("the store speaks TLS on this port; write rediss://"));
  heard_ = true;
  replies_->feed(bytes);
  while (!shut_ && stream_ == stream) {
    auto reply = replies_->next();
    if (!reply) break;
    if (!*reply) return drop(said(reply->error().message));
    if (state_ == State::connecting) greeted(**reply);
    else answered(**std::move(reply));
  }
  if (!shut_ && state_ == State::ready) write_waiting();
}

void RedisConnection::Core::greeted(const RedisReply& reply) {
  const Greeting what = greeting_[greeted_++].what;
  if (const auto refused = refusal_of(what, reply))
    return drop(said(refused->sentence), {.final = refused->recourse == Recourse::final, .refused = true});
  if (what != Greeting::time) return;  // the last one
  heard_time(*read_time(reply));
  ready();
}

void RedisConnection::Core::ready() {
  state_ = State::ready;
  timer_.stop();
  ++connects_;
  if (trouble_.empty()) since_ = now();
  calls_.stand_back();
  const auto connected = connected_;  // a copy: it may destroy us
  if (connected) connected();
  calls_.stand_again();
}

void RedisConnection::Core::write_waiting() {
  while (calls_.any_waiting() && stream_->unsent_bytes() < most_redis_bytes_unsent)
    stream_->write(redis_command(calls_.write_next(clock_)));
}

void RedisConnection::Core::answered(RedisReply reply) {
  if (calls_.written() == 0) return drop(said("the store says what nobody asked for"));
  const auto* error = reply.as<RedisError>();
  RedisRefusal refusal = error ? refusal_of(*error) : RedisRefusal{Recourse::callers, {}};
  if (refusal.recourse == Recourse::callers) {
    attempts_ = {};
    if (!trouble_.empty()) since_ = now();
    trouble_.clear();
    refused_ = false;
  } else {
    refusal.sentence = said(refusal.sentence);
    in_trouble(refusal.sentence, true);
  }
  calls_.answered(std::move(reply), refusal);
  if (!shut_ && refusal.recourse == Recourse::reconnect) drop(refusal.sentence, {.final = false, .refused = true});
}

void RedisConnection::Core::drop(const std::string& why, Ending ending) {
  leave_stream();
  in_trouble(why, ending.refused);
  attempts_ = failed(attempts_, {redis_first_wait, redis_longest_wait}, now(), random_);
  calls_.lost(why);
  if (ending.final) calls_.fail_all_waiting(why);
  begin();
}

void RedisConnection::Core::leave_stream() {
  if (stream_) stream_->close();
  stream_.reset();
}

void RedisConnection::Core::time_passed() {
  if (state_ == State::connecting)
    return drop(said("no answer within " +
                     std::to_string(std::chrono::duration_cast<std::chrono::seconds>(longest_connecting).count()) +
                     " s; stuck in " + stream_->stage()));
  begin();
}

void RedisConnection::Core::in_trouble(const std::string& why, bool refused) {
  if (trouble_.empty()) since_ = now();
  trouble_ = why;
  refused_ = refused;
}

std::string RedisConnection::Core::what_is_up() const {
  if (!trouble_.empty()) return trouble_;
  if (state_ == State::connecting) return said(std::string("no answer in time; stuck in ") + stream_->stage());
  return said("no answer in time");
}

RedisConnection::RedisConnection(uv_loop_t* loop, RedisOptions options, std::function<void()> connected)
    : core_(std::make_shared<Core>(loop, std::move(options), std::move(connected))) {}

RedisConnection::~RedisConnection() { core_->shut(); }

std::unique_ptr<RedisCall> RedisConnection::call(std::function<RedisWords(const StoreClock&)> words, Budget budget,
                                                 IfLost if_lost, Done done) {
  return core_->call(std::move(words), budget, if_lost, std::move(done));
}

std::unique_ptr<RedisCall> RedisConnection::call(RedisWords words, Budget budget, IfLost if_lost, Done done) {
  return call([words = std::move(words)](const StoreClock&) { return words; }, budget, if_lost, std::move(done));
}

void RedisConnection::heard_time(StoreClock::Time told) { core_->heard_time(told); }

RedisDescription RedisConnection::describe() const { return core_->describe(); }
}  // namespace moult
