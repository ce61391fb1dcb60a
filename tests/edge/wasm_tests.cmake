# How a test program is built and run as WebAssembly: GoogleTest without what there is none of, under Node.
find_program(NODE node REQUIRED HINTS ${PROJECT_SOURCE_DIR}/node_modules/.bin)

set(ROOMBOX_WASM_TEST_DEFINITIONS GTEST_HAS_PTHREAD=0 GTEST_HAS_EXCEPTIONS=0 GTEST_HAS_DEATH_TEST=0
                                  GTEST_HAS_STREAM_REDIRECTION=0)
if(ROOMBOX_WASI)
  list(APPEND ROOMBOX_WASM_TEST_DEFINITIONS _WASI_EMULATED_SIGNAL _WASI_EMULATED_PROCESS_CLOCKS _WASI_EMULATED_GETPID)
endif()

function(roombox_wasm_test target)
  if(EMSCRIPTEN)
    # Linked without optimisation (the code is compiled with it): Debian's Emscripten lacks the optimiser of its JavaScript.
    # Its stack check looks where --stack-first puts other things; the trap does that check's work.
    target_link_options(${target} PRIVATE -O0 -sASSERTIONS=0 -sENVIRONMENT=node -sEXIT_RUNTIME=1 -sSINGLE_FILE=1 -sALLOW_MEMORY_GROWTH
                        -Wl,--stack-first)
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/package.json "{}") # Emscripten writes CommonJS; the project's is ES modules
    add_test(NAME ${target} COMMAND ${NODE} $<TARGET_FILE:${target}>)
  else()
    set_target_properties(${target} PROPERTIES SUFFIX .wasm)
    target_link_options(${target} PRIVATE -Wl,--stack-first -Wl,-z,stack-size=1048576)
    target_link_libraries(${target} PRIVATE wasi-emulated-signal wasi-emulated-process-clocks wasi-emulated-getpid)
    add_test(NAME ${target}
             COMMAND ${NODE} --no-warnings ${PROJECT_SOURCE_DIR}/tests/edge/run_wasi.mjs $<TARGET_FILE:${target}>)
  endif()
endfunction()
