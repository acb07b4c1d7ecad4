import Commands
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

@testable import HTTPClient

@Suite struct ContentDecoderTests {
    private static let text: [UInt8] = (0..<3000).flatMap { Array("{\"id\":\($0),\"name\":\"n\($0 % 7)\"}\n".utf8) }

    private static func head(
        _ coding: String, status: Int = 200, isEndMarked: Bool = true
    ) -> HTTPResponseHead {
        var fields = HTTPHeaders([("Content-Encoding", coding)])
        if isEndMarked { fields.add(name: "Transfer-Encoding", value: "chunked") }
        return HTTPResponseHead(version: .http1_1, status: .init(statusCode: status), headers: fields)
    }

    /// The decoded body, which is fed in chunks of `size` bytes.
    private static func decode(
        _ bytes: [UInt8], _ coding: String = "gzip", size: Int = 4096, isEndMarked: Bool = true
    ) throws -> [UInt8] {
        let decoder = try #require(try ContentDecoder(head(coding, isEndMarked: isEndMarked), to: "GET /a"))
        var decoded: [UInt8] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            decoder.feed(ByteBuffer(bytes: rest.prefix(size)))
            rest = rest.dropFirst(size)
            while let piece = try decoder.next() {
                #expect(piece.readableBytes <= ContentDecoder.maxPiece)
                decoded += piece.readableBytesView
            }
        }
        try decoder.finish()
        return decoded
    }

    private static func failure(_ body: () throws -> [UInt8]) -> CommandFailure? {
        do {
            let bytes = try body()
            Issue.record("\(bytes.count) bytes came")
            return nil
        } catch {
            return error as? CommandFailure
        }
    }

    @Test(arguments: [1, 2, 7, 1000, 1 << 20])
    func `a body is decoded whatever its chunks are`(_ size: Int) throws {
        #expect(try Self.decode(Encoded.gzip(Self.text), size: size) == Self.text)
        #expect(try Self.decode(Encoded.gzip(Self.text), "X-GZIP", size: size) == Self.text)
        #expect(try Self.decode(Encoded.deflate(Self.text), "deflate", size: size) == Self.text)
    }

    @Test(arguments: [1, 1000]) func `appended gzip streams and zeros are one body`(_ size: Int) throws {
        let end = Array("end".utf8)
        let encoded = Encoded.gzip(Self.text) + [0, 0, 0] + Encoded.gzip([]) + Encoded.gzip(end) + [0, 0]
        #expect(try Self.decode(encoded, size: size) == Self.text + end)
    }

    @Test func `a stream that is cut at any byte is a failure`() {
        for (coding, encoded) in [("gzip", Encoded.gzip(Self.text)), ("deflate", Encoded.deflate(Self.text))] {
            for count in 1..<encoded.count {
                let failure = Self.failure { try Self.decode(Array(encoded.prefix(count)), coding, size: 1 << 20) }
                #expect(failure?.fault == .command && failure?.reason.contains("ends within its \(coding)") == true)
            }
        }
    }

    @Test func `a damaged stream is a failure`() {
        let encoded = Encoded.gzip(Self.text)
        // Behind the ten bytes of the head, of which some mean nothing.
        for position in stride(from: 10, to: encoded.count, by: 3) {
            var damaged = encoded
            damaged[position] ^= 0x55
            let failure = Self.failure { try Self.decode(damaged) }
            #expect(failure?.fault == .command, "\(position)")
        }
        let trailing = Self.failure { try Self.decode(encoded + Array("<html>".utf8)) }
        #expect(trailing?.reason.contains("not a sound gzip stream") == true, "\(String(describing: trailing))")
        let behind = Self.failure { try Self.decode(Encoded.deflate(Self.text) + [1], "deflate") }
        #expect(behind?.reason.contains("behind the end") == true, "\(String(describing: behind))")
        let plain = Self.failure { try Self.decode(Array("[]".utf8)) }
        #expect(plain?.fault == .command)
    }

    @Test func `a body without bytes is whole only where its end is marked`() throws {
        #expect(try Self.decode([], isEndMarked: true).isEmpty)
        #expect(Self.failure { try Self.decode([], isEndMarked: false) } != nil)
    }

    @Test func `a decompression bomb is refused`() throws {
        let harmless = [UInt8](repeating: 0, count: Int(ContentDecoder.anyRatio))
        #expect(try Self.decode(Encoded.gzip(harmless)).count == harmless.count)
        let bomb = [UInt8](repeating: 0, count: 2 * Int(ContentDecoder.anyRatio))
        let failure = Self.failure { try Self.decode(Encoded.gzip(bomb)) }
        #expect(failure?.fault == .final && failure?.reason.contains("decompression bomb") == true)
    }

    @Test(arguments: ["br", "gzip, gzip", "zstd", "gzip, br"])
    func `a coding that is not known is a final failure with its name`(_ coding: String) {
        #expect {
            _ = try ContentDecoder(Self.head(coding), to: "GET /a")
        } throws: { error in
            let failure = error as? CommandFailure
            return failure?.fault == .final && failure?.reason.contains(coding) == true
        }
    }

    @Test func `a part of an encoded body stays as it is, and so does a body without a coding`() throws {
        #expect(try ContentDecoder(Self.head("gzip", status: 206), to: "GET /a") == nil)
        #expect(try ContentDecoder(Self.head("br", status: 304), to: "GET /a") == nil)
        #expect(try ContentDecoder(Self.head("identity"), to: "GET /a") == nil)
        #expect(try ContentDecoder(HTTPResponseHead(version: .http1_1, status: .ok), to: "GET /a") == nil)
    }
}
