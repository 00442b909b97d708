#!/bin/bash
# Starts nginx (Debian's nginx-light) on a free port with 16 answers of 30 results (11 KB) and runs bench/fetch_lists
# against it.
# usage: bench/fetch_lists.sh [BUILD_FOLDER]
set -euo pipefail
build=${1:-build/release}
folder=$(mktemp -d)
trap 'kill "$(cat "$folder/pid" 2>/dev/null)" 2>/dev/null || true; sleep 0.2; rm -rf "$folder"' EXIT
chmod 755 "$folder"
port=$(python3 - "$folder" <<'PY'
import json, os, socket, sys
for engine in range(16):
    os.makedirs(f"{sys.argv[1]}/www/e{engine}")
    results = [{"url": f"https://site{i}.example.org/articles/{engine}/page-{i}.html?id={i}&lang=en", "title": f"Result {i} of engine {engine}: a title of usual length",
                "content": "A snippet of some words that says what stands on the page, as engines deliver it, about two hundred characters long, "
                           "so that one answer of thirty results is eleven kilobytes."} for i in range(30)]
    with open(f"{sys.argv[1]}/www/e{engine}/search.json", "w") as out:
        json.dump({"query": "x", "results": results}, out)
with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    print(probe.getsockname()[1])
PY
)
cat > "$folder/nginx.conf" <<CONF
pid $folder/pid; error_log /dev/null; worker_processes 1;
events { worker_connections 256; }
http { access_log off; keepalive_requests 1000000; types { application/json json; }
  client_body_temp_path $folder/b; proxy_temp_path $folder/p; fastcgi_temp_path $folder/f; uwsgi_temp_path $folder/u; scgi_temp_path $folder/s;
  server { listen 127.0.0.1:$port; root $folder/www; } }
CONF
nginx -c "$folder/nginx.conf" -p "$folder"
"$build/bench/fetch_lists" "http://127.0.0.1:$port"
