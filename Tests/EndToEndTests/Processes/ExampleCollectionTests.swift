import Foundation
import Synchronization
import TestSupport
import Testing

extension EndToEndTests {
    /// The example executable: a program that shows a remote list from its local copy.
    struct ExampleCollectionTests {
        private final class Quotes: RequestHandler {
            let texts = Mutex(["a", "b", "c"])

            func respond(to request: HandledRequest) -> Behaviour {
                let records = texts.withLock { $0 }.enumerated().map {
                    "{\"id\": \($0.offset + 1), \"text\": \"\($0.element)\"}"
                }
                return .answer(200, body: "[\(records.joined(separator: ", "))]")
            }
        }

        @Test func `the example shows the list, then its changes, and the copy while the server is gone`() async throws
        {
            try await Installation.with { installation in
                _ = try await installation.up()
                let server = try await installation.receiver(hashes: false)
                let quotes = Quotes()
                server.handle(by: quotes)
                let url = "\(server.origin)/quotes"
                let first = try installation.start(
                    program: "\(Installation.bin)/show-collection", [installation.data, url, "quotes"])
                try await until("the list") { first.output.contains("revision 1: 3 records\n") }
                quotes.texts.withLock { $0 = ["a", "B"] }
                let sync = try await installation.sluice(
                    "sync", url, "--collection", "quotes", "--mode", "replace", "--wait")
                #expect(sync.code == 0, "\(sync.errors)")
                try await until("the change") {
                    first.output.hasSuffix(
                        "revision 2: 2 records\n  {\"id\": 2, \"text\": \"B\"}\n  n:3 was deleted\n")
                }
                first.signal(SIGTERM)
                _ = try await first.end(within: .seconds(10))
                await server.stop()
                let second = try installation.start(
                    program: "\(Installation.bin)/show-collection", [installation.data, url, "quotes", "1"])
                try await until("the stored list") { second.output.contains("revision 3: 2 records\n") }
                #expect(second.output.contains("quotes is at revision 3\n"), "\(second.output)\(second.errors)")
                let marked = try await installation.sluice("collection", "query", "quotes", "--key", "1", "--json")
                #expect(marked.output == "{\"id\":1,\"text\":\"a\",\"read\":true}\n")
                second.signal(SIGTERM)
                _ = try await second.end(within: .seconds(10))
            }
        }
    }
}
