import Commands
import TestSupport
import Testing

struct CommandIDTests {
    @Test func `an id has the version and the variant of RFC 9562 and the given time`() {
        var random = SeededRandom.announced("CommandID")
        for _ in 0..<10_000 {
            let now = Timestamp(milliseconds: Int64(random.next() & 0xFFFF_FFFF_FFFF))
            let id = CommandID(now: now, shardByte: nil, using: &random)
            #expect(id.high >> 12 & 0xF == 7)
            #expect(id.low >> 62 == 0b10)
            #expect(id.madeAt == now)
        }
    }

    @Test func `ids sort by the time they were made, as text, as bytes and as values`() {
        let ids = [0, 1, 255, 1_700_000_000_000, 1_700_000_000_001, 0xFFFF_FFFF_FFFF].map {
            CommandID(now: Timestamp(milliseconds: $0))
        }
        #expect(ids == ids.sorted())
        #expect(ids.map(\.description) == ids.map(\.description).sorted())
        for (earlier, later) in zip(ids, ids.dropFirst()) {
            #expect(earlier.bytes.lexicographicallyPrecedes(later.bytes))
        }
    }

    @Test(arguments: [Int64.min, -1, 0xFFFF_FFFF_FFFF + 1, .max])
    func `an id is made of a time outside 48 bits without a trap`(milliseconds: Int64) {
        let id = CommandID(now: Timestamp(milliseconds: milliseconds))
        #expect(id.high >> 12 & 0xF == 7)
        #expect(id.madeAt.milliseconds >= 0)
    }

    @Test func `an id prints as 36 lower-case characters and is read back in either case`() throws {
        let text = "018f3c5e-9a7b-7c1d-8e2f-0a1b2c3d4e5f"
        let id = try #require(CommandID(text))
        #expect(id.description == text)
        #expect(CommandID(text.uppercased()) == id)
        #expect(CommandID(text[...]) == id)
        #expect(
            id.bytes == [1, 0x8F, 0x3C, 0x5E, 0x9A, 0x7B, 0x7C, 0x1D, 0x8E, 0x2F, 0xA, 0x1B, 0x2C, 0x3D, 0x4E, 0x5F])
        #expect(CommandID(bytes: id.bytes) == id)
    }

    @Test(arguments: [
        "", "-", "018f3c5e", "018f3c5e-9a7b-7c1d-8e2f-0a1b2c3d4e5", "018f3c5e-9a7b-7c1d-8e2f-0a1b2c3d4e5f0",
        "018f3c5e9a7b7c1d8e2f0a1b2c3d4e5f", "018f3c5e-9a7b-7c1d-8e2f-0a1b2c3d4e5g",
        "018f3c5e-9a7b-7c1d-8e2f-0a1b2c3d4é5",
        "{18f3c5e-9a7b-7c1d-8e2f-0a1b2c3d4e5f}", " 18f3c5e-9a7b-7c1d-8e2f-0a1b2c3d4e5f",
        "018f3c5e--9a7b-7c1d-8e2f-0a1b2c3d4e",
        "018f3c5e-9a7b-7c1d-8e2f-0a1b2c3d4e5f\n",
        "\0\0\0\0\0\0\0\0-\0\0\0\0-\0\0\0\0-\0\0\0\0-\0\0\0\0\0\0\0\0\0\0\0\0",
        "018f3c5e-9a7b-7c1d-8e2f-0a1b2c3d4e5f-018f3c5e-9a7b-7c1d-8e2f-0a1b2c3d4e5f",
    ])
    func `a text that is not a UUID is not an id`(text: String) {
        #expect(CommandID(text) == nil)
    }

    @Test func `any text is read without a trap, and only one that an id prints is an id`() {
        var random = SeededRandom.announced("CommandID texts")
        let letters = Array("0123456789abcdefABCDEF-gG {}é\u{0}".unicodeScalars)
        for _ in 0..<20_000 {
            var text = String.UnicodeScalarView()
            for _ in 0..<random.number(in: 30..<40) { text.append(letters[random.number(in: 0..<letters.count)]) }
            if let id = CommandID(String(text)) { #expect(id.description == String(text).lowercased()) }
        }
        for _ in 0..<10_000 {
            let id = random.id()
            #expect(CommandID(id.description) == id)
        }
    }

    @Test(arguments: [0, 1, 15, 17, 32])
    func `only 16 bytes make an id`(count: Int) {
        #expect(CommandID(bytes: [UInt8](repeating: 7, count: count)) == nil)
    }

    @Test(arguments: [1, 2, 8, 64, 256])
    func `the last byte of an id names the shard`(count: Int) {
        for byte in UInt8.min...UInt8.max {
            let id = CommandID(shardByte: byte)
            #expect(id.bytes.last == byte)
            #expect(id.shard(of: count) == Int(byte) % count)
        }
    }

    @Test func `ids without a shard byte spread over the shards`() {
        var perShard = [Int](repeating: 0, count: 8)
        for _ in 0..<8000 { perShard[CommandID().shard(of: 8)] += 1 }
        // 1,000 expected in each; the standard deviation is 30.
        #expect(perShard.allSatisfy { (700...1300).contains($0) }, "\(perShard)")
    }
}
