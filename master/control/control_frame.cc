#include "master/control/control_frame.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "master/control/command.h"
namespace moult {
namespace {
using nlohmann::json;

// What is not UTF-8 becomes U+FFFD; the default would throw.
std::string dump(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }
}  // namespace

Error ControlFrames::broken(std::string message) {
  broken_ = true;
  std::string().swap(bytes_);
  begin_ = looked_at_ = 0;
  return Error{std::move(message)};
}

void ControlFrames::feed(std::string_view bytes) {
  if (broken_) return;
  bytes_.erase(0, begin_);
  looked_at_ -= begin_;
  begin_ = 0;
  bytes_.append(bytes);
}

std::optional<Result<json>> ControlFrames::next() {
  if (broken_) return std::nullopt;
  const std::size_t end = bytes_.find('\n', looked_at_);
  const std::size_t length = std::min(end, bytes_.size()) - begin_;
  if (length > longest_) return broken("a frame is longer than the " + std::to_string(longest_) + " bytes it may have");
  if (end == std::string::npos) {
    looked_at_ = bytes_.size();
    return std::nullopt;
  }
  const auto* first = bytes_.data() + begin_;
  json frame = json::parse(first, first + length, nullptr, /*allow_exceptions=*/false);
  begin_ = looked_at_ = end + 1;
  if (frame.is_discarded()) return broken("this is not JSON: send one JSON object a line");
  if (!frame.is_object()) return broken(std::string("a frame must be a JSON object, not ") + frame.type_name());
  const auto version = frame.find("protocol");
  if (version == frame.end() || !version->is_number_unsigned())
    return broken("a frame needs 'protocol', a whole number");
  if (*version != control_protocol_version)
    return broken("this moult speaks control protocol " + std::to_string(control_protocol_version) + ", not " +
                  dump(*version) + ": use the moult program of the same version");
  return frame;
}

std::string success_frame(std::string_view result) {
  std::string frame = R"({"protocol":)" + std::to_string(control_protocol_version) + R"(,"ok":true,"result":)";
  frame.append(result);
  std::replace(frame.begin(), frame.end(), '\n', ' ');  // in JSON a bare newline is only ever space between tokens
  return frame + "}\n";
}

std::string refusal_frame(std::string_view error) {
  return frame_of({{"protocol", control_protocol_version}, {"ok", false}, {"error", error}});
}

std::string frame_of(const json& value) { return dump(value) + "\n"; }
}  // namespace moult
