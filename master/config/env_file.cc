#include "master/config/env_file.h"

#include <algorithm>

#include "master/config/in_quotes.h"
namespace moult {
namespace {
constexpr std::string_view blanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

bool is_variable_name(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (name.empty() || !letter(name[0])) return false;
  return std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

Result<std::string> unquoted(std::string_view value) {
  const char quote = value[0];
  std::string content;
  std::size_t at = 1;
  for (; at < value.size() && value[at] != quote; ++at) {
    char c = value[at];
    if (c == '\\' && quote == '"' && at + 1 < value.size()) {
      c = value[++at];
      if (c == 'n') c = '\n';
      else if (c == 't') c = '\t';
      else if (c != '"' && c != '\\' && c != '$') content += '\\';
    }
    content += c;
  }
  if (at >= value.size()) return Error{"the quote is not closed on its line"};
  const std::string_view rest = trimmed(value.substr(at + 1));
  if (!rest.empty() && rest[0] != '#') return Error{"something follows the closing quote"};
  return content;
}

Result<std::string> read_value(std::string_view value) {
  if (value.empty()) return std::string();
  if (value[0] == '"' || value[0] == '\'') return unquoted(value);
  if (value.find(" #") != std::string_view::npos || value.find("\t#") != std::string_view::npos)
    return Error{"does a comment begin at '#'? Put the value in quotes"};
  return std::string(value);
}
}  // namespace

Result<std::vector<std::pair<std::string, std::string>>> parse_env_file(std::string_view text,
                                                                        const std::string& name) {
  std::vector<std::pair<std::string, std::string>> variables;
  for (std::size_t line_number = 1; !text.empty(); ++line_number) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto wrong = [&](const std::string& what) {
      return Error{name + ": line " + std::to_string(line_number) + ": " + what};
    };
    if (line.find('\0') != std::string_view::npos) return wrong("has a zero byte");
    if (line.empty() || line[0] == '#') continue;
    if (line.starts_with("export ") || line.starts_with("export\t")) line = trimmed(line.substr(7));
    const auto equals = line.find('=');
    if (equals == std::string_view::npos) return wrong("is not NAME=value");
    if (!is_variable_name(line.substr(0, equals)))
      return wrong(in_quotes(line.substr(0, equals)) + " is no name of a variable");
    auto value = read_value(trimmed(line.substr(equals + 1)));
    if (!value) return wrong(value.error().message);
    variables.emplace_back(line.substr(0, equals), *std::move(value));
  }
  return variables;
}
}  // namespace moult
