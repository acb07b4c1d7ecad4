internal import ArgumentParser
internal import BuiltIn
internal import Door
internal import DoorAPI
internal import DoorLive
internal import DoorMetrics
internal import DoorPages
internal import Glibc
internal import Host
internal import Logging
internal import Queue
internal import ServiceLifecycle
internal import Store
internal import Telemetry

struct DoorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "door",
        abstract: "Serve uploads, the API, events, metrics and pages over HTTP.",
        discussion: """
            Clients upload by tus 1.0, by resumable uploads of the IETF, by PUT or POST, or by a form. An offset that the \
            door states is on disk: after a crash of the door, of the client or of the network an upload goes on from there. \
            A data directory has one door; a second one exits with 75. Programs use /api/v1 (described by \
            /api/v1/openapi.json) and /metrics; “sluice login” prints a link to the pages.

            Every request needs a token. The door makes one at its first start, in keys/door.token of the data directory; \
            “sluice token create” makes others, which may do less. The example gives it to curl in a descriptor: every user of \
            the machine could read an argument.

            With door.certificate and door.key of sluice.yaml it speaks TLS; SIGHUP reads the files again, and no other \
            setting. It does not start while the spool lacks the files of all open uploads, as where its file system is not \
            mounted (75). It takes a socket that systemd has opened (deploy/systemd/sluice-door.socket) in place of --listen. \
            SIGTERM or Ctrl-C ends it: requests get 10 s, and the bytes that have arrived are kept.

            EXAMPLES
              sluice door
              sluice door --listen 127.0.0.1:7411
              sluice door --accept-lost-uploads    (the spool is lost)
              sluice login    (a link that opens the page)
              curl -H @<(printf 'Authorization: Bearer %s' "$(cat sluice-data/keys/door.token)") -T a.mp4 \\
                http://127.0.0.1:7411/uploads/
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var log: LogOptions

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The address; port 0 takes any free port (default: door.listen of sluice.yaml, else \(Self.defaultAddress)).",
            valueName: "host:port"))
    var listen: ListenAddress?

    @Flag(name: .long, help: "End open uploads whose files are not in the spool; their clients begin again.")
    var acceptLostUploads = false

    @Option(
        name: .long, help: ArgumentHelp("A pipe that closes when the parent has ended.", visibility: .private))
    var parentDescriptor: Int32?

    static let defaultAddress = ListenAddress(host: "127.0.0.1", port: 7411)

    func run() async throws {
        let logger = log.logger("door")
        var telemetry = Telemetry.bootstrap(logger: logger)
        let file = try ConfigurationFile(data, data.directory())
        let queue = try data.queue(create: true)
        telemetry.more = { ServerFigures.families(of: queue.serverCounts) }
        let client = try SluiceClient(queue.opened, registry: BuiltInOperations.registry(try file.uploads()))
        let inherited = try SocketActivation.socket()
        let address = inherited?.address ?? listen ?? file.door.listen ?? Self.defaultAddress
        let certificate: CertificateSource?
        do throws(DoorServerError) { certificate = try file.door.certificate.map(CertificateSource.init) } catch {
            throw ExitError(.configuration, error.description)
        }
        let routes = try ConfiguredRoutes.read(data)
        let registries = SubmitRegistries(data)
        let registry = await registries.lookup(
            for: file.door.submit.types.union(routes.routes.flatMap(\.types)))
        let check = RouteCheck(registry: registry, types: try queue.store.types(), webhooks: file.webhooks)
        for problem in try check.problems(of: routes.routes) {
            logger.warning("A sample upload was refused (see “sluice route check”): \(problem)")
        }
        let live = LivePart()
        let actions = ActionRuns(client)
        let service = DoorService(
            client, file.door, address: address, certificate: certificate, inheritedSocket: inherited?.descriptor,
            routes: routes, registry: registry, admission: try file.uploadHook(),
            parts: [
                live, APIPart(actions), MetricsPart(live, telemetry: telemetry), PagesPart(live, actions: actions),
            ], endsMissingUploads: acceptLostUploads, logger: logger
        ) { listening in
            logger.info("The door listens", metadata: ["url": "\(listening.url)", "token": "\(listening.tokenFile)"])
            // Only for a person at the terminal: a log is kept longer than a credential should be.
            if Diagnostics.isTerminal {
                Diagnostics.write("  open     \(listening.loginURL)  (once, within 10 minutes)\n")
            }
            Notify.ready()
        }
        if let parentDescriptor { Services.endWithParent(parentDescriptor) }
        try await Services.run(service, reload: Self.reload(certificate, logger), logger: logger)
    }
}

extension DoorCommand {
    /// Reads the files of the certificate again; a pair that cannot be used leaves the old one in use. A door without one
    /// goes on, too: the unit of systemd sends the signal for a reload, whatever the configuration has.
    private static func reload(_ certificate: CertificateSource?, _ logger: Logger) -> @Sendable () -> Void {
        {
            guard let certificate else {
                logger.notice(
                    "SIGHUP reads only the files of a certificate, and the door has none; restart it for other settings"
                )
                return
            }
            do throws(DoorServerError) {
                try certificate.reload()
                logger.notice(
                    "New connections get the new certificate", metadata: ["expires": "\(certificate.expires)"])
            } catch {
                logger.error("The old certificate stays in use: \(error)")
            }
        }
    }
}

extension ListenAddress: ExpressibleByArgument {
    public init?(argument: String) {
        guard let address = Self(argument) else {
            ArgumentForm.expect("127.0.0.1:8080, [::1]:8080, or :8080 for every address")
            return nil
        }
        self = address
    }
}

/// The socket that systemd has opened for this process: sd_listen_fds(3), without its library.
enum SocketActivation {
    /// The first descriptor that systemd passes.
    private static let first: CInt = 3

    /// The socket, and its address. Nil where there is none. A second call finds none, nor does a child process.
    /// - Throws: ``ExitError`` `configuration` for several sockets, and for one that is not a TCP socket that listens.
    static func socket() throws -> (descriptor: CInt, address: ListenAddress)? {
        defer { for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] { unsetenv(name) } }
        guard number("LISTEN_PID") == Int(getpid()), let count = number("LISTEN_FDS"), count > 0 else { return nil }
        guard count == 1 else {
            throw ExitError(
                .configuration, "the socket unit passes \(count) sockets; give it one ListenStream= for the door")
        }
        _ = fcntl(first, F_SETFD, FD_CLOEXEC)
        guard isListening(first), let address = address(of: first) else {
            throw ExitError(
                .configuration,
                "the socket unit passes a socket that is not a TCP socket that listens; use ListenStream=HOST:PORT")
        }
        return (first, address)
    }

    private static func number(_ name: String) -> Int? { getenv(name).flatMap { Int(String(cString: $0)) } }

    private static func isListening(_ descriptor: CInt) -> Bool {
        var value: CInt = 0
        var length = socklen_t(MemoryLayout<CInt>.size)
        return getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &value, &length) == 0 && value == 1
    }

    private static func address(of descriptor: CInt) -> ListenAddress? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        var port = [CChar](repeating: 0, count: Int(NI_MAXSERV))
        let isNamed = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                getsockname(descriptor, address, &length) == 0
                    && getnameinfo(
                        address, length, &host, socklen_t(host.count), &port, socklen_t(port.count),
                        NI_NUMERICHOST | NI_NUMERICSERV) == 0
            }
        }
        guard isNamed, let number = Int(Self.text(port)) else { return nil }
        return ListenAddress(host: Self.text(host), port: number)
    }

    private static func text(_ characters: [CChar]) -> String {
        String(decoding: characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
