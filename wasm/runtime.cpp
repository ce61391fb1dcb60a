/// What the libraries call of a host, answered without one, so that the module imports nothing. Only the
/// module that ships links this; the tests as Wasm have a host.

#include <cstddef>

extern "C" {

// Giving up is a trap, which the host sees as an exception. The libraries' own versions print first, or end a
// process.
[[noreturn]] void _Exit(int) {
  __builtin_trap();
}
[[noreturn]] void abort_message(const char*, ...) {
  __builtin_trap();
}  // libc++abi before LLVM 20
[[noreturn]] void __abort_message(const char*, ...) {
  __builtin_trap();
}  // and since

// nlohmann/json alone formats with it, for error texts that we replace by our own; the real one brings all of
// stdio.
int snprintf(char* text, std::size_t size, const char*, ...) {
  if (size > 0) *text = '\0';
  return 0;
}

// Emscripten tells its host that memory grew; ours makes its views anew after each call.
void emscripten_notify_memory_growth(std::size_t) {}
}

_LIBCPP_BEGIN_NAMESPACE_STD
[[noreturn]] void __libcpp_verbose_abort(const char*, ...) noexcept {
  __builtin_trap();
}  // failed checks, since LLVM 15
_LIBCPP_END_NAMESPACE_STD
