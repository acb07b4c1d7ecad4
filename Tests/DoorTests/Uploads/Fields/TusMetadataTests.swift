import HTTPTypes
import Testing

@testable import Door

struct TusMetadataTests {
    private func read(_ text: String) throws -> TusMetadata? { try TusMetadata.read([.uploadMetadata: text]) }

    @Test func `known keys are found, and the text stays as it was sent`() throws {
        let text = "filename YS5tcDQ=,filetype dmlkZW8vbXA0 , route bWVkaWE=,is_confidential"
        let metadata = try #require(try read(text))
        #expect(metadata.text == text)
        #expect(metadata.fileName == "a.mp4")
        #expect(metadata.contentType == "video/mp4")
        #expect(metadata.route == "media")
        #expect(metadata.entries.last == TusMetadata.Entry(key: "is_confidential", value: ""))
    }

    @Test func `the second names of the keys are known`() throws {
        let metadata = try #require(try read("name w6kuanBn,type aW1hZ2UvanBlZw=="))
        #expect(metadata.fileName == "é.jpg")
        #expect(metadata.contentType == "image/jpeg")
    }

    @Test(arguments: ["", " "]) func `an empty field has no keys`(text: String) throws {
        let metadata = try #require(try read(text))
        #expect(metadata.entries.isEmpty)
        #expect(metadata.fileName == nil)
    }

    @Test func `an absent field has no metadata`() throws { #expect(try TusMetadata.read([:]) == nil) }

    @Test(arguments: [
        ("filename YS5tcDQ", "padding is missing"), ("filename YS5t*DQ=", "another character"),
        ("filename YQ=a", "padding inside"), ("filename YQ= =", "a space inside"), ("filename /w==", "not UTF-8"),
        ("filename YQpi", "a line end in the value"), ("filename AA==", "a null in the value"),
        ("filename wp8=", "a C1 control character"), ("a YQ==,a YQ==", "a key twice"), (",", "empty keys"),
        ("a YQ==,", "an empty key"), ("é YQ==", "a key that is not ASCII"),
    ])
    func `malformed metadata is refused`(text: String, reason: String) {
        let error = #expect(throws: Problem.self, "\(reason)") { try read(text) }
        #expect(error?.status == .badRequest && error?.type == "invalid-metadata")
    }

    @Test func `64 keys are permitted, and one more is refused`() throws {
        let keys = (0..<64).map { "k\($0)" }
        #expect(try read(keys.joined(separator: ","))?.entries.count == 64)
        #expect(throws: Problem.self) { try read((keys + ["k64"]).joined(separator: ",")) }
    }

    @Test func `a value of 4 KiB is permitted, and a longer one is refused`() throws {
        func field(_ count: Int) -> String { "a \(StrictBase64Tests.base64(repeating: "a", count: count))" }
        #expect(try read(field(4096))?.entries.first?.value.utf8.count == 4096)
        #expect(throws: Problem.self) { try read(field(4097)) }
    }
}
