import Commands
import Testing

@testable import S3

@Suite struct S3PartListingTests {
    private static let tag = "d41d8cd98f00b204e9800998ecf8427e"

    private func page(_ parts: [(Int, Int64, String)], truncated: String = "", next: String? = nil) -> S3Response {
        let items = parts.map {
            "<Part><PartNumber>\($0.0)</PartNumber><Size>\($0.1)</Size><ETag>&quot;\($0.2)&quot;</ETag></Part>"
        }
        let marker = next.map { "<NextPartNumberMarker>\($0)</NextPartNumberMarker>" } ?? ""
        let text =
            "<ListPartsResult><IsTruncated>\(truncated)</IsTruncated>\(marker)\(items.joined())"
            + "<Initiator><ID>x</ID></Initiator></ListPartsResult>"
        return S3Response(status: 200, body: Array(text.utf8))
    }

    @Test func `a page is read with its parts and the start of the next one`() {
        let parts = [(1, Int64(8 << 20), Self.tag), (3, 5, "abc")]
        let expected = [
            S3ListedPart(number: 1, size: 8 << 20, etag: Self.tag), S3ListedPart(number: 3, size: 5, etag: "abc"),
        ]
        #expect(page(parts, truncated: "true", next: "3").partPage() == .accepted(S3PartPage(parts: expected, next: 3)))
        #expect(page(parts, truncated: "false", next: "3").partPage() == .accepted(S3PartPage(parts: expected)))
        #expect(page([]).partPage() == .accepted(S3PartPage()))
    }

    @Test(arguments: ["", "0", "-1", "10001", "x", nil] as [String?])
    func `a page that is truncated and does not name the next one is unreadable`(_ next: String?) {
        #expect(page([], truncated: "true", next: next).partPage().value == nil)
    }

    @Test(arguments: [(0, 5, "abc"), (10_001, 5, "abc"), (1, -5, "abc"), (1, 5, "")] as [(Int, Int64, String)])
    func `a part without number, size or tag makes its page unreadable`(_ part: (Int, Int64, String)) {
        #expect(page([part]).partPage().value == nil)
    }

    @Test func `NoSuchUpload is a refusal`() {
        let answer = S3Response(status: 404, body: Array("<Error><Code>NoSuchUpload</Code></Error>".utf8))
        #expect(answer.partPage() == .refused(S3Refusal(status: 404, code: "NoSuchUpload")))
    }

    @Test func `pages that do not advance are an error`() throws {
        for next in [5, 4] {
            var listing = S3PartListing()
            try listing.add(S3PartPage(next: 5))
            #expect(listing.marker == 5 && !listing.isWhole)
            #expect(throws: S3ListError.self) { try listing.add(S3PartPage(next: next)) }
        }
    }

    @Test func `10,000 parts are listed in ten pages`() throws {
        var listing = S3PartListing()
        for start in stride(from: 0, to: 10_000, by: 1000) {
            #expect(listing.marker == start && !listing.isWhole)
            let parts = (start + 1...start + 1000).map { ($0, Int64(5), "abc") }
            let more = start < 9000
            let answer = page(parts, truncated: more ? "true" : "false", next: more ? "\(start + 1000)" : nil)
            try listing.add(try #require(answer.partPage().value))
        }
        #expect(listing.isWhole && listing.parts.count == 10_000)
    }

    private let plan = try? PartPlan(size: 20 << 20)

    private func listing(_ parts: [(Int, Int64, String)]) throws -> S3PartListing {
        var listing = S3PartListing()
        try listing.add(S3PartPage(parts: parts.map { S3ListedPart(number: $0.0, size: $0.1, etag: $0.2) }))
        return listing
    }

    @Test func `a part of the table that is not listed alike is sent again`() throws {
        let plan = try #require(plan)
        let own = [S3Part(1, etag: "a"), S3Part(2, etag: "b"), S3Part(3, etag: "c")]
        let size = plan.partSize
        #expect(try listing([(1, size, "A"), (2, size, "b"), (3, 4 << 20, "c")]).lost(of: own, plan).isEmpty)
        #expect(try listing([(1, size, "a"), (2, size - 1, "b"), (3, 4 << 20, "x")]).lost(of: own, plan) == [2, 3])
        #expect(try listing([]).lost(of: own, plan) == [1, 2, 3])
        #expect(S3PartListing().lost(of: own, plan).isEmpty)
    }

    @Test func `a listed part of the planned size that the table lacks can be adopted`() throws {
        let plan = try #require(plan)
        let listing = try listing([
            (1, plan.partSize, "a"), (2, plan.partSize, "b"), (3, plan.partSize, "c"), (9, plan.partSize, "d"),
        ])
        #expect(listing.adoptable(beside: [S3Part(1, etag: "a")], plan).map(\.number) == [2])
    }

    @Test func `an aborted upload is empty only after a whole list`() throws {
        #expect(try listing([]).isEmpty)
        #expect(!S3PartListing().isEmpty)
        #expect(try !listing([(1, 5, "a")]).isEmpty)
    }

    // MARK: Uploads

    private let id = "01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f"

    @Test func `an upload is this command's only where the key has its id`() throws {
        let key = "in/\(id).mp4"
        func item(_ key: String, _ upload: String, _ day: Int) -> String {
            "<Upload><Key>\(key)</Key><UploadId>\(upload)</UploadId><Initiated>2025-11-1\(day)T00:00:00Z</Initiated></Upload>"
        }
        let text =
            "<ListMultipartUploadsResult>\(item(key, "old", 1))\(item(key, "new", 3))\(item(key + "x", "other", 5))"
            + "\(item("a", "a", 1))</ListMultipartUploadsResult>"
        let page = try #require(S3Response(status: 200, body: Array(text.utf8)).uploadPage().value)
        #expect(page.ours(key: key, command: id).map(\.id) == ["new", "old"])
        #expect(page.ours(key: "a", command: id).isEmpty)
        #expect(page.ours(key: id, command: id).isEmpty)
        #expect(page.next == nil)
    }

    @Test func `a truncated list of uploads names the next page`() throws {
        let text =
            "<ListMultipartUploadsResult><IsTruncated>true</IsTruncated><NextKeyMarker> k</NextKeyMarker>"
            + "<NextUploadIdMarker>u</NextUploadIdMarker></ListMultipartUploadsResult>"
        let page = try #require(S3Response(status: 200, body: Array(text.utf8)).uploadPage().value)
        #expect(page.next == S3UploadPage.Marker(key: " k", id: "u"))
    }
}
