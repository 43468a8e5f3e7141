#pragma once
// The types that a row of the flag table can have: each reads a text into one field of one part of Config, and knows
// what is wrong with a text that it refuses. Included by flag_table.cc only.
#include <string>
#include <utility>

#include "master/config/flags.h"
#include "master/config/in_quotes.h"
#include "master/config/nearest_name.h"
#include "master/config/units.h"
namespace moult::flag_type {
// Fills config.*part.*field with what `parse` makes of the text.
template <class Part, class Field, class Parse>
FlagType reads(FlagShape shape, Part Config::*part, Field Part::*field, Parse parse) {
  return {shape, [=](Config& config, std::string_view text) -> Result<void> {
            auto value = parse(text);
            if (!value) return value.error();
            config.*part.*field = *std::move(value);
            return {};
          }};
}

inline Result<std::string> not_empty(std::string_view text) {
  if (text.empty()) return Error{"is empty"};
  return std::string(text);
}

template <class Part, class Field>
FlagType text(Part Config::*part, Field Part::*field) {
  return reads(FlagShape::text, part, field, not_empty);
}

// Where nothing at all has a meaning of its own, other than that of a flag which is not given.
template <class Part>
FlagType text_or_empty(Part Config::*part, std::optional<std::string> Part::*field) {
  return reads(FlagShape::text, part, field,
               [](std::string_view written) -> Result<std::string> { return std::string(written); });
}

// "off", which is none, or whatever `parse` reads.
template <class Part, class Value, class Parse>
FlagType or_off(FlagShape shape, Part Config::*part, std::optional<Value> Part::*field, Parse parse) {
  return reads(shape, part, field, [=](std::string_view written) -> Result<std::optional<Value>> {
    if (written == "off") return std::optional<Value>();
    auto value = parse(written);
    if (!value) return value.error();
    return std::optional<Value>(*std::move(value));
  });
}

template <class Part, class Field>
FlagType number(Part Config::*part, Field Part::*field, unsigned lowest, unsigned highest) {
  return reads(FlagShape::number, part, field, [=](std::string_view written) -> Result<unsigned> {
    const auto value = parse_number(written, {lowest, highest});
    if (!value) return value.error();
    return static_cast<unsigned>(*value);
  });
}

template <class Part>
FlagType time(Part Config::*part, milliseconds Part::*field, milliseconds lowest, milliseconds highest) {
  return reads(FlagShape::time, part, field, [=](std::string_view written) {
    return parse_time(written, {lowest, highest});
  });
}

// Zero is off, as gunicorn has it.
template <class Part>
FlagType time_or_off(Part Config::*part, std::optional<milliseconds> Part::*field, milliseconds lowest,
                     milliseconds highest) {
  return reads(FlagShape::time, part, field, [=](std::string_view written) -> Result<std::optional<milliseconds>> {
    if (written == "off") return std::optional<milliseconds>();
    auto zero = parse_time(written, {milliseconds(0), milliseconds(0)});
    if (zero) return std::optional<milliseconds>();
    auto value = parse_time(written, {lowest, highest});
    if (!value) return Error{value.error().message + ", or off"};
    return std::optional<milliseconds>(*value);
  });
}

template <class Part>
FlagType size(Part Config::*part, std::optional<Size> Part::*field) {
  return reads(FlagShape::text, part, field, [](std::string_view written) -> Result<std::optional<Size>> {
    const auto value = parse_size(written);
    if (!value) return value.error();
    return std::optional<Size>(*value);
  });
}

template <class Part>
FlagType percent(Part Config::*part, double Part::*field) {
  return reads(FlagShape::text, part, field, parse_percent);
}

template <class Part>
FlagType toggle(Part Config::*part, bool Part::*field) {
  return reads(FlagShape::toggle, part, field, parse_toggle);
}

template <class Value>
using Words = std::vector<std::pair<std::string_view, Value>>;

// One of several words.
template <class Part, class Value>
FlagType choice(Part Config::*part, Value Part::*field, Words<Value> words) {
  return reads(FlagShape::text, part, field, [=](std::string_view written) -> Result<Value> {
    std::vector<std::string_view> names;
    std::string list;
    for (const auto& [word, value] : words) {
      if (word == written) return value;
      list += (names.empty() ? "" : ", ") + std::string(word);
      names.push_back(word);
    }
    const auto nearest = nearest_name(written, names);
    return Error{in_quotes(written) + " is not one of " + list + (nearest ? ": did you mean " + *nearest + "?" : "")};
  });
}

// KEY=VALUE; a later one with the same key wins.
template <class Part>
FlagType pairs(Part Config::*part, std::map<std::string, std::string> Part::*field) {
  return {FlagShape::pairs, [=](Config& config, std::string_view text) -> Result<void> {
            const auto equals = text.find('=');
            if (equals == 0 || equals == std::string_view::npos ||
                text.substr(0, equals).find_first_of(" \t\r\n") != std::string_view::npos)
              return Error{in_quotes(text) + " is not KEY=VALUE"};
            (config.*part.*field)[std::string(text.substr(0, equals))] = text.substr(equals + 1);
            return {};
          }};
}
}  // namespace moult::flag_type
