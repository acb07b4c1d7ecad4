import Commands
import FileOps
import Settings
import TestSupport
import Testing

/// Uploads by PUT with `Content-Range` to a receiver with prepared answers.
protocol ContentRangeSuite {}

extension ContentRangeSuite {
    static var size: Int { 3_000_000 }

    /// The destination does not support GET.
    static var unreadable: Behaviour { .answer(405) }

    func withUpload(
        _ transferProtocol: String? = "contentRange", extra: [JSONValue.Member] = [], idempotent: Bool? = nil,
        size: Int = Self.size, _ body: (MisbehavingReceiver, RepeatedUpload, [UInt8]) async throws -> Void
    ) async throws {
        let receiver = try await MisbehavingReceiver()
        try await stopping(receiver) {
            let origin = Destination(scheme: "http", host: "127.0.0.1", port: receiver.port)
            let harness = try UploadHarness(resumes: ResumeRules(contentRange: [origin]))
            defer { harness.directory.remove() }
            let bytes = sample(size)
            let file = try harness.directory.file("a", bytes)
            let upload = try RepeatedUpload(
                harness, file: file, to: "\(receiver.origin)/in/", transferProtocol, extra: extra,
                idempotent: idempotent)
            try await body(receiver, upload, bytes)
        }
    }

    func ranges(_ receiver: MisbehavingReceiver) -> [String] {
        receiver.requests.map { "\($0.method) \($0["content-range"] ?? "-") \($0.bytes)" }
    }

    static var query: String { "PUT bytes */\(size) 0" }
    static var all: String { "PUT bytes 0-\(size - 1)/\(size) \(size)" }
}
