// TLS against a real store with self-made certificates: whom we believe, and what we say of the others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lease/redis_connection.h"
#include "lease/tls.h"
#include "tests/contract/redis_server.h"
#include "tests/store/certificates.h"
#include "tests/store/free_port.h"
#include "tests/store/store_loop.h"
namespace moult {
namespace {
using namespace std::chrono_literals;
using testing::AnyOf;
using testing::HasSubstr;

class RedisTls : public testing::Test {
 protected:
  static void SetUpTestSuite() { certificates_ = std::make_unique<Certificates>(); }
  static void TearDownTestSuite() { certificates_.reset(); }
  static inline std::unique_ptr<Certificates> certificates_;

  std::uint16_t port_ = free_port();
  StoreLoop loop_;

  RedisServer server(const std::string& certificate, const std::string& auth_clients = "no") const {
    return RedisServer({"--tls-port", std::to_string(port_), "--tls-cert-file", certificate, "--tls-key-file",
                        certificates_->key(), "--tls-ca-cert-file", certificates_->path("ca.pem"), "--tls-auth-clients",
                        auth_clients});
  }
  RedisOptions over_tls(const std::string& host, const std::string& ca) const {
    RedisOptions options = over_tcp(port_, host);
    options.address.kind = RedisAddress::Kind::tls;
    options.tls = *TlsContext::make(ca);
    return options;
  }
  std::string said(const std::string& host, const std::string& ca, RedisWords words = {"PING"}, Duration budget = 2s) {
    RedisConnection connection(loop_.get(), over_tls(host, ca));
    const auto asked = ask_and_wait(loop_, connection, std::move(words), budget);
    EXPECT_LE(asked->took(), budget + 200ms);
    return asked->said();
  }
  std::string ours() const { return certificates_->path("ca.pem"); }
};

TEST_F(RedisTls, ACertificateForTheNameOrTheAddressByOurAuthorityIsBelieved) {
  const RedisServer store = server(certificates_->issue("right", "DNS:localhost,IP:127.0.0.1"));
  EXPECT_EQ(said("localhost", ours()), "PONG");
  EXPECT_EQ(said("127.0.0.1", ours()), "PONG");
}

TEST_F(RedisTls, LongWordsAndRepliesGoThrough) {
  const RedisServer store = server(certificates_->issue("right", "DNS:localhost"));
  const std::string text(1'000'000, 'x');
  EXPECT_EQ(said("localhost", ours(), {"ECHO", text}, patience), text);
}

TEST_F(RedisTls, AnotherAuthorityIsNotTrusted) {
  const RedisServer store = server(certificates_->issue("right", "DNS:localhost"));
  EXPECT_THAT(said("localhost", certificates_->authority("other")), HasSubstr("is --fleet-ca the right one?"));
  EXPECT_THAT(said("localhost", ""), HasSubstr("name it with --fleet-ca FILE")) << "the system's do not know ours";
}

TEST_F(RedisTls, ACertificateForAnotherHostIsRefused) {
  const RedisServer store = server(certificates_->issue("elsewhere", "DNS:store.example"));
  EXPECT_THAT(said("localhost", ours()), HasSubstr("for another host, not for localhost"));
  EXPECT_THAT(said("127.0.0.1", ours()), HasSubstr("for another host, not for 127.0.0.1"));
}

TEST_F(RedisTls, AnAddressIsNotFoundInANameNorANameInAnAddress) {
  {
    const RedisServer store = server(certificates_->issue("named", "DNS:127.0.0.1"));
    EXPECT_THAT(said("127.0.0.1", ours()), HasSubstr("for another host"));
  }
  const RedisServer store = server(certificates_->issue("numbered", "IP:127.0.0.1"));
  EXPECT_THAT(said("localhost", ours()), HasSubstr("for another host"));
}

TEST_F(RedisTls, AnExpiredCertificateIsRefused) {
  const RedisServer store = server(certificates_->issue("expired", "DNS:localhost", -1));
  EXPECT_THAT(said("localhost", ours()), HasSubstr("has expired"));
}

TEST_F(RedisTls, AStoreThatWantsACertificateOfOursIsNamed) {
  const RedisServer store = server(certificates_->issue("right", "DNS:localhost"), "yes");
  EXPECT_THAT(said("localhost", ours()), HasSubstr("tls-auth-clients no"));
}

TEST_F(RedisTls, APlainStoreOnATlsPortIsNamed) {
  const RedisServer store({"--port", std::to_string(port_)});
  EXPECT_THAT(said("localhost", ours(), {"PING"}, 300ms),
              AnyOf(HasSubstr("does not speak TLS"), HasSubstr("stuck in the TLS handshake")));
}

TEST_F(RedisTls, ATlsStoreOnAPlainPortIsNamed) {
  const RedisServer store = server(certificates_->issue("right", "DNS:localhost"));
  RedisConnection connection(loop_.get(), over_tcp(port_));
  EXPECT_THAT(ask_and_wait(loop_, connection, {"PING"}, 300ms)->said(), HasSubstr("rediss://"));
}

TEST_F(RedisTls, AnAuthorityThatCannotBeReadIsNamed) {
  EXPECT_THAT(TlsContext::make("/nowhere/ca.pem").error().message, HasSubstr("--fleet-ca /nowhere/ca.pem"));
  EXPECT_THAT(TlsContext::make(certificates_->key()).error().message, HasSubstr("no certificate authority"));
  EXPECT_TRUE(TlsContext::make(""));
}

TEST_F(RedisTls, AReconnectShakesHandsAnew) {
  RedisServer store = server(certificates_->issue("right", "DNS:localhost"));
  RedisConnection connection(loop_.get(), over_tls("localhost", ours()));
  EXPECT_EQ(ask_and_wait(loop_, connection, {"PING"})->said(), "PONG");
  store.stop();
  store.start();
  EXPECT_EQ(ask_and_wait(loop_, connection, {"PING"})->said(), "PONG");
  EXPECT_EQ(connection.describe().connects, 2u);
}
}  // namespace
}  // namespace moult
