#pragma once
// The wire of the control socket: one JSON object a line, each with "protocol". Pure: bytes in, frames out, and no
// exception leaves it. Used by ControlConnection (master) and ControlClient.
//   answer:  {"protocol":1,"ok":true,"result":...}   or   {"protocol":1,"ok":false,"error":"one sentence"}
// Answers come in the order of the commands, one each.
#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
namespace moult {
// A command is far under 1 kB; the rest is room for what later versions add.
inline constexpr std::size_t longest_command_bytes = std::size_t{64} << 10;
// The status of 1,000 workers is about 350 kB, and a traceback may come with it.
inline constexpr std::size_t longest_answer_bytes = std::size_t{1} << 20;

class ControlFrames {
 public:
  explicit ControlFrames(std::size_t longest_frame_bytes) : longest_(longest_frame_bytes) {}

  void feed(std::string_view bytes);

  // The next whole frame, or what is wrong with it, or nothing yet. After an error nothing more comes: what follows a
  // broken line cannot be trusted to begin where it seems to.
  std::optional<Result<nlohmann::json>> next();

 private:
  Error broken(std::string message);

  std::size_t longest_;
  std::string bytes_;          // never more than one feed longer than the longest frame
  std::size_t begin_ = 0;      // what was handed out is before it
  std::size_t looked_at_ = 0;  // no line ends between begin_ and here
  bool broken_ = false;
};

// Both end in a newline. The first is spliced, not parsed: `result` must be JSON.
std::string success_frame(std::string_view result);
std::string refusal_frame(std::string_view error);
std::string frame_of(const nlohmann::json&);
}  // namespace moult
