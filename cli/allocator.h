#pragma once

// Settings of jemalloc, the program's allocator (cli/CMakeLists.txt). jemalloc reads the variable
// `malloc_conf` when it first allocates, before main().
//
// An uncached search makes and frees several thousand short strings. With glibc's allocator they cost a
// fifth of the search's processor time, with jemalloc about half as much (bench/README.md). Few threads
// allocate at once, so two arenas are enough. Pages that stay free for half a second go back to the system,
// so that a burst of requests leaves no memory behind. Threads cache blocks of up to 4 KiB only.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf =
    "narenas:2,background_thread:true,dirty_decay_ms:500,muzzy_decay_ms:0,lg_tcache_max:12";
}
