import Commands
import Store
import TestSupport
import Testing

@testable import Door

struct AccessTokenTests {
    @Test func `a token has 64 characters, and is read back as it was made`() throws {
        let token = AccessToken()
        #expect(token.text.utf8.count == 64 && token.text.hasPrefix("slu_\(token.id)_"))
        let read = try AccessToken(parsing: token.text)
        #expect(read == token && read.digest == token.digest && token.digest.count == 32)
    }

    @Test func `tokens differ in their ids, secrets and digests`() {
        let tokens = (0..<200).map { _ in AccessToken() }
        #expect(Set(tokens.map(\.id)).count == 200 && Set(tokens.map(\.digest)).count == 200)
    }

    @Test func `a token with one other character at any place is refused`() throws {
        let text = Array(AccessToken().text.utf8)
        for index in text.indices {
            for byte in "aB0_-. \u{0}".utf8 where byte != text[index] {
                var other = text
                other[index] = byte
                #expect(throws: AccessTokenError.self) {
                    try AccessToken(parsing: String(decoding: other, as: UTF8.self))
                }
            }
        }
    }

    @Test func `a token that is cut or continued is refused, and other texts are named as such`() {
        let text = AccessToken().text
        for length in 4..<64 {
            #expect(throws: AccessTokenError.incomplete) { try AccessToken(parsing: text.prefix(length)) }
        }
        for other in ["\(text)0", "\(text)\n", " \(text)"] {
            #expect(throws: AccessTokenError.self) { try AccessToken(parsing: other) }
        }
        for other in ["", "slu", "ghp_0123456789", "SLU_\(text.dropFirst(4))"] {
            #expect(throws: AccessTokenError.otherForm) { try AccessToken(parsing: other) }
        }
    }

    @Test func `random bytes are never a token, and never a trap`() {
        var random = SeededRandom.announced("access tokens")
        for _ in RandomRounds("access tokens", 500...2000) {
            let bytes = random.bytes(random.number(in: 0..<81))
            let text = String(decoding: Array("slu_".utf8) + bytes, as: UTF8.self)
            #expect(throws: AccessTokenError.self) { try AccessToken(parsing: text) }
        }
    }

    @Test func `the description, the debugger and a dump of a token do not show its secret`() {
        let token = AccessToken()
        var dumped = ""
        dump(token, to: &dumped)
        for text in ["\(token)", String(reflecting: token), dumped] {
            #expect(text.contains(token.id) && !text.contains(token.text.suffix(20)), "\(text)")
        }
    }

    @Test func `checksum and digits are those of their definitions`() {
        #expect(CRC32(.iso3309, of: "123456789".utf8).value == 0xCBF4_3926)
        #expect(Base62.text([255], count: 2) == "47")
        #expect(Base62.text([UInt8](repeating: 255, count: 32), count: 43).utf8.allSatisfy(Base62.isDigit))
        #expect(Base62.text([], count: 3) == "000")
    }
}
