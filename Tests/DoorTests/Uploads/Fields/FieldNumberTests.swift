import HTTPTypes
import Testing

@testable import Door

struct FieldNumberTests {
    @Test(arguments: [("0", 0), ("5", 5), ("007", 7), ("9223372036854775807", Int64.max)] as [(String, Int64)])
    func `digits are a number`(text: String, number: Int64) throws {
        #expect(try FieldNumber.read(.uploadOffset, [.uploadOffset: text]) == number)
    }

    @Test(arguments: [
        "", " ", "+1", "-1", "1.0", "0x2", "0, 0", "1e3", "٣", "9223372036854775808", "99999999999999999999",
    ])
    func `a field that is present and not a number is refused`(text: String) {
        #expect(FieldNumber.parse(text) == nil)
        let error = #expect(throws: Problem.self) { try FieldNumber.read(.uploadOffset, [.uploadOffset: text]) }
        #expect(error?.status == .badRequest)
    }

    @Test func `an absent field has no number`() throws {
        #expect(try FieldNumber.read(.uploadOffset, [.uploadLength: "5"]) == nil)
    }

    @Test func `a repeated field is refused even if its values are equal`() {
        var fields: HTTPFields = [:]
        fields[values: .uploadOffset] = ["0", "0"]
        #expect(throws: Problem.self) { try FieldNumber.read(.uploadOffset, fields) }
    }
}
