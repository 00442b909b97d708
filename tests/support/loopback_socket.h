#pragma once

#include <cstdint>

namespace metafuse::test {

/// A TCP socket on a free port of 127.0.0.1; throws if there is none.
int bound_socket();
std::uint16_t port_of(int socket);
/// Makes closing the socket send a reset.
void reset_on_close(int socket);

}  // namespace metafuse::test
