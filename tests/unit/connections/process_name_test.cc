#include "master/connections/process_name.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
namespace moult {
namespace {
// A process of the given name with a child of another; both wait to be killed.
class Family {
 public:
  Family(const char* parent_name, const char* child_name) {
    int told[2];
    EXPECT_EQ(pipe(told), 0);
    parent_ = fork();
    if (parent_ == 0) {
      prctl(PR_SET_NAME, parent_name);
      const pid_t child = fork();
      if (child == 0) {
        prctl(PR_SET_NAME, child_name);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        const pid_t me = getpid();
        (void)!write(told[1], &me, sizeof me);
      }
      for (;;) pause();
    }
    EXPECT_EQ(read(told[0], &child_, sizeof child_), static_cast<ssize_t>(sizeof child_));
    close(told[0]), close(told[1]);
  }
  ~Family() {
    kill(parent_, SIGKILL);
    waitpid(parent_, nullptr, 0);
  }
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;
  pid_t parent() const { return parent_; }
  pid_t child() const { return child_; }

 private:
  pid_t parent_ = 0, child_ = 0;
};

TEST(ProcessName, HasPidAndName) {
  const Family family("some shell", "a (strange) one");
  EXPECT_EQ(process_name(family.child()), "pid " + std::to_string(family.child()) + " (a (strange) one)");
}

TEST(ProcessName, IsThatOfTheMoultBehindAWorker) {
  const Family family("moult", "python3");
  EXPECT_EQ(process_name(family.child()), "pid " + std::to_string(family.parent()) + " (moult)");
}

TEST(ProcessName, DoesWithoutTheNameOfOneThatIsGone) {
  pid_t gone = 0;
  {
    const Family family("a", "b");
    gone = family.parent();
  }
  EXPECT_EQ(process_name(gone), "pid " + std::to_string(gone));
}

TEST(ProcessName, KnowsItself) { EXPECT_EQ(process_name(getpid()), "this moult itself"); }

TEST(PortHolder, IsEmptyForAPortOnWhichNobodyListens) { EXPECT_EQ(port_holder(0), ""); }
}  // namespace
}  // namespace moult
