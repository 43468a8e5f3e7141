#include "master/config/config_file.h"

#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <tuple>

#include "master/config/in_quotes.h"
#include "master/config/nearest_name.h"
namespace moult {
namespace {
using nlohmann::json;
using Texts = std::vector<std::string>;

// nlohmann's own words without its bookkeeping: "line 3, column 5: syntax error while parsing value - ...".
std::string syntax_error(const json::exception& error) {
  std::string what = error.what();
  if (const auto line = what.find("line "); line != std::string::npos) return what.substr(line);
  if (const auto bracket = what.find("] "); bracket != std::string::npos) return what.substr(bracket + 2);
  return what;
}

// nlohmann lets the last of two equal keys win in silence. Looked at are those of the file, those of its objects, and
// those of the objects in its arrays.
class Keys {
 public:
  void begin_object(int depth) {
    if (depth == 2) ++entry_;
  }
  void read(int depth, std::string key) {
    if (depth > 3) return;
    if (depth == 1) {
      outer_ = std::move(key);
      entry_ = 0;
      key.clear();
    }
    std::string shown = in_quotes(outer_);
    if (depth == 3) shown += ": entry " + std::to_string(entry_);
    if (depth > 1) shown += ": " + in_quotes(key);
    if (!known_.emplace(depth, outer_, entry_, std::move(key)).second && twice_.empty()) twice_ = shown;
  }
  const std::string& twice() const { return twice_; }  // the first; empty: none

 private:
  std::set<std::tuple<int, std::string, unsigned, std::string>> known_;
  std::string outer_, twice_;
  unsigned entry_ = 0;
};

Result<json> parse(std::string_view text, const std::string& name) {
  Keys keys;
  const auto notice = [&](int depth, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::key) keys.read(depth, parsed.get<std::string>());
    if (event == json::parse_event_t::object_start) keys.begin_object(depth);
    return true;
  };
  try {
    json file = json::parse(text, notice, true, true);
    if (!keys.twice().empty()) return Error{name + ": " + keys.twice() + " stands there twice"};
    if (!file.is_object()) return Error{name + ": a config file is one JSON object: { \"workers\": 4 }"};
    return file;
  } catch (const json::exception& error) { return Error{name + ": is not JSON: " + syntax_error(error)}; }
}

Result<std::string> one_text(const json& value) {
  if (!value.is_string()) return Error{"must be a string"};
  return value.get<std::string>();
}

Result<Texts> pairs_of(const json& object) {
  Texts texts;
  for (const auto& [key, value] : object.items()) {
    if (key.empty() || key.find('=') != std::string::npos) return Error{"has the wrong name " + in_quotes(key)};
    if (value.is_string()) texts.push_back(key + "=" + value.get<std::string>());
    else if (value.is_number() || value.is_boolean()) texts.push_back(key + "=" + value.dump());
    else return Error{in_quotes(key) + " must be a string, a number, true or false"};
  }
  return texts;
}

Result<Texts> many_texts(const json& value, FlagShape shape) {
  if (shape == FlagShape::pairs && value.is_object()) return pairs_of(value);
  if (value.is_string() && shape == FlagShape::list) return Texts{value.get<std::string>()};
  const char* right = shape == FlagShape::list ? "must be a string or an array of strings"
                                               : "must be an object, or an array of \"NAME=VALUE\"";
  if (!value.is_array()) return Error{right};
  Texts texts;
  for (const auto& item : value) {
    if (!item.is_string()) return Error{right};
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

Result<Texts> texts_of(const json& value, FlagShape shape) {
  switch (shape) {
    case FlagShape::list:
    case FlagShape::pairs: return many_texts(value, shape);
    case FlagShape::toggle:
      if (value.is_boolean()) return Texts{value.get<bool>() ? "on" : "off"};
      if (!value.is_string()) return Error{"must be true or false"};
      break;
    case FlagShape::number:
      if (value.is_number_integer()) return Texts{value.dump()};
      if (!value.is_string()) return Error{"must be a whole number"};
      break;
    case FlagShape::time:
      if (value.is_number()) return Texts{value.dump()};
      if (!value.is_string()) return Error{"must be a number of seconds, or a string like \"30s\""};
      break;
    case FlagShape::json: return Texts{value.dump(-1, ' ', false, json::error_handler_t::replace)};
    case FlagShape::text: break;
  }
  const auto text = one_text(value);
  if (!text) return text.error();
  return Texts{*text};
}

// A command's words are never split by us: where a shell would, we cannot know.
Error not_words(const std::string& text) {
  std::istringstream blanks(text);
  const Texts words(std::istream_iterator<std::string>(blanks), {});
  const bool is_short = text.size() <= longest_in_quotes && !words.empty();
  return {
      "is one text with blanks: write its words one by one: " +
      (is_short ? json(words).dump(-1, ' ', false, json::error_handler_t::replace) : "[\"PROGRAM\", \"ARGUMENT\"]")};
}

// What `[]` should have been: it must not mean the default.
Error empty_list(const Flag& flag) {
  const std::string example = flag.name == "command" ? "node\", \"server.js" : std::string(flag.default_text);
  return {"is an empty array: write what it is to have, as [\"" + example + "\"], or leave the key out"};
}

Result<Texts> read_value(const Flag& flag, const json& value) {
  if (value.is_null()) return Error{"is null: leave the key out"};
  auto texts = texts_of(value, flag.type.shape);
  if (!texts) return texts;
  if (flag.type.shape == FlagShape::list && texts->empty()) return empty_list(flag);
  if (flag.name == "command" && value.is_string() && texts->front().find_first_of(" \t\r\n") != std::string::npos)
    return not_words(texts->front());
  if (texts->size() > most_values) return Error{"has more than " + std::to_string(most_values) + " values"};
  for (const auto& text : *texts) {
    if (text.find('\0') != std::string::npos) return Error{"has a zero byte"};
  }
  return texts;
}

Result<const Flag*> flag_of_key(const std::string& key) {
  const Flag* flag = find_flag(key);
  if (!flag) {
    const auto names = names_for(Place::file);
    return Error{"no such key" + did_you_mean(key, names, "", "its keys are the flags of moult help without dashes")};
  }
  if (key == "no-preload") return Error{"write \"preload\": \"off\""};
  if (!may_stand_in(*flag, Place::file)) return Error{"stands on the command line, not in a file"};
  return flag;
}
}  // namespace

Result<Settings> parse_config_file(std::string_view text, const std::string& name) {
  const auto file = parse(text, name);
  if (!file) return file.error();
  Settings settings;
  for (const auto& [key, value] : file->items()) {
    const std::string origin = name + ": " + (find_flag(key) ? key : in_quotes(key));
    const auto flag = flag_of_key(key);
    if (!flag) return Error{origin + ": " + flag.error().message};
    auto texts = read_value(**flag, value);
    if (!texts) return Error{origin + ": " + texts.error().message};
    if (!texts->empty()) settings[key] = {*std::move(texts), origin};
  }
  return settings;
}
}  // namespace moult
