#include <benchmark/benchmark.h>
#include <malloc.h>

#include <string>
#include <string_view>
#include <variant>

#include "wasm/edge.h"
#include "wasm/protocol/json_writer.h"

namespace roombox::edge {
namespace {

/// 100 bytes, as a web app sends them.
constexpr std::string_view kReference =
    R"({"cmd":"echo 'Hello from sandbox'","cwd":"/workspace","timeout_ms":30000,"env":{"NODE_ENV":"tests"}})";
static_assert(kReference.size() == 100);

Request exec_call(std::string_view body) {
  Request request{};
  request.method = "POST";
  request.url = "http://localhost:8787/api/rooms/room-123/sandbox/exec";
  request.content_type = "application/json";
  request.body = body;
  return request;
}

/// Decides on a body again and again; `wanted` is the alternative that must come out.
template <typename Wanted>
void decide_on(benchmark::State& state, std::string_view body) {
  const Request request = exec_call(body);
  if (!std::holds_alternative<Wanted>(decide(request))) return state.SkipWithError("another decision");
  for (auto _ : state) benchmark::DoNotOptimize(decide(request));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * body.size()));
}

void forward_100_bytes(benchmark::State& state) {
  decide_on<Forward>(state, kReference);
}
BENCHMARK(forward_100_bytes);

void answer_400(benchmark::State& state) {
  decide_on<Answer>(state, R"({"cmd":""})");
}
BENCHMARK(answer_400);

/// Bytes per second stay the same from 1 KB to 1 MB: linear.
void forward_large(benchmark::State& state) {
  const std::string command(static_cast<std::size_t>(state.range(0)), 'x');
  decide_on<Forward>(state, "{\"cmd\":\"" + command + "\"}");
  state.SetComplexityN(state.range(0));
}
BENCHMARK(forward_large)->RangeMultiplier(10)->Range(1'000, 1'000'000)->Complexity(benchmark::oN);

void write_1_mb_of_output(benchmark::State& state) {
  std::string output;
  while (output.size() < 1'000'000)
    output += "drwxr-xr-x 10 user user 4096 Nov 29 15:37 a line of \"output\" with é\n";
  std::string out;
  for (auto _ : state) {
    out.clear();
    JsonWriter::append_escaped(out, output);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * output.size()));
}
BENCHMARK(write_1_mb_of_output);

}  // namespace
}  // namespace roombox::edge

int main(int argc, char** argv) {
  // Keeps what was allocated, as WebAssembly does: otherwise each large body pays for fresh pages of the
  // kernel's.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
