import Commands
import Crypto
import Foundation
import TestSupport
import Testing

@testable import S3
@testable import Transfers

@Suite struct AWSSignatureTests {
    @Test func `the table has 40 recorded vectors of both kinds`() {
        #expect(BotocoreVector.recorded.count == 40)
        #expect(Set(BotocoreVector.recorded.map(\.isPresigned)) == [true, false])
        #expect(BotocoreVector.recorded.contains { $0.token != nil })
    }

    @Test(arguments: BotocoreVector.recorded)
    func `a recorded request has the canonical request and the signature of botocore`(
        _ vector: BotocoreVector
    ) throws {
        let steps = try vector.steps()
        let hash = Hexadecimal.text(SHA256.hash(data: Array(steps.canonicalRequest.utf8)))
        #expect(hash == vector.canonicalHash, "\(steps.canonicalRequest)")
        #expect(steps.text == vector.signature)
        #expect(try vector.signed().hasSuffix("Signature=\(vector.signature)"))
    }

    @Test(.enabled(if: isAvailable(PythonScript.has("botocore")), "no Python has botocore"))
    func `1,000 random requests have the canonical request and the signature of botocore`() async throws {
        let random = SeededRandom.announced("1,000 requests against botocore")
        let lines = try await PythonScript.lines(
            "botocore-vectors.py", needing: "botocore", [String(random.seed), "1000"])
        #expect(lines.count == 1000)
        for line in lines {
            let value = try JSONValue(parsing: Array(line.utf8))
            let vector = try BotocoreVector(value)
            let steps = try vector.steps()
            try #require(steps.canonicalRequest == value["canonical"]?.string, "\(line)")
            try #require(steps.text == vector.signature, "\(line)")
            try #require(try vector.request().path == value["path"]?.string, "\(line)")
            let sent = try vector.signed()
            if vector.isPresigned {
                try #require(sent.hasSuffix("&X-Amz-Signature=\(vector.signature)"), "\(line)")
            } else {
                try #require(sent == value["authorization"]?.string, "\(line)")
            }
        }
    }

    /// AWS, “Authenticating requests: using query parameters”, example GET of test.txt.
    @Test func `the presigned example of AWS has its signature`() {
        let signer = AWSSigner(
            credential: AWSCredential(
                accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
            region: "us-east-1")
        let request = AWSRequest(method: "GET", host: "examplebucket.s3.amazonaws.com", path: "/test.txt")
        var keys = AWSSigningKeys()
        let query = signer.query(
            for: request, validity: .seconds(86_400), at: Timestamp(milliseconds: 1_369_353_600_000), keys: &keys)
        #expect(
            query.hasSuffix(
                "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"), "\(query)")
        #expect(query.contains("X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"))
    }

    private let signer = AWSSigner(
        credential: AWSCredential(accessKey: "AK", secretKey: "hush", sessionToken: "token"), region: "r")
    private let request = AWSRequest(
        method: "PUT", host: "h", path: "/b/k",
        headers: [
            HTTPField("X-Amz-Date", "old"), HTTPField("authorization", "old"), HTTPField("Cache-Control", "a"),
            HTTPField("x-amz-security-token", "old"),
        ])

    @Test func `a new signature replaces the headers of an old one`() {
        var keys = AWSSigningKeys()
        let first = signer.headers(for: request, payload: .empty, at: .zero, keys: &keys)
        #expect(
            first.map(\.name) == [
                "Cache-Control", "x-amz-date", "x-amz-content-sha256", "x-amz-security-token", "Authorization",
            ])
        #expect(!first.contains { $0.value == "old" })
        var again = request
        again.headers = first
        #expect(signer.headers(for: again, payload: .empty, at: .zero, keys: &keys) == first)
        #expect(signer.headers(for: again, payload: .empty, at: Timestamp(milliseconds: 1000), keys: &keys) != first)
    }

    @Test func `only host, content-type, content-md5 and x-amz headers are signed`() {
        let signed = ["host", "content-type", "content-md5", "x-amz-date", "x-amz-meta-a", "x-amz-acl"]
        let unsigned = [
            "connection", "expect", "user-agent", "te", "trailer", "transfer-encoding", "upgrade",
            "proxy-authorization",
            "proxy-authenticate", "keep-alive", "traceparent", "tracestate", "baggage", "x-amzn-trace-id",
            "cache-control",
            "if-none-match",
        ]
        #expect(signed.allSatisfy(AWSRequest.isSigned))
        #expect(!unsigned.contains(where: AWSRequest.isSigned))
    }

    @Test(arguments: [(0, 1), (1, 1), (604_800, 604_800), (604_801, 604_800), (-5, 1)])
    func `the validity of a presigned query is clamped`(_ given: Int, _ seconds: Int) {
        var keys = AWSSigningKeys()
        let query = signer.query(for: request, validity: .seconds(given), at: .zero, keys: &keys)
        #expect(query.contains("X-Amz-Expires=\(seconds)&"), "\(query)")
    }

    @Test func `signing keys are kept by day, region and secret, and their number is bounded`() {
        var keys = AWSSigningKeys()
        let credential = AWSCredential(accessKey: "AK", secretKey: "one")
        let scope = AWSScope(at: .zero, region: "r")
        let key = keys.key(for: credential, scope)
        #expect(keys.key(for: credential, scope) == key && keys.count == 1)
        let rotated = AWSCredential(accessKey: "AK", secretKey: "two")
        #expect(keys.key(for: rotated, scope) != key && keys.count == 2)
        #expect(keys.key(for: credential, AWSScope(at: .zero, region: "s")) != key)
        for day in 1...100 {
            _ = keys.key(
                for: credential, AWSScope(at: Timestamp(milliseconds: Int64(day) * 86_400_000), region: "r"))
        }
        #expect(keys.count == AWSSigningKeys.maxEntries)
        #expect(keys.key(for: credential, scope) == key)
    }

    @Test func `a credential never shows its secret`() {
        let credential = AWSCredential(accessKey: "AKID", secretKey: "hush", sessionToken: "quiet")
        var dumped = ""
        dump(credential, to: &dumped)
        for text in ["\(credential)", String(reflecting: credential), dumped, "\([credential])"] {
            #expect(!text.contains("hush") && !text.contains("quiet"), "\(text)")
        }
    }

    @Test(arguments: ["", "a b", "a,b", "a/b", "a=b", "é", "a\n", String(repeating: "a", count: 257)])
    func `an access key that would break the header is refused`(_ key: String) {
        #expect(AWSCredential.objection(toAccessKey: key) != nil)
    }

    @Test func `access keys of AWS, MinIO and Swift are accepted`() {
        for key in ["AKIAIOSFODNN7EXAMPLE", "minioadmin", "test:tester", "GK31c2f218a2e44f485b94239e"] {
            #expect(AWSCredential.objection(toAccessKey: key) == nil)
        }
    }
}
