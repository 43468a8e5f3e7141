#include "master/config/app_name.h"

#include <gmock/gmock.h>

namespace moult {
namespace {
using ::testing::HasSubstr;

std::string refusal_of(std::string_view text) {
  AppConfig app;
  const auto read = read_app(app, text);
  return read ? "(accepted)" : read.error().message;
}

TEST(AppName, TakesAnObjectAFactoryOrALibrary) {
  AppConfig app;
  for (const auto text : {"shop:app", "shop.web:app", "a:b.c", "_a1:_b2", "shop:make_app()", "später:app"}) {
    ASSERT_TRUE(read_app(app, text)) << text;
    EXPECT_EQ(app.target, text);
    EXPECT_EQ(app.kind, AppKind::python);
  }
  ASSERT_TRUE(read_app(app, "native:./libapp.so"));
  EXPECT_EQ(app.kind, AppKind::native);
  EXPECT_EQ(app.target, "./libapp.so");
}

TEST(AppName, SaysWhatToWriteInsteadOfWhatIsRefused) {
  EXPECT_EQ(refusal_of("shop"), "'shop' does not say which object: write MODULE:ATTR or MODULE:factory()");
  EXPECT_THAT(refusal_of("shop.py:app"), HasSubstr("names a file: name the module as Python imports it"));
  EXPECT_THAT(refusal_of("./shop.py"), HasSubstr("names a file"));
  EXPECT_EQ(refusal_of("native:"), "'native:' has no path: write native:./libapp.so");
  for (const auto text : {"", ":", "a:", ":b", "a..b:c", "a.:c", "1a:b", "a:b()()", "a:b(1)", "a:b c", "a-b:c", "()"})
    EXPECT_NE(refusal_of(text), "(accepted)") << text;
}

TEST(AppName, QuotesAWrongNameShortAndHarmless) {
  EXPECT_THAT(refusal_of("\x1b[31m\n"), HasSubstr("'?[31m?'"));
  EXPECT_LT(refusal_of(std::string(5000, 'x')).size(), 200u);
}

TEST(AppName, KnowsTheWorkerClasses) {
  for (const auto text : {"auto", "uvicorn", "sync", "gthread", "asgi", "uvicorn.workers.UvicornWorker"})
    EXPECT_TRUE(parse_worker_class(text)) << text;
  EXPECT_EQ(parse_worker_class("gthreads").error().message, "'gthreads' is no worker class: did you mean gthread?");
  EXPECT_EQ(parse_worker_class("tornado").error().message,
            "'tornado' is no worker class: write auto, uvicorn, sync, gthread, asgi, or package.module.Class");
}

TEST(AppName, KeepsInstanceNamesFitForAPath) {
  EXPECT_TRUE(parse_instance_name(std::string(longest_instance_name, 'x')));
  EXPECT_TRUE(parse_instance_name("shop-1.web_b"));
  EXPECT_FALSE(parse_instance_name(std::string(longest_instance_name + 1, 'x')));
  for (const auto text : {"", ".", "..", "a/b", "a b", "ä"}) EXPECT_FALSE(parse_instance_name(text)) << text;
}

TEST(AppName, NamesAFunctionToCallAfterTheFork) {
  EXPECT_TRUE(parse_python_function("shop.hooks:after_fork"));
  EXPECT_EQ(parse_python_function("shop.hooks").error().message,
            "'shop.hooks' does not say which object: write MODULE:FUNC");
  EXPECT_FALSE(parse_python_function("shop.hooks:after_fork()"));
}
}  // namespace
}  // namespace moult
