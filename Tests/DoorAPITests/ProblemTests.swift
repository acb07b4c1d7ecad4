import Commands
import Door
import Foundation
import HTTPTypes
import Queue
import Store
import Testing

@testable import DoorAPI

struct ProblemTests {
    private static let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Sources")

    /// The types of problems that a source makes.
    private static func types(in text: String, file: String) -> Set<String> {
        let literal = #/(?:Problem|self\.init)\(\s*\.[a-zA-Z]+(?:\([^)]*\))?,\s*"([a-z-]+)"/#
        var types = Set(text.matches(of: literal).map { String($0.1) })
        // Two sources choose the type by a switch.
        if ["UploadProblems.swift", "AuthenticationFailure.swift"].contains(file) {
            types.formUnion(text.matches(of: #/case [^\n]*: "([a-z-]+)"/#).map { String($0.1) })
        }
        return types
    }

    @Test func `every type of the sources has a page`() throws {
        var used: Set<String> = []
        for module in ["Door", "DoorAPI", "DoorLive", "DoorMetrics", "DoorPages"] {
            let files = FileManager.default.enumerator(atPath: Self.sources.appending(path: module).path)
            for case let path as String in try #require(files) where path.hasSuffix(".swift") {
                let url = Self.sources.appending(path: module).appending(path: path)
                used.formUnion(
                    Self.types(in: try String(contentsOf: url, encoding: .utf8), file: url.lastPathComponent))
            }
        }
        #expect(used.count > 60, "\(used.sorted())")
        let missing = used.subtracting(ProblemType.byName.keys)
        #expect(missing.isEmpty, "add them to ProblemType: \(missing.sorted())")
    }

    @Test(arguments: [StoreError.Code.busy, .unreachable])
    func `a store that is busy or away answers 503, with the time of the next attempt`(_ code: StoreError.Code) {
        let problem = Problem(SluiceError(StoreError(code, "shard 3 of /srv/data is locked")))
        #expect(problem == .storeUnavailable)
        #expect(problem.status == .serviceUnavailable && problem.fields[.retryAfter] != nil)
    }

    @Test func `types of resumable uploads have their URIs of the registry`() {
        let problem = Problem(.conflict, "mismatching-upload-offset", "The offset is another one.")
        #expect(
            problem.uri(basePath: "/sluice")
                == "https://iana.org/assignments/http-problem-types#mismatching-upload-offset")
        #expect(Problem(.notFound, "not-found", "").uri(basePath: "/sluice") == "/sluice/problems/not-found")
    }

    @Test func `the page of a type needs no token`() async throws {
        try await APIRig.with { rig in
            let problem = try await rig.get("/commands", token: nil)
            let type = try #require(try problem.json["type"]?.string)
            let page = try await rig.send(root: "", "GET", type, token: nil)
            #expect(page.status == 200 && page.text.contains("Authorization: Bearer"), "\(page.text)")
            #expect(try await rig.send(root: "", "GET", "/problems", token: nil).text.contains("empty-filter"))
            #expect(try await rig.send(root: "", "GET", "/problems/nonsense", token: nil).status == 404)
        }
    }
}
