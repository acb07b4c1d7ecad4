internal import Commands

/// The program TestDestination in the servers' network: where to upload to on a ``NetworkBed``.
package final class BedDestination: Sendable {
    /// What is wrong with it; see `Behaviour` of TestDestination.
    package enum Fault: Sendable {
        /// Bits per second that each connection is read at; nil: as they come.
        case connectionRate(Double?)
        /// Seconds between the last byte of a request and the first of its response.
        case firstByteDelay(Double)
        /// More requests at once are answered with 503; nil: no limit.
        case maxRequests(Int?)
        /// The port refuses connections, and those that were open are reset.
        case refusing(Bool)
        /// Connections open and nothing is ever read.
        case mute(Bool)
        /// SHA-256 of what comes is computed.
        case hashes(Bool)

        fileprivate var member: JSONValue.Member {
            switch self {
            case .connectionRate(let rate): .init("connectionRate", rate.map { .number($0) } ?? .null)
            case .firstByteDelay(let seconds): .init("firstByteDelay", .number(seconds))
            case .maxRequests(let count): .init("mostRequests", count.map { .integer(Int64($0)) } ?? .null)
            case .refusing(let isSo): .init("isRefusing", .bool(isSo))
            case .mute(let isSo): .init("isMute", .bool(isSo))
            case .hashes(let isSo): .init("hashes", .bool(isSo))
            }
        }
    }

    /// `http://10.77.i.1:PORT`
    package let origin: String
    package let process: ChildProcess
    private let port: Int
    private let control: ControlLine

    /// Starts it and waits until it takes connections.
    /// - Parameters:
    ///   - number: of the destination's address, from 1.
    ///   - directory: an existing one, for its socket and log.
    package convenience init(
        _ bed: NetworkBed, number: Int = 1, port: Int = 8080, in directory: String, bin: String = NetworkBed.bin,
        faults: Fault...
    ) async throws {
        try await self.init(bed, .server, address: "10.77.\(number).1", port: port, in: directory, bin: bin)
        for fault in faults { try await set(fault) }
    }

    /// Starts one in the client's network that takes connections to every address of 127/8; see ``origin(loopback:)``.
    package convenience init(
        loopbackOf bed: NetworkBed, port: Int = 8080, in directory: String, bin: String = NetworkBed.bin
    ) async throws {
        try await self.init(bed, .client, address: "0.0.0.0", port: port, in: directory, bin: bin)
    }

    private init(
        _ bed: NetworkBed, _ side: NetworkBed.Side, address: String, port: Int, in directory: String, bin: String
    ) async throws {
        let socket = "\(directory)/destination-\(address)-\(port).sock"
        let process = try bed.start(
            in: side, ["\(bin)/TestDestination", address, "\(port)", socket],
            log: "\(directory)/destination-\(address)-\(port)")
        origin = "http://\(side == .client ? "127.0.0.1" : address):\(port)"
        self.port = port
        self.process = process
        control = try await ControlLine(path: socket) {
            guard process.ending == nil else { throw Missed("the destination ended: \(process.errors)") }
        }
    }

    /// The origin of one of the addresses of a destination on loopback: `http://127.1.0.0:PORT` and so on.
    /// - Parameter number: from 0 to 65,535.
    package func origin(loopback number: Int) -> String { Self.origin(loopback: number, net: 1, port: port) }

    /// An origin in 127/8: each (number, net) is a destination of its own.
    /// - Parameters:
    ///   - number: from 0 to 65,535.
    ///   - net: from 0 to 255.
    package static func origin(loopback number: Int, net: Int, port: Int) -> String {
        "http://127.\(net).\(number >> 8).\(number & 255):\(port)"
    }

    /// Takes effect before this returns.
    @discardableResult
    package func set(_ faults: Fault...) async throws -> MonotonicMoment {
        let answer = try await control.ask(["change": .object(faults.map(\.member))])
        return MonotonicMoment(nanoseconds: answer["at"]?.integer ?? 0)
    }

    /// Replaces what it does with requests; takes effect before this returns.
    /// - Parameter script: in the language of `SCRIPT.md`; nil: what the faults say.
    /// - Throws: ``Missed`` naming the line that is wrong.
    package func run(_ script: String?) async throws {
        try await control.ask(["script": script.map { .string($0) } ?? .null])
    }

    /// Requests that run, or ended since, with their bytes since.
    package func statistics(since: MonotonicMoment = MonotonicMoment(nanoseconds: 0)) async throws -> Received {
        Received(try await control.ask(["ask": "statistics", "since": .integer(since.nanoseconds)]))
    }

    /// Counts the requests to paths with a prefix.
    package func count(below prefix: String = "/") async throws -> RequestCount {
        RequestCount(try await control.ask(["ask": "count", "below": .string(prefix)]))
    }

    /// For each path the bytes that are kept, and their SHA-256 where hashes were on from its start.
    package func files() async throws -> [String: (kept: Int64, sha256: String?)] {
        let files = try await control.ask(["ask": "files"])["files"]?.members ?? []
        return Dictionary(
            files.map { ($0.name, ($0.value["kept"]?.integer ?? 0, $0.value["sha256"]?.string)) }
        ) { first, _ in first }
    }

    /// Forgets requests that have ended, and every file.
    package func forget() async throws { try await control.ask(["forget": true]) }
}

/// How many requests a ``BedDestination`` has seen.
package struct RequestCount: Sendable {
    package var begun: Int
    /// Answered with 2xx.
    package var succeeded: Int
    /// Answered with another status.
    package var refused: Int
    /// When the first of them began; nil of none.
    package var firstBegin: MonotonicMoment?
    package var lastBegin: MonotonicMoment?
    /// When the last response left.
    package var lastEnd: MonotonicMoment?

    init(_ json: JSONValue) {
        func moment(_ name: String) -> MonotonicMoment? {
            json[name]?.integer.map { MonotonicMoment(nanoseconds: $0) }
        }
        begun = Int(json["begun"]?.integer ?? 0)
        succeeded = Int(json["succeeded"]?.integer ?? 0)
        refused = Int(json["refused"]?.integer ?? 0)
        firstBegin = moment("firstBegin")
        lastBegin = moment("lastBegin")
        lastEnd = moment("lastEnd")
    }
}

/// What a ``BedDestination`` was asked and what came.
package struct Received: Sendable {
    package struct Request: Sendable {
        package var method: String
        package var path: String
        package var clientPort: Int
        package var begin: MonotonicMoment
        /// When its response left or its connection ended; nil while it runs.
        package var end: MonotonicMoment?
        /// Nil where the connection ended before.
        package var status: Int?
        /// Bytes of the body.
        package var received: Int64
        /// The same, by 50 ms.
        package var steps: ByteSteps
    }

    package var at: MonotonicMoment
    package var requests: [Request]
    /// Requests under way.
    package var active: Int

    init(_ json: JSONValue) {
        func moment(_ value: JSONValue?) -> MonotonicMoment? { value?.integer.map { MonotonicMoment(nanoseconds: $0) } }
        at = moment(json["at"]) ?? .now
        active = Int(json["active"]?.integer ?? 0)
        let step = json["step"]?.integer ?? 1
        requests = (json["requests"]?.elements ?? []).map { request in
            Request(
                method: request["method"]?.string ?? "", path: request["path"]?.string ?? "",
                clientPort: Int(request["clientPort"]?.integer ?? 0),
                begin: moment(request["begin"]) ?? MonotonicMoment(nanoseconds: 0), end: moment(request["end"]),
                status: request["status"]?.integer.map { Int($0) }, received: request["received"]?.integer ?? 0,
                steps: ByteSteps(step: step, request["steps"]))
        }
    }

    /// Bytes of bodies in all, of paths with a prefix.
    package func bytes(_ prefix: String = "/") -> Int64 {
        requests.reduce(0) { $1.path.hasPrefix(prefix) ? $0 + $1.received : $0 }
    }

    /// Bytes of bodies between two moments, by whole steps, of paths with a prefix.
    package func bytes(_ prefix: String = "/", from start: MonotonicMoment, to end: MonotonicMoment) -> Int64 {
        requests.reduce(0) { $1.path.hasPrefix(prefix) ? $0 + $1.steps.bytes(from: start, to: end) : $0 }
    }
}
