import Commands
import Testing

@testable import SluiceCommand

@Suite struct FormatTests {
    @Test func `a figure of bench says whether it meets its goal`() {
        let met = BenchResult("drained", 50_000, "/s", goal: .atLeast(40_000), note: "in 60 s")
        #expect(met.isMet == true)
        #expect(met.text == "50,000 /s")
        #expect(met.verdict == "ok (≥ 40,000)  in 60 s")
        let missed = BenchResult("start", 2.345, "s", goal: .atMost(2))
        #expect(missed.isMet == false)
        #expect(missed.text == "2.35 s" || missed.text == "2.34 s")
        #expect(missed.verdict == "MISSED (≤ 2)  ")
        #expect(missed.json["met"] == false)
        #expect(BenchResult("plain", 1, "x").isMet == nil)
    }

    @Test func `a percentile is the smallest value that covers its share`() {
        let values = (1...100).map(Double.init)
        #expect(BenchResult.percentile(0.5, of: values) == 50)
        #expect(BenchResult.percentile(0.99, of: values) == 99)
        #expect(BenchResult.percentile(1, of: values) == 100)
        #expect(BenchResult.percentile(0, of: values) == 1)
        #expect(BenchResult.percentile(0.5, of: []).isNaN)
    }
}
