internal import Commands
package import Host

/// The destination of uploads on a ``NetworkBed``: the program TestDestination in the network of the servers.
package final class BedDestination: Sendable {
    /// A fault of the destination; see `Behaviour` of TestDestination.
    package enum Fault: Sendable {
        /// The rate at which each connection is read, in bits per second; nil for no limit.
        case connectionRate(Double?)
        /// Seconds between the last byte of a request and the first of its response.
        case firstByteDelay(Double)
        /// The number of concurrent requests above which the answer is 503; nil for no limit.
        case maxRequests(Int?)
        /// The port refuses connections, and open connections are reset.
        case refusing(Bool)
        /// Connections are accepted and never read.
        case mute(Bool)
        /// Whether the SHA-256 of bodies is computed.
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

    /// Starts the destination and waits until it accepts connections.
    /// - Parameters:
    ///   - number: the number of its address, from 1.
    ///   - directory: an existing directory for its socket and log.
    package convenience init(
        _ bed: NetworkBed, number: Int = 1, port: Int = 8080, in directory: String, bin: String = NetworkBed.bin,
        faults: Fault...
    ) async throws {
        try await self.init(bed, .server, address: "10.77.\(number).1", port: port, in: directory, bin: bin)
        for fault in faults { try await set(fault) }
    }

    /// Starts a destination in the client's network that accepts connections to every address of 127/8; see
    /// ``origin(loopback:)``.
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

    /// An origin of a destination on loopback: `http://127.1.0.0:PORT` and following.
    /// - Parameter number: from 0 to 65,535.
    package func origin(loopback number: Int) -> String { Self.origin(loopback: number, net: 1, port: port) }

    /// An origin in 127/8. Each pair of number and net is a different destination.
    /// - Parameters:
    ///   - number: from 0 to 65,535.
    ///   - net: from 0 to 255.
    package static func origin(loopback number: Int, net: Int, port: Int) -> String {
        "http://127.\(net).\(number >> 8).\(number & 255):\(port)"
    }

    /// Sets faults. They are in effect when this returns.
    @discardableResult
    package func set(_ faults: Fault...) async throws -> MonotonicTime {
        let answer = try await control.ask(["change": .object(faults.map(\.member))])
        return MonotonicTime(nanoseconds: answer["at"]?.integer ?? 0)
    }

    /// Replaces the script. It is in effect when this returns.
    /// - Parameter script: in the language of `SCRIPT.md`; nil for the behaviour of the faults.
    /// - Throws: ``Missed`` with the number of an invalid line.
    package func run(_ script: String?) async throws {
        try await control.ask(["script": script.map { .string($0) } ?? .null])
    }

    /// The requests that run or ended after a time, with the bytes received after it.
    package func statistics(since: MonotonicTime = .zero) async throws -> Received {
        Received(try await control.ask(["ask": "statistics", "since": .integer(since.nanoseconds)]))
    }

    /// Counts the requests to paths with a prefix.
    package func count(below prefix: String = "/") async throws -> RequestCount {
        RequestCount(try await control.ask(["ask": "count", "below": .string(prefix)]))
    }

    /// The number of kept bytes of each path, and their SHA-256 if hashes were on from the start.
    package func files() async throws -> [String: (kept: Int64, sha256: String?)] {
        let files = try await control.ask(["ask": "files"])["files"]?.members ?? []
        return Dictionary(
            files.map { ($0.name, ($0.value["kept"]?.integer ?? 0, $0.value["sha256"]?.string)) }
        ) { first, _ in first }
    }

    /// Forgets the ended requests and every file.
    package func forget() async throws { try await control.ask(["forget": true]) }
}
