#pragma once
// `moult schedule ls` and `moult schedule run` for people: from the status document and from the answer to a run (both
// of master/report/schedule_json.h) to lines. Pure.
#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
namespace moult {
// `width`: as status_table's.
std::string schedule_table(const nlohmann::json& status, std::size_t width);
// "answered 200 after 0.3s", "not answered within its timeout, after 60s". No newline.
std::string call_in_words(const nlohmann::json& ended);
// It was answered, and not by an error.
bool went_well(const nlohmann::json& ended);
}  // namespace moult
