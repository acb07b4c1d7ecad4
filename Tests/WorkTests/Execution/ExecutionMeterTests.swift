import Testing

@testable import Work

struct ExecutionMeterTests {
    @Test func `the first 50 types have times of their own, and the rest share one name`() {
        var meter = ExecutionMeter()
        for number in 0..<60 {
            let type = "type-\(number)"
            #expect(meter.label(of: type) == (number < ExecutionMeter.maxTypes ? type : "other"))
        }
        #expect(meter.label(of: "type-0") == "type-0")
    }
}
