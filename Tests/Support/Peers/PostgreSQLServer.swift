internal import Foundation

/// A real PostgreSQL server on a Unix socket and a port of 127.0.0.1, from Debian's `postgresql`. Enable a test that uses it by
/// ``isInstalled``.
///
/// It does not sync its files, so that it loses commits in a power cut. PostgreSQL refuses to run as root, so that it runs as
/// another user where the tests run as root. A shell ends it and removes its files when the process of the tests has ended.
package final class PostgreSQLServer: Sendable {
    package static var isInstalled: Bool { programs != nil }

    /// Whether it also accepts TLS, with a certificate of the name `localhost` that signs itself.
    package static var hasTLS: Bool { program("openssl") != nil }

    /// The superuser.
    package let user = "postgres"
    /// Of the superuser, needed only on ``port``.
    package let password: String
    package let port: Int
    /// The directory of the Unix socket, which is named for ``port``.
    package let directory: String
    private let shell: ChildProcess
    /// The writing end of the pipe by which the shell sees the end of this process.
    private let life: CInt

    /// The server of this process, which the first caller starts.
    package static func shared() async throws -> PostgreSQLServer { try await SharedServer.instance.server() }

    private actor SharedServer {
        static let instance = SharedServer()
        private var starting: Task<PostgreSQLServer, any Error>?

        func server() async throws -> PostgreSQLServer {
            let task = starting ?? Task { try await PostgreSQLServer() }
            starting = task
            return try await task.value
        }
    }

    /// Starts a server and waits until it accepts connections.
    /// - Parameters:
    ///   - settings: of `postgresql.conf`: `["max_connections": "10"]`.
    ///   - primary: another server, of which this one becomes a streaming standby; nil for a server of its own.
    package init(_ settings: [String: String] = [:], standbyOf primary: PostgreSQLServer? = nil) async throws {
        guard let programs = Self.programs else {
            throw Missed("PostgreSQL is not installed; deploy/prepare test installs it")
        }
        let directory = try TemporaryDirectory("postgresql").path
        self.directory = directory
        password = primary?.password ?? "pw-\(UInt64.random(in: 0 ... .max))"
        let pipe = "\(directory)/life"
        try Data(password.utf8).write(to: URL(fileURLWithPath: "\(directory)/password"))
        guard mkfifo(pipe, 0o600) == 0 else { throw Missed("cannot make the pipe \(pipe)") }
        for path in [directory, "\(directory)/password", pipe] where geteuid() == 0 {
            chown(path, unprivileged, unprivileged)
        }
        // Root of a network namespace is another user there, and needs a way to the socket.
        chmod(directory, 0o711)
        // For both directions, because opening for writing alone would wait for the shell.
        life = open(pipe, O_RDWR | O_CLOEXEC)

        let initialization = try ChildProcess(
            Self.command(Self.initialization(programs, directory, primary)), directory: directory,
            log: "\(directory)/initdb")
        guard try await initialization.end(within: .seconds(120)) == .exited(0) else {
            throw Missed("the files of PostgreSQL cannot be made: \(initialization.errors)")
        }
        let settings = try await Self.certificate(in: directory).merging(settings) { _, given in given }
        var attempts = 0
        while true {
            attempts += 1
            let port = try freePort()
            let shell = try ChildProcess(
                Self.command(
                    ["/bin/sh", "-c", Self.script, "postgresql", directory, "\(programs)/postgres"]
                        + Self.arguments(directory, port, settings)), directory: directory,
                log: "\(directory)/server-\(attempts)")
            do {
                try await until("PostgreSQL on port \(port)", within: .seconds(60)) {
                    if let ending = shell.ending { throw Missed("PostgreSQL ended with \(ending): \(shell.errors)") }
                    return Self.isReady(directory)
                }
            } catch  where attempts < 5 && shell.ending != nil {
                continue
            } catch {
                close(life)
                throw error
            }
            (self.port, self.shell) = (port, shell)
            return
        }
    }

    /// Ends the server at once, and removes its files.
    package func stop() async {
        close(life)
        _ = await shell.end
    }

    /// Kills the server (SIGKILL) for good.
    package func destroy() async throws {
        guard let pid = Self.pid(directory), kill(pid, SIGKILL) == 0 else {
            throw Missed("PostgreSQL in \(directory) does not run")
        }
        _ = await shell.end
        close(life)
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// Kills the server (SIGKILL), and waits until it has recovered and accepts connections.
    package func crash() async throws {
        let again = "\(directory)/again"
        try Data().write(to: URL(fileURLWithPath: again))
        defer { unlink(again) }
        guard let first = Self.pid(directory), kill(first, SIGKILL) == 0 else {
            throw Missed("PostgreSQL in \(directory) does not run")
        }
        try await until("PostgreSQL on port \(port) again", within: .seconds(60)) { [directory] in
            Self.pid(directory) != first && Self.isReady(directory)
        }
    }

    // MARK: Addresses

    /// A URL by way of the Unix socket, which asks for no password.
    package func socketURL(database: String = "postgres", user: String? = nil) -> String {
        "postgres://\(user ?? self.user)@/\(database)?host=\(directory)&port=\(port)"
    }

    /// A URL by way of a port of 127.0.0.1, which asks for a password.
    /// - Parameter port: nil for that of the server.
    package func url(database: String = "postgres", password: String? = nil, port: Int? = nil) -> String {
        "postgres://\(user):\(password ?? self.password)@127.0.0.1:\(port ?? self.port)/\(database)"
    }

    /// The path of the Unix socket.
    package var socketPath: String { "\(directory)/.s.PGSQL.\(port)" }

    // MARK: Process

    /// Reads until this process ends or closes the pipe, then ends the server (SIGQUIT: at once) and removes the files. The
    /// shell ends with the server, and starts it again while the file `again` is there.
    private static let script = """
        directory=$1
        shift
        (read -r end <"$directory/life"; : >"$directory/over"; kill -QUIT $(cat "$directory/server")) &
        watcher=$!
        while :; do
            "$@" </dev/null &
            server=$!
            echo $server >"$directory/server"
            if [ -e "$directory/over" ]; then kill -QUIT $server; fi
            wait $server
            status=$?
            if [ -e "$directory/over" ] || [ ! -e "$directory/again" ]; then break; fi
            sleep 0.05
        done
        if [ -e "$directory/over" ]; then rm -rf "$directory"; else kill $watcher; fi
        exit $status
        """

    private static func initialization(
        _ programs: String, _ directory: String, _ primary: PostgreSQLServer?
    ) -> [String] {
        guard let primary else {
            return [
                "\(programs)/initdb", "--pgdata=\(directory)/data", "--username=postgres",
                "--pwfile=\(directory)/password",
                "--auth-local=trust", "--auth-host=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync",
                "--no-instructions",
            ]
        }
        return [
            "\(programs)/pg_basebackup", "--pgdata=\(directory)/data", "--host=\(primary.directory)",
            "--port=\(primary.port)", "--username=\(primary.user)", "--write-recovery-conf", "--checkpoint=fast",
            "--no-sync",
        ]
    }

    private static func arguments(_ directory: String, _ port: Int, _ settings: [String: String]) -> [String] {
        let own = [
            "listen_addresses": "127.0.0.1", "port": "\(port)", "unix_socket_directories": directory, "fsync": "off",
            "max_connections": "60", "shared_buffers": "16MB", "autovacuum": "off", "log_min_messages": "warning",
            "wal_retrieve_retry_interval": "200ms",
        ]
        let all = own.merging(settings) { _, given in given }.sorted { $0.key < $1.key }
        return ["-D", "\(directory)/data"] + all.flatMap { ["-c", "\($0.key)=\($0.value)"] }
    }

    /// Makes a certificate that signs itself, readable for the server.
    /// - Returns: the settings that use it; none where ``hasTLS`` is false.
    private static func certificate(in directory: String) async throws -> [String: String] {
        guard let openssl = program("openssl") else { return [:] }
        let (key, certificate) = ("\(directory)/server.key", "\(directory)/server.crt")
        let process = try ChildProcess(
            command([
                openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
                "2",
                "-subj", "/CN=localhost", "-keyout", key, "-out", certificate,
            ]), directory: directory, log: "\(directory)/openssl")
        guard try await process.end(within: .seconds(60)) == .exited(0) else {
            throw Missed("openssl failed: \(process.errors)")
        }
        return ["ssl": "on", "ssl_key_file": key, "ssl_cert_file": certificate]
    }

    /// As `pg_ctl` finds it: the eighth line of the lock file is the state of the server, `standby` for one that only reads.
    private static func isReady(_ directory: String) -> Bool {
        let lines = lockFile(directory)
        return lines.count > 7 && (lines[7].hasPrefix("ready") || lines[7].hasPrefix("standby"))
    }

    /// Of the server that has written the lock file last.
    private static func pid(_ directory: String) -> Int32? { lockFile(directory).first.flatMap { Int32($0) } }

    private static func lockFile(_ directory: String) -> [Substring] {
        String(decoding: contents(of: "\(directory)/data/postmaster.pid") ?? [], as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false)
    }

    /// As another user where the tests run as root.
    package static func command(_ arguments: [String]) -> [String] {
        guard geteuid() == 0, let setpriv = program("setpriv") else { return arguments }
        return [setpriv, "--reuid=\(unprivileged)", "--regid=\(unprivileged)", "--clear-groups"] + arguments
    }

    /// The directory of the newest installed version.
    private static let programs: String? = {
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
        let sorted = versions.compactMap { Int($0) }.sorted(by: >)
        let directories = sorted.map { "/usr/lib/postgresql/\($0)/bin" } + ["/usr/local/bin", "/usr/bin"]
        return directories.first { directory in
            ["postgres", "initdb"].allSatisfy { access("\(directory)/\($0)", X_OK) == 0 }
        }
    }()
}

/// The user and the group without rights (`overflowuid` of the kernel).
private let unprivileged: UInt32 = 65_534

extension PostgreSQLServer: StoppableServer {}
