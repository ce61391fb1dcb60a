# edge.wasm: the core as a module that imports nothing.
set(max_memory 67108864) # far above what the largest body needs (see the tests), far below an isolate's 128 MB
set(emscripten_max_memory 117440512) # its allocator keeps more of the largest replays, 2 MiB of control bytes; it does not ship
set(stack 262144)        # nothing recurses; first in memory, so that an overflow traps instead of overwriting data

add_executable(edge runtime.cpp)
target_link_libraries(edge PRIVATE roombox_abi)
set_target_properties(edge PROPERTIES SUFFIX .wasm)
if(EMSCRIPTEN)
  target_link_options(edge PRIVATE --no-entry -sSTANDALONE_WASM -sALLOW_MEMORY_GROWTH -sMAXIMUM_MEMORY=${emscripten_max_memory}
                      -sTOTAL_STACK=${stack} -sFILESYSTEM=0 -Wl,--stack-first)
else()
  target_compile_options(edge PRIVATE -mbulk-memory) # without it, its memcpy would call itself
  target_link_options(edge PRIVATE -mexec-model=reactor -Wl,--stack-first -Wl,-z,stack-size=${stack}
                      -Wl,--max-memory=${max_memory} -Wl,--strip-all)
endif()
