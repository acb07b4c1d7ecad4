import Commands
import Crypto
import HTTPClient
import TestSupport
import Testing

@testable import Transfers
@testable import Webhook

@Suite struct WebhookSignatureTests {
    private static let secret = "whsec_c2x1aWNlLXRlc3Qta2V5LW9mLTMyLWJ5dGVzLWxvbmc="
    private static let keyPair =
        "6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=="

    private func signature(
        _ secrets: [String], id: String = "msg_1", at seconds: Int64 = 1_763_000_000, _ body: String = "{}"
    ) throws -> WebhookSignature {
        try WebhookSignature(
            id: id, body: Array(body.utf8), at: Timestamp(milliseconds: seconds * 1000 + 999),
            try secrets.map { try WebhookSecret($0) })
    }

    /// The vector of operations.md, section 8, made with the package standardwebhooks.
    @Test func `a message has the headers of the vector`() throws {
        let signature = try signature(
            [Self.secret], id: "01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f",
            "{\"type\":\"upload.done\",\"timestamp\":\"2025-11-13T02:13:20Z\",\"data\":{\"id\":\"a\"}}")
        #expect(
            signature.headers == [
                HTTPField("Content-Type", "application/json"),
                HTTPField("webhook-id", "01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f"),
                HTTPField("webhook-timestamp", "1763000000"),
                HTTPField("webhook-signature", "v1,8C5A+OCDT0mQ9ydJTRI7Whm3Mu0qS//RbLKPlVHqdUE="),
            ])
    }

    /// The vector of Svix, the authors of the specification. ed25519 is deterministic (RFC 8032) on Linux.
    @Test func `an ed25519 key makes the v1a signature of the vector, from the pair and from its seed`() throws {
        let seed = Base64.encode(try #require(Base64.decode(Self.keyPair.utf8)).prefix(32))
        for secret in [Self.keyPair, seed] {
            let text = try signature(
                ["whsk_\(secret)"], id: "msg_p5jXN8AQM9LWM0D4loKWxJek", at: 1_614_265_330, "{\"test\": 2432232314}"
            ).text
            #expect(
                text
                    == "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==")
        }
    }

    @Test func `a v1a signature verifies with the public key, and not after a change`() throws {
        let text = try signature(["whsk_\(Self.keyPair)"], id: "a", at: 7, "body").text
        let bytes = try #require(Base64.decode(text.dropFirst(4).utf8))
        let publicKey = try Curve25519.Signing.PublicKey(
            rawRepresentation: try #require(Base64.decode("1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=".utf8)))
        #expect(publicKey.isValidSignature(bytes, for: Array("a.7.body".utf8)))
        #expect(!publicKey.isValidSignature(bytes, for: Array("a.8.body".utf8)))
    }

    @Test func `each secret has a signature, in their order`() throws {
        let other = "whsec_" + Base64.encode([UInt8](repeating: 7, count: 24))
        let one = try signature([Self.secret]).text
        let two = try signature([other]).text
        let pair = try signature(["whsk_\(Self.keyPair)"]).text
        #expect(try signature([Self.secret, other, "whsk_\(Self.keyPair)"]).text == "\(one) \(two) \(pair)")
        #expect(one != two && pair.hasPrefix("v1a,"))
    }

    @Test func `every attempt has its own time and signature`() throws {
        let first = try signature([Self.secret], at: 100)
        let second = try signature([Self.secret], at: 400)
        #expect(first.timestamp == 100 && second.timestamp == 400)
        #expect(first.text != second.text)
        let before = try WebhookSignature(
            id: "a", body: [], at: Timestamp(milliseconds: -1), [WebhookSecret(Self.secret)])
        #expect(before.timestamp == -1)
    }

    @Test func `a message without a secret, and one with too many, is not signed`() throws {
        #expect(throws: WebhookError.self) { try signature([]) }
        _ = try signature(Array(repeating: Self.secret, count: 8))
        #expect(throws: WebhookError.self) { try signature(Array(repeating: Self.secret, count: 9)) }
    }

    @Test(arguments: [
        ("", "neither whsec_ nor whsk_"), ("c2x1aWNl", "neither"), ("whsec_", "0 bytes"), ("whsec_!!!!", "not base64"),
        ("whsec_c2hvcnQ=", "5 bytes"), ("whsec_" + Base64.encode([UInt8](repeating: 1, count: 23)), "23 bytes"),
        ("whsec_" + Base64.encode([UInt8](repeating: 1, count: 65)), "65 bytes"),
        ("whsec_" + String(repeating: "a", count: 10_000), "not base64"),
        ("whsk_" + Base64.encode([UInt8](repeating: 1, count: 31)), "31 bytes"),
        ("whsk_" + Base64.encode([UInt8](repeating: 1, count: 64)), "does not belong"),
        ("whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=", "public key"), ("WHSEC_c2x1", "neither"),
    ])
    func `a secret of another form is refused and not quoted`(_ text: String, _ words: String) throws {
        let error = try #require(throws: WebhookError.self) { try WebhookSecret(text) }
        #expect(error.message.contains(words), "\(error)")
        if text.utf8.count > 12 { #expect(!error.message.contains(text.suffix(8))) }
    }

    @Test(arguments: [24, 25, 32, 63, 64])
    func `a secret of 24 to 64 bytes is accepted, with and without padding`(_ count: Int) throws {
        let secret = "whsec_" + Base64.encode([UInt8](repeating: 5, count: count))
        let bare = String(secret.prefix { $0 != "=" })
        #expect(try signature([secret]).text == signature([bare]).text)
    }

    @Test func `a secret never shows its key`() throws {
        for text in [Self.secret, "whsk_\(Self.keyPair)"] {
            let secret = try WebhookSecret(text)
            var dumped = ""
            dump(secret, to: &dumped)
            for shown in ["\(secret)", String(reflecting: secret), dumped, "\([secret])"] {
                #expect(!shown.contains(text.dropFirst(6).prefix(8)) && shown.utf8.count < 60, "\(shown)")
            }
        }
    }

    private static let hasPackage = PythonScript.has("standardwebhooks")

    @Test(.enabled(if: isAvailable(hasPackage), "no Python has standardwebhooks"))
    func `1,000 random messages have the signatures of the package standardwebhooks`() async throws {
        let random = SeededRandom.announced("1,000 messages against standardwebhooks")
        let lines = try await PythonScript.lines(
            "webhook-vectors.py", needing: "standardwebhooks", ["sign", String(random.seed), "1000"])
        #expect(lines.count == 1000)
        for line in lines {
            let value = try JSONValue(parsing: Array(line.utf8))
            let signature = try signature(
                [try #require(value["secret"]?.string)], id: try #require(value["id"]?.string),
                at: try #require(value["timestamp"]?.integer), try #require(value["body"]?.string))
            try #require(signature.text == value["signature"]?.string, "\(line)")
        }
    }

    @Test(.enabled(if: isAvailable(hasPackage), "no Python has standardwebhooks"))
    func `the package standardwebhooks accepts a rotated secret until it is removed`() async throws {
        let old = Self.secret
        let new = "whsec_" + Base64.encode([UInt8](repeating: 9, count: 32))
        let seconds = Timestamp.now.milliseconds / 1000
        func message(_ secrets: [String], verifiedWith secret: String, at time: Int64, body: String = "{\"é\":1}")
            throws -> JSONValue
        {
            let signature = try signature(secrets, id: "msg_1", at: time, "{\"é\":1}")
            return [
                "secret": .string(secret), "id": "msg_1", "timestamp": .integer(signature.timestamp),
                "signature": .string(signature.text), "body": .string(body),
            ]
        }
        let pair = "whsk_\(Self.keyPair)"
        let answers = try await PythonScript.lines(
            "webhook-vectors.py", needing: "standardwebhooks", ["verify"],
            input: [
                try message([old], verifiedWith: old, at: seconds),
                try message([pair, new, old], verifiedWith: old, at: seconds),
                try message([new, old], verifiedWith: new, at: seconds),
                try message([new], verifiedWith: old, at: seconds),
                try message([old], verifiedWith: old, at: seconds, body: "{\"é\":2}"),
                try message([old], verifiedWith: old, at: seconds - 600),
            ])
        #expect(
            answers == [
                "ok", "ok", "ok", "No matching signature found", "No matching signature found",
                "Message timestamp too old",
            ])
    }
}
