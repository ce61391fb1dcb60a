#include <benchmark/benchmark.h>
#include <malloc.h>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <variant>

#include "wasm/edge.h"
#include "wasm/protocol/sse.h"

namespace roombox::edge {
namespace {

/// 100 bytes, as a web app sends them.
constexpr std::string_view kReference =
    R"({"cmd":"echo 'Hello from sandbox'","cwd":"/workspace","timeout_ms":30000,"env":{"NODE_ENV":"tests"}})";
static_assert(kReference.size() == 100);

Request exec_call(std::string_view body) {
  Request request{};
  request.caller = "key";
  request.method = "POST";
  request.url = "http://localhost:8787/api/rooms/room-123/sandbox/exec";
  request.content_type = "application/json";
  request.body = body;
  return request;
}

/// Decides on a request again and again; `wanted` is the alternative that must come out.
template <typename Wanted>
void decide_on(benchmark::State& state, const Request& request) {
  if (!std::holds_alternative<Wanted>(decide(request))) return state.SkipWithError("another decision");
  for (auto _ : state) benchmark::DoNotOptimize(decide(request));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * request.body->size()));
}

void forward_100_bytes(benchmark::State& state) {
  decide_on<Forward>(state, exec_call(kReference));
}
BENCHMARK(forward_100_bytes);

void answer_400(benchmark::State& state) {
  decide_on<Answer>(state, exec_call(R"({"cmd":""})"));
}
BENCHMARK(answer_400);

/// A path that is compared with the pattern of every call.
void answer_404(benchmark::State& state) {
  Request request = exec_call("{}");
  request.url = "http://localhost:8787/api/rooms/room-123/sandbox/run";
  decide_on<Answer>(state, request);
}
BENCHMARK(answer_404);

/// Bytes per second stay the same from 1 KB to 1 MB: linear.
void forward_large(benchmark::State& state) {
  const std::string command(static_cast<std::size_t>(state.range(0)), 'x');
  decide_on<Forward>(state, exec_call("{\"cmd\":\"" + command + "\"}"));
  state.SetComplexityN(state.range(0));
}
BENCHMARK(forward_large)->RangeMultiplier(10)->Range(1'000, 1'000'000)->Complexity(benchmark::oN);

std::string repeated(std::string_view text, std::size_t size) {
  std::string out;
  while (out.size() < size) out += text;
  return out;
}

/// What does not stand for itself in JSON's strings: an escape in each line, and characters of several bytes.
void forward_script(benchmark::State& state, std::string_view line) {
  decide_on<Forward>(state, exec_call("{\"cmd\":\"" + repeated(line, 100'000) + "\"}"));
}
BENCHMARK_CAPTURE(forward_script, lines, "npm run build && npm test\\n");
BENCHMARK_CAPTURE(forward_script, russian, "Привет, мир! ");
BENCHMARK_CAPTURE(forward_script, japanese, "実行環境");

/// 64 KiB, as a pipe gives it to the agent's stream.
constexpr std::size_t kChunk = 64u << 10;

std::string chunk_of(std::string_view line) {
  std::string text = repeated(line, kChunk);
  text.resize(kChunk);
  return text;
}

std::string ascii_lines() {
  return chunk_of("drwxr-xr-x 10 user user 4096 Nov 29 15:37 a line of a listing, as ls prints it\n");
}

std::string quoted_lines() {
  return chunk_of("drwxr-xr-x 10 user user 4096 Nov 29 15:37 a line of \"output\" with Ã©\n");
}

std::string one_letter_lines() {
  return chunk_of("y\n");
}

std::string utf8_text() {
  return chunk_of("Größe und Straße – 実行環境の出力は文字列です。 Привет, мир! 😀\n");
}

std::string random_bytes() {
  std::mt19937 generator(20261129);
  std::string bytes;
  while (bytes.size() < kChunk) bytes += static_cast<char>(generator());
  return bytes;
}

/// Makes an event of a chunk again and again; bytes per second are those of the output.
void stream_output(benchmark::State& state, std::string (*make)(), Encoding encoding) {
  const std::string chunk = make();
  sse::OutputEvents events(encoding);
  std::string out;
  std::uint64_t units = 1;
  for (auto _ : state) {
    out.clear();
    events.append(out, Stream::Stdout, chunk, units += chunk.size());
    benchmark::DoNotOptimize(out.data());
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * chunk.size()));
}
BENCHMARK_CAPTURE(stream_output, ascii_lines, ascii_lines, Encoding::Utf8);
BENCHMARK_CAPTURE(stream_output, quoted_lines, quoted_lines, Encoding::Utf8);
BENCHMARK_CAPTURE(stream_output, one_letter_lines, one_letter_lines, Encoding::Utf8);
BENCHMARK_CAPTURE(stream_output, utf8_text, utf8_text, Encoding::Utf8);
BENCHMARK_CAPTURE(stream_output, random_bytes, random_bytes, Encoding::Utf8);
BENCHMARK_CAPTURE(stream_output, random_bytes_base64, random_bytes, Encoding::Base64);

/// The floor: what copying a chunk costs.
void copy_chunk(benchmark::State& state) {
  const std::string chunk = ascii_lines();
  std::string out;
  for (auto _ : state) {
    out.clear();
    out.append(chunk);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * chunk.size()));
}
BENCHMARK(copy_chunk);

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
