import HTTPClient
import Testing

@Suite struct Base64Tests {
    @Test func `bytes are encoded as in the test vectors of RFC 4648`() {
        let vectors = [
            "": "", "f": "Zg==", "fo": "Zm8=", "foo": "Zm9v", "foob": "Zm9vYg==", "fooba": "Zm9vYmE=",
            "foobar": "Zm9vYmFy",
        ]
        for (plain, encoded) in vectors { #expect(Base64.encode(plain.utf8) == encoded) }
        #expect(Base64.encode([0xFB, 0xFF, 0xFE]) == "+//+")
    }
}
