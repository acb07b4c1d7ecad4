internal import Glibc

/// A real nginx with its WebDAV module on a free port of 127.0.0.1, from Debian's `nginx-light` or better. Everything it
/// writes is in a directory of the test. For tests that are enabled where ``isInstalled``.
package final class NginxServer: Sendable {
    package static var isInstalled: Bool { program("nginx") != nil }

    package let port: Int
    /// What was put to `/dav/x` is the file `x` in here.
    package let root: String
    private let process: ChildProcess

    /// Starts it and waits until it takes connections.
    /// - Parameters:
    ///   - directory: an existing directory for its configuration, logs and files.
    ///   - locations: further blocks of its server, in the language of its configuration.
    package init(in directory: String, workers: Int = 1, locations: String = "") async throws {
        guard let nginx = program("nginx") else { throw Missed("nginx is not installed") }
        let base = "\(directory)/nginx"
        root = "\(base)/dav"
        for path in [base, root, "\(base)/tmp"] { mkdir(path, 0o700) }
        // A port that is free now may be taken a moment later; then nginx ends, and another one is tried.
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
        // As root, workers would otherwise be another user, who may not enter a test's directory.
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
