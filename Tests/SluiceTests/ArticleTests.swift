import Foundation
import Testing

@Suite struct ArticleTests {
    private static let sources = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Sources")

    /// Without indentation, which an article leaves out.
    private func lines(_ text: some StringProtocol) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).map {
            $0.trimmingCharacters(in: .whitespaces)
        }
    }

    private func text(_ path: String) throws -> String {
        try String(contentsOf: Self.sources.appendingPathComponent(path), encoding: .utf8)
    }

    @Test(arguments: [
        ("SubmitAndObserve", "SubmitAndWait"), ("OwnOperation", "CustomWorker"), ("SyncAndShow", "ShowCollection"),
        ("Flows", "SubmitFlow"),
    ])
    func `the code of an article is part of an example that builds`(_ article: String, _ example: String) throws {
        let code = lines(try text("Examples/\(example)/main.swift")).joined(separator: "\n")
        let blocks = try text("Sluice/Sluice.docc/\(article).md").components(separatedBy: "```swift\n").dropFirst()
        #expect(blocks.count >= 5)
        for block in blocks {
            let snippet = lines(try #require(block.components(separatedBy: "\n```").first)).joined(separator: "\n")
            #expect(code.contains(snippet), "\(snippet)")
        }
    }

    @Test func `the landing page links each article`() throws {
        let page = try text("Sluice/Sluice.docc/Sluice.md")
        for article in ["SubmitAndObserve", "OwnOperation", "SyncAndShow", "Flows"] {
            #expect(page.contains("<doc:\(article)>"))
        }
    }
}
