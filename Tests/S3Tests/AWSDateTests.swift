import Commands
import Testing

@testable import S3

@Suite struct AWSDateTests {
    @Test(arguments: [
        (0, "19700101T000000Z"), (1_369_353_600_999, "20130524T000000Z"), (-1, "19691231T235959Z"),
        (1_709_210_096_789, "20240229T123456Z"), (Int64.max, "99991231T235959Z"), (Int64.min, "00000101T000000Z"),
    ])
    func `a time is written in whole seconds and read back`(_ milliseconds: Int64, _ text: String) throws {
        let time = Timestamp(milliseconds: milliseconds)
        #expect(AWSDate.text(time) == text)
        #expect(AWSDate.text(try #require(AWSDate.time(text))) == text)
    }

    @Test(arguments: [
        "", "20130524", "20130524T000000", "20131324T000000Z", "20130230T000000Z", "20130524T240000Z", "2013-05-24T00Z",
        "+0130524T000000Z", "20130524T0000é0Z", "20130524t000000z",
    ])
    func `another form is not a time`(_ text: String) { #expect(AWSDate.time(text) == nil) }
}
