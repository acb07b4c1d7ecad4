import Commands
import Testing

struct QualityOfServiceTests {
    @Test func `the five qualities of service are ordered and have three classes`() {
        #expect(QualityOfService.userInteractive > .userInitiated)
        #expect(QualityOfService.userInitiated > .default)
        #expect(QualityOfService.default > .utility)
        #expect(QualityOfService.utility > .background)
        #expect(ServiceClass.high.qualities == [.userInteractive, .userInitiated])
        #expect(ServiceClass.middle.qualities == [.default])
        #expect(ServiceClass.low.qualities == [.utility, .background])
        #expect(ServiceClass.high > .middle && ServiceClass.middle > .low)
    }

    @Test func `qualities of service keep their raw values and names`() {
        #expect(QualityOfService.allCases.map(\.rawValue) == [0, 1, 2, 3, 4])
        for quality in QualityOfService.allCases { #expect(QualityOfService(name: quality.name) == quality) }
        for word in ["", "Default", "high", "low "] { #expect(QualityOfService(name: word) == nil) }
    }
}
