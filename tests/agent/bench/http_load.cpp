// Sends one request again and again and tells how long the answers took: a client that leaves the processors
// to what it measures, which Node's does not.
//
//   http_load <port> [--connections=1] [--requests=1000] [--fresh] [--expect=…] < request
//
// Each connection has one request at a time. Prints one line, of a single connection {"p50":…,"p99":…} in
// microseconds, and of several, which wait for each other, {"perSecond":…}.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <optional>

#include "tests/agent/bench/load.h"

namespace {

using namespace roombox::bench;

struct Options {
  std::uint16_t port = 0;
  int connections = 1;
  int requests = 1000;
  bool fresh = false;
  std::string expected = "HTTP/1.1 200 ";
};

/// Not counted: a connection's first requests are slower.
constexpr int kWarmUp = 20;

/// How long each took, in microseconds.
Samples latencies(const Options& options, const std::string& request) {
  Samples samples;
  std::optional<Load> load;
  for (int i = -kWarmUp; i < options.requests; ++i) {
    const double seconds = seconds_of([&] {
      if (options.fresh || !load) load.emplace(options.port, 1, request, holds(options.expected));
      load->run(1);
    });
    if (i >= 0) samples.add(seconds * 1e6);
  }
  return samples;
}

double per_second(const Options& options, const std::string& request) {
  Load load(options.port, options.connections, request, holds(options.expected));
  load.run(kWarmUp * options.connections);
  return options.requests / seconds_of([&] { load.run(options.requests); });
}

void measure(const Options& options) {
  const std::string request(std::istreambuf_iterator<char>(std::cin), {});
  if (options.connections > 1) {
    std::printf("{\"perSecond\":%.1f}\n", per_second(options, request));
    return;
  }
  const Samples samples = latencies(options, request);
  std::printf("{\"p50\":%.2f,\"p99\":%.2f}\n", samples.median(), samples.quantile(0.99));
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App cli("Sends a request of stdin again and again.", "http_load");
  cli.add_option("port", options.port, "Of 127.0.0.1")->required();
  cli.add_option("--connections", options.connections, "More than one: the rate is told, else the latency")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  cli.add_option("--requests", options.requests, "How many are measured")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  cli.add_flag("--fresh", options.fresh,
               "A connection for each, and its time counted: for one that gets closed");
  cli.add_option("--expect", options.expected, "What each answer holds")->capture_default_str();
  CLI11_PARSE(cli, argc, argv);
  try {
    measure(options);
    return 0;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "http_load: %s\n", failure.what());
    return 1;
  }
}
