#include "lease/redis_refusal.h"

#include <algorithm>
#include <string_view>
namespace moult {
namespace {
struct Known {
  std::string_view code;  // or how the whole message begins
  Recourse recourse;
  const char* sentence;
};
constexpr Known known[] = {
    {"LOADING", Recourse::ask_again, "the store is still loading its data"},
    {"BUSY", Recourse::ask_again, "the store is busy with a script that does not end; SCRIPT KILL there ends it"},
    {"MISCONF", Recourse::ask_again, "the store takes no writes because it cannot save to its disk; see its log"},
    {"OOM", Recourse::ask_again, "the store is at its maxmemory; raise it, or give moult a store of its own"},
    {"NOREPLICAS", Recourse::ask_again, "the store takes no writes because too few replicas follow it"},
    {"TRYAGAIN", Recourse::ask_again, "the store's cluster is moving these keys"},
    {"CLUSTERDOWN", Recourse::ask_again, "the store's cluster is down; CLUSTER INFO there says why"},
    {"READONLY", Recourse::reconnect, "the store is a replica, which takes no writes; name the primary"},
    {"MASTERDOWN", Recourse::reconnect, "the store is a replica that lost its primary; name the primary"},
    {"UNBLOCKED", Recourse::reconnect, "the store has just become a replica; name the primary"},
    {"NOAUTH", Recourse::final, "the store wants a password; give it in the URL, a password-file or the environment"},
    {"WRONGPASS", Recourse::final, "the store does not accept this user and password"},
    {"NOPERM", Recourse::final, "the store's ACL does not allow this user what moult needs"},
    {"MOVED", Recourse::final, "the store is a cluster, and these keys are on another of its nodes; name that node"},
    {"ASK", Recourse::final, "the store is a cluster that is moving these keys to another node; name that node"},
    {"CROSSSLOT", Recourse::final, "the store is a cluster that has these keys on several nodes"},
    {"DENIED", Recourse::final, "the store is in protected mode; set a password there, or bind it to where moult is"},
    {"ERR max number of clients reached", Recourse::ask_again,
     "the store has all the clients it may have (maxclients)"},
};
}  // namespace

RedisRefusal refusal_of(const RedisError& error) {
  const auto* found = std::ranges::find_if(known, [&](const Known& each) {
    return each.code.find(' ') == std::string_view::npos ? each.code == error.code
                                                         : error.message.starts_with(each.code);
  });
  if (found == std::end(known)) return {Recourse::callers, {}};
  return {found->recourse, std::string(found->sentence) + " (" + error.code + ")"};
}
}  // namespace moult
