import Foundation
import Testing

@Suite struct ArticleTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// Without indentation, which an article leaves out.
    private func lines(_ text: some StringProtocol) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).map {
            $0.trimmingCharacters(in: .whitespaces)
        }
    }

    private func text(_ path: String) throws -> String {
        try String(contentsOf: Self.root.appendingPathComponent(path), encoding: .utf8)
    }

    @Test(arguments: [
        ("SubmitAndObserve", ["Sources/Examples/SubmitAndWait/main.swift"]),
        ("OwnOperation", ["Sources/Examples/CustomWorker/main.swift"]),
        ("SyncAndShow", ["Sources/Examples/ShowCollection/main.swift"]),
        ("Flows", ["Sources/Examples/SubmitFlow/main.swift"]),
        (
            "TestingOperations",
            [
                "Tests/ExampleQuotesTests/ImportQuotesTests.swift",
                "Tests/ExampleQuotesTests/GetAllQuotesTests.swift",
            ]
        ),
    ])
    func `the code of an article is part of an example that builds`(_ article: String, _ files: [String]) throws {
        let code = try files.map { lines(try text($0)).joined(separator: "\n") }.joined(separator: "\n")
        let page = try text("Sources/Sluice/Sluice.docc/\(article).md")
        let blocks = page.components(separatedBy: "```swift\n").dropFirst()
        #expect(blocks.count >= 5)
        for block in blocks {
            let snippet = lines(try #require(block.components(separatedBy: "\n```").first)).joined(separator: "\n")
            #expect(code.contains(snippet), "\(snippet)")
        }
    }

    @Test func `the landing page links each article`() throws {
        let page = try text("Sources/Sluice/Sluice.docc/Sluice.md")
        for article in ["SubmitAndObserve", "OwnOperation", "SyncAndShow", "Flows", "TestingOperations"] {
            #expect(page.contains("<doc:\(article)>"))
        }
    }
}
