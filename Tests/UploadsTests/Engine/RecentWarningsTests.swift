import Host
import Testing

@testable import Uploads

struct RecentWarningsTests {
    @Test func `a warning is logged once a minute, and another one at once`() {
        var warnings = RecentWarnings()
        let start = MonotonicTime.now
        let times: [(String, Int64)] = [("one", 0), ("one", 59), ("two", 59), ("one", 61), ("two", 61)]
        let logged = times.map { message, second in warnings.isNew(message, now: start + .seconds(second)) }
        #expect(logged == [true, false, true, true, false])
    }
}
