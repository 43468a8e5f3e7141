#include "master/launch/make_launcher.h"

#include "base/step.h"
namespace moult {
Result<std::unique_ptr<Launcher>> make_launcher(uv_loop_t* loop, Orphans& orphans, LaunchOptions options) {
  using Made = Result<std::unique_ptr<Launcher>>;
  return std::visit(Match{
                        [&](ForkServersOptions& o) -> Made {
                          return std::unique_ptr<Launcher>(std::make_unique<ForkServers>(loop, orphans, std::move(o)));
                        },
                        [&](ExecOptions& o) -> Made {
                          auto made = ExecLauncher::create(loop, orphans, std::move(o));
                          if (!made) return made.error();
                          return std::unique_ptr<Launcher>(std::move(*made));
                        },
                    },
                    options);
}

void wait_until_idle(uv_loop_t* loop, const Launcher& launcher) {
  while (launcher.running() > 0 && uv_run(loop, UV_RUN_ONCE) != 0) {}
}
}  // namespace moult
