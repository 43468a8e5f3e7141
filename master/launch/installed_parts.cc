#include "master/launch/installed_parts.h"

#include <filesystem>
#include <system_error>
namespace moult {
namespace {
Result<std::filesystem::path> prefix() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return Error{"cannot find moult's own program: " + error.message(), error.value()};
  return program.parent_path().parent_path();
}

Result<std::string> existing(const std::filesystem::path& part) {
  std::error_code error;
  if (std::filesystem::exists(part, error)) return part.string();
  return Error{part.string() + " is missing: moult was not installed whole; install it again (cmake --install)"};
}
}  // namespace

Result<InstalledParts> InstalledParts::find() {
  const auto native = program("moult-native-fork-server");
  if (!native) return native.error();
  const auto installed = prefix();
  if (!installed) return installed.error();
  const auto python = existing(*installed / "share/moult/python/moult");
  if (!python) return python.error();
  return InstalledParts{*native, *python};
}

Result<std::string> InstalledParts::program(const std::string& name) {
  const auto installed = prefix();
  return installed ? existing(*installed / "libexec/moult" / name) : installed.error();
}
}  // namespace moult
