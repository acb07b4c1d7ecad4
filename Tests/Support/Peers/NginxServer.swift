internal import Glibc

/// A real nginx with its WebDAV module on a free port of 127.0.0.1, from Debian's `nginx-light` or better. It
/// writes only into a directory of the test. Enable a test that uses it by ``isInstalled``.
package final class NginxServer: Sendable {
    package static var isInstalled: Bool { program("nginx") != nil }

    package let port: Int
    /// A PUT to `/dav/x` makes the file `x` in this directory.
    package let root: String
    private let process: ChildProcess

    /// Starts the server and waits until it accepts connections.
    /// - Parameters:
    ///   - directory: an existing directory for its configuration, logs and files.
    ///   - locations: additional blocks of its `server` section.
    package init(in directory: String, workers: Int = 1, locations: String = "") async throws {
        guard let nginx = program("nginx") else { throw Missed("nginx is not installed") }
        let base = "\(directory)/nginx"
        root = "\(base)/dav"
        for path in [base, root, "\(base)/tmp"] { mkdir(path, 0o700) }
        // Another process may take the free port first; then nginx ends, and the next port is tried.
        var attempts = 0
        while true {
            attempts += 1
            let port = try freePort()
            let file = "\(base)/nginx.conf"
            try Self.write(Self.configuration(base, port, workers, locations), to: file)
            let process = try ChildProcess(
                [nginx, "-p", base, "-e", "\(base)/start.log", "-c", file], log: "\(base)/process-\(attempts)")
            do {
                try await until("nginx on port \(port)") {
                    if let ending = process.ending { throw Missed("nginx ended with \(ending): \(process.errors)") }
                    return isListening(port)
                }
            } catch  where attempts < 5 && process.ending != nil {
                continue
            } catch {
                await process.finish()
                throw error
            }
            self.port = port
            self.process = process
            return
        }
    }

    /// `http://127.0.0.1:<port>`
    package var origin: String { "http://127.0.0.1:\(port)" }

    package func stop() async { await process.finish() }

    private static func configuration(
        _ base: String, _ port: Int, _ workers: Int, _ locations: String
    ) -> String {
        // Under root, nginx would run its workers as another user, which may not enter the directory of a
        // test.
        """
        \(geteuid() == 0 ? "user root;" : "")
        daemon off;
        worker_processes \(workers);
        pid \(base)/nginx.pid;
        error_log \(base)/error.log warn;
        events { worker_connections 1024; }
        http {
            access_log off;
            client_max_body_size 0;
            client_body_temp_path \(base)/tmp/body;
            proxy_temp_path \(base)/tmp/proxy;
            fastcgi_temp_path \(base)/tmp/fastcgi;
            uwsgi_temp_path \(base)/tmp/uwsgi;
            scgi_temp_path \(base)/tmp/scgi;
            server {
                listen 127.0.0.1:\(port);
                location /dav/ {
                    root \(base);
                    dav_methods PUT DELETE MKCOL COPY MOVE;
                    create_full_put_path on;
                }
                \(locations)
            }
        }
        """
    }

    private static func write(_ text: String, to path: String) throws {
        guard let file = fopen(path, "w") else { throw Missed("cannot write \(path)") }
        fputs(text, file)
        fclose(file)
    }
}
