internal import NIOCore
internal import NIOPosix
internal import NIOSSL

/// An HTTP/1.1 server that runs a script and records its requests; without a script it answers 201. By
/// default it listens on a free port of 127.0.0.1. It sends bytes without an HTTP library, which could not
/// send invalid HTTP. `SCRIPT.md` describes the language.
package final class ScriptedServer: Sendable {
    package struct Options: Sendable {
        /// The certificate chain and the key in PEM; nil for plain HTTP.
        package var identity: TestIdentity?
        /// The issuers of the certificate that a client must present (PEM); nil if it needs none.
        package var clientRoots: String?
        /// The accepted TLS versions.
        package var versions = TestIdentity.Versions.modern
        /// Whether the server computes ``ReceivedRequest/sha256``.
        package var hashes = true
        /// Whether the server records header fields.
        package var keepsHeaders = true
        /// SO_RCVBUF of the connections; nil for the system's default.
        package var receiveBuffer: Int32?
        package var threads = 1
        package var host = "127.0.0.1"
        /// The port; 0 for any free one.
        package var port = 0

        package init() {}
    }

    package let port: Int
    private let options: Options
    private let group: MultiThreadedEventLoopGroup
    private let listener: Listener
    let state: ServerState

    package init(_ options: Options = Options()) async throws {
        let state = ServerState()
        state.access { $0.hashes = options.hashes }
        let group = MultiThreadedEventLoopGroup(numberOfThreads: options.threads)
        do {
            listener = try Listener(options, state: state, group: group)
            port = try await listener.open(port: options.port)
        } catch {
            try? await group.shutdownGracefully()
            throw error
        }
        self.state = state
        self.group = group
        self.options = options
    }

    /// Stops the server and closes its connections.
    package func stop() async {
        try? await listener.close()
        try? await group.shutdownGracefully()
    }

    /// `http://127.0.0.1:<port>`
    package var origin: String { "\(options.identity == nil ? "http" : "https")://\(options.host):\(port)" }

    // MARK: Behaviour

    /// Replaces the script.
    /// - Throws: ``ScriptError`` with the number of the line.
    package func run(_ script: String) throws(ScriptError) {
        let script = try Script(parsing: script)
        state.access { $0.script = script }
    }

    /// Sets the behaviour for the requests to a path (without its query), one after the other; the last one
    /// repeats. It overrides the script.
    package func on(_ path: String, _ behaviours: Behaviour...) { on(path, behaviours) }

    package func on(_ path: String, _ behaviours: [Behaviour]) {
        state.access { $0.queues[path] = behaviours }
    }

    /// Lets `handler` answer all requests in place of the script.
    package func handle(by handler: any RequestHandler) { state.access { $0.handler = handler } }

    /// Sets the rate at which each connection is read, in bytes a second; nil for no limit.
    package func readConnections(at rate: Double?) {
        state.access { $0.connectionRate = rate }
        readOn()
    }

    /// Sets whether connections are accepted and never read.
    package func setMute(_ isMute: Bool) {
        state.access { $0.isMute = isMute }
        readOn()
    }

    /// Sets whether SHA-256 is computed, from the next request on.
    package func setHashes(_ hashes: Bool) { state.access { $0.hashes = hashes } }

    /// Refuses new connections and resets open ones, or listens again.
    package func refuse(_ isRefusing: Bool) async throws {
        guard isRefusing else {
            _ = try await listener.open(port: port)
            return
        }
        try await listener.close()
        for channel in state.access({ Array($0.channels.values) }) { PacedReads.reset(channel) }
    }

    private func readOn() {
        for channel in state.access({ Array($0.channels.values) }) {
            channel.eventLoop.execute {
                // If the handler is missing, the channel is already closed.
                try? channel.pipeline.syncOperations.handler(type: PacedReads.self).continueReading()
            }
        }
    }

    // MARK: Received requests

    /// All requests, in the order of their heads.
    package var requests: [ReceivedRequest] { state.access { $0.requests } }

    /// The requests to a path.
    package func requests(to path: String) -> [ReceivedRequest] { requests.filter { $0.target == path } }

    /// The number of accepted connections.
    package var connections: Int { state.access { $0.accepted } }

    /// The number of requests that are not answered yet.
    package var active: Int { state.access { $0.active } }

    /// Whether a content has arrived completely at a path: in one request that was answered with 2xx, or in
    /// the file of the step `store`.
    package func holds(_ path: String, _ content: [UInt8]) -> Bool {
        let digest = sha256(content)
        return state.access { state in
            state.files[path].map { $0.kept == Int64(content.count) && $0.sha256 == digest } ?? false
                || state.requests.contains {
                    $0.target.prefix { $0 != "?" } == path && $0.isWhole && $0.sha256 == digest
                        && (200..<300).contains($0.answered ?? 0)
                }
        }
    }

    /// The number of complete deliveries of each command, by its id.
    package var ledger: [String: Int] {
        requests.reduce(into: [:]) { ledger, request in
            if request.isWhole, let key = request.key { ledger[key, default: 0] += 1 }
        }
    }

    /// The files of the step `store`.
    package var files: StoredFiles { state.access { $0.files } }

    /// Forgets the requests so far.
    package func forget() { state.access { $0.requests = [] } }

    /// Forgets every file, and the requests that are answered or whose connection has ended.
    package func forgetEnded() {
        state.access {
            $0.files.forget()
            $0.requests.removeAll { $0.answeredAt != nil || $0.ended != nil }
        }
    }
}

/// The name of the server in most tests.
package typealias MisbehavingReceiver = ScriptedServer
