import Commands
import HTTPTypes
import Store
import Testing
import Uploads

@testable import Door

struct StructuredFieldTests {
    @Test(
        arguments: [
            ("?1", true), ("?0", false), ("?1;a=b", true), (" ?1 ", true), ("1", nil), ("true", nil), ("?2", nil),
            ("?1, ?1", nil), ("", nil),
        ] as [(String, Bool?)])
    func `a boolean with another value is ignored`(text: String, value: Bool?) {
        #expect(StructuredFields.boolean(.uploadComplete, [.uploadComplete: text]) == value)
    }

    @Test(
        arguments: [
            ("0", 0), ("100", 100), ("999999999999999", 999_999_999_999_999), ("-1", nil), ("1.5", nil), ("\"5\"", nil),
            ("5, 5", nil), ("9999999999999999", nil), ("a", nil),
        ] as [(String, Int64?)])
    func `a size with another value is ignored`(text: String, value: Int64?) {
        #expect(StructuredFields.size(.uploadOffset, [.uploadOffset: text]) == value)
    }

    @Test func `the preferred known digest is read`() throws {
        let sha = "sha-256=:uU0nuZNNPgilLlLX2n2r+sSE7+N6U4DukIj3rOLvzek=:"
        let digest = try #require(
            try DigestFields.read(
                .contentDigest, [.contentDigest: "unixsum=:AAA=:, md5=:XrY7u+Ae7tCTyyK7j1rNww==:, \(sha)"]))
        #expect(digest.algorithm == .sha256)
        #expect(DigestFields.text(digest) == sha)
        #expect(try DigestFields.read(.contentDigest, [.contentDigest: "unixsum=:AAA=:"]) == nil)
        #expect(try DigestFields.read(.contentDigest, [:]) == nil)
    }

    @Test(arguments: ["sha-256", "sha-256=:YQ==:", "sha-256=uU0n", "sha-256=:!:", "=", "sha-256=(1 2)"])
    func `a malformed digest is refused, never left unchecked`(text: String) {
        let error = #expect(throws: Problem.self) { try DigestFields.read(.reprDigest, [.reprDigest: text]) }
        #expect(error?.status == .badRequest)
    }

    @Test(
        arguments: [
            ("sha-256=1", .sha256), ("sha-256=1, sha-512=10", .sha512), ("sha-256=0, md5=1", .md5), ("sha-256=0", nil),
            ("sha-256=11", nil), ("crc32c=5", nil), ("sha-256", nil), ("(", nil),
        ] as [(String, UploadDigest.Algorithm?)])
    func `the wanted digest with the highest preference is chosen`(text: String, algorithm: UploadDigest.Algorithm?) {
        #expect(DigestFields.wanted([.wantReprDigest: text]) == algorithm)
    }

    @Test(arguments: [
        ("\"8e03978e-40d5\"", "8e03978e-40d5"), ("8e03978e-40d5", "8e03978e-40d5"), ("abc", "abc"), ("42", "42"),
        ("\"a\\\"b\"", "a\"b"),
    ])
    func `an idempotency key is a string or a token`(text: String, value: String) throws {
        let key = try IdempotencyKeyField.read([.idempotencyKey: text], token: "studio")
        #expect(key?.value == value && key?.token == "studio")
    }

    @Test(arguments: ["", "\"\"", "\"a", "a b", "a, b", ":YQ==:", "\"é\"", "(a)"])
    func `a malformed idempotency key is refused`(text: String) {
        #expect(throws: Problem.self) { try IdempotencyKeyField.read([.idempotencyKey: text], token: nil) }
    }

    @Test func `an idempotency key has at most 255 bytes`() throws {
        let text = String(repeating: "a", count: 255)
        #expect(try IdempotencyKeyField.read([.idempotencyKey: text], token: nil)?.value == text)
        #expect(throws: Problem.self) { try IdempotencyKeyField.read([.idempotencyKey: text + "a"], token: nil) }
    }
}
