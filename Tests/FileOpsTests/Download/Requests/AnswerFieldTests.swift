import Testing

@testable import FileOps
@testable import Transfers

@Suite struct AnswerFieldTests {
    private static let ranges: [(String, ContentRangeField?)] = [
        ("bytes 0-41/1234", .part(0..<42, total: 1234)), ("bytes 0-41/42", .part(0..<42, total: 42)),
        ("Bytes  5-5/* ", .part(5..<6, total: nil)), ("bytes */0", .unsatisfied(total: 0)),
        ("bytes 4999999999-5999999999/6000000000", .part(4_999_999_999..<6_000_000_000, total: 6_000_000_000)),
        ("bytes */*", nil), ("bytes 0-41/41", nil), ("bytes 5-4/10", nil), ("bytes -5/10", nil), ("bytes 5-/10", nil),
        ("items 0-1/2", nil), ("bytes=0-1/2", nil), ("bytes 0-1", nil), ("bytes 0-1/2/3", nil), ("", nil),
        ("bytes 0-9223372036854775807/*", nil), ("bytes 0-99999999999999999999/*", nil), ("bytes +0-1/2", nil),
    ]

    @Test(arguments: ranges.indices) func `Content-Range is a part or a total`(_ index: Int) {
        let (field, range) = Self.ranges[index]
        #expect(ContentRangeField(field) == range)
    }

    @Test func `the end of a body is marked by a length or by chunks`() {
        let answer = { (fields: [(name: String, value: String)]) in
            DownloadAnswer(status: 200, fields: HeaderFields(fields))
        }
        #expect(answer([("Content-Length", "5")]).length == 5)
        #expect(answer([("Content-Length", "5")]).isDelimited)
        #expect(answer([("Transfer-Encoding", "Chunked")]).isDelimited)
        #expect(answer([("Transfer-Encoding", "Chunked")]).length == nil)
        #expect(answer([("Content-Length", " 7 ")]).length == 7)
        for text in ["-7", "7, 7", "+7", "", "99999999999999999999"] {
            #expect(answer([("Content-Length", text)]).length == nil)
        }
        #expect(!answer([]).isDelimited)
        #expect(answer([("Content-Type", "Text/HTML; charset=x")]).mediaType == "text/html")
        #expect(answer([("Content-Type", " ; x")]).mediaType == nil)
        #expect(answer([("Content-Type", String(repeating: "a", count: 200))]).mediaType?.utf8.count == 80)
    }

    @Test func `a body is divided into compared and written bytes`() {
        var cursor = DownloadBodyCursor(DownloadBody(start: 10, end: 30, overlap: 10..<16, maxEnd: 28))
        #expect(cursor.take(4) == .init(offset: 10, compared: 4, written: 0, exceedsLimit: false))
        #expect(cursor.take(0) == .init(offset: 14, compared: 0, written: 0, exceedsLimit: false))
        #expect(cursor.take(4) == .init(offset: 14, compared: 2, written: 2, exceedsLimit: false))
        #expect(!cursor.isAtEnd)
        #expect(cursor.take(100) == .init(offset: 18, compared: 0, written: 10, exceedsLimit: true))
        #expect(cursor.position == 28)

        var exact = DownloadBodyCursor(DownloadBody(start: 0, end: 5, overlap: 0..<0, maxEnd: .max))
        #expect(exact.take(9) == .init(offset: 0, compared: 0, written: 5, exceedsLimit: false))
        #expect(exact.isAtEnd)
        #expect(exact.take(9) == .init(offset: 5, compared: 0, written: 0, exceedsLimit: false))

        var open = DownloadBodyCursor(DownloadBody(start: 0, end: nil, overlap: 0..<0, maxEnd: .max))
        #expect(open.take(.max).written == .max)
        #expect(open.take(-1).written == 0)
        #expect(!open.isAtEnd)
    }
}
