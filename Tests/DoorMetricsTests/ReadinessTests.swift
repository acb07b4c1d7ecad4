import Commands
import Testing

@testable import DoorMetrics

struct ReadinessTests {
    @Test func `a ready door has no failed check`() {
        #expect(Readiness().json(hasDetails: false).text == #"{"ready":true,"failed":[]}"#)
    }

    @Test func `sentences are shown with details only`() {
        var readiness = Readiness()
        readiness.fail(.spool, "The disk of “/x” is full.")
        readiness.fail(.store, "It is locked.")
        #expect(readiness.json(hasDetails: false).text == #"{"ready":false,"failed":["store","spool"]}"#)
        #expect(
            readiness.json(hasDetails: true)["details"]
                == .object([.init("store", "It is locked."), .init("spool", "The disk of “/x” is full.")]))
    }
}
