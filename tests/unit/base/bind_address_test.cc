#include "base/bind_address.h"

#include <gmock/gmock.h>
namespace moult {
namespace {
using ::testing::HasSubstr;

BindAddress parsed(std::string_view text) {
  auto result = parse_bind_address(text);
  if (!result) {
    ADD_FAILURE() << result.error().message;
    return InheritedFd{};
  }
  return *result;
}
std::string refusal(std::string_view text) {
  const auto result = parse_bind_address(text);
  return result ? "(accepted)" : result.error().message;
}

TEST(BindAddress, ReadsAHostAndAPort) {
  EXPECT_EQ(parsed("127.0.0.1:8000"), BindAddress(TcpAddress{"127.0.0.1", 8000}));
  EXPECT_EQ(parsed("tcp://127.0.0.1:0"), BindAddress(TcpAddress{"127.0.0.1", 0}));
  EXPECT_EQ(parsed("[::1]:80"), BindAddress(TcpAddress{"::1", 80}));
  EXPECT_EQ(parsed("[fe80::1%eth0]:80"), BindAddress(TcpAddress{"fe80::1%eth0", 80}));
}

TEST(BindAddress, TakesAnEmptyHostAndAStarAsEveryIPv4Address) {
  EXPECT_EQ(parsed(":8000"), BindAddress(TcpAddress{"0.0.0.0", 8000}));
  EXPECT_EQ(parsed("*:8000"), BindAddress(TcpAddress{"0.0.0.0", 8000}));
}

TEST(BindAddress, KnowsLocalhostAndNoOtherName) {
  EXPECT_EQ(parsed("localhost:8000"), BindAddress(TcpAddress{"127.0.0.1", 8000}));
  EXPECT_THAT(refusal("example.org:8000"), HasSubstr("names are not looked up"));
}

TEST(BindAddress, ReadsAUnixPathWithAndWithoutAMode) {
  EXPECT_EQ(parsed("unix:/run/app.sock"), BindAddress(UnixAddress{"/run/app.sock", {}}));
  EXPECT_EQ(parsed("unix:///run/app.sock"), BindAddress(UnixAddress{"/run/app.sock", {}}));
  EXPECT_EQ(parsed("unix:app.sock?mode=0660"), BindAddress(UnixAddress{"app.sock", 0660}));
}

TEST(BindAddress, RefusesAUnixPathThatCannotBeBound) {
  EXPECT_THAT(refusal("unix:"), HasSubstr("no path is given"));
  EXPECT_THAT(refusal("unix:@app"), HasSubstr("abstract"));
  EXPECT_THAT(refusal("unix:/" + std::string(107, 'x')), HasSubstr("at most 107 bytes, this one has 108"));
  EXPECT_EQ(parsed("unix:/" + std::string(106, 'x')), BindAddress(UnixAddress{"/" + std::string(106, 'x'), {}}));
}

TEST(BindAddress, RefusesAModeThatIsNotOctalAndAnUnknownKey) {
  EXPECT_THAT(refusal("unix:a?mode=0689"), HasSubstr("octal"));
  EXPECT_THAT(refusal("unix:a?mode=1777"), HasSubstr("octal"));
  EXPECT_THAT(refusal("unix:a?mode="), HasSubstr("octal"));
  EXPECT_THAT(refusal("unix:a?owner=me"), HasSubstr("the only thing after ? is mode"));
}

TEST(BindAddress, ReadsAnInheritedDescriptor) {
  EXPECT_EQ(parsed("fd://3"), BindAddress(InheritedFd{3}));
  EXPECT_THAT(refusal("fd://"), HasSubstr("as in fd://3"));
  EXPECT_THAT(refusal("fd://-1"), HasSubstr("as in fd://3"));
  EXPECT_THAT(refusal("fd://3x"), HasSubstr("as in fd://3"));
}

TEST(BindAddress, KnowsPortsFrom0To65535Only) {
  EXPECT_EQ(parsed(":65535"), BindAddress(TcpAddress{"0.0.0.0", 65535}));
  for (const char* text : {":65536", ":-1", ":", ":80 ", ":+80", "[::1]:"}) {
    EXPECT_THAT(refusal(text), HasSubstr("from 0 to 65535")) << text;
  }
}

TEST(BindAddress, SaysWhatToWriteInsteadOfWhatIsRefused) {
  EXPECT_THAT(refusal("8000"), HasSubstr("write 127.0.0.1:8000, or :8000"));
  EXPECT_THAT(refusal("::1"), HasSubstr("[::1]:8000"));
  EXPECT_THAT(refusal("::1:8000"), HasSubstr("brackets"));
  EXPECT_THAT(refusal("[::1]"), HasSubstr("no port"));
  EXPECT_THAT(refusal("[::1:80"), HasSubstr("] is missing"));
  EXPECT_THAT(refusal("[127.0.0.1]:80"), HasSubstr("no IPv6 address"));
  EXPECT_THAT(refusal("/run/app.sock"), HasSubstr("unix:/run/app.sock"));
  EXPECT_THAT(refusal("http://127.0.0.1:80"), HasSubstr("without a scheme"));
  EXPECT_THAT(refusal(""), HasSubstr("no address is given"));
  EXPECT_THAT(refusal("127.0.0.1"), HasSubstr("'127.0.0.1': no port is given; write 127.0.0.1:8000"));
}

TEST(BindAddress, WritesWhatItReads) {
  for (const char* text : {"127.0.0.1:8000", "[::1]:80", "unix:/run/app.sock", "fd://3"}) {
    EXPECT_EQ(to_text(parsed(text)), text);
  }
}
}  // namespace
}  // namespace moult
