#pragma once
// Documents as lines for people: what the tables of `moult status` and `moult fleet status` have in common. Pure; shows
// '-' for whatever a document does not have.
#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>
namespace moult {
// Null where there is none.
const nlohmann::json& field(const nlohmann::json& object, const char* key);
// One line. What others wrote must not steer the terminal: control characters (C0 and DEL) become spaces.
std::string text(const nlohmann::json& value);
std::string harmless(std::string text);               // the same, but keeps its line breaks
std::string last_line(const nlohmann::json& value);   // harmless; of a traceback it says what it was. Empty: no text
std::string duration(const nlohmann::json& seconds);  // "12s", "3m04s", "2h05m", "4d01h"
// The same of a time that is left: rounded up, and never nothing.
std::string time_left(const nlohmann::json& seconds);

// Of the same length as the first. One that is shorter ends with words that run over the columns that it does not have,
// and is shown in full.
using TableRow = std::vector<std::string>;
struct TableShape {
  std::vector<std::size_t> left;  // columns of words; all others are numbers and stand to the right
  std::size_t columns_at_least;   // however narrow it is
};
// `width`: columns of the terminal; zero: no bound. Where the table is wider, columns are left out from the right.
std::string table(const std::vector<TableRow>& rows, const TableShape&, std::size_t width);
}  // namespace moult
