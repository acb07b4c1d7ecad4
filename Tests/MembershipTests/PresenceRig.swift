import Commands
import Foundation
import Host
import Store
import TestSupport

@testable import Membership

/// The implementations of ``Presence`` and ``Endpoints``.
enum PresenceKind: String, CaseIterable, Sendable {
    /// Files of `run/` of a data directory.
    case local
}

/// The presence of an installation without a store.
struct PresenceRig {
    let kind: PresenceKind
    let place: TemporaryDirectory
    let data: DataDirectory

    var presence: any Presence { data.presence }

    static func with(_ kind: PresenceKind, _ body: (PresenceRig) async throws -> Void) async throws {
        let place = try TemporaryDirectory("presence")
        defer { place.remove() }
        let rig = PresenceRig(kind: kind, place: place, data: DataDirectory(path: place.path))
        try FileManager.default.createDirectory(atPath: rig.data.run.path, withIntermediateDirectories: true)
        try await body(rig)
    }

    /// Starts a process with a role, and waits until it has that.
    func start(_ arguments: String...) async throws -> ChildProcess {
        let name = arguments.joined(separator: "-")
        let child = try ChildProcess(
            [Bundle.main.bundlePath + "/RoleHolder", data.path] + arguments, log: "\(place.path)/\(name)")
        try await until("the role of \(name)") {
            if child.ending != nil { throw Missed("RoleHolder has ended: \(child.errors)") }
            return child.output.hasSuffix("ready\n")
        }
        return child
    }

    /// The sessions of a process that has seats.
    func sessions(of child: ChildProcess) -> [Session] {
        child.output.split(separator: "\n").compactMap { line in
            let numbers = line.split(separator: " ").compactMap { Int64($0) }
            guard numbers.count == 3 else { return nil }
            return Session(
                seat: Int(numbers[0]), epoch: numbers[1], pid: child.pid, startTime: numbers[2],
                bootID: ProcessIdentity.bootID)
        }
    }

    func take(_ role: Role) throws -> any HeldRole {
        switch role {
        case .coordinator: try presence.takeCoordination(now: .now)
        case .door: try presence.takeDoor()
        case .worker: try presence.takeSeat()
        }
    }

    /// Removes the file that shows other processes the role, as a job that clears old files does.
    func removeFiles(of role: Role) {
        switch (kind, role) {
        case (.local, .coordinator): unlink(data.run.lock(.coordinator))
        case (.local, .door): unlink(data.run.lock(.door))
        case (.local, .worker(let seat)): unlink(data.run.lock(.seat(seat)))
        }
    }

    /// Removes the file of the socket for hints.
    func removeSocket() {
        switch kind {
        case .local: unlink(data.run.socket(.intake))
        }
    }

    func replaceDirectory() throws {
        switch kind {
        case .local:
            try FileManager.default.moveItem(atPath: data.run.path, toPath: "\(place.path)/earlier")
            try FileManager.default.createDirectory(atPath: data.run.path, withIntermediateDirectories: false)
        }
    }
}
