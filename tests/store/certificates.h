#pragma once
// Self-made certificates in a folder of their own, by the openssl program.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
namespace moult {
class Certificates {
 public:
  Certificates() {
    std::string folder = std::filesystem::temp_directory_path() / "moult-certificates-XXXXXX";
    if (!::mkdtemp(folder.data())) throw std::runtime_error("no temporary folder can be made");
    folder_ = folder;
    authority("ca");
    run("req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout server.key -out server.csr -subj "
        "/CN=store");
  }
  ~Certificates() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Certificates(const Certificates&) = delete;
  Certificates& operator=(const Certificates&) = delete;

  std::string path(const std::string& file) const { return folder_ / file; }
  std::string key() const { return path("server.key"); }
  // NAME.pem, which signs; NAME.key.
  std::string authority(const std::string& name) {
    run("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 10 -subj /CN=" + name + " -keyout " +
        name + ".key -out " + name + ".pem");
    return path(name + ".pem");
  }
  // For `hosts` ("DNS:localhost,IP:127.0.0.1"), valid for `days`: fewer than none has expired.
  std::string issue(const std::string& name, const std::string& hosts, int days = 2) {
    run("x509 -req -in server.csr -CA ca.pem -CAkey ca.key -days " + std::to_string(days) + " -out " + name +
        ".pem -extfile /dev/stdin <<END\nsubjectAltName=" + hosts + "\nEND");
    return path(name + ".pem");
  }

 private:
  void run(const std::string& arguments) const {
    const std::string command = "cd " + folder_.string() + " && exec 2>openssl.log && openssl " + arguments;
    if (std::system(command.c_str()) != 0) throw std::runtime_error("openssl " + arguments + " failed");
  }
  std::filesystem::path folder_;
};
}  // namespace moult
