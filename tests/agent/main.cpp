#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>

#include "container/engine.h"

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (::geteuid() != 0 && !::testing::GTEST_FLAG(list_tests)) {
    std::fputs("run these tests as root: they start commands as another user, as the agent does\n", stderr);
    return 1;
  }
  roombox::prepare_signals();
  sigset_t interrupt;  // Ctrl-C still ends the tests
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  sigaddset(&interrupt, SIGTERM);
  ::sigprocmask(SIG_UNBLOCK, &interrupt, nullptr);
  return RUN_ALL_TESTS();
}
