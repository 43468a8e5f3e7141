#include "master/connections/process_name.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>
namespace moult {
namespace {
namespace fs = std::filesystem;
const std::string listening = "0A";  // TCP_LISTEN, as /proc/net/tcp writes it

const std::string our_name = "moult";

std::pair<std::string, pid_t> name_and_parent(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);  // "812 (name) S 1 ...", and the name may have anything in it
  const auto open = text.find('('), close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos) return {};
  std::istringstream rest(text.substr(close + 1));
  std::string state;
  pid_t parent = 0;
  rest >> state >> parent;
  return {text.substr(open + 1, close - open - 1), parent};
}

// The sockets that listen on the port, as /proc/PID/fd names them: "socket:[4711]".
std::set<std::string> sockets_of(std::uint16_t port, const char* table) {
  std::set<std::string> sockets;
  std::ifstream file(table);
  std::string line;
  std::getline(file, line);  // the headings
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string slot, local, remote, state, queues, timer, retransmits, user, timeout, inode;
    words >> slot >> local >> remote >> state >> queues >> timer >> retransmits >> user >> timeout >> inode;
    const auto colon = local.rfind(':');
    if (colon == std::string::npos || state != listening) continue;
    unsigned found = 0;
    std::from_chars(local.data() + colon + 1, local.data() + local.size(), found, 16);
    if (found == port) sockets.insert("socket:[" + inode + "]");
  }
  return sockets;
}

bool holds_one_of(const std::set<std::string>& sockets, const fs::path& process) {
  std::error_code ignored;  // processes end while we look, and many are not ours to look at
  for (fs::directory_iterator fd(process / "fd", ignored), end; fd != end; fd.increment(ignored)) {
    const auto target = fs::read_symlink(fd->path(), ignored);
    if (!ignored && sockets.contains(target.string())) return true;
  }
  return false;
}

std::vector<pid_t> processes() {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (fs::directory_iterator entry("/proc", ignored), end; entry != end; entry.increment(ignored)) {
    const std::string name = entry->path().filename();
    pid_t pid = 0;
    const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error == std::errc{} && stop == name.data() + name.size()) found.push_back(pid);
  }
  std::sort(found.begin(), found.end());
  return found;
}
}  // namespace

std::string process_name(pid_t pid) {
  if (pid == getpid()) return "this moult itself";
  const auto [name, parent] = name_and_parent(pid);
  if (name != our_name && name_and_parent(parent).first == our_name) return process_name(parent);
  return "pid " + std::to_string(pid) + (name.empty() ? "" : " (" + name + ")");
}

std::string port_holder(std::uint16_t port) {
  std::set<std::string> sockets = sockets_of(port, "/proc/net/tcp");
  sockets.merge(sockets_of(port, "/proc/net/tcp6"));
  if (sockets.empty()) return {};
  for (const pid_t pid : processes()) {
    if (holds_one_of(sockets, fs::path("/proc") / std::to_string(pid))) return process_name(pid);
  }
  return {};
}
}  // namespace moult
