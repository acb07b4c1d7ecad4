internal import CZlib

/// Bytes in a content coding, as servers send them.
package enum Encoded {
    package static func gzip(_ bytes: [UInt8]) -> [UInt8] { encoded(bytes, windowBits: MAX_WBITS + 16) }

    /// The format of zlib (RFC 1950), which HTTP calls deflate.
    package static func deflate(_ bytes: [UInt8]) -> [UInt8] { encoded(bytes, windowBits: MAX_WBITS) }

    private static func encoded(_ bytes: [UInt8], windowBits: CInt) -> [UInt8] {
        var stream = z_stream()
        let size = CInt(MemoryLayout<z_stream>.size)
        let code = deflateInit2_(
            &stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size)
        precondition(code == Z_OK, "zlib cannot compress: \(code)")
        defer { deflateEnd(&stream) }
        var input = bytes
        let bound = Int(deflateBound(&stream, uLong(input.count)))
        return [UInt8](unsafeUninitializedCapacity: bound) { output, count in
            input.withUnsafeMutableBufferPointer { input in
                (stream.next_in, stream.avail_in) = (input.baseAddress, uInt(input.count))
                (stream.next_out, stream.avail_out) = (output.baseAddress, uInt(output.count))
                precondition(finish(&stream) == Z_STREAM_END, "zlib cannot compress")
            }
            count = output.count - Int(stream.avail_out)
        }
    }

    private static func finish(_ stream: inout z_stream) -> CInt { CZlib.deflate(&stream, Z_FINISH) }
}

extension Behaviour {
    /// Answers with these bytes, which need not be text.
    /// - Parameter isEndMarked: states the length; false: the body ends with the connection.
    package static func answer(
        _ status: Int, headers: [String: String], bytes: [UInt8], isEndMarked: Bool = true
    ) -> Behaviour {
        var answer = ScriptAnswer(status)
        answer.headers = headers.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        answer.body = .text(bytes)
        answer.framing = isEndMarked ? .length : .none
        return Behaviour(
            "answer \(status) \(headers) with \(bytes.count) bytes",
            [.read(), .answer(answer)] + (isEndMarked ? [] : [.close]))
    }
}
