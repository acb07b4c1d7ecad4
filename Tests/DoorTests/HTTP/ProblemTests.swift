import Commands
import Door
import HTTPTypes
import Testing

struct ProblemTests {
    @Test func `problems are compared by all their members`() {
        let problem = Problem(.conflict, "offset-mismatch", "The upload is at 5.")
        #expect(problem != Problem(.conflict, "offset-mismatch", "The upload is at 6."))
    }
}
