#pragma once
// Figures in the words of a report. Pure.
#include <cstddef>
#include <string>
#include <vector>

#include "tools/event_history/history.h"
namespace moult {
std::string megabytes(double bytes);  // "100 MB", "9.5 MB"
std::string number(double value);     // three significant digits: "28.3", "0.0016", "1250"
double in_seconds(Duration);
std::string duration_text(double seconds);                                  // "41 s", "36 min", "23 h", "12 days"
std::string counted(std::size_t count, const char* one, const char* many);  // "1 recycle", "7 recycles"
// The value below which `percent` of them are, by nearest rank as the recycler's alarm has it; zero of none.
double percentile(std::vector<double> values, unsigned percent);
// "2 instances, 6 workers, from ... to ... (23.0 h)", and lines for what could not be read.
std::string extent(const History&);
std::vector<std::string> reading_remarks(const History&);
}  // namespace moult
