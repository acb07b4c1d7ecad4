import Door
import HTTPTypes
import Logging
import NIOCore
import TestSupport
import Testing

@testable import Door

struct OriginRefusalsTests {
    private struct RecordingLog: LogHandler {
        let lines: Shared<[String]>
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { lines.change { $0.append("\(event.message) \(event.metadata ?? [:])") } }
    }

    private func dispatcher(_ lines: Shared<[String]>, _ statistics: DoorStatistics) -> RequestDispatcher {
        RequestDispatcher(
            TestEndpoints.all, basePath: "", allowedOrigins: [],
            logger: Logger(label: "test") { _ in RecordingLog(lines: lines) }, statistics: statistics
        ) { _ throws(Problem) in nil }
    }

    @Test func `a change of another origin is counted and logged, and a flood fills no log`() async throws {
        let lines = Shared<[String]>([])
        let statistics = DoorStatistics()
        let dispatcher = dispatcher(lines, statistics)
        let request = DoorRequest(
            method: .post, path: ["echo"], query: DoorQuery(),
            fields: [.origin: "https://evil.example", .secFetchSite: "cross-site"],
            body: RequestBody(buffer: ByteBuffer()),
            id: "request-1", client: "192.0.2.1", baseURL: "", sendInterim: { _, _ in })
        for _ in 0..<50 {
            #expect(await dispatcher.respond(to: request, host: "localhost").response.status == .forbidden)
        }
        #expect(statistics.badRequests == ["cross-origin": 50])
        let line = try #require(lines.value.first)
        #expect(lines.value.count == 1)
        #expect(
            ["https://evil.example", "192.0.2.1", "/echo", "request-1"].allSatisfy { line.contains($0) }, "\(line)")
    }
}
