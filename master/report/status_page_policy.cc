#include <openssl/evp.h>

#include <array>

#include "master/report/status_page.h"
namespace moult {
namespace {
std::string_view between(std::string_view text, std::string_view begin, std::string_view end) {
  const std::size_t from = text.find(begin) + begin.size();
  return text.substr(from, text.find(end, from) - from);
}

// "'sha256-...'": how a policy names an inline script or style.
std::string named(std::string_view source) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  std::array<unsigned char, 2 * EVP_MAX_MD_SIZE> letters{};
  unsigned size = 0;
  EVP_Digest(source.data(), source.size(), digest.data(), &size, EVP_sha256(), nullptr);
  const int length = EVP_EncodeBlock(letters.data(), digest.data(), static_cast<int>(size));
  return "'sha256-" + std::string(letters.begin(), letters.begin() + length) + "'";
}
}  // namespace

const std::string& status_page_policy() {
  static const std::string policy = "default-src 'none'; script-src " +
                                    named(between(status_page, "<script>", "</script>")) + "; style-src " +
                                    named(between(status_page, "<style>", "</style>")) +
                                    "; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
                                    "frame-ancestors 'none'";
  return policy;
}
}  // namespace moult
