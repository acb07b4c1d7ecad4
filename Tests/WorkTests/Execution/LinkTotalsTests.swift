import Testing

@testable import Work

struct LinkTotalsTests {
    @Test func `each byte is new once, by class`() {
        var totals = LinkTotals()
        #expect(totals.takeNew([1, 20, 0]) == [1, 20, 0])
        #expect(totals.takeNew([1, 25, 3]) == [0, 5, 3])
        #expect(totals.takeNew([1, 25, 3]) == [0, 0, 0])
    }

    @Test func `bytes that moved to the other direction are not new when they are passed again`() {
        var totals = LinkTotals()
        #expect(totals.takeNew([0, 100, 0]) == [0, 100, 0])
        #expect(totals.takeNew([0, 40, 0]) == [0, 0, 0])
        #expect(totals.takeNew([0, 90, 0]) == [0, 0, 0])
        #expect(totals.takeNew([0, 130, 0]) == [0, 30, 0])
    }
}
