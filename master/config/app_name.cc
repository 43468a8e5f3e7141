#include "master/config/app_name.h"

#include <algorithm>
#include <vector>

#include "master/config/in_quotes.h"
#include "master/config/nearest_name.h"
namespace moult {
namespace {
Error wrong(std::string_view text, const std::string& what) { return {in_quotes(text) + " " + what}; }

bool starts_identifier(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
bool continues_identifier(char c) { return starts_identifier(c) || (c >= '0' && c <= '9'); }

// "package.module", "object.attribute": Python identifiers with dots between them.
bool is_dotted_name(std::string_view text) {
  bool at_start = true;
  for (const char c : text) {
    if (c == '.' && !at_start) {
      at_start = true;
      continue;
    }
    if (at_start ? !starts_identifier(c) : !continues_identifier(c)) return false;
    at_start = false;
  }
  return !at_start;
}

Result<void> check_python_object(std::string_view text, std::string_view form) {
  const auto colon = text.find(':');
  const std::string_view module = text.substr(0, colon);
  if (module.ends_with(".py") || module.find('/') != std::string_view::npos)
    return wrong(text, "names a file: name the module as Python imports it, " + std::string(form));
  if (colon == std::string_view::npos) return wrong(text, "does not say which object: write " + std::string(form));
  if (!is_dotted_name(module) || !is_dotted_name(text.substr(colon + 1)))
    return wrong(text, "is not " + std::string(form));
  return {};
}
}  // namespace

Result<void> read_app(AppConfig& app, std::string_view text) {
  if (text.starts_with("native:")) {
    if (text.size() == 7) return wrong(text, "has no path: write native:./libapp.so");
    app.kind = AppKind::native;
    app.target = text.substr(7);
    return {};
  }
  std::string_view object = text;
  if (object.ends_with("()")) object.remove_suffix(2);
  if (const auto checked = check_python_object(object, "MODULE:ATTR or MODULE:factory()"); !checked) {
    if (object.size() == text.size()) return checked;
    return wrong(text, "is not MODULE:ATTR or MODULE:factory()");
  }
  app.kind = AppKind::python;
  app.target = text;
  return {};
}

Result<std::string> parse_python_function(std::string_view text) {
  if (const auto checked = check_python_object(text, "MODULE:FUNC"); !checked) return checked.error();
  return std::string(text);
}

Result<std::string> parse_worker_class(std::string_view text) {
  const std::vector<std::string_view> known = {"auto", "uvicorn", "sync", "gthread", "asgi"};
  if (std::find(known.begin(), known.end(), text) != known.end()) return std::string(text);
  if (text.find('.') != std::string_view::npos && is_dotted_name(text)) return std::string(text);
  return wrong(text,
               "is no worker class" +
                   did_you_mean(text, known, "", "write auto, uvicorn, sync, gthread, asgi, or package.module.Class"));
}

Result<std::string> parse_instance_name(std::string_view text) {
  const auto right = [](char c) {
    return (static_cast<unsigned char>(c) < 0x80 && continues_identifier(c)) || c == '.' || c == '-';
  };
  if (text.empty() || text.size() > longest_instance_name || text[0] == '.' ||
      !std::all_of(text.begin(), text.end(), right))
    return wrong(text, "is no name: use 1 to " + std::to_string(longest_instance_name) +
                           " letters, digits, '.', '_' or '-', and no '.' first");
  return std::string(text);
}
}  // namespace moult
