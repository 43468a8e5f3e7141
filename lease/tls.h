#pragma once
// TLS to the store, over bytes: OpenSSL with memory BIOs, which never touches a socket. Used by RedisStream. The
// store's certificate and its host name (or IP address) are always verified; there is no way to leave that out.
#include <cerrno>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
struct ssl_ctx_st;
struct ssl_st;
namespace moult {
// Whom we trust. Read once; immutable; shared by all sessions.
class TlsContext {
 public:
  // `ca_file`: PEM, --fleet-ca; then nobody else is trusted. Empty: the system's authorities.
  static Result<std::shared_ptr<const TlsContext>> make(const std::string& ca_file);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  ssl_ctx_st* get() const { return context_; }
  bool own_authority() const { return own_authority_; }

 private:
  TlsContext(ssl_ctx_st* context, bool own_authority) : context_(context), own_authority_(own_authority) {}
  ssl_ctx_st* context_;
  bool own_authority_;  // for the sentence about an unknown one
};

// The code of an error that stays until a person changes something: the certificate, the authority, the port.
inline constexpr int tls_refused = EKEYREJECTED;

// One connection's. What it wants on the wire lies in take_outgoing(), after each call.
class TlsSession {
 public:
  // `host`: a name or an address, as the certificate must have it.
  static Result<std::unique_ptr<TlsSession>> start(std::shared_ptr<const TlsContext>, const std::string& host);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  bool established() const { return established_; }
  // Bytes from the wire; the plain text that they brought. An error is one sentence; the session is over.
  Result<std::string> received(std::string_view bytes);
  Result<void> send(std::string_view plain);  // only once established
  std::string take_outgoing();

 private:
  TlsSession(std::shared_ptr<const TlsContext>, ssl_st*, std::string host);
  Result<void> shake_hands();
  Error failure(int result) const;

  std::shared_ptr<const TlsContext> context_;
  ssl_st* session_;
  std::string host_;
  bool established_ = false;
  bool heard_ = false;  // anything at all
};
}  // namespace moult
