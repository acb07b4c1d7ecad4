import Commands
import Foundation
import Host
import Store
import TestSupport
import Testing

/// A door of an installation, which a test may kill and start again at the same address.
final class DoorRig: Sendable {
    let installation: Installation
    let port: Int
    private let process = Shared<ChildProcess?>(nil)
    private let shell: String?

    /// Starts a door.
    /// - Parameter shell: a command of sh that the process of the door runs first, such as `ulimit`; nil: none.
    init(_ installation: Installation, shell: String? = nil) async throws {
        self.installation = installation
        self.shell = shell
        port = try freePort()
        try await start()
    }

    var origin: String { "http://127.0.0.1:\(port)" }
    var endpoint: String { "\(origin)/uploads" }

    /// The token of the machine.
    var token: String {
        get throws {
            let bytes = try #require(contents(of: DataDirectory(path: installation.data).doorToken))
            return String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        }
    }

    func start() async throws {
        var command = ["\(Installation.bin)/sluice", "door", "--listen", "127.0.0.1:\(port)", "--log-format", "json"]
        if let shell { command = ["/bin/sh", "-c", "\(shell) && exec \"$0\" \"$@\""] + command }
        let child = try installation.start(program: command[0], Array(command.dropFirst()))
        process.change { $0 = child }
        try await until("the door") {
            if let ending = child.ending { throw Missed("the door ended: \(ending)\n\(child.errors)") }
            return child.errors.contains("The door listens")
        }
    }

    func kill() async throws {
        let child = try #require(process.value)
        child.signal(SIGKILL)
        _ = try await child.end(within: .seconds(10))
    }

    /// Waits until the door has died.
    func ended() async throws -> ChildProcess.Exit {
        try await #require(process.value).end(within: .seconds(30))
    }

    var pid: Int32 { get throws { try #require(process.value).pid } }

    func signal(_ number: Int32) throws { try #require(process.value).signal(number) }

    /// Ends the door as an operator does.
    func stop() async throws -> ChildProcess.Exit {
        let child = try #require(process.value)
        child.signal(SIGTERM)
        return try await child.end(within: .seconds(30))
    }

    /// Runs curl with the token.
    func curl(_ arguments: String..., within limit: Duration = .seconds(60)) async throws -> Installation.Finished {
        try await installation.run(
            program: "/usr/bin/curl", ["-sS", "-H", "Authorization: Bearer \(try token)"] + arguments, within: limit)
    }

    func curl(_ arguments: [String]) async throws -> Installation.Finished {
        try await installation.run(
            program: "/usr/bin/curl", ["-sS", "-H", "Authorization: Bearer \(try token)"] + arguments)
    }

    /// The log of the present process.
    var errors: String { process.value?.errors ?? "" }

    /// Waits until the spool has bytes of an upload, or until its client has ended.
    func receiveFirstBytes(or client: ChildProcess) async throws {
        let spool = DataDirectory(path: installation.data).uploads
        try await until("the first bytes") {
            if client.ending != nil { return true }
            let files = (try? FileManager.default.contentsOfDirectory(atPath: spool)) ?? []
            return files.contains { (contents(of: "\(spool)/\($0)") ?? []).contains { $0 != 0 } }
        }
    }

    /// The files of uploads, without the mark of the spool.
    func spooledFiles() throws -> [String] {
        let spool = DataDirectory(path: installation.data).uploads
        return try FileManager.default.contentsOfDirectory(atPath: spool).filter {
            !$0.hasPrefix(DataDirectory.uploadsMarkPrefix)
        }
    }

    /// The description of an upload.
    func upload(_ url: String) async throws -> JSONValue { try await curl(url).json() }

    /// The bytes of an upload in the spool.
    func bytes(_ url: String) -> [UInt8]? {
        let directory = DataDirectory(path: installation.data)
        return url.split(separator: "/").last.flatMap { contents(of: "\(directory.uploads)/\($0)") }
    }
}
