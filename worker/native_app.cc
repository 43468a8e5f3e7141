#include "worker/native_app.h"

#include <dlfcn.h>

#include <exception>
#include <functional>
namespace moult {
namespace {
// A symbol that is defined as null counts as missing.
template <class Function>
Function symbol(void* object, const char* name) {
  return reinterpret_cast<Function>(::dlsym(object, name));
}

// The app is another's code: whatever it throws ends here.
Result<int> guarded(const char* function, const std::function<int()>& call) {
  try {
    return call();
  } catch (const std::exception& thrown) {
    return Error{std::string(function) + " threw: " + thrown.what()};
  } catch (...) { return Error{std::string(function) + " threw something that is no std::exception"}; }
}
}  // namespace

Result<NativeApp> NativeApp::load(const std::string& path) {
  // Without a slash dlopen would search the system's libraries.
  const std::string file = path.find('/') == path.npos ? "./" + path : path;
  void* object = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) return Error{"cannot load the app: " + std::string(::dlerror())};
  const auto main = symbol<Main>(object, "moult_worker_main");
  if (main == nullptr)
    return Error{"cannot load the app: " + path + R"( has no function moult_worker_main (declare it extern "C"))"};
  if (const auto preload = symbol<int (*)()>(object, "moult_preload")) {
    const auto status = guarded("moult_preload()", preload);
    if (!status) return Error{"cannot load the app: " + status.error().message};
    if (*status != 0) return Error{"cannot load the app: moult_preload() returned " + std::to_string(*status)};
  }
  return NativeApp(symbol<Main>(object, "moult_worker_start"), main);
}

Result<int> NativeApp::start(WorkerContext& context) const {
  if (start_ == nullptr) return 0;
  return guarded("moult_worker_start()", [&] { return start_(context); });
}

Result<int> NativeApp::run(WorkerContext& context) const {
  return guarded("moult_worker_main()", [&] { return main_(context); });
}
}  // namespace moult
