import Commands
import Door
import HTTPTypes
import Testing

struct ProblemTests {
    @Test func `problems are compared by all their members`() {
        let problem = Problem(.conflict, "offset-mismatch", "The upload is at 5.")
        #expect(problem != Problem(.conflict, "offset-mismatch", "The upload is at 6."))
    }

    @Test func `a document names its type as a path of the door`() async throws {
        let problem = Problem(
            .conflict, "offset-mismatch", "The upload is at 5 of \"a<b\".",
            fields: [HTTPField.Name("Upload-Offset")!: "5"], members: [.init("offset", 5)])
        let response = problem.response(basePath: "/sluice", instance: "id")
        #expect(response.status == .conflict)
        #expect(response.headers[.contentType] == "application/problem+json")
        #expect(response.headers[HTTPField.Name("Upload-Offset")!] == "5")
        #expect(response.body.contentLength.map { $0 > 100 } == true)
        #expect(problem.title == "Offset mismatch")
    }
}
