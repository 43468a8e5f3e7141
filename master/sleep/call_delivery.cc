#include "master/sleep/call_delivery.h"

#include <sys/socket.h>

#include <utility>

#include "base/budget_timer.h"
#include "base/fd_watch.h"
#include "master/sleep/curl_library.h"
namespace moult {
namespace {
struct FreeEasy {
  void operator()(CURL* handle) const { curl().easy_cleanup(handle); }
};
struct FreeMulti {
  void operator()(CURLM* handle) const { curl().multi_cleanup(handle); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl().slist_free_all(list); }
};

std::unique_ptr<curl_slist, FreeList> headers_of(const CallRequest& request) {
  curl_slist* list = nullptr;
  for (const std::string& line : {"X-Moult-Schedule-Name: " + request.name, "X-Moult-Schedule-At: " + request.at,
                                  std::string("Connection: close"), std::string("Content-Type:"),
                                  std::string("Expect:")})  // the last two: what libcurl would add by itself
    list = curl().slist_append(list, line.c_str());
  return std::unique_ptr<curl_slist, FreeList>(list);
}

// libcurl's own is passed on to children.
curl_socket_t open_socket(void*, curlsocktype, curl_sockaddr* address) {
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

bool has_body(const std::string& method) { return method == "POST" || method == "PUT" || method == "PATCH"; }
}  // namespace

class CallDelivery::Transfer {
 public:
  Transfer(uv_loop_t* loop, CallRequest request, Budget budget, std::function<bool()> somebody_serves, Ended ended)
      : loop_(loop),
        request_(std::move(request)),
        budget_(budget),
        somebody_serves_(std::move(somebody_serves)),
        ended_(std::move(ended)),
        timer_(loop, [this] { timer_fired(); }) {
    soon();
  }
  ~Transfer() { hang_up(); }

  bool is_sent() const { return easy_ != nullptr; }
  void soon() {
    if (!is_sent()) arm(Duration::zero());
  }

 private:
  void arm(Duration wait) {
    if (!timer_.after(wait, budget_)) timer_.at_end_of(budget_);
  }
  void timer_fired() {
    const bool spent = budget_.spent(monotonic_now(loop_));
    if (spent && is_sent()) return end({CallOutcome::timed_out, std::nullopt, ""});
    if (spent) return end({CallOutcome::not_served, std::nullopt, why_not_sent_});
    if (is_sent()) {
      timer_.at_end_of(budget_);  // unless libcurl wants it sooner
      return go_on(CURL_SOCKET_TIMEOUT, 0);
    }
    if (somebody_serves_()) return send();
    timer_.at_end_of(budget_);
  }

  void send() {
    if (const auto opened = open_curl(); !opened)
      return end({CallOutcome::not_served, std::nullopt, opened.error().message});
    multi_.reset(curl().multi_init());
    easy_.reset(curl().easy_init());
    headers_ = headers_of(request_);
    if (!multi_ || !easy_ || !headers_) return refused("out of memory");
    curl().multi_setopt(multi_.get(), CURLMOPT_SOCKETFUNCTION, &Transfer::socket_wanted);
    curl().multi_setopt(multi_.get(), CURLMOPT_SOCKETDATA, this);
    curl().multi_setopt(multi_.get(), CURLMOPT_TIMERFUNCTION, &Transfer::time_wanted);
    curl().multi_setopt(multi_.get(), CURLMOPT_TIMERDATA, this);
    describe_request(easy_.get());
    body_bytes_ = 0;
    timer_.at_end_of(budget_);
    if (curl().multi_add_handle(multi_.get(), easy_.get()) != CURLM_OK) refused("out of memory");
  }
  void describe_request(CURL* easy) {
    curl().easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, request_.door.c_str());
    curl().easy_setopt(easy, CURLOPT_URL, ("http://localhost" + request_.path).c_str());
    curl().easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    curl().easy_setopt(easy, CURLOPT_PROXY, "");  // whatever the environment says
    curl().easy_setopt(easy, CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
    curl().easy_setopt(easy, CURLOPT_USERAGENT, "moult");
    curl().easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl().easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);  // one that is used again would be tried a second time
    curl().easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
    curl().easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, &open_socket);
    curl().easy_setopt(easy, CURLOPT_ERRORBUFFER, error_);
    curl().easy_setopt(easy, CURLOPT_HTTPHEADER, headers_.get());
    curl().easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Transfer::discard);
    curl().easy_setopt(easy, CURLOPT_WRITEDATA, this);
    if (request_.method == "HEAD") curl().easy_setopt(easy, CURLOPT_NOBODY, 1L);
    if (has_body(request_.method)) {
      curl().easy_setopt(easy, CURLOPT_POSTFIELDSIZE, 0L);
      curl().easy_setopt(easy, CURLOPT_POSTFIELDS, "");
    }
    if (request_.method != "HEAD") curl().easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request_.method.c_str());
  }

  static int socket_wanted(CURL*, curl_socket_t socket, int what, void* self, void*) {
    return static_cast<Transfer*>(self)->watch(socket, what);
  }
  int watch(curl_socket_t socket, int what) {
    if (what == CURL_POLL_REMOVE) {
      socket_.reset();
      return 0;
    }
    if (!socket_) {
      auto opened = FdWatch::open(loop_, socket, [this, socket](int events) {
        const bool in = events & UV_READABLE, out = events & UV_WRITABLE;
        go_on(socket, (in ? CURL_CSELECT_IN : 0) | (out ? CURL_CSELECT_OUT : 0));
      });
      if (!opened) return -1;  // libcurl gives the transfer up
      socket_ = std::move(*opened);
    }
    socket_->want((what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0));
    return 0;
  }
  static int time_wanted(CURLM*, long milliseconds, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    if (milliseconds < 0) transfer.timer_.at_end_of(transfer.budget_);
    else transfer.arm(std::chrono::milliseconds(milliseconds));
    return 0;
  }
  static std::size_t discard(char*, std::size_t size, std::size_t count, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    transfer.body_bytes_ += size * count;
    return transfer.body_bytes_ > most_answer_bytes ? 0 : size * count;  // zero: hang up
  }

  void go_on(curl_socket_t socket, int events) {
    int running = 0;
    curl().multi_socket_action(multi_.get(), socket, events, &running);
    int left = 0;
    const CURLMsg* message = curl().multi_info_read(multi_.get(), &left);
    if (message && message->msg == CURLMSG_DONE) finished(message->data.result);
  }
  void finished(CURLcode code) {
    const std::string why = error_[0] ? error_ : curl().easy_strerror(code);
    if (code == CURLE_COULDNT_CONNECT || (code == CURLE_SEND_ERROR && nothing_left_us())) return refused(why);
    const bool too_long = code == CURLE_WRITE_ERROR && body_bytes_ > most_answer_bytes;
    if (code != CURLE_OK && !too_long) return end({CallOutcome::cut_off, std::nullopt, why});
    long status = 0;
    curl().easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
    end({CallOutcome::answered, static_cast<int>(status), ""});
  }
  // The door's queue was full, which libcurl takes for a connection; or it was closed before we spoke.
  bool nothing_left_us() const {
    long bytes = 0;
    return curl().easy_getinfo(easy_.get(), CURLINFO_REQUEST_SIZE, &bytes) == CURLE_OK && bytes == 0;
  }
  // Nobody has the request.
  void refused(const std::string& why) {
    why_not_sent_ = why;
    hang_up();
    arm(connect_again_after);
  }
  void hang_up() {
    if (multi_ && easy_) curl().multi_remove_handle(multi_.get(), easy_.get());
    easy_.reset();
    multi_.reset();
    headers_.reset();
    socket_.reset();
  }
  void end(const DeliveryEnd& how) {
    hang_up();
    timer_.stop();  // which libcurl may have armed once more
    const Ended ended = std::move(ended_);
    ended(how);  // the last thing that is done: it may destroy us
  }

  uv_loop_t* loop_;
  const CallRequest request_;
  const Budget budget_;
  const std::function<bool()> somebody_serves_;
  Ended ended_;
  std::string why_not_sent_;
  char error_[CURL_ERROR_SIZE] = "";
  std::size_t body_bytes_ = 0;
  std::unique_ptr<curl_slist, FreeList> headers_;
  std::unique_ptr<FdWatch> socket_;
  std::unique_ptr<CURLM, FreeMulti> multi_;
  std::unique_ptr<CURL, FreeEasy> easy_;
  BudgetTimer timer_;
};

CallDelivery::CallDelivery(uv_loop_t* loop, CallRequest request, Budget budget, std::function<bool()> somebody_serves,
                           Ended ended)
    : transfer_(
          std::make_unique<Transfer>(loop, std::move(request), budget, std::move(somebody_serves), std::move(ended))) {}
CallDelivery::~CallDelivery() = default;
bool CallDelivery::is_sent() const { return transfer_->is_sent(); }
void CallDelivery::look_again() { transfer_->soon(); }
}  // namespace moult
