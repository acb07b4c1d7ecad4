import Commands
import Foundation
import Logging
import Store
import Synchronization
import TestSupport
import Testing

@testable import Uploads

struct UploadLogTests {
    private final class Lines: Sendable {
        private let lines = Mutex<[Logger.Metadata]>([])
        private let said = Mutex<[String]>([])

        var all: [Logger.Metadata] { lines.withLock { $0 } }
        var warnings: [String] { said.withLock { $0 } }

        func add(_ event: LogEvent) {
            if event.level == .warning { said.withLock { $0.append("\(event.message)") } }
            guard event.level == .info, let metadata = event.metadata else { return }
            lines.withLock { $0.append(metadata) }
        }

        var logger: Logger { Logger(label: "test") { _ in Handler(lines: self) } }
    }

    private struct Handler: LogHandler {
        let lines: Lines
        var metadata: Logger.Metadata = [:]
        var logLevel: Logger.Level = .info

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { lines.add(event) }
    }

    private static func facts(_ name: String, route: String? = nil) -> UploadFacts {
        var facts = UploadFacts(origin: .tus)
        (facts.fileName, facts.route, facts.token, facts.tokenName) = (name, route, "0123456789", "studio")
        return facts
    }

    @Test func `an upload has one line, at its end`() async throws {
        let rig = try UploadRig()
        let lines = Lines()
        let engine = rig.engine(logger: lines.logger)
        let upload = try await engine.create(Self.facts("a.mp4", route: "noop"), length: 4, key: nil)
        try await engine.send([1, 2], to: upload.id, at: 0)
        #expect(lines.all.isEmpty, "it goes on")
        rig.advance(.milliseconds(2500))
        try await engine.send([3, 4], to: upload.id, at: 2)
        let expected: Logger.Metadata = [
            "upload": "\(upload.id)", "ending": "complete", "protocol": "tus", "bytes": "4", "seconds": "2.5",
            "created": "\(upload.createdAt)", "route": "noop", "name": "a.mp4", "token": "studio",
        ]
        #expect(lines.all == [expected])
        _ = try await engine.store(Self.facts("small"), [1], key: nil)
        #expect(lines.all.count == 2 && lines.all[1]["bytes"] == "1")
    }

    @Test func `the line of an upload that was not completed says how it ended`() async throws {
        let rig = try UploadRig()
        let lines = Lines()
        let engine = rig.engine(logger: lines.logger)
        let terminated = try await engine.create(Self.facts("a"), length: 4, key: nil)
        try await engine.send([1], to: terminated.id, at: 0)
        try await engine.terminate(terminated.id)
        let wrong = try await engine.create(length: 1) {
            $0.digest = UploadDigest(.md5, [UInt8](repeating: 0, count: 16))
        }
        _ = try await uploadError { try await engine.send([1], to: wrong.id, at: 0) }
        let expired = try await engine.create(Self.facts("b"), length: 4, key: nil)
        // As `sluice uploads remove` does.
        let removed = try await engine.create(Self.facts("c"), length: 4, key: nil)
        let writes: [UploadWrite] = [.end(removed.id, reason: "removed by a person", due: nil), .dropBytes(removed.id)]
        _ = try rig.store.apply(writes, shard: removed.id.shard(of: 2))
        rig.advance(.seconds(8 * 86_400))
        while await engine.tidy() > 0 {}
        let endings = Dictionary(lines.all.map { ("\($0["upload"]!)", "\($0["ending"]!)") }) { "\($0) and \($1)" }
        #expect(
            endings == [
                "\(terminated.id)": "terminated by its client",
                "\(wrong.id)": "its bytes do not have the stated digest",
                "\(expired.id)": "it made no progress for 604800 s", "\(removed.id)": "removed by a person",
            ])
    }

    @Test func `a failure of the store is told to the client without its cause, which the log has`() async throws {
        let rig = try UploadRig(isDurable: true)
        let lines = Lines()
        let engine = rig.engine(logger: lines.logger)
        let upload = try await engine.create(Self.facts("a"), length: 4, key: nil)
        for shard in 0..<2 {
            try SQLiteProbe("\(rig.directory.path)/data/shard-0\(shard).sqlite").run("DROP TABLE upload")
        }
        let error = try await uploadError { try await engine.peek(upload.id) }
        #expect(error.code == .failed && !error.message.contains("no such table"), "\(error)")
        #expect(lines.warnings.count == 1 && lines.warnings[0].contains("no such table"), "\(lines.warnings)")
    }

    @Test func `a complete upload that is removed later has no second line`() async throws {
        let rig = try UploadRig()
        let lines = Lines()
        let engine = rig.engine(logger: lines.logger)
        let kept = try await engine.create(Self.facts("kept"), length: 1, key: nil)
        try await engine.send([1], to: kept.id, at: 0)
        let part = try await engine.create(length: 1) { $0.concatenation = .partial }
        try await engine.send([1], to: part.id, at: 0)
        #expect(lines.all.count == 2)
        let next = rig.engine(logger: lines.logger)
        _ = try await next.recover()
        try await next.terminate(kept.id)
        rig.advance(.seconds(8 * 86_400))
        while await next.tidy() > 0 {}
        #expect(lines.all.count == 2, "\(lines.all)")
    }
}
