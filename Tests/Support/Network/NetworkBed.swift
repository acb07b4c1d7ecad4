package import Commands
internal import Foundation
package import Host
internal import Synchronization

/// Two network namespaces on this machine, one for the client and one for the servers, with an emulated link between.
/// It needs no root, but a system that permits user namespaces, and TUN for more than a rate limit.
///
/// Destination number i, from 1, has the address 10.77.i.1; the client has 10.77.0.1. The processes in the networks
/// end with ``finish()``, and also when the process that made the bed is killed.
package final class NetworkBed: Sendable {
    package enum Side: String, Sendable { case client, server }
    package enum Direction: String, Sendable { case up, down }
    package enum Shaper: String, Sendable {
        /// TUN if the process may open it, otherwise the token bucket.
        case auto
        /// Supports rate, delay, loss, blackout, and links of single destinations.
        case tun
        /// The kernel's token bucket on a veth pair: supports one rate for all traffic.
        case tbf
    }

    package struct Configuration: Sendable {
        package var shaper: Shaper
        /// The TCP congestion control of all connections: `cubic`, `bbr` or another one of the kernel.
        package var congestion: String
        /// The link that all destinations share.
        package var uplink: EmulatedLink
        /// The link of each destination behind the shared one; nil for none.
        package var destinations: [EmulatedLink?]

        package init(
            _ uplink: EmulatedLink, destinations: [EmulatedLink?] = [nil], congestion: String = "cubic",
            shaper: Shaper = .auto
        ) {
            self.shaper = shaper
            self.congestion = congestion
            self.uplink = uplink
            self.destinations = destinations
        }

        var json: JSONValue {
            [
                "shaper": .string(shaper.rawValue), "congestion": .string(congestion), "uplink": uplink.json,
                "destinations": .array(destinations.map { $0?.json ?? .null }),
            ]
        }
    }

    package let configuration: Configuration
    /// The shaper in use: `tun` or `tbf`.
    package let shaper: String
    private let directory: String
    private let emulator: ChildProcess
    private let control: ControlLine
    private let prefixes: [Side: [String]]
    private let children = Mutex<[ChildProcess]>([])
    private let started = Atomic(0)

    /// The reason why this machine cannot make a bed; nil if it can.
    package static let obstacle: String? = {
        if isQuickRun { return "a quick run has no emulated links" }
        guard let unshare = program("unshare"), program("nsenter") != nil, program("ip") != nil else {
            return "unshare, nsenter or ip is missing (Debian: util-linux, iproute2)"
        }
        let attempt = Process()
        attempt.executableURL = URL(fileURLWithPath: unshare)
        attempt.arguments = ["-Urn", "true"]
        attempt.standardError = FileHandle.nullDevice
        do { try attempt.run() } catch { return "\(error)" }
        attempt.waitUntilExit()
        return attempt.terminationStatus == 0
            ? nil : "this system permits no user namespaces (“unshare -Urn true” fails)"
    }()

    /// The reason why this machine can emulate at most a rate; nil if it can emulate every property.
    package static let obstacleOfPackets: String? =
        obstacle ?? (access("/dev/net/tun", R_OK | W_OK) == 0 ? nil : "cannot open /dev/net/tun")

    /// cubic and bbr, if this kernel has loaded them: no process can load a module from a user namespace.
    package static let congestionControls: [String] = {
        let names = contents(of: "/proc/sys/net/ipv4/tcp_available_congestion_control") ?? []
        let known = String(decoding: names, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        return ["cubic", "bbr"].filter { name in isAvailable(known.contains { $0 == name }) }
    }()

    /// - Parameters:
    ///   - directory: an existing directory for logs and sockets.
    ///   - bin: the directory of the program LinkEmulator; nil for that of this program.
    package init(_ configuration: Configuration, in directory: String, bin: String? = nil) async throws {
        if let obstacle = Self.obstacle { throw Missed("no network bed: \(obstacle)") }
        self.configuration = configuration
        self.directory = directory
        let socket = "\(directory)/link.sock"
        let emulator = try ChildProcess(
            [program("unshare")!, "-Urn", "\(bin ?? Self.bin)/LinkEmulator", socket, configuration.json.text],
            log: "\(directory)/link")
        self.emulator = emulator
        do {
            control = try await ControlLine(path: socket) {
                guard emulator.ending == nil else { throw Missed("no network bed: \(emulator.errors)") }
            }
            let bed = try await control.ask(["ask": "bed"])
            guard let shaper = bed["shaper"]?.string, let client = bed["client"]?.integer,
                let server = bed["server"]?.integer
            else { throw Missed("unexpected answer of the link emulator: \(bed.text)") }
            self.shaper = shaper
            func prefix(_ descriptor: Int64) -> [String] {
                [
                    program("nsenter")!, "--preserve-credentials", "--user=/proc/\(emulator.pid)/ns/user",
                    "--net=/proc/\(emulator.pid)/fd/\(descriptor)",
                ]
            }
            prefixes = [.client: prefix(client), .server: prefix(server)]
        } catch {
            await emulator.finish()
            throw error
        }
    }

    /// The directory of the running program, or `SLUICE_BIN`.
    package static let bin =
        ProcessInfo.processInfo.environment["SLUICE_BIN"]
        ?? URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().path

    /// Runs `body` with a bed, which is removed also after a failure.
    package static func with(
        _ configuration: Configuration, in directory: String, _ body: (NetworkBed) async throws -> Void
    ) async throws {
        let bed = try await NetworkBed(configuration, in: directory)
        do {
            try await body(bed)
        } catch {
            await bed.finish()
            throw error
        }
        await bed.finish()
    }

    /// Ends every process in the networks by its id, and so the networks.
    package func finish() async {
        for child in children.withLock({ $0 }).reversed() { await child.finish() }
        // Without a connection, the emulator ends the other processes in its networks, and then itself.
        control.close()
        _ = try? await emulator.end(within: .seconds(10))
        await emulator.finish()
    }

    // MARK: Processes

    /// The arguments before a command line that let it run in one of the networks, with the same process id.
    package func prefix(_ side: Side) -> [String] { prefixes[side]! }

    /// Starts a program in one of the networks. It is killed when the bed ends.
    package func start(
        in side: Side, _ arguments: [String], environment: [String: String?] = [:], log: String? = nil
    ) throws -> ChildProcess {
        let number = started.add(1, ordering: .relaxed).newValue
        let child = try ChildProcess(
            prefix(side) + arguments, environment: environment, directory: directory,
            log: log ?? "\(directory)/\(side.rawValue)-\(number)")
        children.withLock { $0.append(child) }
        return child
    }

    /// Runs a program in one of the networks to its end.
    /// - Returns: its standard output.
    /// - Throws: ``Missed`` if it fails.
    @discardableResult
    package func run(in side: Side, _ arguments: String...) async throws -> String {
        let child = try start(in: side, [program(arguments[0]) ?? arguments[0]] + arguments.dropFirst())
        let ending = try await child.end(within: .seconds(60))
        guard ending == .exited(0) else {
            throw Missed("“\(arguments.joined(separator: " "))” ended with \(ending): \(child.errors)")
        }
        return child.output
    }

    // MARK: The link

    /// Changes the shared link or that of a destination while traffic flows.
    /// - Parameters:
    ///   - destination: the number of the destination, from 1; nil for the shared link.
    ///   - direction: nil for both directions.
    /// - Returns: the time of the change.
    @discardableResult
    package func change(
        _ link: EmulatedLink, destination: Int? = nil, direction: Direction? = nil
    ) async throws -> MonotonicTime {
        try await change(link.json, destination, direction)
    }

    /// Starts or ends a blackout, in which packets in flight and later ones are lost without a notification.
    @discardableResult
    package func blackout(
        _ isDark: Bool, destination: Int? = nil, direction: Direction? = nil
    ) async throws -> MonotonicTime {
        try await change(["blackout": .bool(isDark)], destination, direction)
    }

    private func change(
        _ change: JSONValue, _ destination: Int?, _ direction: Direction?
    ) async throws -> MonotonicTime {
        var members = change.members ?? []
        members.append(.init("change", .string(destination.map { "10.77.\($0).1" } ?? "*")))
        if let direction { members.append(.init("direction", .string(direction.rawValue))) }
        return MonotonicTime(nanoseconds: try await control.ask(.object(members))["at"]?.integer ?? 0)
    }

    /// The delivered, dropped and lost packets and bytes of every link and direction.
    package func links() async throws -> JSONValue { try await control.ask(["ask": "links"])["links"] ?? .null }

    /// The bytes of packets that have left the shared link in a direction, and the time of the reading.
    package func delivered(_ direction: Direction) async throws -> (bytes: Int64, at: MonotonicTime) {
        let answer = try await control.ask(["ask": "links"])
        guard let bytes = answer["links"]?.elements?.first?[direction.rawValue]?["bytes"]?.integer,
            let at = answer["at"]?.integer
        else { throw Missed("\(shaper) does not count packets") }
        return (bytes, MonotonicTime(nanoseconds: at))
    }

    /// The bytes that each TCP flow has sent to the servers.
    package func flows(since: MonotonicTime = .zero) async throws -> [SentFlow] {
        let answer = try await control.ask(["ask": "flows", "since": .integer(since.nanoseconds)])
        let step = answer["step"]?.integer ?? 1
        return (answer["flows"]?.elements ?? []).compactMap { SentFlow($0, step: step) }
    }

    /// Removes the default route of the client, as the loss of a link does, or adds it. The kernel notifies
    /// its listeners.
    package func setRoute(_ isThere: Bool) async throws {
        if isThere {
            try await run(
                in: .client, "ip", "route", "add", "default", "dev", "sluice0", "src", "10.77.0.1", "congctl",
                configuration.congestion)
        } else {
            try await run(in: .client, "ip", "route", "del", "default")
        }
    }

    /// Gives the client another address, as a change of the network does. Packets with the old address are
    /// lost silently.
    package func setAddress(_ address: String) async throws {
        try await run(in: .client, "ip", "address", "add", "\(address)/32", "dev", "sluice0")
        try await run(
            in: .client, "ip", "route", "replace", "default", "dev", "sluice0", "src", address, "congctl",
            configuration.congestion)
        try await run(in: .client, "ip", "address", "del", "10.77.0.1/32", "dev", "sluice0")
    }

    /// Sets the interface of the client down, with its route, or up again.
    package func setInterface(_ isUp: Bool) async throws {
        try await run(in: .client, "ip", "link", "set", "sluice0", isUp ? "up" : "down")
        if isUp { try await setRoute(true) }
    }
}
