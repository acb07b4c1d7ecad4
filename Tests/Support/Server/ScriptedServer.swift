internal import NIOCore
internal import NIOPosix
internal import NIOSSL

/// An HTTP/1.1 server, on a free port of 127.0.0.1 unless told otherwise, that answers 201, or does what a script says,
/// and remembers what came. It speaks bytes rather than through a library, which would send no broken HTTP. The
/// language is in `SCRIPT.md`.
package final class ScriptedServer: Sendable {
    package struct Options: Sendable {
        /// Certificate chain and key in PEM; plain HTTP without.
        package var identity: TestIdentity?
        /// A client has to show a certificate that one of these has issued (PEM); nil: it is not asked for one.
        package var clientRoots: String?
        /// The TLS versions that are spoken.
        package var versions = TestIdentity.Versions.modern
        /// Whether it computes ``ReceivedRequest/sha256``.
        package var hashes = true
        /// Whether the header fields of requests are remembered.
        package var keepsHeaders = true
        /// SO_RCVBUF of its connections; the system's choice when nil.
        package var receiveBuffer: Int32?
        package var threads = 1
        package var host = "127.0.0.1"
        /// 0: any that is free.
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

    /// Stops it: connections are cut.
    package func stop() async {
        try? await listener.close()
        try? await group.shutdownGracefully()
    }

    /// `http://127.0.0.1:<port>`
    package var origin: String { "\(options.identity == nil ? "http" : "https")://\(options.host):\(port)" }

    // MARK: What it does

    /// Replaces the script.
    /// - Throws: ``ScriptError`` naming the line.
    package func run(_ script: String) throws(ScriptError) {
        let script = try Script(parsing: script)
        state.access { $0.script = script }
    }

    /// Tells what to do with the requests to a path (without its query), one after the other; the last is repeated.
    /// Goes before the script.
    package func on(_ path: String, _ behaviours: Behaviour...) { on(path, behaviours) }

    package func on(_ path: String, _ behaviours: [Behaviour]) {
        state.access { $0.queues[path] = behaviours }
    }

    /// Bytes a second that each connection is read at; nil: as they come.
    package func readConnections(at rate: Double?) {
        state.access { $0.connectionRate = rate }
        readOn()
    }

    /// Whether connections open and nothing is ever read.
    package func setMute(_ isMute: Bool) {
        state.access { $0.isMute = isMute }
        readOn()
    }

    /// Whether SHA-256 of what comes is computed from the next request on.
    package func setHashes(_ hashes: Bool) { state.access { $0.hashes = hashes } }

    /// The port refuses connections from now on, and those that are open are reset; or the server listens again.
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
                // Without the handler the channel is closed.
                try? channel.pipeline.syncOperations.handler(type: PacedReads.self).goOn()
            }
        }
    }

    // MARK: What came

    /// All requests so far, in the order of their heads.
    package var requests: [ReceivedRequest] { state.access { $0.requests } }

    /// The requests to a path.
    package func requests(to path: String) -> [ReceivedRequest] { requests.filter { $0.target == path } }

    /// Connections that were accepted so far.
    package var connections: Int { state.access { $0.accepted } }

    /// Requests that have begun and are not answered.
    package var active: Int { state.access { $0.active } }

    /// Whether every byte of a content has arrived at a path: in one request that was answered with 2xx, or in the file
    /// that the step `store` keeps.
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

    /// How often each command arrived whole, by its id: what a checker compares with what was acknowledged.
    package var ledger: [String: Int] {
        requests.reduce(into: [:]) { ledger, request in
            if request.isWhole, let key = request.key { ledger[key, default: 0] += 1 }
        }
    }

    /// The files that the step `store` keeps.
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

/// The name that most tests know the server by.
package typealias MisbehavingReceiver = ScriptedServer
