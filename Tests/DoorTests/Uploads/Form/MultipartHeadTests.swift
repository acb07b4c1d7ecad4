import HTTPTypes
import Testing

@testable import Door

struct MultipartHeadTests {
    private func head(_ lines: String...) throws -> MultipartHead {
        try MultipartHead(parsing: Array(lines.map { $0 + "\r\n" }.joined().utf8))
    }

    @Test func `the name, file name and type of a part are read`() throws {
        let head = try head(
            "content-DISPOSITION: form-data; name=\"f\"; filename=\"../a.txt\"", "Content-Type: text/plain",
            "X-Other: 1")
        #expect(head == MultipartHead(name: "f", fileName: "../a.txt", contentType: "text/plain"))
    }

    @Test func `a part without a file name is a field`() throws {
        #expect(try head("Content-Disposition: form-data; name=route") == MultipartHead(name: "route"))
    }

    @Test(arguments: [
        "Content-Type: text/plain", "Content-Disposition: attachment; name=a", "Content-Disposition: form-data",
        "Content-Disposition: form-data; name=\"a", "Content-Disposition", ": a",
        "Content Disposition: form-data; name=a",
        "Content-Disposition: form-data; name=a\r\n folded",
        "Content-Disposition: form-data; name=a\r\nContent-Disposition: form-data; name=b",
        "Content-Disposition: form-data; name=a\r\nContent-Type: text/plain\r\nContent-Type: text/html",
        "Content-Disposition: form-data; name=a\r\nContent-Transfer-Encoding: base64",
        "Content-Disposition: form-data; name=files\r\nContent-Type: multipart/mixed; boundary=i",
        "Content-Disposition: form-data; name=\"a\u{0}\"", "Content-Disposition: form-data; name=a\nX: 1",
    ])
    func `a malformed part is refused`(text: String) {
        let error = #expect(throws: Problem.self) { try head(text) }
        #expect(error?.status == .badRequest)
    }

    @Test func `a file name that is not UTF-8 is refused`() {
        let bytes = Array("Content-Disposition: form-data; name=a; filename=\"".utf8) + [0xFF, 0x22, 0x0D, 0x0A]
        #expect(throws: Problem.self) { try MultipartHead(parsing: bytes) }
    }
}
