import Commands
import Foundation
import Testing

@testable import S3
@testable import Transfers

/// A request with the signature that botocore makes of it.
struct BotocoreVector: Sendable, CustomTestStringConvertible {
    var isPresigned: Bool
    var method: String
    var endpoint: String
    var addressing: S3Addressing
    var bucket: String
    var key: String
    var query: [(String, String)]
    var headers: [(String, String)]
    /// The last line of the canonical request.
    var payload: String
    /// Unix seconds.
    var time: Int64
    var region: String
    var accessKey: String
    var secretKey: String
    var token: String?
    /// Seconds; 0 for a signature in a header.
    var validity: Int64
    var signature: String
    /// The SHA-256 of the canonical request.
    var canonicalHash: String

    var testDescription: String { "\(method) \(endpoint) \(bucket) \(key.debugDescription)" }

    private var signer: AWSSigner {
        AWSSigner(
            credential: AWSCredential(accessKey: accessKey, secretKey: secretKey, sessionToken: token), region: region)
    }

    private var now: Timestamp { Timestamp(milliseconds: time * 1000 + 999) }

    func request() throws -> AWSRequest {
        let address = try S3Address(
            endpoint: #require(Destination(endpoint)), addressing: addressing, bucket: bucket, key: key)
        return AWSRequest(
            method: method, host: address.host, path: address.path,
            query: query.map { S3QueryItem($0.0, $0.1) }, headers: headers.map { HTTPField($0.0, $0.1) })
    }

    /// The signature as it is sent: the value of `Authorization`, or the query.
    func signed() throws -> String {
        var keys = AWSSigningKeys()
        if isPresigned {
            return signer.query(for: try request(), validity: .seconds(validity), at: now, keys: &keys)
        }
        let hash: AWSPayloadHash = payload == "UNSIGNED-PAYLOAD" ? .unsigned : .sha256(payload)
        let fields = signer.headers(for: try request(), payload: hash, at: now, keys: &keys)
        return try #require(fields.last { $0.name == "Authorization" }).value
    }

    /// The signature with its canonical request, as ``signed()`` computes it.
    func steps() throws -> AWSSignature {
        var keys = AWSSigningKeys()
        var request = try request()
        let hash: AWSPayloadHash = payload == "UNSIGNED-PAYLOAD" ? .unsigned : .sha256(payload)
        if isPresigned {
            request.query = try signed().split(separator: "&").dropLast().map { pair in
                let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                return S3QueryItem(decoded(parts[0]), decoded(parts[1]))
            }
        } else {
            var keys = AWSSigningKeys()
            request.headers = signer.headers(for: request, payload: hash, at: now, keys: &keys)
        }
        return signer.sign(request, hash, at: now, &keys).0
    }

    private func decoded(_ text: Substring) -> String { text.removingPercentEncoding ?? "" }
}

extension BotocoreVector {
    /// Reads a line of `botocore-vectors.py`, whose `canonical` is the whole canonical request.
    init(_ value: JSONValue) throws {
        func text(_ name: String) throws -> String { try #require(value[name]?.string) }
        func pairs(_ name: String) throws -> [(String, String)] {
            try #require(value[name]?.elements).map { pair in
                let parts = try #require(pair.elements)
                return (try #require(parts.first?.string), try #require(parts.last?.string))
            }
        }
        self.init(
            isPresigned: try #require(value["presigned"]?.bool as Bool?), method: try text("method"),
            endpoint: try text("endpoint"),
            addressing: try #require(S3Addressing(rawValue: try text("addressing"))), bucket: try text("bucket"),
            key: try text("key"), query: try pairs("query"), headers: try pairs("headers"),
            payload: try text("payload"),
            time: try #require(value["time"]?.integer), region: try text("region"), accessKey: try text("accessKey"),
            secretKey: try text("secretKey"), token: value["token"]?.string,
            validity: try #require(value["validity"]?.integer), signature: try text("signature"), canonicalHash: "")
    }
}
