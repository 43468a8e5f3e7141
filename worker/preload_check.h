#pragma once
// What a loaded app has that forks cannot share: threads, which no child gets, and connections, which all children
// would speak on at once. Called by the native fork server between load and first fork.
#include <string>
namespace moult {
// One sentence a line, empty if there is nothing to warn of. `own_socket` is not counted.
std::string unforkable(int own_socket);
}  // namespace moult
