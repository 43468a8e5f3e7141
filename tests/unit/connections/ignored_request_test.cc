// Which bytes are plainly a request for an ignored path. All else is a caller's, whom nobody may answer in the app's
// place.
#include "master/connections/ignored_request.h"

#include <gmock/gmock.h>

#include "base/random.h"
#include "base/step.h"
namespace moult {
namespace {
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

const std::vector<std::string> paths{"/healthz", "/", "/up/now"};

std::string verdict(const std::string& said) {
  return std::visit(Match{[](const CallersRequest&) { return std::string("caller"); },
                          [](const PartOfARequest&) { return std::string("part"); },
                          [](const IgnoredRequest& r) {
                            return std::to_string(r.length) + (r.is_head ? " head" : " get") +
                                   (r.keeps_alive ? " keeps" : " closes");
                          }},
                    read_ignored_request(said, paths));
}
std::string ignored(const std::string& head, const std::string& how) { return std::to_string(head.size()) + how; }
std::string with(const std::string& field) { return "GET /healthz HTTP/1.1\r\nHost: x\r\n" + field + "\r\n\r\n"; }

TEST(IgnoredRequest, GetAndHeadOfAnIgnoredPathAreOurs) {
  const std::string get = "GET /healthz HTTP/1.1\r\nHost: x\r\nUser-Agent: kube-probe/1.30\r\nAccept: */*\r\n\r\n";
  EXPECT_EQ(verdict(get), ignored(get, " get keeps"));
  const std::string head = "HEAD /up/now HTTP/1.1\r\nHost: x\r\n\r\n";
  EXPECT_EQ(verdict(head), ignored(head, " head keeps"));
  const std::string root = "GET / HTTP/1.1\r\n\r\n";
  EXPECT_EQ(verdict(root), ignored(root, " get keeps"));
}

TEST(IgnoredRequest, ThePathIsComparedBeforeTheQuestionMark) {
  const std::string asked = "GET /healthz?full=1 HTTP/1.1\r\nHost: x\r\n\r\n";
  EXPECT_EQ(verdict(asked), ignored(asked, " get keeps"));
  for (const std::string path : {"/healthzz", "/healthz/", "/health", "/Healthz", "/%68ealthz", "//", "/up",
                                 "/up/now/x", "http://x/healthz", "*", "/healthz#a", ""})
    EXPECT_EQ(verdict("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n"), "caller") << path;
}

TEST(IgnoredRequest, OtherMethodsAreCallers) {
  for (const std::string method : {"POST", "PUT", "OPTIONS", "get", "GETS", "HEADER", "", "PRI"})
    EXPECT_EQ(verdict(method + " /healthz HTTP/1.1\r\nHost: x\r\n\r\n"), "caller") << method;
}

TEST(IgnoredRequest, OtherVersionsAndMisshapenLinesAreCallers) {
  for (const std::string line :
       {"GET /healthz HTTP/2.0", "GET /healthz HTTP/1.1 ", "GET /healthz  HTTP/1.1", "GET /healthz", "GET /healthz ",
        "GET /healthz HTTP/1.1 x", "GET\t/healthz HTTP/1.1", " GET /healthz HTTP/1.1", "GET /healthz?\x01 HTTP/1.1",
        "GET /healthz http/1.1", "GET /healthz?a b HTTP/1.1"})
    EXPECT_EQ(verdict(line + "\r\nHost: x\r\n\r\n"), "caller") << line;
  EXPECT_EQ(verdict("GET /healthz HTTP/1.1\nHost: x\n\n"), "part") << "its head has not ended: it is heard out";
  EXPECT_EQ(verdict(std::string("\x16\x03\x01\x02\x00", 5)), "caller") << "TLS";
}

TEST(IgnoredRequest, WhatHasABodyOrWantsMoreThanAnAnswerIsACaller) {
  for (const std::string field :
       {"Content-Length: 5", "Content-Length: 0, 0", "content-length: 00",
        "Content-Length:", "Transfer-Encoding: chunked", "transfer-encoding: identity", "Upgrade: websocket",
        "Connection: Upgrade", "Connection: close, upgrade", "Expect: 100-continue", "Trailer: x", "no colon",
        ": empty", "Bad Name: x", "Name : x", " folded: x", "X: a\x01"})
    EXPECT_EQ(verdict(with(field)), "caller") << field;
  EXPECT_EQ(verdict(with("Content-Length: 0")), ignored(with("Content-Length: 0"), " get keeps"));
}

TEST(IgnoredRequest, TheConnectionIsKeptAsItsClientWants) {
  EXPECT_THAT(verdict(with("Connection: close")), EndsWith(" closes"));
  EXPECT_THAT(verdict(with("connection:\tCLOSE ")), EndsWith(" closes"));
  EXPECT_THAT(verdict(with("Connection: keep-alive, close")), EndsWith(" closes"));
  EXPECT_THAT(verdict(with("Connection: keep-alive")), EndsWith(" keeps"));
  EXPECT_THAT(verdict(with("Connection: x,,")), EndsWith(" keeps"));
  EXPECT_THAT(verdict("GET /healthz HTTP/1.0\r\n\r\n"), EndsWith(" closes"));
  EXPECT_THAT(verdict("GET /healthz HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"), EndsWith(" keeps"));
}

TEST(IgnoredRequest, OneThatComesInPartsIsWaitedForAsLongAsItMayBecomeOurs) {
  const std::string whole = "HEAD /healthz?a HTTP/1.1\r\nHost: x\r\n\r\n";
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_EQ(verdict(whole.substr(0, i)), "part") << i;
  EXPECT_EQ(verdict(whole), ignored(whole, " head keeps"));
  EXPECT_EQ(verdict("GET /i"), "caller") << "at the first byte that says so";
  EXPECT_EQ(verdict("P"), "caller");
}

TEST(IgnoredRequest, TheNextRequestIsNotPartOfIt) {
  const std::string first = "GET / HTTP/1.1\r\n\r\n";
  EXPECT_EQ(verdict(first + "POST /order HTTP/1.1\r\nContent-Length: 1\r\n\r\nx"), ignored(first, " get keeps"));
}

TEST(IgnoredRequest, AHeadOfTooManyBytesIsACaller) {
  const std::string start = "GET / HTTP/1.1\r\nX: ";
  const auto head = [&](std::size_t bytes) { return start + std::string(bytes - start.size() - 4, 'x') + "\r\n\r\n"; };
  EXPECT_EQ(verdict(head(most_ignored_head_bytes)), ignored(head(most_ignored_head_bytes), " get keeps"));
  EXPECT_EQ(verdict(head(most_ignored_head_bytes + 1)), "caller");
  EXPECT_EQ(verdict(head(most_ignored_head_bytes).substr(0, most_ignored_head_bytes - 1)), "part");
  EXPECT_EQ(verdict(start + std::string(most_ignored_head_bytes, 'x')), "caller");
}

TEST(IgnoredRequest, WithoutPathsEverybodyIsACaller) {
  EXPECT_TRUE(std::holds_alternative<CallersRequest>(read_ignored_request("GET / HTTP/1.1\r\n\r\n", {})));
}

// Whatever bytes come: it neither crashes nor takes more than was said, and says `part` only for what could go on.
TEST(IgnoredRequest, NothingThatIsSaidBreaksIt) {
  Random random{3};
  const std::vector<std::string> parts{"GET",
                                       "HEAD",
                                       " ",
                                       "/",
                                       "/healthz",
                                       "?",
                                       "HTTP/1.1",
                                       "HTTP/1.0",
                                       "\r\n",
                                       "\r\n",
                                       "\r\n",
                                       "\r",
                                       "\n",
                                       "Host: x",
                                       ":",
                                       "Connection: close",
                                       "\0",
                                       "Content-Length: 0",
                                       "GET / HTTP/1.1\r\n",
                                       "GET /healthz HTTP/1.1\r\n\r\n"};
  int ours = 0;
  for (int i = 0; i < 200'000; ++i) {
    std::string said;
    for (auto left = random.next() % 8; left > 0; --left) said += parts[random.next() % parts.size()];
    const auto heard = read_ignored_request(said, paths);
    const auto* request = std::get_if<IgnoredRequest>(&heard);
    if (!request) continue;
    ++ours;
    ASSERT_LE(request->length, said.size());
    ASSERT_EQ(said.substr(request->length - 4, 4), "\r\n\r\n");
    for (std::size_t cut = 0; cut < request->length; ++cut)
      ASSERT_EQ(verdict(said.substr(0, cut)), "part") << "how it is cut is of no account";
  }
  EXPECT_GT(ours, 1000);
}

TEST(IgnoredRequest, TheAnswerIsAsLongAsItSays) {
  const std::string get = answer_to({10, false, true}), head = answer_to({10, true, false});
  EXPECT_THAT(get, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(get, HasSubstr("\r\nContent-Length: 3\r\n"));
  EXPECT_THAT(get, EndsWith("\r\nConnection: keep-alive\r\n\r\nok\n"));
  EXPECT_THAT(head, HasSubstr("\r\nContent-Length: 3\r\n"));
  EXPECT_THAT(head, EndsWith("\r\nConnection: close\r\n\r\n"));
}
}  // namespace
}  // namespace moult
