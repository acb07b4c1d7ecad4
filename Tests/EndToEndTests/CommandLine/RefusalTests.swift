import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// The sentences and exit codes of calls that are refused, word for word. `Tests/Support/refusals.txt` has them, as an
    /// earlier release gave them.
    struct RefusalTests {
        private struct Refusal {
            var arguments: [String]
            var text: String
            /// Whether it depends on the files of a store. The sentences of a server are those of `ServerStoreTests`.
            var isOfFiles: Bool { ["backup", "restore"].contains(arguments[0]) || arguments.contains("--data") }
        }

        /// - Parameter places: the values of the placeholders, such as `{data}`.
        private func refusals(_ places: [String: String]) throws -> [Refusal] {
            let path = "\(Installation.repository)/Tests/Support/refusals.txt"
            let text = String(decoding: try #require(contents(of: path)), as: UTF8.self)
            return text.trimmingCharacters(in: .newlines).components(separatedBy: "\n\n").map { block in
                let lines = block.split(separator: "\n", maxSplits: 1)
                let words = lines[0].dropFirst("$ sluice ".count).components(separatedBy: " ")
                return Refusal(
                    arguments: words.map { word in places.reduce(word) { $0.replacing($1.key, with: $1.value) } },
                    text: String(lines[1]))
            }
        }

        @Test func `refused calls keep their sentences`() async throws {
            try await Installation.with { installation in
                #expect(try await installation.sluice("submit", "noop").code == 0)
                let base = installation.directory.path
                let places = [
                    "{none}": "\(base)/none", "{nothing}": "\(base)/nothing", "{data}": installation.data,
                    "{file}": try installation.directory.file("file", Array("text\n".utf8)),
                ]
                let refusals = try refusals(places)
                #expect(refusals.count >= 60)
                let store = try installation.serverStore.map { try PostgreSQLStore.name(ofStoreAt: $0.url) }
                for refusal in refusals where store == nil || !refusal.isOfFiles {
                    let finished = try await installation.run(
                        program: "\(Installation.bin)/sluice", refusal.arguments)
                    let output = finished.output + finished.errors
                    let named = store.map { output.replacing($0, with: installation.data) } ?? output
                    let text = named.replacing(base, with: "{base}")
                        .replacing(/it is \d\S+Z/, with: "it is {now}")
                    #expect(text + "exit \(finished.code ?? -1)" == refusal.text, "\(refusal.arguments)")
                }
            }
        }
    }
}
