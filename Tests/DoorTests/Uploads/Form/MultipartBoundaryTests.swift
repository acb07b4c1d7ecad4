import HTTPTypes
import Testing

@testable import Door

struct MultipartBoundaryTests {
    @Test(arguments: [
        ("multipart/form-data; boundary=abc", "abc"),
        ("multipart/form-data; charset=utf-8; boundary=\"a b:c\"", "a b:c"),
        (
            "multipart/form-data; BOUNDARY=----WebKitFormBoundary7MA4YWxkTrZu0gW",
            "----WebKitFormBoundary7MA4YWxkTrZu0gW"
        ),
    ])
    func `the boundary is read`(type: String, boundary: String) throws {
        #expect(try MultipartBoundary.read([.contentType: type]) == Array(boundary.utf8))
    }

    @Test(arguments: [
        "multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; boundary=\"\"",
        "multipart/form-data; boundary=\"a \"", "multipart/form-data; boundary=\"a\tb\"",
        "multipart/form-data; boundary=é",
        "multipart/form-data; boundary=12345678901234567890123456789012345678901234567890123456789012345678901",
    ])
    func `a type without a valid boundary is refused`(type: String) {
        #expect(throws: Problem.self) { try MultipartBoundary.read([.contentType: type]) }
    }
}
