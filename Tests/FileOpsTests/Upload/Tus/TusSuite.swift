import Commands
import Foundation
import Synchronization
import TestSupport
import Testing

/// tus uploads to a receiver with prepared answers.
protocol TusSuite {}

extension TusSuite {
    static var size: Int { 3_000_000 }

    func withTus(
        _ size: Int? = nil,
        _ body: (MisbehavingReceiver, RepeatedUpload, [UInt8]) async throws -> Void
    ) async throws {
        try await withReceiver { receiver, harness in
            let bytes = sample(size ?? Self.size)
            let file = try harness.directory.file("a b.JPG", bytes)
            receiver.on("/files/", .created("\(receiver.origin)/files/1"))
            try await body(
                receiver, try RepeatedUpload(harness, file: file, to: "\(receiver.origin)/files/", "tus"), bytes)
        }
    }
}
