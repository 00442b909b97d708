#pragma once

#include <cstdint>

namespace metafuse::test {

/// A TCP socket on a free port of 127.0.0.1; throws when there is none.
int bound_socket();
std::uint16_t port_of(int socket);
/// Closing the socket will send a reset.
void reset_on_close(int socket);

}  // namespace metafuse::test
