// The ingress stand-in: what `wrangler dev` starts beside each sandbox, in the sandbox's network namespace,
// on a machine that cannot pull the real interceptor. It lets workerd in to the sandbox's ports and the
// sandbox out to nothing but what workerd carries. Local development only: it is never deployed.

#include <arpa/inet.h>

#include <CLI/CLI.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>

#include "container/ingress/egress.h"
#include "container/ingress/policy.h"
#include "container/ingress/server.h"

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr int kExitFailure = 1;
// What workerd has the engine call the machine that it listens on.
constexpr std::string_view kGatewayName = "host.docker.internal";

struct Options {
  std::string listen = "0.0.0.0:39001";
  std::uint16_t egress_port = 0;
  std::string gateway;
  std::string policy = "/etc/roombox/policy.nft";
  std::string egress_rules = "/etc/roombox/egress.nft";
  std::string certificate = "/etc/roombox/ca.pem";
};

// Accepts "127.0.0.1:39001", ":39001" and "[::]:39001"; an empty host is every address.
tcp::endpoint listen_endpoint(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) throw std::invalid_argument("not an address and a port: " + text);
  std::string host = text.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  const auto address =
      host.empty() ? asio::ip::address(asio::ip::address_v4::any()) : asio::ip::make_address(host);
  const unsigned long port = std::stoul(text.substr(colon + 1));
  if (port > 65535) throw std::invalid_argument("not a port: " + text);
  return {address, static_cast<std::uint16_t>(port)};
}

std::string read_file(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The address that the engine has given to a name in /etc/hosts; resolving others is not for this program.
asio::ip::address address_of(std::string_view name) {
  std::ifstream file("/etc/hosts");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string address;
    words >> address;
    for (std::string word; words >> word;) {
      boost::system::error_code bad;
      const auto parsed = asio::ip::make_address(address, bad);
      if (word == name && !bad && parsed.is_v4()) return parsed;
    }
  }
  return asio::ip::address_v4::any();  // nobody: a deployment that lets nothing out needs none
}

int run(const Options& options) {
  const tcp::endpoint endpoint = listen_endpoint(options.listen);
  asio::io_context io(1);
  asio::signal_set signals(io, SIGTERM, SIGINT);
  signals.async_wait([&io](const boost::system::error_code&, int) { io.stop(); });

  // It listens first and answers last: workerd, which comes as soon as the container has started and starts
  // the sandbox once it is answered, then waits for the policy, instead of being refused and pausing for 200
  // ms.
  tcp::acceptor acceptor(io, endpoint);
  namespace ingress = roombox::ingress;
  if (const auto problem = ingress::apply_rules(
          options.policy, {{"ingress_port", endpoint.port()}, {"egress_mark", ingress::kMark}})) {
    std::cerr << "roombox-ingress: no network policy, so no ingress: " << *problem << std::endl;
    return kExitFailure;
  }
  const auto gateway =
      options.gateway.empty() ? address_of(kGatewayName) : asio::ip::make_address(options.gateway);
  ingress::Egress egress(io, gateway, options.egress_port, options.egress_rules);
  const ingress::Settings settings{read_file(options.certificate),
                                   [&egress](std::string_view body) { return egress.configure(body); }};
  asio::co_spawn(io, ingress::serve(acceptor, settings), asio::detached);
  std::cerr << "roombox-ingress: listening on " << acceptor.local_endpoint() << std::endl;
  io.run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Lets workerd in to a sandbox, and the sandbox out to what workerd carries");
  app.add_option("--http-ingress-address", options.listen, "Address and port to listen on");
  app.add_option("--http-egress-port", options.egress_port,
                 "Port where workerd carries requests of the sandbox");
  app.add_option("--gateway", options.gateway,
                 "Address of workerd, if not what /etc/hosts has for the gateway");
  app.add_option("--policy", options.policy, "nftables rules to load first");
  app.add_option("--egress-rules", options.egress_rules,
                 "nftables rules to load while commands may reach some hosts");
  app.add_option("--certificate", options.certificate, "PEM file that GET /ca answers");
  // workerd passes the rest of the real interceptor's options too: what they say is always so here.
  app.allow_extras();
  CLI11_PARSE(app, argc, argv);
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::cerr << "roombox-ingress: " << error.what() << std::endl;
    return kExitFailure;
  }
}
