import Commands
import Foundation
import Glibc
import Host
import Synchronization
import TestSupport
import Testing
import ZeroMQ

@testable import Membership

/// The promises of every implementation of ``Endpoints``.
@Suite(.timeLimit(.minutes(2))) struct EndpointsConformance {
    @Test(arguments: PresenceKind.allCases)
    func `a process reaches the coordinator whichever of them is there first`(_ kind: PresenceKind) async throws {
        try await EndpointsRig.with(kind) { rig in
            #expect(rig.endpoints.security == .none)
            let early = try await rig.connect()
            let intake = try await rig.bind()
            await early.send(1)
            try await intake.expect(1)
            let late = try await rig.connect()
            await late.send(2)
            try await intake.expect(2)
            await rig.end()
        }
    }

    @Test(arguments: PresenceKind.allCases)
    func `the socket of a coordinator that was killed is replaced by that of the next`(
        _ kind: PresenceKind
    ) async throws {
        try await PresenceRig.with(kind) { presence in
            let holder = try await presence.start("coordinator", "intake")
            try await EndpointsRig.with(presence) { rig in
                let sender = try await rig.connect()
                #expect(rig.endpoints.problem(of: .intake) == nil)
                await holder.finish()
                let intake = try await rig.bind()
                // Those that were sent before the end of the connection is known are lost.
                try await until("a message") {
                    await sender.send(3)
                    return intake.hasReceived(3)
                }
                await rig.end()
            }
        }
    }

    @Test(arguments: PresenceKind.allCases)
    func `a socket whose file was removed is bound anew, and its connections stay`(_ kind: PresenceKind) async throws {
        try await EndpointsRig.with(kind) { rig in
            let intake = try await rig.bind()
            let early = try await rig.connect()
            await early.send(4)
            try await intake.expect(4)
            #expect(try await rig.bindMissing().isEmpty)
            rig.presence.removeSocket()
            #expect(rig.endpoints.problem(of: .intake) == .missing(name: "intake.sock"))
            #expect(try await rig.bindMissing() == ["intake.sock"])
            #expect(try await rig.bindMissing().isEmpty)
            await early.send(5)
            try await intake.expect(5)
            let late = try await rig.connect()
            await late.send(6)
            try await intake.expect(6)
            await rig.end()
        }
    }

    @Test(arguments: PresenceKind.allCases)
    func `another program reaches a socket at its address`(_ kind: PresenceKind) async throws {
        try await EndpointsRig.with(kind) { rig in
            let intake = try await rig.bind()
            let address = try #require(rig.endpoints.address(of: .intake, at: Holder(pid: getpid())))
            let program = try await rig.connect(address)
            await program.send(7)
            try await intake.expect(7)
            await rig.end()
        }
    }

    // MARK: Files

    @Test func `a path that is too long for a socket has an address while its coordinator runs`() async throws {
        try await PresenceRig.with(.local) { place in
            let long = place.data.path + "/" + String(repeating: "d", count: 120)
            let data = DataDirectory(path: long)
            try FileManager.default.createDirectory(atPath: data.run.path, withIntermediateDirectories: true)
            try await EndpointsRig.with(PresenceRig(kind: .local, place: place.place, data: data)) { rig in
                #expect(rig.endpoints.address(of: .intake) == nil)
                #expect(rig.endpoints.address(of: .intake, at: Holder(pid: nil)) == nil)
                let intake = try await rig.bind()
                let address = try #require(rig.endpoints.address(of: .intake, at: Holder(pid: getpid())))
                #expect(address.hasPrefix("ipc:///proc/\(getpid())/fd/"))
                let program = try await rig.connect(address)
                await program.send(8)
                try await intake.expect(8)
                await rig.end()
            }
        }
    }

    @Test func `a short path is the address, resolved or as it was given`() throws {
        let place = try TemporaryDirectory("endpoints")
        defer { place.remove() }
        try FileManager.default.createDirectory(atPath: "\(place.path)/data/run", withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: "\(place.path)/link", withDestinationPath: "data")
        let endpoints = DataDirectory(path: "\(place.path)/link").endpoints
        #expect(endpoints.address(of: .events) == "ipc://\(place.path)/link/run/events.sock")
        let resolved = try #require(endpoints.address(of: .events, at: Holder(pid: nil)))
        #expect(resolved.hasSuffix("/data/run/events.sock"))
    }

    @Test func `a file that is not a socket is not replaced`() async throws {
        try await EndpointsRig.with(.local) { rig in
            let path = "\(rig.presence.data.run.path)/intake.sock"
            #expect(FileManager.default.createFile(atPath: path, contents: Data("text".utf8)))
            #expect(rig.endpoints.problem(of: .intake) == .occupied(path: path))
            await #expect(throws: ZeroMQError.self) { _ = try await rig.bind() }
            #expect(TextFile.read(path) == "text")
            await rig.end()
        }
    }

    @Test func `there are no endpoints without the directory`() {
        #expect(throws: SystemError.self) { _ = try DataDirectory(path: "/nonexistent").endpoints.open() }
    }

    @Test func `sockets keep their names`() {
        let run = DataDirectory(path: "/d").run
        let sockets = CoordinatorSocket.permanent + [.offers(seat: 7)]
        #expect(
            sockets.map { run.socket($0) }
                == ["events", "intake", "reports", "control", "worker-7"].map { "/d/run/\($0).sock" })
    }
}
