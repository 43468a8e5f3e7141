#pragma once
// The last step of reading: what one flag alone cannot know. Paths become absolute, the interpreter is looked for,
// flags that contradict each other are refused, those that have no effect are warned of. Looks at the file system.
#include <string>
#include <vector>

#include "base/result.h"
#include "master/config/config.h"
#include "master/config/settings.h"
namespace moult {
Result<void> finish_config(Config&, const Settings&, const Environment&, std::vector<std::string>& warnings);
}  // namespace moult
