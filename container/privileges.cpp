#include "container/privileges.h"

#include <linux/capability.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <string_view>

#include "container/sys/call.h"

namespace roombox {
namespace {

/// All that the agent keeps, of what it has: Docker's default set has all but the last.
constexpr std::array kKept = {
    CAP_SETUID,        // a command's process becomes the user's
    CAP_SETGID,        // and gets the user's group and its mark
    CAP_KILL,          // to signal processes of the user
    CAP_CHOWN,         // to give the user a terminal, and the FIFO of a shell's stdin
    CAP_DAC_OVERRIDE,  // to open what is the user's: that FIFO, the oom_score_adj of a command
    CAP_SYS_RESOURCE,  // pipes for all commands at once beyond the share of one user (pipe(7))
};

using CapabilitySets = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;

template <typename Call>
void require(const char* name, Call&& make) {
  const auto done = sys::call(name, make);
  if (!done) throw std::runtime_error(done.error().text());
}

/// Whether the /proc that is mounted is that of the PID namespace in which this process is PID 1.
bool is_init_of_proc() {
  std::array<char, 16> target;
  const auto size = ::readlink("/proc/self", target.data(), target.size());
  return ::getpid() == 1 && size == 1 && target[0] == '1';
}

}  // namespace

void bar_new_privileges() {
  require("prctl", [] { return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); });
  for (int capability = 0; ::prctl(PR_CAPBSET_DROP, capability) == 0; ++capability) {
  }
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);  // fails before Linux 4.3 alone, which has none
}

ProcView hide_from_commands() {
  constexpr unsigned long kRemount = MS_REMOUNT | MS_NOSUID | MS_NODEV | MS_NOEXEC;
  // By its number: names came with Linux 5.8.
  const bool hidden = is_init_of_proc() && ::mount("proc", "/proc", "proc", kRemount, "hidepid=2,gid=0") == 0;
  return hidden ? ProcView::Own : ProcView::All;
}

void drop_privileges() {
  // A crash handler of the host (core(5)) would get our memory, the token in it, whatever RLIMIT_CORE says.
  require("prctl", [] { return ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); });

  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  CapabilitySets had{}, kept{};
  require("capget", [&] { return ::syscall(SYS_capget, &header, had.data()); });
  for (const unsigned capability : kKept) {
    const std::size_t word = CAP_TO_INDEX(capability);
    kept[word].permitted |= had[word].permitted & CAP_TO_MASK(capability);
    kept[word].effective = kept[word].permitted;
  }
  require("capset", [&] { return ::syscall(SYS_capset, &header, kept.data()); });
}

}  // namespace roombox
