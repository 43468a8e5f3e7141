#pragma once
// `moult status` for people: from the status document (DESIGN "Status") to lines. Pure; reads nothing but its
// arguments, and shows '-' for whatever the document does not have.
#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
namespace moult {
// `width`: columns of the terminal; zero: not a terminal, no bound. Where the table is wider, columns are left out from
// the right, but never slot, pid and state. The last trouble is always shown in full.
std::string status_table(const nlohmann::json& status, std::size_t width);
}  // namespace moult
