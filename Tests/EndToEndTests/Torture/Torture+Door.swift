import Commands
import Foundation
import Host
import Store
import Synchronization
import TestSupport

/// Uploads through the door, which its route forwards.
extension Torture {
    /// The route of uploads through the door: a PUT to the name of the upload.
    var routes: String {
        #"routes: {torture: {command: {type: upload, payload: {to: "\#(receiver.origin)/put/{name}", method: PUT}}}}"#
    }

    /// Uploads files one after the other while faults hit the processes. The response to the last byte acknowledges the
    /// command.
    func uploadThroughDoor() async throws {
        var random = SeededRandom(seed: seed ^ 0xD00D)
        var number = 0
        // The first door makes the token.
        try await until("the token") { self.writeTokenField() }
        while isUnderFire.load(ordering: .relaxed) {
            number += 1
            let source = sources[random.number(in: 0..<sources.count)]
            // Without a key, an upload whose answer is lost may not be sent again.
            let key = random.chance(0.6) ? "\"\(number)\"" : nil
            let death = random.chance(0.1) ? Duration.milliseconds(Int64(random.number(in: 5..<80))) : nil
            try await upload(source, name: "door-\(number)", key: key, killedAfter: death)
        }
    }

    private func upload(
        _ source: (path: String, sha256: String), name: String, key: String?, killedAfter death: Duration?
    ) async throws {
        var arguments = [
            "-sS", "-i", "--http1.1", "-H", "@\(tokenField)", "-T", source.path, "--max-time", "20",
            "\(doorOrigin)/uploads?route=torture&name=\(name)",
        ]
        if let key { arguments += ["-H", "Idempotency-Key: \(key)"] }
        while isUnderFire.load(ordering: .relaxed) {
            let response = try await gate.pass {
                let child = try installation.start(program: "/usr/bin/curl", arguments)
                if let death {
                    try await Task.sleep(for: death)
                    child.signal(SIGKILL)
                }
                return try await installation.finished(child).output
            }
            let lines = response.split(whereSeparator: \.isNewline)
            // A response with 100 may come before.
            let status = lines.last { $0.hasPrefix("HTTP/1.1 ") }?.split(separator: " ").dropFirst().first
            if status == "201" {
                let location = lines.last { $0.lowercased().hasPrefix("location: ") }
                guard let id = location?.split(separator: "/").last.flatMap({ CommandID($0) }) else {
                    return ledger.unexpected("an upload has no Location: \(response)")
                }
                return ledger.acknowledged(id, .spooled(path: "/put/\(name)", sha256: source.sha256))
            }
            // Nothing, 409 while the request of a killed client still runs, and 503 while the door stops.
            if let status, !["100", "409", "503"].contains(status) {
                return ledger.unexpected("an upload was answered with \(response)")
            }
            if key == nil || death != nil { return }
        }
    }

    /// The file with the token for curl, so that no process list shows it.
    private var tokenField: String { "\(installation.directory.path)/token-field" }

    private func writeTokenField() -> Bool {
        guard let token = contents(of: DataDirectory(path: installation.data).doorToken), !token.isEmpty else {
            return false
        }
        let text = "Authorization: Bearer \(String(decoding: token, as: UTF8.self))"
        return FileManager.default.createFile(atPath: tokenField, contents: Data(text.utf8))
    }
}
