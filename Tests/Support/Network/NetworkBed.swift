package import Commands
internal import Foundation
internal import Synchronization

/// Two networks on this machine, a client's and a servers', with an emulated link between; needs no root, but that the
/// system lets everybody make user namespaces, and TUN for more than a rate.
///
/// Destination number i, from 1, has the address 10.77.i.1; the client is 10.77.0.1. Whatever runs in the networks ends
/// with ``finish()``, and also when the process that made the bed is killed.
package final class NetworkBed: Sendable {
    package enum Side: String, Sendable { case client, server }
    package enum Direction: String, Sendable { case up, down }
    package enum Shaper: String, Sendable {
        /// TUN where it may be opened, else the token bucket.
        case auto
        /// Rate, delay, loss, blackout, links of single destinations.
        case tun
        /// The kernel's token bucket on a veth pair: one rate for everything.
        case tbf
    }

    package struct Plan: Sendable {
        package var shaper: Shaper
        /// TCP congestion control of all connections: `cubic`, `bbr` or what the kernel has.
        package var congestion: String
        /// What all destinations share.
        package var uplink: EmulatedLink
        /// A link of its own for each destination, below the shared one, or nil for none.
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

    package let plan: Plan
    /// The shaper that runs: `tun` or `tbf`.
    package let shaper: String
    private let directory: String
    private let emulator: ChildProcess
    private let control: ControlLine
    private let prefixes: [Side: [String]]
    private let children = Mutex<[ChildProcess]>([])
    private let started = Atomic(0)

    /// Why no bed can be made here, in a sentence; nil where one can.
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

    /// Why nothing but a rate can be emulated here; nil where everything can.
    package static let obstacleOfPackets: String? =
        obstacle ?? (access("/dev/net/tun", R_OK | W_OK) == 0 ? nil : "/dev/net/tun may not be opened")

    /// cubic and bbr, as far as this kernel has them: nobody loads a module from within a user namespace.
    package static let congestionControls: [String] = {
        let names = contents(of: "/proc/sys/net/ipv4/tcp_available_congestion_control") ?? []
        let known = String(decoding: names, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        return ["cubic", "bbr"].filter { name in isAvailable(known.contains { $0 == name }) }
    }()

    /// - Parameters:
    ///   - directory: an existing one, for logs and sockets.
    ///   - bin: where the program LinkEmulator is; beside this one when nil.
    package init(_ plan: Plan, in directory: String, bin: String? = nil) async throws {
        if let obstacle = Self.obstacle { throw Missed("no network bed: \(obstacle)") }
        self.plan = plan
        self.directory = directory
        let socket = "\(directory)/link.sock"
        let emulator = try ChildProcess(
            [program("unshare")!, "-Urn", "\(bin ?? Self.bin)/LinkEmulator", socket, plan.json.text],
            log: "\(directory)/link")
        self.emulator = emulator
        do {
            control = try await ControlLine(path: socket) {
                guard emulator.ending == nil else { throw Missed("no network bed: \(emulator.errors)") }
            }
            let bed = try await control.ask(["ask": "bed"])
            guard let shaper = bed["shaper"]?.string, let client = bed["client"]?.integer,
                let server = bed["server"]?.integer
            else { throw Missed("the link emulator said \(bed.text)") }
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

    /// Beside the program that runs.
    package static let bin =
        ProcessInfo.processInfo.environment["SLUICE_BIN"]
        ?? URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().path

    /// Runs `body` with a bed, which is gone afterwards, whatever happens.
    package static func with(
        _ plan: Plan, in directory: String, _ body: (NetworkBed) async throws -> Void
    ) async throws {
        let bed = try await NetworkBed(plan, in: directory)
        do {
            try await body(bed)
        } catch {
            await bed.finish()
            throw error
        }
        await bed.finish()
    }

    /// Ends every process in the networks, by its id, and so the networks.
    package func finish() async {
        for child in children.withLock({ $0 }).reversed() { await child.finish() }
        // Alone, it ends whoever else is in its networks, and then itself.
        control.close()
        _ = try? await emulator.end(within: .seconds(10))
        await emulator.finish()
    }

    // MARK: Processes

    /// What to put before a command line so that it runs in one of the networks, with the same process id.
    package func prefix(_ side: Side) -> [String] { prefixes[side]! }

    /// Starts a program in one of the networks; it is killed when the bed ends.
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
    /// - Returns: what it printed.
    /// - Throws: ``Missed`` where it fails.
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

    /// Changes the shared link, or a destination's own, while traffic flows.
    /// - Parameters:
    ///   - destination: its number from 1; nil for the shared link.
    ///   - direction: both when nil.
    /// - Returns: when the change was made.
    @discardableResult
    package func change(
        _ link: EmulatedLink, destination: Int? = nil, direction: Direction? = nil
    ) async throws -> MonotonicMoment {
        try await change(link.json, destination, direction)
    }

    /// Silence: what is under way is lost, and whatever comes, and nobody is told; or its end.
    @discardableResult
    package func blackout(
        _ isDark: Bool, destination: Int? = nil, direction: Direction? = nil
    ) async throws -> MonotonicMoment {
        try await change(["blackout": .bool(isDark)], destination, direction)
    }

    private func change(
        _ change: JSONValue, _ destination: Int?, _ direction: Direction?
    ) async throws -> MonotonicMoment {
        var members = change.members ?? []
        members.append(.init("change", .string(destination.map { "10.77.\($0).1" } ?? "*")))
        if let direction { members.append(.init("direction", .string(direction.rawValue))) }
        return MonotonicMoment(nanoseconds: try await control.ask(.object(members))["at"]?.integer ?? 0)
    }

    /// Packets and bytes of every link and direction, delivered, dropped and lost.
    package func links() async throws -> JSONValue { try await control.ask(["ask": "links"])["links"] ?? .null }

    /// Bytes of packets that have left the shared link in a direction, and when that was so.
    package func delivered(_ direction: Direction) async throws -> (bytes: Int64, at: MonotonicMoment) {
        let answer = try await control.ask(["ask": "links"])
        guard let bytes = answer["links"]?.elements?.first?[direction.rawValue]?["bytes"]?.integer,
            let at = answer["at"]?.integer
        else { throw Missed("\(shaper) does not count packets") }
        return (bytes, MonotonicMoment(nanoseconds: at))
    }

    /// What each TCP flow has put on the wire towards the servers.
    package func flows(since: MonotonicMoment = MonotonicMoment(nanoseconds: 0)) async throws -> [SentFlow] {
        let answer = try await control.ask(["ask": "flows", "since": .integer(since.nanoseconds)])
        let step = answer["step"]?.integer ?? 1
        return (answer["flows"]?.elements ?? []).compactMap { SentFlow($0, step: step) }
    }

    /// Takes the client's default route away, as a lost link does, and tells the kernel's listeners; or gives it back.
    package func setRoute(_ isThere: Bool) async throws {
        if isThere {
            try await run(
                in: .client, "ip", "route", "add", "default", "dev", "sluice0", "src", "10.77.0.1", "congctl",
                plan.congestion)
        } else {
            try await run(in: .client, "ip", "route", "del", "default")
        }
    }

    /// Gives the client another address, as another network does: what goes on with the old one is lost in silence.
    package func setAddress(_ address: String) async throws {
        try await run(in: .client, "ip", "address", "add", "\(address)/32", "dev", "sluice0")
        try await run(
            in: .client, "ip", "route", "replace", "default", "dev", "sluice0", "src", address, "congctl",
            plan.congestion)
        try await run(in: .client, "ip", "address", "del", "10.77.0.1/32", "dev", "sluice0")
    }

    /// Takes the client's interface down, with its route, or up again.
    package func setInterface(_ isUp: Bool) async throws {
        try await run(in: .client, "ip", "link", "set", "sluice0", isUp ? "up" : "down")
        if isUp { try await setRoute(true) }
    }
}
