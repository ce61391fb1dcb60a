#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/agent/agent_process.h"
#include "wasm/protocol/percent.h"

// Files as a caller of the agent sees them.

namespace roombox {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr uid_t kUser = 1000;  // whom the agent's commands run as where there is no user `sandbox`

class FilesTest : public AgentTest {
 protected:
  FilesTest() {
    std::string pattern = "/tmp/roombox-files-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    EXPECT_EQ(::chown(directory_.c_str(), kUser, kUser), 0);
  }
  ~FilesTest() override { fs::remove_all(directory_); }

  std::string at(const std::string& name) const { return directory_ + "/" + name; }

  static std::string request(std::string_view method, std::string_view path, std::string_view headers = "",
                             std::string_view area = "") {
    return std::string(method) + " /files" + std::string(area) + "?" + percent_encoded(path) +
           " HTTP/1.1\r\nHost: sandbox\r\n" + std::string(headers) + "\r\n";
  }
  static std::string put_request(std::string_view path, std::string_view body, std::string headers = "") {
    headers += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    return request("PUT", path, headers) + std::string(body);
  }

  std::string get(std::string_view path, std::string_view headers = "") const {
    return call(request("GET", path, headers));
  }
  std::string put(std::string_view path, std::string_view body, std::string headers = "") const {
    return call(put_request(path, body, std::move(headers)));
  }
  std::string remove(std::string_view path, std::string_view area = "", std::string_view headers = "") const {
    return call(request("DELETE", path, headers, area));
  }
  json list(std::string_view path) const {
    auto client = connect();
    client.send(request("GET", path));
    EXPECT_THAT(client.receive_head(), HasSubstr("Content-Type: application/json\r\n"));
    return json::parse(client.receive_body());
  }

  static std::string body_of(const std::string& response) {
    return response.substr(response.find("\r\n\r\n") + 4);
  }
  static std::string header(const std::string& response, const std::string& name) {
    const auto begin = response.find("\r\n" + name + ": ");
    if (begin == response.npos) return "";
    const auto value = begin + name.size() + 4;
    return response.substr(value, response.find("\r\n", value) - value);
  }

  /// Writes a file as root would, behind the agent's back.
  void make(const std::string& name, std::string_view bytes, mode_t mode = 0644, uid_t owner = kUser) const {
    std::ofstream(at(name), std::ios::binary) << bytes;
    EXPECT_EQ(::chmod(at(name).c_str(), mode), 0);
    EXPECT_EQ(::lchown(at(name).c_str(), owner, owner), 0);
  }
  std::string bytes_of(const std::string& name) const {
    std::ifstream in(at(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::size_t count() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(directory_), fs::directory_iterator()));
  }

  long resident_kib() const {
    const auto status = proc("status");
    return std::stol(status.substr(status.find("VmRSS:") + 6));
  }

  std::string directory_;
};

TEST_F(FilesTest, PutsAndGetsAndDeletes) {
  const auto made = put(at("a"), "hello\n");
  EXPECT_THAT(made, StartsWith("HTTP/1.1 201 "));
  EXPECT_EQ(body_of(made), R"({"path":")" + at("a") + R"(","size":6})");
  const auto got = get(at("a"));
  EXPECT_THAT(got, StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(body_of(got), "hello\n");
  EXPECT_EQ(header(got, "Content-Type"), "application/octet-stream");
  EXPECT_EQ(header(got, "Content-Length"), "6");
  EXPECT_EQ(header(got, "Accept-Ranges"), "bytes");
  EXPECT_THAT(header(got, "Last-Modified"), testing::EndsWith(" GMT"));
  EXPECT_EQ(header(got, "ETag"), header(made, "ETag"));
  EXPECT_THAT(put(at("a"), ""), StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(header(get(at("a")), "Content-Length"), "0");
  EXPECT_THAT(remove(at("a")), StartsWith("HTTP/1.1 204 "));
  EXPECT_THAT(remove(at("a")), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(get(at("a")), testing::AllOf(StartsWith("HTTP/1.1 404 "), HasSubstr("there is no " + at("a"))));
}

TEST_F(FilesTest, WithoutBytesLeaveTheConnectionToTheNextCall) {
  make("empty", "");
  make("a", "x");
  auto client = connect();
  for (const std::string name : {"empty", "a", "empty", "empty"}) {
    client.send(request("GET", at(name)));
    const auto got = client.receive();
    EXPECT_THAT(got, StartsWith("HTTP/1.1 200 ")) << name;
    EXPECT_EQ(body_of(got), bytes_of(name));
  }
}

TEST_F(FilesTest, BelongToTheUser) {
  put(at("a"), "x");
  struct stat status {};
  ASSERT_EQ(::stat(at("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, kUser);
  EXPECT_EQ(status.st_gid, kUser);
  EXPECT_EQ(status.st_mode & 07777u, 0644u);
}

TEST_F(FilesTest, HaveNamesOfAllBytes) {
  for (const std::string name : {"a b", "'\"`$(id)\\", "new\nline\r\n", "\xff\xfe not text", "é", "%2F%00",
                                 "+&?#=", "-rf", "*", "...", "\x01\x7f"}) {
    EXPECT_THAT(put(at(name), name), StartsWith("HTTP/1.1 201 ")) << name;
    EXPECT_EQ(bytes_of(name), name);
    EXPECT_EQ(body_of(get(at(name))), name);
    EXPECT_THAT(remove(at(name)), StartsWith("HTTP/1.1 204 ")) << name;
  }
  EXPECT_EQ(count(), 0u);
  const std::string longest(255, 'n');
  EXPECT_THAT(put(at(longest), "x"), StartsWith("HTTP/1.1 201 "));
  EXPECT_THAT(put(at(longest + "n"), "x"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(get(at(longest + "n")), testing::AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("too long")));
}

TEST_F(FilesTest, AreAnsweredToHeadWithoutTheirBytes) {
  make("a", "0123456789");
  auto client = connect();
  client.send(request("HEAD", at("a")));
  EXPECT_EQ(header(client.receive_head(), "Content-Length"), "10");
  EXPECT_TRUE(client.is_closed());
  auto other = connect();
  other.send(request("HEAD", directory_));
  EXPECT_THAT(other.receive_head(), HasSubstr("application/json"));
  EXPECT_TRUE(other.is_closed());
}

TEST_F(FilesTest, AreSentInPart) {
  make("a", "0123456789");
  const auto part = get(at("a"), "Range: bytes=2-4\r\n");
  EXPECT_THAT(part, StartsWith("HTTP/1.1 206 "));
  EXPECT_EQ(header(part, "Content-Range"), "bytes 2-4/10");
  EXPECT_EQ(body_of(part), "234");
  const auto beyond = get(at("a"), "Range: bytes=10-\r\n");
  EXPECT_THAT(beyond, StartsWith("HTTP/1.1 416 "));
  EXPECT_EQ(header(beyond, "Content-Range"), "bytes */10");
  EXPECT_THAT(get(at("a"), "Range: bytes=0-1,4-5\r\n"), StartsWith("HTTP/1.1 200 "));
  const auto tag = header(part, "ETag");
  EXPECT_THAT(get(at("a"), "Range: bytes=2-4\r\nIf-Range: " + tag + "\r\n"), StartsWith("HTTP/1.1 206 "));
  EXPECT_THAT(get(at("a"), "Range: bytes=2-4\r\nIf-Range: \"other\"\r\n"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(FilesTest, AreConditional) {
  make("a", "one");
  const auto tag = header(get(at("a")), "ETag");
  EXPECT_THAT(get(at("a"), "If-None-Match: W/" + tag + "\r\n"), StartsWith("HTTP/1.1 304 "));
  EXPECT_THAT(get(at("a"), "If-None-Match: \"x\"\r\n"), StartsWith("HTTP/1.1 200 "));
  const auto changed = put(at("a"), "two", "If-Match: " + tag + "\r\n");
  EXPECT_THAT(changed, StartsWith("HTTP/1.1 200 "));
  EXPECT_NE(header(changed, "ETag"), tag);
  EXPECT_THAT(put(at("a"), "three", "If-Match: " + tag + "\r\n"), StartsWith("HTTP/1.1 412 "));
  EXPECT_THAT(put(at("a"), "three", "If-None-Match: *\r\n"), StartsWith("HTTP/1.1 412 "));
  EXPECT_THAT(put(at("b"), "new", "If-None-Match: *\r\n"), StartsWith("HTTP/1.1 201 "));
  EXPECT_THAT(put(at("c"), "new", "If-Match: *\r\n"), StartsWith("HTTP/1.1 412 "));
  EXPECT_EQ(bytes_of("a"), "two");
  EXPECT_THAT(remove(at("a"), "", "If-Match: " + tag + "\r\n"), StartsWith("HTTP/1.1 412 "));
  EXPECT_THAT(remove(at("a"), "", "If-Match: " + header(changed, "ETag") + "\r\n"),
              StartsWith("HTTP/1.1 204 "));
  EXPECT_EQ(count(), 1u);
}

TEST_F(FilesTest, TakesABodyInChunksAndOneThatWaitsToBeAsked) {
  EXPECT_THAT(
      call(request("PUT", at("a"), "Transfer-Encoding: chunked\r\n") + "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"),
      StartsWith("HTTP/1.1 201 "));
  EXPECT_EQ(bytes_of("a"), "abcde");
  auto client = connect();
  client.send(request("PUT", at("b"), "Expect: 100-continue\r\nContent-Length: 3\r\n"));
  EXPECT_THAT(client.receive_head(), StartsWith("HTTP/1.1 100 "));
  client.send("abc" + request("GET", at("b")));
  EXPECT_THAT(client.receive(), StartsWith("HTTP/1.1 201 "));
  EXPECT_EQ(body_of(client.receive()), "abc");
  client.send(request("PUT", at("no/b"), "Expect: 100-continue\r\nContent-Length: 3\r\n"));
  EXPECT_THAT(client.receive(), StartsWith("HTTP/1.1 404 "));
}

TEST_F(FilesTest, TakeABodyWithAMarkAtItsEndWithItAlone) {
  const std::string mark = "Roombox-End: 0123456789\r\n";
  const std::string large(700'000, 'x');
  for (const std::string& bytes : {std::string(), std::string("a"), std::string("0123456789"), large}) {
    EXPECT_THAT(put(at("a"), bytes + "0123456789", mark), testing::ContainsRegex("^HTTP/1.1 20[01] "));
    EXPECT_EQ(bytes_of("a"), bytes);
  }
  for (const std::string& bytes :
       {std::string(), std::string("012345678"), std::string("01234567890"), large}) {
    EXPECT_THAT(put(at("a"), bytes, mark),
                testing::AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("The body was cut off")));
    EXPECT_EQ(bytes_of("a"), large);
  }
  // In pieces that share the mark.
  auto client = connect();
  client.send(request("PUT", at("a"), mark + "Transfer-Encoding: chunked\r\n"));
  for (const char* piece :
       {"4\r\nab01\r\n", "1\r\n2\r\n", "a\r\n3401234567\r\n", "2\r\n89\r\n", "0\r\n\r\n"}) {
    client.send(piece);
    std::this_thread::sleep_for(5ms);
  }
  EXPECT_THAT(client.receive(), StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(bytes_of("a"), "ab01234");
  EXPECT_EQ(count(), 1u);
}

TEST_F(FilesTest, AreNamedWhereTheyCannotBe) {
  make("file", "x");
  ASSERT_EQ(::mkdir(at("d").c_str(), 0755), 0);
  EXPECT_THAT(put(at("no/a"), "x"),
              testing::AllOf(StartsWith("HTTP/1.1 404 "), HasSubstr("directory " + at("no"))));
  EXPECT_THAT(put(at("file/a"), "x"), testing::AllOf(StartsWith("HTTP/1.1 409 "), HasSubstr("no directory")));
  EXPECT_THAT(put(at("d"), "x"), testing::AllOf(StartsWith("HTTP/1.1 409 "), HasSubstr("is a directory")));
  EXPECT_THAT(put(at("new/"), "x"), StartsWith("HTTP/1.1 409 "));
  EXPECT_THAT(put("/", "x"), StartsWith("HTTP/1.1 409 "));
  EXPECT_THAT(get(at("file/")), StartsWith("HTTP/1.1 409 "));
  EXPECT_THAT(remove(at("file/")), StartsWith("HTTP/1.1 409 "));
  EXPECT_THAT(remove("/"), StartsWith("HTTP/1.1 409 "));
  EXPECT_THAT(call(request("GET", at("d"), "", "/bytes")), StartsWith("HTTP/1.1 409 "));
  EXPECT_THAT(call(request("GET", at("file"), "", "/list")), StartsWith("HTTP/1.1 409 "));
  EXPECT_THAT(call("GET /files?relative HTTP/1.1\r\nHost: x\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(call("GET /files?/a%00b HTTP/1.1\r\nHost: x\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(call("GET /files/other?/a HTTP/1.1\r\nHost: x\r\n\r\n"), StartsWith("HTTP/1.1 404 "));
  EXPECT_EQ(bytes_of("file"), "x");
}

TEST_F(FilesTest, AreInTheReachOfTheUserAlone) {
  make("secret", "secret", 0600, 0);
  make("foreign", "foreign", 0644, 0);
  make("readonly", "readonly", 0444);
  ASSERT_EQ(::mkdir(at("closed").c_str(), 0700), 0);
  make("closed/a", "a");
  fs::create_symlink(at("secret"), at("to-secret"));
  fs::create_symlink("/etc/shadow", at("to-shadow"));
  fs::create_directory_symlink(at("closed"), at("to-closed"));
  for (const std::string& path :
       {at("secret"), at("to-secret"), at("to-shadow"), at("closed/a"), at("to-closed/a"), at("closed"),
        at("to-closed"), at("to-closed/../secret"), std::string("/etc/shadow")}) {
    EXPECT_THAT(get(path), testing::AllOf(StartsWith("HTTP/1.1 403 "), HasSubstr(R"("code":"forbidden")")))
        << path;
  }
  for (const std::string& path :
       {at("secret"), at("to-secret"), at("to-shadow"), at("closed/a"), at("to-closed/b"), at("foreign"),
        at("readonly"), std::string("/etc/new"), std::string("/etc/passwd")}) {
    EXPECT_THAT(put(path, "x"), StartsWith("HTTP/1.1 403 ")) << path;
  }
  for (const std::string& path :
       {at("closed/a"), at("to-closed/a"), std::string("/etc/passwd"), std::string("/etc")}) {
    EXPECT_THAT(remove(path, "/tree"), StartsWith("HTTP/1.1 403 ")) << path;
  }
  EXPECT_THAT(call(request("PUT", at("closed/d/e"), "", "/directory")), StartsWith("HTTP/1.1 403 "));
  EXPECT_EQ(bytes_of("secret"), "secret");
  EXPECT_EQ(bytes_of("foreign"), "foreign");
  EXPECT_EQ(bytes_of("readonly"), "readonly");
  EXPECT_EQ(body_of(get(at("foreign"))), "foreign");
}

TEST_F(FilesTest, HaveNothingOfTheAgentItself) {
  stop(SIGKILL);
  start("secret");
  const std::string pid = std::to_string(pid_);
  fs::create_symlink("/proc/self/environ", at("link"));
  fs::create_directory_symlink("/proc/self/root", at("root"));
  const std::string token = "Roombox-Token: secret\r\n";
  for (const std::string& path :
       {std::string("/proc"), "/proc/" + pid + "/environ", std::string("/proc/self/environ"),
        std::string("/proc/self/mem"), std::string("/proc/thread-self/environ"),
        std::string("/proc/self/fd/0"), std::string("/proc/self/fd"),
        std::string("/proc/self/root/etc/passwd"), std::string("/dev/fd"), std::string("/dev/stdin"),
        std::string("/proc/sys/kernel/hostname"), at("link"), at("root/etc/passwd")}) {
    EXPECT_THAT(get(path, token), testing::ContainsRegex("^HTTP/1.1 (403|409) ")) << path;
    EXPECT_THAT(put(path, "x", token), testing::ContainsRegex("^HTTP/1.1 (403|409) ")) << path;
  }
  EXPECT_THAT(get(at("link")), StartsWith("HTTP/1.1 401 "));
}

TEST_F(FilesTest, AreTouchedByAThreadWithTheUsersRights) {
  get(at("a"));
  std::vector<std::string> fs_ids, capabilities, ids;
  for (const auto& thread : fs::directory_iterator("/proc/" + std::to_string(pid_) + "/task")) {
    std::ifstream in(thread.path() / "status");
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("Uid:")) ids.push_back(line.substr(5));
      if (line.starts_with("CapPrm:")) capabilities.push_back(line.substr(8));
      if (line.starts_with("Groups:")) fs_ids.push_back(line.substr(8));
    }
  }
  ASSERT_EQ(ids.size(), 2u);
  // The real, effective and saved ids stay root's, so that no command may signal the agent.
  EXPECT_THAT(ids, testing::UnorderedElementsAre("0\t0\t0\t0", "0\t0\t0\t1000"));
  EXPECT_THAT(capabilities, testing::Contains(std::string(16, '0')).Times(1));
  EXPECT_THAT(call(post(R"({"cmd":"for t in /proc/)" + std::to_string(pid_) +
                        R"(/task/*; do kill -KILL ${t##*/} && echo killed; done; prlimit --nofile=9 --pid )" +
                        std::to_string(pid_) + R"( && echo limited; true"})")),
              HasSubstr(R"("stdout":"")"));
  EXPECT_THAT(get(directory_), StartsWith("HTTP/1.1 200 "));
}

TEST_F(FilesTest, ThatAreNoneAreNotWaitedFor) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0666), 0);
  sys::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  at("socket").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::chmod(at("socket").c_str(), 0666), 0);
  for (const std::string& path : {at("pipe"), at("socket"), std::string("/dev/zero"),
                                  std::string("/dev/null"), std::string("/dev/ptmx")}) {
    EXPECT_THAT(get(path), testing::AllOf(StartsWith("HTTP/1.1 409 "), HasSubstr("a device"))) << path;
    EXPECT_THAT(put(path, "x"), testing::ContainsRegex("^HTTP/1.1 (403|409) ")) << path;
  }
  EXPECT_THAT(remove(at("pipe")), StartsWith("HTTP/1.1 204 "));
}

TEST_F(FilesTest, KeepTheirModeAndTheLinksToThem) {
  make("run", "#!/bin/sh\n", 0755);
  EXPECT_THAT(put(at("run"), "#!/bin/sh\nexit 3\n"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(call(post(R"({"cmd":")" + at("run") + R"("})")), HasSubstr(R"("exitCode":3)"));
  fs::create_symlink("run", at("link"));
  fs::create_symlink("link", at("link2"));
  fs::create_symlink(at("not-yet"), at("link3"));
  fs::create_symlink("loop", at("loop"));
  put(at("link2"), "through");
  put(at("link3"), "through");
  EXPECT_EQ(bytes_of("run"), "through");
  EXPECT_EQ(bytes_of("not-yet"), "through");
  EXPECT_TRUE(fs::is_symlink(at("link")) && fs::is_symlink(at("link2")) && fs::is_symlink(at("link3")));
  EXPECT_THAT(put(at("loop"), "x"), StartsWith("HTTP/1.1 409 "));
  EXPECT_THAT(get(at("loop")), testing::AllOf(StartsWith("HTTP/1.1 409 "), HasSubstr("links")));
  EXPECT_THAT(remove(at("link")), StartsWith("HTTP/1.1 204 "));
  EXPECT_EQ(bytes_of("run"), "through");
}

TEST_F(FilesTest, StayAsTheyAreWhenAClientLeaves) {
  make("a", "before");
  {
    auto client = connect();
    client.send(request("PUT", at("a"), "Content-Length: 1000000\r\n") + std::string(600'000, 'x'));
    while (count() < 2) std::this_thread::sleep_for(1ms);  // it has begun
    EXPECT_EQ(bytes_of("a"), "before");
  }
  const auto left = Clock::now();
  while (count() > 1) {
    ASSERT_LT(Clock::now() - left, 5s);
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(bytes_of("a"), "before");
}

TEST_F(FilesTest, AreNeverAMixOfTwo) {
  constexpr std::size_t kSize = 3'000'000;
  auto first = connect(), second = connect();
  const auto head = request("PUT", at("a"), "Content-Length: " + std::to_string(kSize) + "\r\n");
  first.send(head + std::string(kSize / 2, '1'));
  second.send(head + std::string(kSize, '2'));
  EXPECT_THAT(second.receive(), StartsWith("HTTP/1.1 201 "));
  EXPECT_EQ(bytes_of("a"), std::string(kSize, '2'));
  first.send(std::string(kSize / 2, '1'));
  EXPECT_THAT(first.receive(), StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(bytes_of("a"), std::string(kSize, '1'));
  EXPECT_EQ(count(), 1u);
}

TEST_F(FilesTest, AreRefusedToAClientThatStillSends) {
  auto client = connect();
  client.send(request("PUT", at("no/a"), "Content-Length: 20000000\r\n") + std::string(20'000'000, 'x'));
  EXPECT_THAT(client.receive(), StartsWith("HTTP/1.1 404 "));
}

TEST_F(FilesTest, OfManyMegabytesPassWhileMemoryStaysFlat) {
  constexpr std::size_t kPieces = 100, kPiece = 1 << 20;
  std::string piece(kPiece, '\0');
  for (std::size_t i = 0; i < kPiece; ++i) piece[i] = static_cast<char>(i * 7 + i / 251);
  put(at("small"), "x");
  get(at("small"));
  const auto before = resident_kib();
  long peak = 0;
  auto client = connect();
  client.send(request("PUT", at("a"), "Content-Length: " + std::to_string(kPieces * kPiece) + "\r\n"));
  for (std::size_t i = 0; i < kPieces; ++i) {
    client.send(piece);
    peak = std::max(peak, resident_kib());
  }
  EXPECT_THAT(client.receive(), StartsWith("HTTP/1.1 201 "));
  client.send(request("GET", at("a")));
  EXPECT_EQ(header(client.receive_head(), "Content-Length"), std::to_string(kPieces * kPiece));
  for (std::size_t i = 0; i < kPieces; ++i) {
    ASSERT_EQ(client.receive_bytes(kPiece), piece) << i;
    peak = std::max(peak, resident_kib());
  }
  EXPECT_LT(peak, before + kSlackKib);
}

TEST_F(FilesTest, LeaveNoMemoryToAConnectionThatIdles) {
  put(at("a"), std::string(1 << 20, 'x'));
  const auto before = resident_kib();
  std::vector<Client> clients;
  for (int i = 0; i < 40; ++i) {
    clients.push_back(connect());
    clients.back().send(put_request(at("a"), std::string(1 << 20, 'x')));
    EXPECT_THAT(clients.back().receive(), StartsWith("HTTP/1.1 200 "));
  }
  EXPECT_LT(resident_kib(), before + kSlackKib);
}

TEST_F(FilesTest, AreCutOffWhereTheyBecomeShorter) {
  make("a", std::string(50'000'000, 'x'));
  auto client = connect();
  client.send(request("GET", at("a")));
  client.receive_head();
  ASSERT_EQ(::truncate(at("a").c_str(), 1000), 0);
  std::size_t size = 0;
  for (auto bytes = client.receive_bytes(1 << 16); !bytes.empty(); bytes = client.receive_bytes(1 << 16))
    size += bytes.size();
  EXPECT_LT(size, 50'000'000u);
}

TEST_F(FilesTest, AreListed) {
  make("b\xff", "12345", 0640);
  make("a\n\"", "");
  ASSERT_EQ(::mkdir(at("d").c_str(), 0755), 0);
  fs::create_symlink("/nowhere", at("link"));
  const auto listing = list(directory_);
  EXPECT_EQ(listing.at("path"), directory_);
  const auto& entries = listing.at("entries");
  ASSERT_EQ(entries.size(), 4u);
  EXPECT_EQ(entries[0].at("name"), "a\n\"");
  EXPECT_EQ(entries[0].at("type"), "file");
  EXPECT_EQ(entries[1].at("name"), "b\xEF\xBF\xBD");
  EXPECT_EQ(entries[1].at("nameBase64"), "Yv8=");
  EXPECT_EQ(entries[1].at("size"), 5);
  EXPECT_EQ(entries[1].at("mode"), "0640");
  EXPECT_EQ(entries[2].at("type"), "directory");
  EXPECT_EQ(entries[3].at("type"), "symlink");
  EXPECT_THAT(entries[3].at("modifiedAt").get<std::string>(), testing::EndsWith("Z"));
}

TEST_F(FilesTest, OfTenThousandAreListedAndRemoved) {
  ASSERT_EQ(::mkdir(at("d").c_str(), 0755), 0);
  for (int i = 0; i < 10'000; ++i)
    sys::Fd(::open(at("d/" + std::to_string(i)).c_str(), O_CREAT | O_WRONLY, 0644));
  ASSERT_EQ(::chown(at("d").c_str(), kUser, kUser), 0);
  const auto before = resident_kib();
  const auto entries = list(at("d")).at("entries");
  EXPECT_LT(resident_kib(), before + kSlackKib);
  ASSERT_EQ(entries.size(), 10'000u);
  EXPECT_TRUE(std::is_sorted(entries.begin(), entries.end(),
                             [](const json& a, const json& b) { return a.at("name") < b.at("name"); }));
  EXPECT_THAT(remove(at("d"), "/tree"), StartsWith("HTTP/1.1 204 "));
  EXPECT_EQ(count(), 0u);
}

TEST_F(FilesTest, AreRemovedWithTheirDirectoriesAndNoneBesides) {
  const auto make_directory = [&](const std::string& name) {
    return call(request("PUT", at(name), "", "/directory"));
  };
  const auto made = make_directory("d/e//f/");
  EXPECT_THAT(made, StartsWith("HTTP/1.1 201 "));
  EXPECT_EQ(body_of(made), R"({"path":")" + at("d/e//f/") + R"("})");
  EXPECT_THAT(make_directory("d/e"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(call(request("PUT", at("d/g"), "Content-Length: 1\r\n", "/directory") + "x"),
              testing::AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr(R"("body":[)")));
  put(at("d/e/f/a"), "x");
  make("kept", "kept");
  EXPECT_THAT(make_directory("kept/d"), StartsWith("HTTP/1.1 409 "));
  fs::create_symlink(at("kept"), at("d/link"));
  fs::create_directory_symlink(directory_, at("d/e/up"));
  EXPECT_THAT(remove(at("d")), testing::AllOf(StartsWith("HTTP/1.1 409 "), HasSubstr("not empty")));
  EXPECT_THAT(remove(at("d"), "/tree"), StartsWith("HTTP/1.1 204 "));
  EXPECT_EQ(bytes_of("kept"), "kept");
  EXPECT_EQ(count(), 1u);
}

TEST_F(FilesTest, NestedTooDeepAreLeft) {
  const std::string deep =
      R"({"cmd":"cd )" + directory_ + R"(; for i in $(seq 300); do mkdir d; cd d; done"})";
  call(post(deep));
  EXPECT_THAT(remove(at("d"), "/tree"), testing::AllOf(StartsWith("HTTP/1.1 409 "), HasSubstr("too deep")));
}

TEST_F(FilesTest, AreToldInTheOtherDialect) {
  make("a", "x");
  const std::string v1 = "Roombox-Dialect: v1\r\n";
  EXPECT_THAT(put(at("b"), "x", v1), HasSubstr(R"({"object":"file","path":)"));
  EXPECT_THAT(get(at("no"), v1), HasSubstr(R"({"error":{"message":"not found - )"));
  auto client = connect();
  client.send(request("GET", directory_, v1, "/list"));
  client.receive_head();
  EXPECT_EQ(json::parse(client.receive_body()).at("data").size(), 2u);
}

}  // namespace
}  // namespace roombox
