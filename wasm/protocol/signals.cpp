#include "wasm/protocol/signals.h"

#include <array>

#include "wasm/protocol/named.h"

namespace roombox {
namespace {

/// By number, from 1 on.
constexpr std::array<std::string_view, kSignalMax> kNames = {
    "SIGHUP",  "SIGINT",    "SIGQUIT", "SIGILL",   "SIGTRAP", "SIGABRT", "SIGBUS",  "SIGFPE",
    "SIGKILL", "SIGUSR1",   "SIGSEGV", "SIGUSR2",  "SIGPIPE", "SIGALRM", "SIGTERM", "SIGSTKFLT",
    "SIGCHLD", "SIGCONT",   "SIGSTOP", "SIGTSTP",  "SIGTTIN", "SIGTTOU", "SIGURG",  "SIGXCPU",
    "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGPOLL", "SIGPWR",  "SIGSYS",  "SIG32",
    "SIG33",   "SIG34",     "SIG35",   "SIG36",    "SIG37",   "SIG38",   "SIG39",   "SIG40",
    "SIG41",   "SIG42",     "SIG43",   "SIG44",    "SIG45",   "SIG46",   "SIG47",   "SIG48",
    "SIG49",   "SIG50",     "SIG51",   "SIG52",    "SIG53",   "SIG54",   "SIG55",   "SIG56",
    "SIG57",   "SIG58",     "SIG59",   "SIG60",    "SIG61",   "SIG62",   "SIG63",   "SIG64",
};

/// Other names, without the prefix.
constexpr Names<int, 3> kSynonyms = {{{6, "IOT"}, {17, "CLD"}, {29, "IO"}}};

constexpr std::string_view kPrefix = "SIG";
constexpr int kNamedMax = 31;  // those above have no names that all agree on

}  // namespace

std::string_view signal_name(int number) {
  if (number < kSignalMin || number > kSignalMax) return "SIG?";
  return kNames[static_cast<std::size_t>(number - kSignalMin)];
}

std::optional<int> signal_number(std::string_view name) {
  for (int number = kSignalMin; number <= kSignalMax; ++number) {
    const std::string_view full = signal_name(number);
    if (full == name || (number <= kNamedMax && full.substr(kPrefix.size()) == name)) return number;
  }
  const std::string_view bare = name.substr(name.starts_with(kPrefix) ? kPrefix.size() : 0);
  return value_in(kSynonyms, bare);
}

}  // namespace roombox
