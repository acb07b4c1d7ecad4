import HTTPClient
import Testing

@testable import Door

struct StrictBase64Tests {
    static func base64(repeating character: Character, count: Int) -> String {
        Base64.encode(String(repeating: character, count: count).utf8)
    }

    @Test(arguments: [("", []), ("YQ==", [97]), ("YWI=", [97, 98]), ("YWJj", [97, 98, 99])] as [(String, [UInt8])])
    func `padded text is decoded`(text: String, bytes: [UInt8]) { #expect(StrictBase64.decode(text) == bytes) }

    @Test(arguments: ["YQ", "YQ=", "=", "====", "Y===", "YQ==YQ==", "YW J", "YWI-", "YWI=\n"])
    func `any other text is refused`(text: String) { #expect(StrictBase64.decode(text) == nil) }
}
