import Commands
import NIOHTTP1
import TestSupport
import Testing

@testable import Transfers

/// The answers to requests for a file, by the rules of HTTP.
@Suite struct FileAnswerTests {
    /// 2026-03-01T00:00:00.5Z
    private static let file = SourceIdentity(
        size: 1000, modified: 1_772_323_200_500_000_000, inode: 7, device: 1)
    private static let tag = "\"7-1000-1772323200500000000\""
    private static let modified = "Sun, 01 Mar 2026 00:00:00 GMT"

    private func answer(_ method: HTTPMethod = .GET, _ fields: [String: String] = [:], size: Int64 = 1000) -> FileAnswer
    {
        var file = Self.file
        file.size = size
        return FileAnswer(
            method: method, HTTPHeaders(fields.map { ($0.key, $0.value) }), file, type: "video/mp4",
            now: Timestamp(milliseconds: 1_772_323_260_000))
    }

    private func field(_ name: String, of answer: FileAnswer) -> String? {
        answer.fields.first { $0.isNamed(name) }?.value
    }

    @Test func `a file is answered whole, with its validators`() {
        let whole = answer()
        #expect(whole.status == 200 && whole.range == 0..<1000)
        #expect(field("etag", of: whole) == Self.tag && field("last-modified", of: whole) == Self.modified)
        #expect(field("date", of: whole) == "Sun, 01 Mar 2026 00:01:00 GMT")
        #expect(field("content-length", of: whole) == "1000" && field("content-type", of: whole) == "video/mp4")
        let head = answer(.HEAD)
        #expect(head.status == 200 && head.range.isEmpty && field("content-length", of: head) == "1000")
        #expect(answer(.PUT).status == 405)
    }

    @Test(
        arguments: [
            ("bytes=0-", 206, 0..<1000), ("bytes=990-", 206, 990..<1000), ("bytes=10-19", 206, 10..<20),
            ("bytes=990-2000", 206, 990..<1000), ("bytes=-10", 206, 990..<1000), ("bytes=-2000", 206, 0..<1000),
            ("bytes=1000-", 416, 0..<0), ("bytes=-0", 416, 0..<0), ("bytes=20-10", 200, 0..<1000),
            ("bytes=0-1,5-6", 200, 0..<1000), ("bytes=a-", 200, 0..<1000), ("bytes=-", 200, 0..<1000),
            ("items=0-1", 200, 0..<1000), ("bytes=99999999999999999999-", 200, 0..<1000), ("", 200, 0..<1000),
        ] as [(String, Int, Range<Int64>)])
    func `one range is served, and other fields are ignored`(_ text: String, _ status: Int, _ range: Range<Int64>) {
        let part = answer(.GET, ["Range": text])
        #expect(part.status == status && part.range == range)
        switch status {
        case 206:
            #expect(field("content-range", of: part) == "bytes \(range.lowerBound)-\(range.upperBound - 1)/1000")
            #expect(field("content-length", of: part) == "\(range.count)")
        case 416: #expect(field("content-range", of: part) == "bytes */1000")
        default: #expect(field("content-range", of: part) == nil)
        }
    }

    @Test func `a range of another version is the whole file`() {
        #expect(answer(.GET, ["Range": "bytes=5-", "If-Range": Self.tag]).status == 206)
        #expect(answer(.GET, ["Range": "bytes=5-", "If-Range": Self.modified]).status == 206)
        #expect(answer(.GET, ["Range": "bytes=5-", "If-Range": "\"7-999-1\""]).status == 200)
        #expect(answer(.GET, ["Range": "bytes=5-", "If-Range": "W/\(Self.tag)"]).status == 200)
    }

    @Test func `a condition that holds is answered without the file`() {
        let same = answer(.GET, ["If-None-Match": "\"a\", \(Self.tag)"])
        #expect(same.status == 304 && same.range.isEmpty && field("etag", of: same) == Self.tag)
        #expect(answer(.GET, ["If-None-Match": "\"a\"", "If-Modified-Since": Self.modified]).status == 200)
        #expect(answer(.GET, ["If-Modified-Since": Self.modified]).status == 304)
        #expect(answer(.GET, ["If-Modified-Since": "Sat, 28 Feb 2026 23:59:59 GMT"]).status == 200)
        #expect(answer(.GET, ["If-Modified-Since": "yesterday"]).status == 200)
    }

    @Test func `an empty file is answered with no byte`() {
        #expect(answer(size: 0).range == 0..<0 && field("content-length", of: answer(size: 0)) == "0")
        #expect(answer(.GET, ["Range": "bytes=0-"], size: 0).status == 416)
    }

    @Test func `a date is written as the reader reads it`() {
        var random = SeededRandom.announced("dates of HTTP")
        for _ in 0..<1000 {
            let seconds = Int64(random.number(in: 0..<4_000_000_000))
            let time = Timestamp(milliseconds: seconds * 1000)
            #expect(HTTPDate.text(time) == HTTPDateText.fixed(time))
            #expect(HTTPDate.timestamp(HTTPDate.text(time)) == time)
        }
        #expect(HTTPDate.text(Timestamp(milliseconds: -5000)) == "Thu, 01 Jan 1970 00:00:00 GMT")
    }
}
