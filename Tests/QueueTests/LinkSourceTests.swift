import Commands
import Glibc
import Host
import Membership
import NetworkControl
import Store
import TestSupport
import Testing
import ZeroMQ

@testable import Queue

/// The links of one command, beside a thousand others.
@Suite struct LinkSourceTests {
    private static let count = 1000

    private func destination(_ number: Int) -> Destination {
        Destination(scheme: "http", host: "h\(number).example", port: 80)
    }

    private func with(_ body: (InspectionRig) async throws -> Void) async throws {
        let rig = try InspectionRig.make()
        defer { rig.place.remove() }
        try await body(rig)
    }

    @Test func `for one command a reading subscribes to its link and the main uplink`() async throws {
        try await with { rig in
            let coordinator = try await StandInCoordinator(rig, (0..<Self.count).map { destination($0).text } + ["*"])
            let links = try await LinkSource(rig.queue).readings(for: try rig.submit(to: destination(7)))
            #expect(links.map(\.destination).sorted() == ["*", "http://h7.example:80"])
            #expect(
                await coordinator.subscriptions == ["link/http://h7.example:80 ", "link/* ", "counts"],
                "the counts come behind the links")
            await coordinator.close()
        }
    }

    @Test func `a reading of every link subscribes to all of them and their traffic`() async throws {
        try await with { rig in
            let coordinator = try await StandInCoordinator(rig, (0..<Self.count).map { destination($0).text } + ["*"])
            #expect(try await LinkSource(rig.queue).readings().count == Self.count + 1)
            #expect(await coordinator.subscriptions == ["link/", "bandwidth/", "counts"])
            await coordinator.close()
        }
    }

    @Test func `a link whose name begins with that of another is not taken for it`() async throws {
        try await with { rig in
            let coordinator = try await StandInCoordinator(rig, ["http://a.example:80", "http://a.example:8080"])
            let command = try rig.submit(to: Destination(scheme: "http", host: "a.example", port: 80))
            let links = try await LinkSource(rig.queue).readings(for: command)
            #expect(links.map(\.destination) == ["http://a.example:80"])
            await coordinator.close()
        }
    }

    @Test func `without a coordinator a reading for one command has the stored links of that command`() async throws {
        try await with { rig in
            for name in ["http://h1.example:80", "http://h1.example:8000", "http://h2.example:80", "*"] {
                try rig.store.set(SettingKey.link(.up, name), to: #"{"level":"poor"}"#)
            }
            try rig.store.set(SettingKey.link(.down, "http://h1.example:80"), to: #"{"level":"good"}"#)
            let setting = LinkOverrideSetting(LinkOverride(isOffline: true), since: rig.now)
            for number in 1...2 { try rig.store.set(SettingKey.network(destination(number)), to: setting.setting) }
            let links = try await LinkSource(rig.queue).readings(for: try rig.submit(to: destination(1)))
            #expect(Set(links.map(\.destination)) == ["http://h1.example:80", "*"] && links.count == 3)
            #expect(links.allSatisfy { $0.isForced == ($0.destination != "*") })
        }
    }

    @Test func `a command without a destination needs no link, and a blocked one those at the end of its chain`() throws
    {
        try InspectionRig.with { rig in
            func submit(to destination: Destination, after parents: CommandID...) throws -> Command {
                var draft = CommandDraft(
                    type: "noop", payload: Array("{}".utf8), destination: destination, idempotent: true)
                draft.dependencies = parents.map { Dependency(on: $0) }
                return try rig.command(try rig.store.submit([draft], allowUnknownTypes: true)[0].get().id)
            }
            let explainer = rig.explainer()
            let (first, other) = (try submit(to: destination(1)), try submit(to: destination(2)))
            #expect(try explainer.linkDestinations(of: first) == [destination(1)])
            #expect(try explainer.linkDestinations(of: submit(to: Destination.none)) == [])
            let second = try submit(to: destination(3), after: first.id)
            #expect(try explainer.linkDestinations(of: second) == [destination(1)])
            let third = try submit(to: destination(4), after: second.id, other.id)
            #expect(try explainer.linkDestinations(of: third) == [destination(1), destination(2)])
            var ended = first
            ended.status = .success
            #expect(try explainer.linkDestinations(of: ended) == [])
        }
    }
}

/// Holds the lock of a coordinator and its socket of events. As release 0.1.0, it publishes every link for any subscription; libzmq
/// drops those that were not subscribed.
private actor StandInCoordinator {
    private let loop: PollLoop
    private let lock: FileLock
    private let links: [String]
    private var socket: Socket?
    private(set) var subscriptions: [String] = []

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(_ rig: InspectionRig, _ links: [String]) async throws {
        guard let lock = try rig.directory.run.take(.coordinator) else { throw Missed("a coordinator runs") }
        self.lock = lock
        self.links = links
        loop = try PollLoop(name: "stand-in")
        let endpoints = try rig.directory.endpoints.open()
        try await loop.run { try self.assumeIsolated { try $0.bind(endpoints) } }
    }

    private func bind(_ endpoints: any OpenEndpoints) throws {
        var options = Socket.Options()
        options.sendHighWaterMark = 0
        options.verboseSubscriptions = true
        let socket = try endpoints.bind(.extendedPublish, as: .events, options: options, on: loop)
        loop.whenReadable(socket) { [weak self] in self?.assumeIsolated { $0.receive() } }
        self.socket = consume socket
    }

    private func receive() {
        while let frame = (try? socket?.receive { Array($0) }) ?? nil {
            guard frame.first == 1 else { continue }
            subscriptions.append(String(decoding: frame.dropFirst(), as: UTF8.self))
            guard subscriptions.last == "counts" else { continue }
            for link in links { send(#"link/\#(link) {"direction":"up","level":"good","snapshot":true}"#) }
            send(#"counts {"new":1,"snapshot":true}"#)
        }
    }

    private func send(_ event: String) { _ = try? socket?.send(Array(event.utf8)) }

    func close() async {
        socket = nil
        loop.stop()
    }
}
