// The least that a container can do: it answers whatever it is asked.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

int main(void) {
  static const char kAnswer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
  char request[4096];
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(8080)};
  const int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(listener, (struct sockaddr*)&address, sizeof address) != 0 || listen(listener, 64) != 0) return 1;
  for (;;) {
    const int client = accept(listener, 0, 0);
    if (read(client, request, sizeof request) > 0 && write(client, kAnswer, sizeof kAnswer - 1) > 0)
      shutdown(client, SHUT_WR);
    while (read(client, request, sizeof request) > 0) {
    }
    close(client);
  }
}
