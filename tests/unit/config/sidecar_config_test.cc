// --sidecar-bind, as it is written.
#include <gmock/gmock.h>

#include "tests/unit/config/reading.h"
namespace moult {
namespace {
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(SidecarConfig, IsAnAddressOfItsOwn) {
  EXPECT_FALSE(config({"a:b"}).listen.sidecar);
  EXPECT_FALSE(config({"a:b", "--sidecar-bind", "off"}).listen.sidecar);
  EXPECT_EQ(to_text(*config({"a:b", "--sidecar-bind", ":9"}).listen.sidecar), "0.0.0.0:9");
  EXPECT_EQ(to_text(*config({"a:b", "--chdir", "/", "--sidecar-bind", "unix:x"}).listen.sidecar), "unix:/x");
  EXPECT_EQ(refusal({"a:b", "--sidecar-bind", "fd://3"}),
            "--sidecar-bind: 'fd://3' is neither HOST:PORT nor unix:PATH");
  EXPECT_EQ(refusal({"a:b", "-b", ":80", "--sidecar-bind", ":80"}),
            "--sidecar-bind: 0.0.0.0:80 is taken by --bind already");
  EXPECT_THAT(refusal({"a:b", "--chdir", "/", "--sidecar-bind", "unix:" + std::string(107, 'x')}),
              HasSubstr("is too long for a socket"));
  EXPECT_THAT(refusal({"--sidecar-bind", ":9", "--", "ls"}),
              StartsWith("--sidecar-bind: a command does not know this door: leave it out"));
}
}  // namespace
}  // namespace moult
