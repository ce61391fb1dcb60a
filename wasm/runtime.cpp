/// What the libraries call of a host, answered without one, so that the module imports nothing; and copying,
/// by what WebAssembly has for it. Only the module that ships links this; the tests as Wasm have a host.

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

// Emscripten tells its host that memory grew; ours makes its views anew after each call.
void emscripten_notify_memory_growth(std::size_t) {}

// One instruction each, at which engines do what native code does. The libraries' own go word by word, for
// engines that lack it. (Emscripten's libraries have it themselves.)
#ifdef __wasm_bulk_memory__
void* memcpy(void* to, const void* from, std::size_t size) {
  return __builtin_memcpy(to, from, size);
}
void* memmove(void* to, const void* from, std::size_t size) {
  return __builtin_memmove(to, from, size);
}
void* memset(void* to, int byte, std::size_t size) {
  return __builtin_memset(to, byte, size);
}
#endif
}

_LIBCPP_BEGIN_NAMESPACE_STD
[[noreturn]] void __libcpp_verbose_abort(const char*, ...) noexcept {
  __builtin_trap();
}  // failed checks, since LLVM 15
_LIBCPP_END_NAMESPACE_STD
