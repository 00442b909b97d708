#pragma once

#include <chrono>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace metafuse::service {

// Every connection belongs to the io_context of one thread, so nothing of it needs a lock or a strand.
using SessionExecutor = boost::asio::io_context::executor_type;
using SessionSocket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, SessionExecutor>;
using SessionTimer =
    boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                      boost::asio::wait_traits<std::chrono::steady_clock>, SessionExecutor>;

}  // namespace metafuse::service
