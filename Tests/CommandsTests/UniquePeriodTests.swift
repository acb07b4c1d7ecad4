import Commands
import Testing

struct UniquePeriodTests {
    @Test(arguments: [
        (UniquePeriod.kept, "kept"), (.running, "running"), (.duration(.seconds(600)), "10m"),
        (.duration(.seconds(86_400)), "1d"), (.duration(.seconds(5400)), "90m"), (.duration(.seconds(61)), "61s"),
        (.duration(.milliseconds(1500)), "1500ms"),
    ])
    func `a period prints in its largest whole unit`(_ period: UniquePeriod, _ text: String) {
        #expect(period.description == text)
    }

    @Test func `a duration lapses exactly at its end, and the other periods never lapse`() {
        let start = Timestamp(milliseconds: 1_000_000)
        let period = UniquePeriod.duration(.seconds(10))
        #expect(!period.hasLapsed(since: start, at: start + .milliseconds(9999)))
        #expect(period.hasLapsed(since: start, at: start + .seconds(10)))
        for other in [UniquePeriod.kept, .running, .duration(.seconds(Int64.max))] {
            #expect(!other.hasLapsed(since: start, at: Timestamp(milliseconds: .max - 1)))
        }
    }
}
