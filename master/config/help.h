#pragma once
// What `moult help` and `moult --help` print. Made from the flag table. Pure.
#include <string>
namespace moult {
std::string help_text();   // commands, and each flag with its default, by group
std::string usage_text();  // short: how to begin, and where the rest is
}  // namespace moult
