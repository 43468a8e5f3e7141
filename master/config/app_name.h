#pragma once
// The app and what belongs to it, as a person names it: MODULE:ATTR, MODULE:factory(), native:PATH, MODULE:FUNC, a
// worker class, the name of this instance. Pure: whether it exists is seen when it is loaded.
#include <string>
#include <string_view>

#include "base/result.h"
#include "master/config/config.h"
namespace moult {
Result<void> read_app(AppConfig&, std::string_view);          // sets kind and target
Result<std::string> parse_python_function(std::string_view);  // MODULE:FUNC
Result<std::string> parse_worker_class(std::string_view);     // auto, uvicorn, sync, gthread, asgi, or dotted
Result<std::string> parse_instance_name(std::string_view);    // 1 to 64 of A-Z a-z 0-9 . _ -
inline constexpr std::size_t longest_instance_name = 64;      // it becomes part of a socket's path
}  // namespace moult
