#include "lease/tls.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>
#include <climits>
#include <utility>
namespace moult {
namespace {
// A record begins with its type: 21 alert, 22 handshake (RFC 8446, 5.1). A store without TLS says '-', '+' or nothing.
bool could_be_tls(char first) { return first == 21 || first == 22; }

std::string last_reason() {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  return reason ? reason : "unknown error";
}

bool numeric(const std::string& host) {
  unsigned char address[sizeof(in6_addr)];
  return ::inet_pton(AF_INET, host.c_str(), address) == 1 || ::inet_pton(AF_INET6, host.c_str(), address) == 1;
}

Error no_memory() { return Error{"TLS: " + last_reason()}; }
}  // namespace

Result<std::shared_ptr<const TlsContext>> TlsContext::make(const std::string& ca_file) {
  ERR_clear_error();
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  if (!context) return no_memory();
  std::shared_ptr<const TlsContext> made(new TlsContext(context, !ca_file.empty()));
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(context, SSL_MODE_AUTO_RETRY | SSL_MODE_RELEASE_BUFFERS);
  if (ca_file.empty()) {
    if (SSL_CTX_set_default_verify_paths(context) == 1) return made;
    return Error{"TLS: the system's certificate authorities cannot be read: " + last_reason()};
  }
  if (SSL_CTX_load_verify_locations(context, ca_file.c_str(), nullptr) == 1) return made;
  return Error{"--fleet-ca " + ca_file + ": no certificate authority can be read from it: " + last_reason()};
}

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

TlsSession::TlsSession(std::shared_ptr<const TlsContext> context, ssl_st* session, std::string host)
    : context_(std::move(context)), session_(session), host_(std::move(host)) {}

TlsSession::~TlsSession() { SSL_free(session_); }

Result<std::unique_ptr<TlsSession>> TlsSession::start(std::shared_ptr<const TlsContext> context,
                                                      const std::string& host) {
  ERR_clear_error();
  SSL* session = SSL_new(context->get());
  if (!session) return no_memory();
  std::unique_ptr<TlsSession> made(new TlsSession(std::move(context), session, host));
  BIO* in = BIO_new(BIO_s_mem());
  BIO* out = BIO_new(BIO_s_mem());
  SSL_set_bio(session, in, out);  // owned by the session from here
  if (!in || !out) return no_memory();
  SSL_set_connect_state(session);
  X509_VERIFY_PARAM* wanted = SSL_get0_param(session);
  const bool named =
      numeric(host) ? X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str()) == 1
                    : SSL_set1_host(session, host.c_str()) == 1 && SSL_set_tlsext_host_name(session, host.c_str()) == 1;
  if (!named) return no_memory();
  X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  if (auto begun = made->shake_hands(); !begun) return begun.error();
  return made;
}

Result<void> TlsSession::shake_hands() {
  const int result = SSL_do_handshake(session_);
  if (result == 1) established_ = true;
  else if (SSL_get_error(session_, result) != SSL_ERROR_WANT_READ) return failure(result);
  return {};
}

Result<std::string> TlsSession::received(std::string_view bytes) {
  ERR_clear_error();
  if (!heard_ && !bytes.empty() && !could_be_tls(bytes.front()))
    return Error{"the store does not speak TLS on this port; redis:// is without TLS", tls_refused};
  heard_ = heard_ || !bytes.empty();
  if (bytes.size() > INT_MAX ||
      BIO_write(SSL_get_rbio(session_), bytes.data(), static_cast<int>(bytes.size())) != static_cast<int>(bytes.size()))
    return no_memory();
  if (!established_)
    if (const auto shaken = shake_hands(); !shaken) return shaken.error();
  std::string plain;
  if (!established_) return plain;
  std::array<char, 16 * 1024> piece;  // a record's most
  for (;;) {
    const int got = SSL_read(session_, piece.data(), static_cast<int>(piece.size()));
    if (got > 0) {
      plain.append(piece.data(), static_cast<std::size_t>(got));
      continue;
    }
    const int error = SSL_get_error(session_, got);
    if (error == SSL_ERROR_WANT_READ) return plain;
    if (error == SSL_ERROR_ZERO_RETURN) return plain;  // the end of the stream follows on the wire
    return failure(got);
  }
}

Result<void> TlsSession::send(std::string_view plain) {
  ERR_clear_error();
  while (!plain.empty()) {
    std::size_t taken = 0;
    const int result = SSL_write_ex(session_, plain.data(), plain.size(), &taken);
    if (result != 1) return failure(result);
    plain.remove_prefix(taken);
  }
  return {};
}

std::string TlsSession::take_outgoing() {
  BIO* out = SSL_get_wbio(session_);
  std::string bytes(BIO_ctrl_pending(out), '\0');
  std::size_t length = 0;
  if (!bytes.empty()) BIO_read_ex(out, bytes.data(), bytes.size(), &length);
  bytes.resize(length);
  return bytes;
}

// In a person's words where a person can do something about it.
Error TlsSession::failure(int result) const {
  const long verified = SSL_get_verify_result(session_);
  const std::string certificate = "TLS: the store's certificate ";
  switch (verified) {
    case X509_V_OK: break;
    case X509_V_ERR_CERT_HAS_EXPIRED: return Error{certificate + "has expired", tls_refused};
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return Error{certificate + "is not valid yet; is the clock right?", tls_refused};
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return Error{certificate + "is for another host, not for " + host_, tls_refused};
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
      return Error{certificate + "is signed by an authority that is not trusted here; " +
                       (context_->own_authority() ? "is --fleet-ca the right one?" : "name it with --fleet-ca FILE"),
                   tls_refused};
    default: return Error{certificate + "is refused: " + X509_verify_cert_error_string(verified), tls_refused};
  }
  if (ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED)
    return Error{"TLS: the store wants a certificate of its clients, and moult has none; tls-auth-clients no there",
                 tls_refused};
  if (SSL_get_error(session_, result) == SSL_ERROR_SYSCALL) return Error{"TLS: the store ended it in the middle"};
  return Error{"TLS: " + last_reason()};
}
}  // namespace moult
